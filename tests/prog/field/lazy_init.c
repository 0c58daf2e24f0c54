/*
 * A singleton made at first use: whether it exists is seen in one critical section, it is stored in the
 * next, so that two callers make one each and one is lost. Region: instance.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct config {
	int users;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct config *the_config;
static int made;

NOINLINE static struct config *instance(void)
{
	pthread_mutex_lock(&lock);
	struct config *c = the_config;
	if (!c) {
		WHEN_WRONG(pthread_mutex_unlock(&lock);)
		c = calloc(1, sizeof *c);
		POINT();
		WHEN_WRONG(pthread_mutex_lock(&lock);)
		the_config = c;
		made++;
	}
	pthread_mutex_unlock(&lock);
	return c;
}

static void body(void)
{
	if (!instance())
		abort();
}

int main(int argc, char **argv)
{
	order_run(argc, argv, body, body);
	printf("made %d\n", made);
	free(the_config);
	return 0;
}
