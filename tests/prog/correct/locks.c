/* Locks made by hand of atomic operations, each around two variables that must stay equal. All are right. */
/* SPDX-License-Identifier: MIT */
#include "team.h"

#include <stdatomic.h>

static long a, b; /* what the lock guards */

static void pause_a_bit(void)
{
	for (volatile int i = 0; i < 20; i++) {
	}
}

static void both(void)
{
	a++;
	pause_a_bit();
	b++;
}

static int is_counted(unsigned threads, unsigned rounds)
{
	return a == (long)threads * rounds && b == a;
}

/* ---- test and set ---- */
static atomic_int busy;

NOINLINE static void op_tas(unsigned who, unsigned round)
{
	(void)who, (void)round;
	while (atomic_exchange_explicit(&busy, 1, memory_order_acquire))
		sched_yield();
	both();
	atomic_store_explicit(&busy, 0, memory_order_release);
}

NOINLINE static void op_ttas(unsigned who, unsigned round)
{
	(void)who, (void)round;
	do
		while (atomic_load_explicit(&busy, memory_order_relaxed))
			sched_yield();
	while (atomic_exchange(&busy, 1));
	both();
	atomic_store(&busy, 0);
}

static atomic_flag flag = ATOMIC_FLAG_INIT;

NOINLINE static void op_flag(unsigned who, unsigned round)
{
	(void)who, (void)round;
	while (atomic_flag_test_and_set(&flag))
		pause_a_bit();
	both();
	atomic_flag_clear(&flag);
}

/* ---- compare and exchange, with the owner's name in it ---- */
static atomic_uint owner;
static unsigned depth;

static void enter_owned(unsigned me)
{
	if (atomic_load(&owner) == me) {
		depth++;
		return;
	}
	for (unsigned none = 0; !atomic_compare_exchange_weak(&owner, &none, me); none = 0)
		sched_yield();
	depth = 1;
}

static void leave_owned(void)
{
	if (--depth == 0)
		atomic_store(&owner, 0);
}

NOINLINE static void op_recursive(unsigned who, unsigned round)
{
	(void)round;
	enter_owned(who + 1);
	a++;
	enter_owned(who + 1);
	b++;
	leave_owned();
	leave_owned();
}

NOINLINE static void op_look_then_try(unsigned who, unsigned round)
{
	unsigned none = 0;

	(void)round;
	while (atomic_load(&owner) != 0 || !atomic_compare_exchange_strong(&owner, &none, who + 1)) {
		none = 0;
		sched_yield();
	}
	both();
	atomic_store(&owner, 0);
}

/* ---- a lock that is tried, and given up ---- */

NOINLINE static int op_try(void)
{
	if (atomic_exchange(&busy, 1))
		return 0;
	both();
	atomic_store(&busy, 0);
	return 1;
}

static void try_until(unsigned who, unsigned round)
{
	(void)who, (void)round;
	while (!op_try())
		sched_yield();
}

/* ---- tickets ---- */
static atomic_uint next, serving;

NOINLINE static void op_ticket(unsigned who, unsigned round)
{
	const unsigned mine = atomic_fetch_add(&next, 1);

	(void)who, (void)round;
	while (atomic_load_explicit(&serving, memory_order_acquire) != mine)
		sched_yield();
	both();
	atomic_store_explicit(&serving, mine + 1, memory_order_release);
}

/* ---- a queue of waiters, each looking at the one before it (Craig, Landin and Hagersten) ---- */
struct waiter {
	atomic_int must_wait;
};
static struct waiter waiters[65], *mine[64];
static _Atomic(struct waiter *) tail = &waiters[64];

static void make_waiters(unsigned threads)
{
	for (unsigned i = 0; i < threads; i++)
		mine[i] = &waiters[i];
}

NOINLINE static void op_clh(unsigned who, unsigned round)
{
	struct waiter *me = mine[who];

	(void)round;
	atomic_store_explicit(&me->must_wait, 1, memory_order_relaxed);
	struct waiter *before = atomic_exchange(&tail, me);
	while (atomic_load_explicit(&before->must_wait, memory_order_acquire))
		sched_yield();
	both();
	mine[who] = before;
	atomic_store_explicit(&me->must_wait, 0, memory_order_release);
}

/* ---- as it was done before there were atomics ---- */
static volatile int old_lock;

NOINLINE static void op_old(unsigned who, unsigned round)
{
	(void)who, (void)round;
	while (__sync_lock_test_and_set(&old_lock, 1))
		while (old_lock)
			sched_yield();
	both();
	__sync_lock_release(&old_lock);
}

/* ---- one writer, or any number of readers, in one word ---- */
static atomic_int readers; /* -1: a writer */

