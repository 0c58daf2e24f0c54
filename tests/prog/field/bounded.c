/*
 * A bounded buffer with conditions. Its put and take wait inside: that alone is no mistake. Counting what went
 * through in a section of its own is. Region: put.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 2, ITEMS = 200 };

struct buffer {
	pthread_mutex_t lock;
	pthread_cond_t not_full, not_empty;
	int slot[SIZE];
	unsigned head, count;
	long through;
};
static struct buffer *buffer;

NOINLINE static void put(struct buffer *b, int value)
{
	pthread_mutex_lock(&b->lock);
	while (b->count == SIZE)
		pthread_cond_wait(&b->not_full, &b->lock);
	b->slot[(b->head + b->count++) % SIZE] = value;
	pthread_cond_signal(&b->not_empty);
	WHEN_WRONG(pthread_mutex_unlock(&b->lock);)
	POINT();
	WHEN_WRONG(pthread_mutex_lock(&b->lock);)
	b->through++;
	pthread_mutex_unlock(&b->lock);
}

NOINLINE static int take(struct buffer *b)
{
	pthread_mutex_lock(&b->lock);
	while (b->count == 0)
		pthread_cond_wait(&b->not_empty, &b->lock);
	const int value = b->slot[b->head];
	b->head = (b->head + 1) % SIZE;
	b->count--;
	b->through++;
	pthread_cond_signal(&b->not_full);
	pthread_mutex_unlock(&b->lock);
	return value;
}

static int items = 1;

static void produce(void)
{
	for (int i = 0; i < items; i++)
		put(buffer, i);
}

static void consume(void)
{
	for (int i = 0; i < items; i++)
		take(buffer);
}

int main(int argc, char **argv)
{
	if (argc < 2 || argv[1][0] == 'f')
		items = ITEMS; /* "free": many, so that both wait */
	buffer = calloc(1, sizeof *buffer);
	pthread_mutex_init(&buffer->lock, NULL);
	pthread_cond_init(&buffer->not_full, NULL);
	pthread_cond_init(&buffer->not_empty, NULL);
	order_run(argc, argv, produce, consume);
	printf("%ld through\n", buffer->through);
	return 0;
}
