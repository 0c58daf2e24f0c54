/*
 * Locks made of futex(2), each used in three ways: rightly (NAME); with a region that lets go in the middle (NAME_torn); with data that is
 * read before the lock is taken and written after it is released (NAME_beside). Operations begin with op_.
 */
/* SPDX-License-Identifier: MIT */
#include "../correct/team.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static void futex_wait(void *word, int value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(void *word, int n)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

/* ---- what is guarded ---- */
static long a, b, torn, beside;

static void both(void)
{
	a++;
	if (a % 5 == 0)
		sched_yield();
	b++;
	if (a != b)
		abort();
}

static int is_counted(unsigned threads, unsigned rounds)
{
	return a == (long)threads * rounds && b == a;
}

static int is_any(unsigned threads, unsigned rounds)
{
	(void)threads, (void)rounds;
	return 1;
}

#define USES(name)                                                      \
	NOINLINE static void op_##name(unsigned who, unsigned round)    \
	{                                                               \
		(void)who, (void)round;                                 \
		name##_lock();                                          \
		both();                                                 \
		name##_unlock();                                        \
	}                                                               \
	NOINLINE static void op_##name##_torn(unsigned who, unsigned round)   \
	{                                                               \
		(void)who, (void)round;                                 \
		name##_lock();                                          \
		const long v = torn;                                    \
		name##_unlock();                                        \
		sched_yield();                                          \
		name##_lock();                                          \
		torn = v + 1;                                           \
		name##_unlock();                                        \
	}                                                               \
	NOINLINE static void op_##name##_beside(unsigned who, unsigned round) \
	{                                                               \
		(void)who, (void)round;                                 \
		const long v = beside;                                  \
		name##_lock();                                          \
		both();                                                 \
		name##_unlock();                                        \
		sched_yield();                                          \
		beside = v + 1;                                         \
	}
