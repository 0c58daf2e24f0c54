/*
 * A hash table with locks for its buckets that grows: the bucket is chosen by the table's size
 * before its lock is taken, and the table may have grown by then: the item goes where nobody finds
 * it (an object cache). Region: table_put.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 16, LOCKS = 4 };
struct item {
	struct item *next;
	unsigned key;
};
static pthread_mutex_t locks[LOCKS];
static unsigned size = 4;
static struct item *buckets[MOST];

static void lock_all(void)
{
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_lock(&locks[i]);
}

static void unlock_all(void)
{
	for (int i = LOCKS; i-- > 0;)
		pthread_mutex_unlock(&locks[i]);
}

NOINLINE static void table_put(unsigned key)
{
	struct item *it = malloc(sizeof *it);
	pthread_mutex_t *lock = &locks[key % LOCKS];

	it->key = key;
	pthread_mutex_lock(lock);
	const unsigned b = key % size;
	WHEN_WRONG(pthread_mutex_unlock(lock);)
	POINT();
	WHEN_WRONG(pthread_mutex_lock(lock);)
	it->next = buckets[b];
	buckets[b] = it;
	pthread_mutex_unlock(lock);
}

NOINLINE static void grow(void)
{
	lock_all();
	if (size < MOST) {
		for (unsigned i = 0; i < size; i++) {
			struct item *it = buckets[i], *next;

			buckets[i] = NULL;
			for (; it; it = next) {
				next = it->next;
				it->next = buckets[it->key % (2 * size)];
				buckets[it->key % (2 * size)] = it;
			}
		}
		size *= 2;
	}
	unlock_all();
}

static void putter(void)
{
	table_put(13);
}

int main(int argc, char **argv)
{
	int lost = 0;

	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&locks[i], NULL);
	table_put(2);
	order_run(argc, argv, putter, grow);
	for (unsigned b = 0; b < size; b++)
		for (struct item *it = buckets[b]; it; it = it->next)
			lost += it->key % size != b;
	printf("lost %d\n", lost);
	return 0;
}
