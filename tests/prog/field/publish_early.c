/*
 * A singleton with a check before the lock: the pointer is stored before the object is complete,
 * and a caller that sees it takes the object as it is then (double-checked initialisation as it is
 * usually got wrong). Region: instance.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct options {
	int depth, timeout;
	const char *path;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct options *) global;
static int depth_seen = 7;

NOINLINE static struct options *instance(void)
{
	struct options *o = atomic_load(&global);

	if (o)
		return o;
	pthread_mutex_lock(&lock);
	o = atomic_load(&global);
	if (!o) {
		o = calloc(1, sizeof *o);
		WHEN_WRONG(atomic_store(&global, o);)
		POINT();
		o->depth = 7;
		o->timeout = 30;
		o->path = "/";
		WHEN_FIXED(atomic_store(&global, o));
	}
	pthread_mutex_unlock(&lock);
	return o;
}

static void engine(void)
{
	instance();
}

static void cancel(void)
{
	depth_seen = instance()->depth;
}

int main(int argc, char **argv)
{
	order_run(argc, argv, engine, cancel);
	printf("depth %d\n", depth_seen);
	return 0;
}
