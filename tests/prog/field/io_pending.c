/*
 * A request is posted, then it is noted that one is pending: the thread that serves it may have
 * noted by then that it is done, and is overwritten; its caller waits for ever (a browser's
 * sockets). Region: read_async.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static int posted;
static int io_pending;

static void set_pending(int value)
{
	pthread_mutex_lock(&state_lock);
	io_pending = value;
	pthread_mutex_unlock(&state_lock);
}

static void post(void)
{
	pthread_mutex_lock(&queue_lock);
	posted++;
	pthread_mutex_unlock(&queue_lock);
}

NOINLINE static void read_async(void)
{
	WHEN_FIXED(set_pending(1));
	post();
	POINT();
	WHEN_WRONG(set_pending(1);)
}

NOINLINE static void serve(void)
{
	int work;

	pthread_mutex_lock(&queue_lock);
	work = posted > 0;
	if (work)
		posted--;
	pthread_mutex_unlock(&queue_lock);
	if (work)
		set_pending(0);
}

int main(int argc, char **argv)
{
	order_run(argc, argv, read_async, serve);
	printf("pending %d\n", io_pending);
	return 0;
}
