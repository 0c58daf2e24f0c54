/*
 * Signal handlers in the midst of the begin and end of functions that are regions. usage: torn FORM FIRST STEP END
 *   leap    the handler leaves by siglongjmp at the FIRST-th instruction of a region, then STEP later, and so on: behind it two regions of
 *           this thread have one of another between them, and none is broken
 *   climb   at such an instruction behind the call of a function deeper than any before the handler logs something
 * Prints how often the handler did so.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "order.h"
#include "trap.h"

#define NOINLINE __attribute__((noinline))
enum { DEPTHS = 60 };
static sigjmp_buf out;
static sem_t any;
static long own, shared, traps, at, times;
static volatile int is_leap, is_over;

UNSEEN static void on_trap(int sig)
{
	(void)sig;
	if (++traps != at)
		return;
	times++;
	if (is_leap)
		siglongjmp(out, 1);
	sem_init(&any, 0, 0); /* is always told */
}

NOINLINE static void inner(void)
{
	own++;
}

NOINLINE static void leap(void)
{
	own++;
	inner();
	__atomic_fetch_add(&own, 1, __ATOMIC_SEQ_CST);
	inner();
	own++;
}

NOINLINE static void half(void)
{
	shared++;
}

UNSEEN static void leave_at(long k)
{
	at = k;
	traps = 0;
	if (sigsetjmp(out, 1))
		return;
	set_trap();
	leap();
	clear_trap();
}

NOINLINE static void climb(int depth)
{
	own++;
	if (depth == 1)
		set_trap();
	if (depth > 0)
		climb(depth - 1);
	else
		clear_trap();
	own++;
}

static void *other(void *unused)
{
	for (int i = 0; await(2 * i + 1), !is_over; i++) {
		half();
		reach(2 * i + 2);
	}
	climb(0);
	return unused;
}

static int leap_all(long first, long step, long end)
{
	int i = 0;

	leap(); /* what happens but once */
	leap();
	for (long k = first; k < end; k += step, i++) {
		leave_at(k);
		half();
		reach(2 * i + 1);
		await(2 * i + 2);
		half();
	}
	return i;
}

static void climb_all(long first, long step, long end)
{
	sem_init(&any, 0, 0);
	at = -1;
	climb(1);
	for (int depth = 2; depth < DEPTHS && first < end; depth++, first += step) {
		at = first;
		traps = 0;
		climb(depth);
	}
}

int main(int argc, char **argv)
{
	const struct sigaction sa = {.sa_handler = on_trap};
	pthread_t t;
	int i = 0;

	if (argc < 5)
		return 2;
	is_leap = !strcmp(argv[1], "leap");
	sigaction(SIGTRAP, &sa, NULL);
	if (pthread_create(&t, NULL, other, NULL))
		return 1;
	if (is_leap)
		i = leap_all(atol(argv[2]), atol(argv[3]), atol(argv[4]));
	else
		climb_all(atol(argv[2]), atol(argv[3]), atol(argv[4]));
	is_over = 1;
	reach(2 * i + 1);
	pthread_join(t, NULL);
	printf("%ld\n", times);
	return 0;
}
