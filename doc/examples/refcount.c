/* SPDX-License-Identifier: MIT */
/* A reference count that is read in one critical section and written back in the next. Build with
 * -DFIXED for one section. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int references = 4, is_freed;

__attribute__((noinline)) static void drop(int n)
{
	pthread_mutex_lock(&lock);
	int left = references - n;
#ifndef FIXED
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&lock);
#endif
	references = left;
	if (left == 0)
		is_freed = 1;
	pthread_mutex_unlock(&lock);
}

static void *user(void *arg)
{
	int id = *(int *)arg;

	usleep(50000 * (id - 1));
	drop(id);
	return NULL;
}

int main(void)
{
	pthread_t thread[2];
	int id[2] = {1, 2};

	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, user, &id[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("%d references left, freed %d\n", references, is_freed);
	return 0;
}