NOINLINE static void op_write(void)
{
	for (int none = 0; !atomic_compare_exchange_weak(&readers, &none, -1); none = 0)
		sched_yield();
	both();
	atomic_store(&readers, 0);
}

static long read_both(void)
{
	for (;;) {
		int n = atomic_load(&readers);
		if (n >= 0 && atomic_compare_exchange_weak(&readers, &n, n + 1))
			break;
		sched_yield();
	}
	const long seen = a - b;
	atomic_fetch_sub(&readers, 1);
	return seen;
}

static void write_or_read(unsigned who, unsigned round)
{
	(void)who, (void)round;
	op_write();
	if (read_both() != 0)
		abort();
}

/* ---- sequence locks ---- */
static atomic_uint sequence;
static atomic_long x, y;
static pthread_mutex_t writers = PTHREAD_MUTEX_INITIALIZER;

NOINLINE static void op_publish(void)
{
	pthread_mutex_lock(&writers);
	const unsigned s = atomic_load_explicit(&sequence, memory_order_relaxed);
	atomic_store_explicit(&sequence, s + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	const long v = atomic_load_explicit(&x, memory_order_relaxed) + 1;
	atomic_store_explicit(&x, v, memory_order_relaxed);
	pause_a_bit();
	atomic_store_explicit(&y, v, memory_order_relaxed);
	atomic_store_explicit(&sequence, s + 2, memory_order_release);
	pthread_mutex_unlock(&writers);
}

NOINLINE static long op_snapshot(void)
{
	unsigned before, after;
	long one, two;

	do {
		while ((before = atomic_load_explicit(&sequence, memory_order_acquire)) & 1)
			sched_yield();
		one = atomic_load_explicit(&x, memory_order_relaxed);
		two = atomic_load_explicit(&y, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		after = atomic_load_explicit(&sequence, memory_order_relaxed);
	} while (before != after);
	return one - two;
}

static void publish_or_look(unsigned who, unsigned round)
{
	(void)round;
	if (who == 0)
		op_publish();
	else if (op_snapshot() != 0)
		abort();
}

static int is_published(unsigned threads, unsigned rounds)
{
	(void)threads;
	return x == (long)rounds && y == x;
}

/* ---- a mutex that is tried again and again ---- */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

NOINLINE static void op_trylock(unsigned who, unsigned round)
{
	(void)who, (void)round;
	while (pthread_mutex_trylock(&mutex) != 0)
		sched_yield();
	both();
	pthread_mutex_unlock(&mutex);
}

/* ---- reader-writer locks of the library, spin locks of the library ---- */
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

NOINLINE static void op_rwlock(unsigned who, unsigned round)
{
	if ((who + round) % 3 == 0) {
		pthread_rwlock_wrlock(&rwlock);
		both();
		pthread_rwlock_unlock(&rwlock);
	} else {
		pthread_rwlock_rdlock(&rwlock);
		if (a != b)
			abort();
		pthread_rwlock_unlock(&rwlock);
	}
}

static int is_equal(unsigned threads, unsigned rounds)
{
	(void)threads, (void)rounds;
	return a == b;
}

static pthread_spinlock_t spin;

static void make_spin(unsigned threads)
{
	(void)threads;
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
}

NOINLINE static void op_spin(unsigned who, unsigned round)
{
	(void)who, (void)round;
	pthread_spin_lock(&spin);
	both();
	pthread_spin_unlock(&spin);
}

/* ---- a hand-made lock inside another one ---- */
NOINLINE static void op_nested(unsigned who, unsigned round)
{
	pthread_mutex_lock(&mutex);
	a++;
	while (atomic_exchange(&busy, 1))
		sched_yield();
	b++;
	atomic_store(&busy, 0);
	pthread_mutex_unlock(&mutex);
	(void)who, (void)round;
}

int main(int argc, char **argv)
{
	static const struct job jobs[] = {
		{"tas", op_tas, is_counted, NULL},
		{"ttas", op_ttas, is_counted, NULL},
		{"flag", op_flag, is_counted, NULL},
		{"recursive", op_recursive, is_counted, NULL},
		{"look_then_try", op_look_then_try, is_counted, NULL},
		{"try", try_until, is_counted, NULL},
		{"ticket", op_ticket, is_counted, NULL},
		{"clh", op_clh, is_counted, make_waiters},
		{"old", op_old, is_counted, NULL},
		{"readers", write_or_read, is_counted, NULL},
		{"seqlock", publish_or_look, is_published, NULL},
		{"trylock", op_trylock, is_counted, NULL},
		{"rwlock", op_rwlock, is_equal, NULL},
		{"spin", op_spin, is_counted, make_spin},
		{"nested", op_nested, is_counted, NULL},
	};

	return team_main(argc, argv, jobs, sizeof jobs / sizeof *jobs);
}
