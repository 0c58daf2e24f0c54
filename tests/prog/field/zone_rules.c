/*
 * Local time from a zone that may be set anew: the pointer to its rules is fetched under the lock
 * and followed after it, when another thread has replaced and freed them (a C library's tzset).
 * Region: local_time.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct zone {
	char name[8];
	long offset;
	int is_dst;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct zone *zone;

static struct zone *make_zone(const char *name, long offset)
{
	struct zone *z = calloc(1, sizeof *z);

	strncpy(z->name, name, sizeof z->name - 1);
	z->offset = offset;
	return z;
}

NOINLINE static void set_zone(const char *name, long offset)
{
	struct zone *fresh = make_zone(name, offset), *old;

	pthread_mutex_lock(&lock);
	old = zone;
	zone = fresh;
	old->offset = -1;
	free(old);
	pthread_mutex_unlock(&lock);
}

NOINLINE static long local_time(long utc)
{
	long result;

	pthread_mutex_lock(&lock);
	const struct zone *z = zone;
	WHEN_WRONG(pthread_mutex_unlock(&lock);)
	POINT();
	result = utc + z->offset;
	WHEN_FIXED(pthread_mutex_unlock(&lock));
	return result;
}

static long shown;

static void show(void)
{
	shown = local_time(1000);
}

static void travel(void)
{
	set_zone("CET", 3600);
}

int main(int argc, char **argv)
{
	zone = make_zone("UTC", 0);
	order_run(argc, argv, show, travel);
	printf("%d\n", shown >= 1000);
	return 0;
}
