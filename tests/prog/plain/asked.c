/*
 * A signal handler that logs and takes a lock, at any instruction of the first access of a region to a word: the access is not lost. Each
 * round is a region that another thread breaks at a word of the round's own. usage: asked FIRST END: from that instruction on
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "order.h"
#include "trap.h"

#define NOINLINE __attribute__((noinline))
enum { ROUNDS = 1000 };
static pthread_mutex_t its = PTHREAD_MUTEX_INITIALIZER;
static sem_t any;
static long traps, at, before;
static volatile int is_over;
static struct {
	long v, apart[15];
} word[ROUNDS];

UNSEEN static void on_trap(int sig)
{
	(void)sig;
	if (++traps != at)
		return;
	sem_init(&any, 0, 0); /* is always told */
	pthread_mutex_lock(&its);
	pthread_mutex_unlock(&its);
}

NOINLINE static void touch(long *p)
{
	*p += 1;
}

NOINLINE static void region(int i, long *p)
{
	touch(&before);
	set_trap();
	touch(p);
	clear_trap();
	reach(2 * i + 1);
	await(2 * i + 2);
	touch(p);
}

UNSEEN static int rounds(long first, long end)
{
	int i = 0;

	for (; first < end && i < ROUNDS; first++, i++) {
		at = first;
		traps = 0;
		region(i, &word[i].v);
	}
	is_over = 1;
	reach(2 * i + 1);
	return i;
}

static void *other(void *unused)
{
	for (int i = 0; await(2 * i + 1), !is_over; i++) {
		touch(&word[i].v);
		reach(2 * i + 2);
	}
	return unused;
}

int main(int argc, char **argv)
{
	const struct sigaction sa = {.sa_handler = on_trap};
	pthread_t t;

	if (argc < 3)
		return 2;
	sigaction(SIGTRAP, &sa, NULL);
	if (pthread_create(&t, NULL, other, NULL))
		return 1;
	const int n = rounds(atol(argv[1]), atol(argv[2]));
	pthread_join(t, NULL);
	printf("%d\n", n);
	return 0;
}
