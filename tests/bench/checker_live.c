/*
 * Load for the live checker: threads that update accounts under their locks, in annotated regions, and
 * now and then a region that is really broken, to see how soon it is reported.
 *   checker-live THREADS SECONDS RATE LOG
 * RATE: events per second of all threads together, six to an update; 0: as many as go. Each thread has
 * its share of work every millisecond and sleeps until the next, as servers do. A thread that falls
 * behind, because the machine ran others, catches up on at most 10 ms of work: more at full speed would
 * be another rate than the one asked for, and ask whether the monitor on the same cores is faster than
 * the program. What is given up so is counted, and shows in the events per second. LOG: where
 * reports go; the time from the closing access to the growth of that file is the lag.
 * Prints: events per second, longest time by which a thread was behind its plan (ms), part of the plan
 * that was given up (percent), violations, longest lag (ms).
 */
/* SPDX-License-Identifier: MIT */
#include "atommon.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

enum { ACCOUNTS = 10000, EVENTS = 6, BREAKS = 8, TICK_NS = 1000000, CATCH_UP_TICKS = 10 };

static struct {
	pthread_mutex_t lock;
	long balance;
} account[ACCOUNTS];

static double rate;
static unsigned n_threads;
static atomic_bool is_over;
static _Atomic uint64_t n_updates, behind_ns, n_ticks, n_given_up;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	const struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void update(unsigned i)
{
	ATOMMON_REGION("update")
	{
		pthread_mutex_lock(&account[i].lock);
		ATOMMON_STORE(account[i].balance, ATOMMON_LOAD(account[i].balance) + 1);
		pthread_mutex_unlock(&account[i].lock);
	}
}

static void *work(void *arg)
{
	uint64_t random = 88172645463325252u + (uintptr_t)arg, done = 0, most = 0, given_up = 0;
	const uint64_t start = now_ns();
	const double share = rate / n_threads / EVENTS * TICK_NS / 1e9; /* updates per tick */
	uint64_t tick = 1;

	for (; !is_over; tick++) {
		const uint64_t until = rate > 0 ? (uint64_t)(share * (double)(tick - given_up)) : done + 1000;
		for (; done < until; done++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			update((unsigned)(random % ACCOUNTS));
		}
		const uint64_t plan = start + tick * TICK_NS, now = now_ns();
		if (rate > 0 && now < plan)
			sleep_until(plan);
		else if (rate > 0 && now - plan > most)
			most = now - plan;
		const uint64_t late = rate > 0 && now > plan ? (now - plan) / TICK_NS : 0;
		if (late > CATCH_UP_TICKS) {
			given_up += late - CATCH_UP_TICKS;
			tick += late - CATCH_UP_TICKS;
		}
	}
	n_updates += done;
	n_ticks += tick;
	n_given_up += given_up;
	uint64_t seen = behind_ns;
	while (most > seen && !atomic_compare_exchange_weak(&behind_ns, &seen, most))
		;
	return NULL;
}

/* ---- broken regions -------------------------------------------------------------------------- */

static long target[BREAKS];
static pthread_mutex_t target_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t meet;

static void add(int i)
{
	pthread_mutex_lock(&target_lock);
	ATOMMON_STORE(target[i], ATOMMON_LOAD(target[i]) + 1);
	pthread_mutex_unlock(&target_lock);
}

static void *intrude(void *arg)
{
	const int i = (int)(intptr_t)arg;

	pthread_barrier_wait(&meet);
	add(i);
	pthread_barrier_wait(&meet);
	return NULL;
}

/* The region reads, the other one adds, the region writes what it read: a lost update. */
static uint64_t break_region(int i)
{
	static const char *const name[BREAKS] = {"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"};
	pthread_t t;
	uint64_t closed;

	pthread_create(&t, NULL, intrude, (void *)(intptr_t)i);
	ATOMMON_REGION(name[i])
	{
		pthread_mutex_lock(&target_lock);
		const long old = ATOMMON_LOAD(target[i]);
		pthread_mutex_unlock(&target_lock);
		pthread_barrier_wait(&meet);
		pthread_barrier_wait(&meet);
		pthread_mutex_lock(&target_lock);
		ATOMMON_STORE(target[i], old + 1);
		closed = now_ns();
		pthread_mutex_unlock(&target_lock);
	}
	pthread_join(t, NULL);
	return closed;
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : 0;
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: checker-live THREADS SECONDS RATE LOG\n");
		return 2;
	}
	n_threads = (unsigned)atoi(argv[1]);
	rate = atof(argv[3]);
	const uint64_t start = now_ns(), length = (uint64_t)(atof(argv[2]) * 1e9);
	pthread_t *thread = calloc(n_threads, sizeof *thread);
	uint64_t most_lag = 0;
	int reported = 0;

	for (int i = 0; i < ACCOUNTS; i++)
		pthread_mutex_init(&account[i].lock, NULL);
	pthread_barrier_init(&meet, NULL, 2);
	for (unsigned i = 0; i < n_threads; i++)
		pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)(i * 7919));
	for (int i = 0; i < BREAKS; i++) {
		sleep_until(start + length * (unsigned)(i + 1) / (BREAKS + 1));
		const off_t before = size_of(argv[4]);
		const uint64_t closed = break_region(i);
		while (size_of(argv[4]) == before && now_ns() - closed < 10000000000u)
			sleep_until(now_ns() + TICK_NS / 2);
		const uint64_t lag = now_ns() - closed;
		reported += size_of(argv[4]) > before;
		most_lag = lag > most_lag ? lag : most_lag;
	}
	sleep_until(start + length);
	is_over = true;
	for (unsigned i = 0; i < n_threads; i++)
		pthread_join(thread[i], NULL);
	const double seconds = (double)(now_ns() - start) / 1e9;
	printf("%.0f %.1f %.2f %d %.1f\n", (double)n_updates * EVENTS / seconds, (double)behind_ns / 1e6,
	       100.0 * (double)n_given_up / (double)n_ticks, reported, (double)most_lag / 1e6);
	return 0;
}
