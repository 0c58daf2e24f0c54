/*
 * Whoever holds the last reference to an endpoint takes it out of the table first. Whether it is the last is
 * asked under the table's lock; the reference is dropped without it: two that both see two leave the endpoint in the table
 * when it is destroyed (a client for cloud storage). Region: release_endpoint.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static struct {
	atomic_int references;
	int is_listed, is_destroyed;
} endpoint = {2, 1, 0};
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

NOINLINE static void release_endpoint(void)
{
	pthread_mutex_lock(&table);
	if (atomic_load(&endpoint.references) == 1)
		endpoint.is_listed = 0;
	WHEN_WRONG(pthread_mutex_unlock(&table);)
	POINT();
	if (atomic_fetch_sub(&endpoint.references, 1) == 1)
		endpoint.is_destroyed = 1;
	WHEN_FIXED(pthread_mutex_unlock(&table);)
}

int main(int argc, char **argv)
{
	order_run(argc, argv, release_endpoint, release_endpoint);
	printf("destroyed %d, listed %d\n", endpoint.is_destroyed, endpoint.is_listed);
	return 0;
}