#define JOBS(name)                                            \
	{#name, op_##name, is_counted, NULL},                 \
	{#name "_torn", op_##name##_torn, is_any, NULL},      \
	{#name "_beside", op_##name##_beside, is_any, NULL}

/* ---- Drepper's second mutex: 0 free, 1 held, 2 held and somebody may wait ---- */
static atomic_int second;

static int swap(atomic_int *word, int old, int new)
{
	atomic_compare_exchange_strong(word, &old, new);
	return old;
}

static void second_lock(void)
{
	int c = swap(&second, 0, 1);

	if (c != 0)
		do
			if (c == 2 || swap(&second, 1, 2) != 0)
				futex_wait(&second, 2);
		while ((c = swap(&second, 0, 2)) != 0);
}

static void second_unlock(void)
{
	if (atomic_fetch_sub(&second, 1) != 1) {
		atomic_store(&second, 0);
		futex_wake(&second, 1);
	}
}
USES(second)

/* ---- his third ---- */
static atomic_int third;

static void third_lock(void)
{
	int c = swap(&third, 0, 1);

	if (c == 0)
		return;
	if (c != 2)
		c = atomic_exchange(&third, 2);
	while (c != 0) {
		futex_wait(&third, 2);
		c = atomic_exchange(&third, 2);
	}
}

static void third_unlock(void)
{
	if (atomic_exchange(&third, 0) == 2)
		futex_wake(&third, 1);
}
USES(third)

/* ---- a semaphore that counts who waits in a word of its own ---- */
static atomic_int units = 1, waiters;

static void counted_lock(void)
{
	for (;;) {
		int v = atomic_load(&units);
		while (v > 0)
			if (atomic_compare_exchange_weak(&units, &v, v - 1))
				return;
		atomic_fetch_add(&waiters, 1);
		futex_wait(&units, 0);
		atomic_fetch_sub(&waiters, 1);
	}
}

static void counted_unlock(void)
{
	atomic_fetch_add(&units, 1);
	if (atomic_load(&waiters))
		futex_wake(&units, 1);
}
USES(counted)

/* ---- one that has both in one word: units in the lower half, on which threads wait ---- */
static _Atomic uint64_t halves = 1;
#define ONE_WAITER (UINT64_C(1) << 32)

static void halves_lock(void)
{
	uint64_t v = atomic_fetch_add(&halves, ONE_WAITER) + ONE_WAITER;

	for (;;) {
		if ((uint32_t)v == 0) {
			futex_wait(&halves, 0);
			v = atomic_load(&halves);
		} else if (atomic_compare_exchange_weak(&halves, &v, v - 1 - ONE_WAITER)) {
			return;
		}
	}
}

static void halves_unlock(void)
{
	if (atomic_fetch_add(&halves, 1) >> 32)
		futex_wake(&halves, 1);
}
USES(halves)

/* ---- readers and a writer in one word, with a mark, and a count beside it, for those who wait (as musl's) ---- */
enum { WRITER = 0x7fffffff };
static atomic_int rw;
static atomic_int rw_waiters;

static void rw_sleep(int seen)
{
	const int marked = (int)((unsigned)seen | 0x80000000u);

	atomic_fetch_add(&rw_waiters, 1);
	atomic_compare_exchange_strong(&rw, &seen, marked);
	futex_wait(&rw, marked);
	atomic_fetch_sub(&rw_waiters, 1);
}

static void rw_lock(void)
{
	int v;

	while ((v = swap(&rw, 0, WRITER)) != 0)
		rw_sleep(v);
}

static void rw_lock_shared(void)
{
	for (;;) {
		int v = atomic_load(&rw);
		if ((v & 0x7fffffff) == WRITER)
			rw_sleep(v);
		else if (atomic_compare_exchange_weak(&rw, &v, v + 1))
			return;
	}
}

static void rw_unlock(void)
{
	int v = atomic_load(&rw), waiting, next;

	do {
		const int count = v & 0x7fffffff;
		waiting = atomic_load(&rw_waiters);
		next = count == WRITER || count == 1 ? 0 : v - 1;
	} while (!atomic_compare_exchange_weak(&rw, &v, next));
	if (next == 0 && (waiting || v < 0))
		futex_wake(&rw, INT_MAX);
}
USES(rw)

static void *rw_wait(void *unused)
{
	rw_lock();
	rw_unlock();
	return unused;
}

/* Somebody waits before others read together: that a word is waited on is known from the first call on. */
static void make_readers(unsigned threads)
{
	pthread_t thread;

	(void)threads;
	rw_lock();
	if (pthread_create(&thread, NULL, rw_wait, NULL) != 0)
		exit(3);
	while (!atomic_load(&rw_waiters))
		sched_yield();
	rw_unlock();
	pthread_join(thread, NULL);
}

static long left, right;

NOINLINE static void op_write(void)
{
	rw_lock();
	left++;
	right++;
	rw_unlock();
}

NOINLINE static long op_read(void)
{
	rw_lock_shared();
	const long l = left;
	sched_yield();
	const long r = right;
	rw_unlock();
	return l - r;
}

static void readers(unsigned who, unsigned round)
{
	if ((who + round) % 3 == 0)
		op_write();
	else if (op_read() != 0)
		abort();
}

/* Reads the two halves under two locks of their own. */
NOINLINE static long op_read_torn(void)
{
	rw_lock_shared();
	const long l = left;
	rw_unlock();
	sched_yield();
	rw_lock_shared();
	const long r = right;
	rw_unlock();
	return l - r;
}

static long unequal;

static void readers_torn(unsigned who, unsigned round)
{
	if ((who + round) % 3 == 0)
		op_write();
	else
		unequal += op_read_torn();
}

/* ---- an event count: who finds nothing waits until something was put ---- */
static atomic_int events;
long items; /* not static: gcc -fsanitize=thread takes it for unchanged by the calls that atomic operations become */
static long taken;

NOINLINE static void op_put(void)
{
	third_lock();
	items++;
	third_unlock();
	atomic_fetch_add(&events, 1);
	futex_wake(&events, INT_MAX);
}

NOINLINE static int op_try(void)
{
	third_lock();
	const int has = items > 0;
	if (has) {
		items--;
		taken++;
	}
	third_unlock();
	return has;
}

static void event(unsigned who, unsigned round)
{
	(void)round;
	if (who == 0)
		op_put();
	else if (who == 1)
		for (int seen = atomic_load(&events); !op_try(); seen = atomic_load(&events))
			futex_wait(&events, seen);
}

/* Looks, lets go, and takes without looking again. */
NOINLINE static void op_take_torn(void)
{
	third_lock();
	const long seen = items;
	third_unlock();
	sched_yield();
	if (seen == 0)
		return;
	third_lock();
	items = seen - 1;
	third_unlock();
}

static void event_torn(unsigned who, unsigned round)
{
	(void)round;
	if (who == 0)
		op_put();
	else
		op_take_torn();
}

static int is_taken(unsigned threads, unsigned rounds)
{
	(void)threads;
	return taken == (long)rounds && items == 0;
}

/* ---- an account that is booked out and in is no count of those who wait, though somebody is woken behind a look at it ---- */
static atomic_int account = 100, bell;

NOINLINE static void op_move(void)
{
	atomic_fetch_sub(&account, 10);
	sched_yield();
	atomic_fetch_add(&account, 10);
}

static int low;

static void booked(unsigned who, unsigned round)
{
	(void)round;
	if (who)
		op_move();
	else if (atomic_load(&account) < 100) {
		low++;
		atomic_store(&bell, low);
		futex_wake(&bell, 1);
	}
}

int main(int argc, char **argv)
{
	static const struct job jobs[] = {
		JOBS(second), JOBS(third), JOBS(counted), JOBS(halves), JOBS(rw),
		{"readers", readers, is_any, make_readers},
		{"readers_torn", readers_torn, is_any, NULL},
		{"event", event, is_taken, NULL},
		{"event_torn", event_torn, is_any, NULL},
		{"booked_torn", booked, is_any, NULL},
	};
	return team_main(argc, argv, jobs, sizeof jobs / sizeof *jobs);
}
