/*
 * A value goes from the store over a queue to the cache, each with its lock and its thread. A
 * reader that asks the store and then the cache may find them one change apart. The cycle goes
 * over three threads. Region: compare.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t all = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static int store, queued, cache;
static int difference;

static int get(pthread_mutex_t *lock, const int *from)
{
	pthread_mutex_lock(lock);
	const int v = *from;
	pthread_mutex_unlock(lock);
	return v;
}

static void set(pthread_mutex_t *lock, int *to, int v)
{
	pthread_mutex_lock(lock);
	*to = v;
	pthread_mutex_unlock(lock);
}

NOINLINE static void compare(void)
{
	WHEN_FIXED(pthread_mutex_lock(&all));
	const int a = get(&store_lock, &store);
	POINT();
	const int b = get(&cache_lock, &cache);
	WHEN_FIXED(pthread_mutex_unlock(&all));
	difference = b - a;
}

NOINLINE static void change(void)
{
	WHEN_FIXED(pthread_mutex_lock(&all));
	set(&store_lock, &store, 5);
	set(&queue_lock, &queued, 5);
	WHEN_FIXED(pthread_mutex_unlock(&all));
}

NOINLINE static void forward(void)
{
	WHEN_FIXED(pthread_mutex_lock(&all));
	const int v = get(&queue_lock, &queued);
	if (v)
		set(&cache_lock, &cache, v);
	WHEN_FIXED(pthread_mutex_unlock(&all));
}

int main(int argc, char **argv)
{
	order_run3(argc, argv, compare, change, forward);
	printf("difference %d\n", difference);
	return 0;
}
