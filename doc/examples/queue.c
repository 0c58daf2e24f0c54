/* SPDX-License-Identifier: MIT */
/* Size, then pop: the length is looked at in one critical section, an element is taken in the next.
 * Build with -DFIXED for one section. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int length = 5, taken;

__attribute__((noinline)) static void pop(int n)
{
	pthread_mutex_lock(&lock);
	int size = length;
#ifndef FIXED
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&lock);
#endif
	if (size >= n) {
		length = size - n;
		taken = taken + n;
	}
	pthread_mutex_unlock(&lock);
}

static void *consumer(void *arg)
{
	int id = *(int *)arg;

	usleep(50000 * (id - 1));
	pop(id);
	return NULL;
}

int main(void)
{
	pthread_t thread[2];
	int id[2] = {1, 2};

	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, consumer, &id[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("%d left, %d taken\n", length, taken);
	return 0;
}
