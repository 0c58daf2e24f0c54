/*
 * A database's buffers: a table in partitions, each with a lock, and a spin lock in each buffer for its pins.
 * The buffer is looked up under the partition's lock and pinned after it: the page may have been replaced.
 * Region: read_buffer.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARTITIONS = 4, BUFFERS = 16 };

struct buffer {
	pthread_spinlock_t header;
	int tag, pins, usage, next;
};
static pthread_mutex_t partition[PARTITIONS];
static int table[PARTITIONS];
static struct buffer *buffers;

static int lookup(int tag)
{
	int b = table[tag % PARTITIONS];

	while (b >= 0 && buffers[b].tag != tag)
		b = buffers[b].next;
	return b;
}

static void pin(struct buffer *b)
{
	pthread_spin_lock(&b->header);
	b->pins++;
	b->usage++;
	pthread_spin_unlock(&b->header);
}

NOINLINE static int read_buffer(int tag)
{
	pthread_mutex_t *lock = &partition[tag % PARTITIONS];

	pthread_mutex_lock(lock);
	const int b = lookup(tag);
	WHEN_WRONG(pthread_mutex_unlock(lock);)
	POINT();
	if (b >= 0)
		pin(&buffers[b]);
#ifdef FIXED
	pthread_mutex_unlock(lock);
#endif
	return b;
}

NOINLINE static void replace(int old_tag, int new_tag)
{
	pthread_mutex_t *lock = &partition[old_tag % PARTITIONS];

	pthread_mutex_lock(lock);
	const int b = lookup(old_tag);
	if (b >= 0) {
		pthread_spin_lock(&buffers[b].header);
		if (buffers[b].pins == 0) {
			buffers[b].tag = new_tag;
			buffers[b].usage = 0;
		}
		pthread_spin_unlock(&buffers[b].header);
	}
	pthread_mutex_unlock(lock);
}

static void first(void)
{
	const int b = read_buffer(5);

	if (b < 0)
		return;
	pthread_spin_lock(&buffers[b].header);
	buffers[b].pins--;
	pthread_spin_unlock(&buffers[b].header);
}

static void second(void)
{
	replace(5, 21);
}

int main(int argc, char **argv)
{
	buffers = calloc(BUFFERS, sizeof *buffers);
	for (int i = 0; i < PARTITIONS; i++) {
		pthread_mutex_init(&partition[i], NULL);
		table[i] = -1;
	}
	for (int i = 0; i < BUFFERS; i++) {
		pthread_spin_init(&buffers[i].header, PTHREAD_PROCESS_PRIVATE);
		buffers[i].tag = i;
		buffers[i].next = table[i % PARTITIONS];
		table[i % PARTITIONS] = i;
	}
	order_run(argc, argv, first, second);
	printf("page %d\n", buffers[5].tag);
	return 0;
}
