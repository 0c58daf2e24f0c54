/*
 * Check then act, across a nested region and named heap memory: `open` is checked, closed by another
 * thread, and the buffer used all the same. Forced by semaphores.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "atommon.h"

struct file {
	int is_open;
	int length;
};

static struct file *file;
static pthread_rwlock_t lock;
static sem_t checked, closed;

static int looks_open(void)
{
	int yes;

	pthread_rwlock_rdlock(&lock);
	yes = ATOMMON_LOAD(file->is_open);
	pthread_rwlock_unlock(&lock);
	return yes;
}

static void *append(void *unused)
{
	ATOMMON_REGION("append")
	{
		if (looks_open()) {
			sem_post(&checked);
			sem_wait(&closed);
			ATOMMON_REGION("grow")
			{
				ATOMMON_STORE(file->length, 7);
			}
		}
	}
	return unused;
}

static void *close_it(void *unused)
{
	sem_wait(&checked);
	ATOMMON_REGION("close")
	{
		pthread_rwlock_wrlock(&lock);
		ATOMMON_STORE(file->is_open, 0);
		ATOMMON_STORE(file->length, 0);
		pthread_rwlock_unlock(&lock);
	}
	sem_post(&closed);
	return unused;
}

int main(void)
{
	pthread_t a, b;

	file = calloc(1, sizeof *file);
	file->is_open = 1;
	atommon_name(&file->is_open, sizeof file->is_open, "file.is_open");
	atommon_name(&file->length, sizeof file->length, "file.length");
	pthread_rwlock_init(&lock, NULL);
	sem_init(&checked, 0, 0);
	sem_init(&closed, 0, 0);
	pthread_create(&a, NULL, append, NULL);
	pthread_create(&b, NULL, close_it, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
