/*
 * A reader that wants to write gives its read lock back and takes the write lock; what it read is stale by
 * then. Region: raise_limit.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long limit = 10, raised;

NOINLINE static void raise_limit(long by)
{
#ifdef FIXED
	pthread_rwlock_wrlock(&lock);
#else
	pthread_rwlock_rdlock(&lock);
#endif
	const long seen = limit;
	if (seen < 100) {
		WHEN_WRONG(pthread_rwlock_unlock(&lock);)
		POINT();
		WHEN_WRONG(pthread_rwlock_wrlock(&lock);)
		limit = seen + by;
		raised++;
	}
	pthread_rwlock_unlock(&lock);
}

static void body(void)
{
	raise_limit(5);
}

int main(int argc, char **argv)
{
	order_run(argc, argv, body, body);
	printf("limit %ld, raised %ld times\n", limit, raised);
	return 0;
}
