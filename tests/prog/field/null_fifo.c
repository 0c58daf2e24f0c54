/*
 * A consumer reads the pointer to its queue's mutex once to lock and once to unlock; main deletes the
 * queue while it works (a parallel compressor did). Here the consumer counts what would have been a crash.
 * Region: consume.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct fifo {
	pthread_mutex_t *mut;
	int items;
};
static struct fifo *fifo;
static int consumed, would_crash;
#ifdef FIXED
static pthread_mutex_t users = PTHREAD_MUTEX_INITIALIZER;
#endif

NOINLINE static void consume(void)
{
#ifdef FIXED
	pthread_mutex_lock(&users);
#endif
	pthread_mutex_t *held = fifo->mut;

	if (held) {
		pthread_mutex_lock(held);
		if (fifo->items > 0) {
			fifo->items--;
			consumed++;
		}
		POINT();
		pthread_mutex_unlock(held);
		would_crash += fifo->mut == NULL;
	}
#ifdef FIXED
	pthread_mutex_unlock(&users);
#endif
}

static void queue_delete(void)
{
#ifdef FIXED
	pthread_mutex_lock(&users);
#endif
	fifo->mut = NULL;
#ifdef FIXED
	pthread_mutex_unlock(&users);
#endif
}

int main(int argc, char **argv)
{
	pthread_mutex_t *mut = malloc(sizeof *mut);

	fifo = calloc(1, sizeof *fifo);
	if (!mut || !fifo)
		return 1;
	pthread_mutex_init(mut, NULL);
	fifo->mut = mut;
	fifo->items = 3;
	order_run(argc, argv, consume, queue_delete);
	printf("%d %d\n", consumed, would_crash);
	free(mut);
	free(fifo);
	return 0;
}
