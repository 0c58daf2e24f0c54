/*
 * A message is handed over by its maker, who still has a reference and drops it at the end. In the bad order the receiver has taken a further
 * one by then, and has dropped it, or not: the maker's is not the last, whatever others did first. Mistakes beside it: -DBORROWED, the maker takes no
 * reference for the one whom it gives the message, so that with its own done first, the receiver would have what was freed; -DLOOK, the maker
 * lowers the count by a load and a store; -DTELL, the number that was left is used otherwise; -DSUM,
 * what is counted is read before and written after the message went over. Regions: hand_over, receive.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct message {
	atomic_int owners;
	int text;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct message *box, *kept;
static long sum;
#ifdef TELL
static volatile long sink;
#endif

static void take(struct message *m)
{
	atomic_fetch_add(&m->owners, 1);
}

static void drop(struct message *m)
{
	if (atomic_fetch_sub(&m->owners, 1) == 1)
		free(m);
}

#if defined LOOK
static void leave(struct message *m)
{
	const int seen = atomic_load(&m->owners);
	order_point();
	atomic_store(&m->owners, seen - 1);
}
#elif defined TELL
static void leave(struct message *m)
{
	order_point();
	sink = atomic_fetch_sub(&m->owners, 1);
}
#else
static void leave(struct message *m)
{
	order_point();
	drop(m);
}
#endif

NOINLINE static void hand_over(void)
{
	struct message *m = malloc(sizeof *m);

	atomic_init(&m->owners, 1);
	m->text = 7;
#ifdef SUM
	pthread_mutex_lock(&lock);
	const long seen = sum;
	pthread_mutex_unlock(&lock);
#endif
#ifndef BORROWED
	take(m);
#endif
	pthread_mutex_lock(&lock);
	box = m;
	pthread_mutex_unlock(&lock);
	leave(m);
#ifdef SUM
	pthread_mutex_lock(&lock);
	sum = seen + 1;
	pthread_mutex_unlock(&lock);
#endif
}

NOINLINE static void receive(void)
{
	pthread_mutex_lock(&lock);
	struct message *m = box;
	box = NULL;
	pthread_mutex_unlock(&lock);
	if (!m)
		return;
	take(m);
	pthread_mutex_lock(&lock);
	sum += m->text;
	kept = m;
	pthread_mutex_unlock(&lock);
#ifdef DROPPED
	drop(m);
#endif
}

int main(int argc, char **argv)
{
	order_run(argc, argv, hand_over, receive);
	printf("sum %ld, left %d\n", sum, kept ? atomic_load(&kept->owners) : 0);
	return 0;
}
