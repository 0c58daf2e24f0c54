/*
 * Atomic loads that are made again: a lock that looks before it tries (TTAS), a ticket lock (TICKET), a counter by
 * compare-and-exchange whose loop loads anew (LOOP), one whose exchange brings the new value (AGAIN), and an old
 * lock that looks at a volatile variable (OLD), and a wait for a flag beside which a limit lies, in the same word, that is read in
 * each turn (BESIDE, and BESIDE_OLD with a volatile flag) or before the first (BEFORE). All are right. In the bad order the first thread stops with the lock held until the second has looked at
 * it three times, or between its load and its exchange. LOST: the same counter with a store instead, which
 * is wrong. Region: add.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int busy, next, serving, counter;
static volatile int old_lock;
static int plain;
/* In the same 8 bytes. */
static struct {
	_Alignas(8) atomic_int is_set;
	int limit;
} pair;
static struct {
	_Alignas(8) volatile int is_set;
	int limit;
} old_pair;

NOINLINE static void add(void)
{
#if defined(TTAS)
	do
		while (atomic_load(&busy))
			order_spin();
	while (atomic_exchange(&busy, 1));
	plain++;
	order_point();
	atomic_store(&busy, 0);
#elif defined(TICKET)
	const int mine = atomic_fetch_add(&next, 1);
	while (atomic_load(&serving) != mine)
		order_spin();
	plain++;
	order_point();
	atomic_store(&serving, mine + 1);
#elif defined(OLD)
	while (__sync_lock_test_and_set(&old_lock, 1))
		while (old_lock)
			order_spin();
	plain++;
	order_point();
	__sync_lock_release(&old_lock);
#elif defined(BESIDE) || defined(BEFORE)
#ifdef BEFORE
	plain += pair.limit;
#endif
	while (!atomic_load(&pair.is_set)) {
#ifdef BESIDE
		plain += pair.limit;
#endif
		order_spin();
	}
	plain = 2;
#elif defined(BESIDE_OLD)
	while (!old_pair.is_set) {
		plain += old_pair.limit;
		order_spin();
	}
	plain = 2;
#elif defined(LOOP)
	int old;
	do {
		old = atomic_load(&counter);
		order_point();
	} while (!atomic_compare_exchange_strong(&counter, &old, old + 1));
#elif defined(AGAIN)
	int old = atomic_load(&counter);
	order_point();
	while (!atomic_compare_exchange_strong(&counter, &old, old + 1))
		;
#else
	const int old = atomic_load(&counter);
	order_point();
	atomic_store(&counter, old + 1);
#endif
}

#if defined(BESIDE) || defined(BEFORE) || defined(BESIDE_OLD)
NOINLINE static void set(void)
{
	order_point();
	atomic_store(&pair.is_set, 1);
	old_pair.is_set = 1;
}
#define FIRST set
#else
#define FIRST add
#endif

int main(int argc, char **argv)
{
	order_run(argc, argv, FIRST, add);
	printf("%d\n", plain + atomic_load(&counter));
	return 0;
}
