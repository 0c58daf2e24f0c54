/* See between.h: never instrumented. */
/* SPDX-License-Identifier: MIT */
#include "between.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

enum { PATIENCE = 40 }; /* the other may wait for what the stepped thread holds inside the monitor */

static void (*body)(void), (*first)(void);
static long traps, look_at; /* of the stepped thread: so many instructions, when to stop */
static int rounds_begun, looks_allowed, looks_asked, stays, rounds_over;
static __thread int is_stepped;

static int now(const int *counter)
{
	return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

void pace(void)
{
	const int mine = __atomic_add_fetch(&looks_asked, 1, __ATOMIC_ACQ_REL);

	while (now(&looks_allowed) < mine)
		sched_yield();
}

static void on_trap(int sig)
{
	(void)sig;
	if (++traps != look_at)
		return;
	const int before = now(&looks_asked);
	__atomic_add_fetch(&looks_allowed, 1, __ATOMIC_ACQ_REL);
	for (int i = 0; now(&looks_asked) == before && i < PATIENCE; i++)
		sched_yield();
}

void held(void)
{
	if (is_stepped)
		__atomic_add_fetch(&rounds_begun, 1, __ATOMIC_ACQ_REL);
}

void steps_begin(void)
{
	if (!is_stepped)
		return;
	while (now(&looks_asked) == now(&looks_allowed)) /* the other waits, and has looked */
		sched_yield();
	traps = 0;
	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tadd $128, %%rsp" ::: "memory", "cc");
}

void steps_end(void)
{
	if (!is_stepped)
		return;
	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tadd $128, %%rsp" ::: "memory", "cc");
	__atomic_add_fetch(&looks_allowed, 1 << 20, __ATOMIC_ACQ_REL);
}

int is_waiter(void)
{
	return !is_stepped;
}

void stay(void)
{
	const int round = __atomic_add_fetch(&stays, 1, __ATOMIC_ACQ_REL);

	while (now(&rounds_over) < round)
		sched_yield();
}

static void *begin_first(void *arg)
{
	first();
	return arg;
}

/* The lock is held: wait for it. */
static void *waiter(void *round)
{
	while (now(&rounds_begun) < (int)(long)round)
		sched_yield();
	body();
	return NULL;
}

long between_run(void (*work)(void), void (*before)(void), int stride)
{
	const struct sigaction sa = {.sa_handler = on_trap};
	long round = 0;

	body = work;
	first = before;
	sigaction(SIGTRAP, &sa, NULL);
	is_stepped = 1;
	do {
		pthread_t t, other;
		look_at += stride;
		looks_allowed = looks_asked = 0;
		if (first && pthread_create(&other, NULL, begin_first, NULL))
			return -1;
		while (first && now(&stays) <= round)
			sched_yield();
		if (pthread_create(&t, NULL, waiter, (void *)++round))
			return -1;
		work();
		pthread_join(t, NULL);
		__atomic_add_fetch(&rounds_over, 1, __ATOMIC_ACQ_REL);
		if (first)
			pthread_join(other, NULL);
	} while (traps >= look_at);
	return round;
}
