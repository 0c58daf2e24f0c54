/*
 * A session says that it runs before its bandwidth limits exist; a peer that sees it running takes the
 * limits that are not there (a file-sharing client crashed of it). Two variables, each under the lock.
 * Region: session_init.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct bandwidth {
	int bytes_left;
};
struct session {
	pthread_mutex_t lock;
	int is_running;
	struct bandwidth *limit;
};
static struct session session = {.lock = PTHREAD_MUTEX_INITIALIZER};
static int missing;

NOINLINE static void session_init(struct session *s)
{
	pthread_mutex_lock(&s->lock);
	s->is_running = 1;
	WHEN_WRONG(pthread_mutex_unlock(&s->lock);)
	POINT();
	struct bandwidth *b = malloc(sizeof *b);
	if (!b)
		exit(1);
	b->bytes_left = 1000;
	WHEN_WRONG(pthread_mutex_lock(&s->lock);)
	s->limit = b;
	pthread_mutex_unlock(&s->lock);
}

static void init(void)
{
	session_init(&session);
}

static void peer(void)
{
	pthread_mutex_lock(&session.lock);
	const int is_running = session.is_running;
	const struct bandwidth *limit = session.limit;
	pthread_mutex_unlock(&session.lock);
	if (is_running && !limit)
		missing++;
}

int main(int argc, char **argv)
{
	order_run(argc, argv, init, peer);
	printf("missing %d\n", missing);
	free(session.limit);
	return 0;
}
