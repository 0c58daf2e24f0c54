/* SPDX-License-Identifier: MIT */
/* Check, then insert: whether the slot is free is looked up in one critical section, the value is put
 * there in the next. Build with -DFIXED for one section. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_cached, value, inserts;

__attribute__((noinline)) static void insert(int v)
{
	pthread_mutex_lock(&lock);
	int found = is_cached;
#ifndef FIXED
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&lock);
#endif
	if (found < 2) { /* room for two */
		value = v;
		is_cached = found + 1;
		inserts = inserts + 1;
	}
	pthread_mutex_unlock(&lock);
}

static void *worker(void *arg)
{
	int id = *(int *)arg;

	usleep(50000 * (id - 1));
	insert(10 * id);
	return NULL;
}

int main(void)
{
	pthread_t thread[2];
	int id[2] = {1, 2};

	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, worker, &id[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("%d entries, %d inserts, last %d\n", is_cached, inserts, value);
	return 0;
}
