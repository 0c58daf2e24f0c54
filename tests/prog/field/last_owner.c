/*
 * A message is handed over by its maker, who still has a reference. In the bad order the receiver drops its own
 * first, so that the maker takes the message apart and frees it. Which of the two does is nobody's business. Two
 * mistakes beside it: -DSUM, what is counted is read before and written after the message went over; -DEARLY, the
 * receiver's region uses the message without a reference, while the maker drops the last. Regions: hand_over, receive.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct message {
	long kind;
	atomic_int owners;
	int *text;
	long length;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct message *box;
static long sum;
static long sink;

static void drop(struct message *m)
{
	if (atomic_fetch_sub(&m->owners, 1) != 1)
		return;
	__atomic_store_n(&sink, m->text[0] + m->length, __ATOMIC_RELAXED);
	free(m->text);
	free(m);
}

static struct message *make(void)
{
	struct message *m = malloc(sizeof *m);

	m->kind = 1;
	m->text = calloc(4, sizeof *m->text);
	m->length = 4;
	atomic_init(&m->owners, 2);
	return m;
}

#ifdef EARLY
NOINLINE static void receive(void)
{
	pthread_mutex_lock(&lock);
	struct message *m = box;
	pthread_mutex_unlock(&lock);
	if (m)
		__atomic_store_n(&sink, *(volatile long *)&m->kind, __ATOMIC_RELAXED);
	order_point();
	if (m) /* freed by now, but nobody has it yet */
		__atomic_store_n(&sink, *(volatile long *)&m->length, __ATOMIC_RELAXED);
}

NOINLINE static void hand_over(void)
{
	pthread_mutex_lock(&lock);
	struct message *m = box;
	box = NULL;
	pthread_mutex_unlock(&lock);
	atomic_fetch_sub(&m->owners, 1);
	drop(m);
}

int main(int argc, char **argv)
{
	box = make();
	order_run(argc, argv, receive, hand_over);
	return 0;
}
#else
NOINLINE static void hand_over(void)
{
	struct message *m = make();
#ifdef SUM
	pthread_mutex_lock(&lock);
	const long seen = sum;
	pthread_mutex_unlock(&lock);
#endif
	pthread_mutex_lock(&lock);
	box = m;
	pthread_mutex_unlock(&lock);
	order_point();
	drop(m);
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
	m->text[0] = 7;
	m->length = 1;
	pthread_mutex_lock(&lock);
	sum += m->length;
	pthread_mutex_unlock(&lock);
	drop(m);
}

int main(int argc, char **argv)
{
	order_run(argc, argv, hand_over, receive);
	printf("sum %ld\n", sum);
	return 0;
}
#endif
