/*
 * A pool of threads counts how many of them do slow work, so that they do not all. It is counted
 * up under the pool's lock and down under that of the loop which waits for the result (an event
 * library). Region: count_down.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct work {
	struct work *next;
	int is_slow, result;
};
struct loop {
	pthread_mutex_t wq_mutex;
	struct work *done;
};
static pthread_mutex_t pool_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct work *queue;
static unsigned slow_running;
static struct loop loop = {PTHREAD_MUTEX_INITIALIZER, NULL};

NOINLINE static struct work *take(void)
{
	struct work *w;

	pthread_mutex_lock(&pool_mutex);
	w = queue;
	if (w) {
		queue = w->next;
		if (w->is_slow)
			slow_running++;
	}
	pthread_mutex_unlock(&pool_mutex);
	return w;
}

/* One less, under the lock that is held: it should have been the pool's. */
NOINLINE static void count_down(void)
{
	WHEN_FIXED(pthread_mutex_lock(&pool_mutex));
	const unsigned n = slow_running;
	POINT();
	slow_running = n - 1;
	WHEN_FIXED(pthread_mutex_unlock(&pool_mutex));
}

static void finish(struct loop *l, struct work *w)
{
	pthread_mutex_lock(&l->wq_mutex);
	w->next = l->done;
	l->done = w;
	WHEN_WRONG(count_down();)
	pthread_mutex_unlock(&l->wq_mutex);
	WHEN_FIXED(count_down();)
}

static void worker(void)
{
	struct work *w = take();

	if (!w)
		return;
	w->result = 42;
	finish(&loop, w);
}

static void taker(void)
{
	take();
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 1000; i++) {
		struct work *w = calloc(1, sizeof *w);
		w->is_slow = 1;
		w->next = queue;
		queue = w;
	}
	order_run(argc, argv, worker, taker);
	printf("slow %u\n", slow_running);
	return 0;
}
