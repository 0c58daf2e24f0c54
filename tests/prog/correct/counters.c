/*
 * Counters beside the lock: each operation is atomic but for atomic additions whose results nobody uses, before, between and
 * behind what it does under the lock. All are right.
 */
/* SPDX-License-Identifier: MIT */
#include "team.h"

#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long guarded;
static struct {
	int before; /* in the same word as a counter */
	atomic_int tried;
	atomic_ulong done, bytes;
	unsigned old, older;
	long gauge;
} stats;
static atomic_uint flags;

static void work(void)
{
	pthread_mutex_lock(&lock);
	guarded++;
	stats.before++;
	pthread_mutex_unlock(&lock);
}

NOINLINE static void op_relaxed(unsigned who, unsigned round)
{
	(void)who;
	atomic_fetch_add_explicit(&stats.tried, 1, memory_order_relaxed);
	work();
	atomic_fetch_add_explicit(&stats.done, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&stats.bytes, round, memory_order_relaxed);
}

NOINLINE static void op_plus_plus(unsigned who, unsigned round)
{
	(void)who, (void)round;
	stats.tried++;
	work();
	stats.tried--;
	stats.done++;
}

/* A gauge goes up and down; adding and subtracting commute. */
NOINLINE static void op_gauge(unsigned who, unsigned round)
{
	(void)who;
	__atomic_add_fetch(&stats.gauge, 5, __ATOMIC_RELAXED);
	work();
	__atomic_sub_fetch(&stats.gauge, 5, __ATOMIC_RELAXED);
	if (round & 1)
		__sync_fetch_and_add(&stats.old, 1);
	else
		__sync_add_and_fetch(&stats.older, 1);
}

NOINLINE static void op_flags(unsigned who, unsigned round)
{
	atomic_fetch_or(&flags, 1u << (who + 8 * (round % 4)));
	work();
	atomic_fetch_or(&flags, 1u << 31 >> (round % 3));
}

/* In a loop, and in a branch. */
NOINLINE static void op_many(unsigned who, unsigned round)
{
	for (unsigned i = 0; i < 3 + round % 3; i++)
		atomic_fetch_add(&stats.bytes, i + 1);
	work();
	if (who & 1)
		atomic_fetch_add(&stats.done, 2);
	else
		atomic_fetch_add(&stats.done, 1);
}

static int is_counted(unsigned threads, unsigned rounds)
{
	return guarded == (long)threads * rounds && stats.before == (int)guarded;
}

static int is_done(unsigned threads, unsigned rounds)
{
	return is_counted(threads, rounds) && atomic_load(&stats.done) == (unsigned long)guarded;
}

static int is_level(unsigned threads, unsigned rounds)
{
	return is_counted(threads, rounds) && stats.gauge == 0;
}

static const struct job jobs[] = {
	{"relaxed", op_relaxed, is_done, NULL},
	{"plus_plus", op_plus_plus, is_done, NULL},
	{"gauge", op_gauge, is_level, NULL},
	{"flags", op_flags, is_counted, NULL},
	{"many", op_many, is_counted, NULL},
};

int main(int argc, char **argv)
{
	return team_main(argc, argv, jobs, sizeof jobs / sizeof *jobs);
}
