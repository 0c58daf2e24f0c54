/*
 * The last reference is dropped under the object's own lock; then the object leaves the registry, and is freed. In
 * between the registry still gives it out (a framework of services). Region: release_service.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct service {
	pthread_mutex_t lock;
	int references, id;
};
static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static struct service *registered;
static int found;

NOINLINE static void release_service(struct service *s)
{
	int is_last;

	WHEN_FIXED(pthread_mutex_lock(&registry);)
	pthread_mutex_lock(&s->lock);
	is_last = --s->references == 0;
	pthread_mutex_unlock(&s->lock);
	POINT();
	if (is_last) {
		WHEN_WRONG(pthread_mutex_lock(&registry);)
		registered = NULL;
		WHEN_WRONG(pthread_mutex_unlock(&registry);)
		free(s);
	}
	WHEN_FIXED(pthread_mutex_unlock(&registry);)
}

static void unregister(void)
{
	pthread_mutex_lock(&registry);
	struct service *s = registered;
	pthread_mutex_unlock(&registry);
	if (s)
		release_service(s);
}

static void get_service(void)
{
	pthread_mutex_lock(&registry);
	struct service *s = registered;
	if (s) {
		pthread_mutex_lock(&s->lock);
		s->references++;
		found = s->id;
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&registry);
}

int main(int argc, char **argv)
{
	struct service *s = calloc(1, sizeof *s);

	pthread_mutex_init(&s->lock, NULL);
	s->references = 1;
	s->id = 5;
	registered = s;
	order_run(argc, argv, unregister, get_service);
	printf("found %d\n", found);
	return 0;
}
