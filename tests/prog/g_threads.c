/*
 * Lives and deaths of threads and processes: g_threads sequence|live|mainexit|exit|_exit|quick|
 * abort|detach|tsd|smallstack|timedjoin|busy [N]. Prints a line that depends on every thread having run.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static sem_t go;
static long total, arrived;
static int parked;

static void *add(void *n)
{
	pthread_mutex_lock(&m);
	total += (long)n;
	pthread_mutex_unlock(&m);
	return n;
}

static void *wait_for_all(void *n)
{
	pthread_mutex_lock(&m);
	total += (long)n;
	arrived++;
	pthread_cond_broadcast(&c);
	while (!parked)
		pthread_cond_wait(&c, &m);
	pthread_mutex_unlock(&m);
	return n;
}

static int sequence(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++) {
		pthread_t t;
		void *r;
		if (pthread_create(&t, NULL, add, (void *)i) || pthread_join(t, &r))
			return 1;
		sum += (long)r;
	}
	printf("%ld %ld\n", total, sum);
	return 0;
}

static int live(long n)
{
	pthread_t *t = calloc((size_t)n, sizeof *t);
	pthread_attr_t a;
	long sum = 0, made = 0;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 65536);
	for (; made < n; made++)
		if (pthread_create(&t[made], &a, wait_for_all, (void *)made))
			break;
	pthread_mutex_lock(&m);
	while (arrived < made)
		pthread_cond_wait(&c, &m);
	parked = 1;
	pthread_cond_broadcast(&c);
	pthread_mutex_unlock(&m);
	for (long i = 0; i < made; i++) {
		void *r;
		pthread_join(t[i], &r);
		sum += (long)r;
	}
	printf("%ld threads, %ld %ld\n", made, total, sum);
	free(t);
	return 0;
}

static void *last_words(void *how)
{
	sem_wait(&go);
	pthread_mutex_lock(&m);
	printf("last thread\n");
	pthread_mutex_unlock(&m);
	fflush(stdout);
	if (!strcmp(how, "exit"))
		exit(31);
	if (!strcmp(how, "_exit"))
		_exit(32);
	if (!strcmp(how, "quick"))
		quick_exit(33);
	if (!strcmp(how, "abort")) {
		const struct rlimit none = {0, 0};
		setrlimit(RLIMIT_CORE, &none);
		abort();
	}
	return NULL;
}

static void at_exit(void)
{
	pthread_mutex_lock(&m);
	printf("atexit handler\n");
	pthread_mutex_unlock(&m);
}

static pthread_key_t key;
static int rounds;
static long last_round = PTHREAD_DESTRUCTOR_ITERATIONS;

/* Runs in the dying thread, several times over, and still locks. */
static void tsd_destructor(void *value)
{
	pthread_mutex_lock(&m);
	rounds++;
	total++;
	pthread_mutex_unlock(&m);
	if ((long)value < last_round)
		pthread_setspecific(key, (void *)((long)value + 1));
}

static void *with_tsd(void *unused)
{
	pthread_setspecific(key, (void *)1);
	return add(unused);
}

static void *leave_by_exit(void *n)
{
	add(n);
	pthread_exit(n);
}

static void *on_small_stack(void *unused)
{
	volatile char room[4096];

	memset((char *)room, 1, sizeof room);
	return add(unused);
}

static int small_stack(void)
{
	pthread_attr_t a;
	pthread_t t;

	pthread_attr_init(&a);
	printf("set: %d\n", pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN));
	const int r = pthread_create(&t, &a, on_small_stack, (void *)4);
	printf("create: %d\n", r);
	if (!r)
		pthread_join(t, NULL);
	printf("%ld\n", total);
	return 0;
}

static void *posting(void *unused)
{
	sem_wait(&go);
	return unused;
}

static int timed_join(void)
{
	const struct timespec past = {.tv_sec = 1};
	struct timespec far = {.tv_sec = time(NULL) + 1000};
	pthread_t t;
	void *r = &t;

	pthread_create(&t, NULL, posting, NULL);
	printf("tryjoin: %d\n", pthread_tryjoin_np(t, &r));
	printf("timedjoin: %d\n", pthread_timedjoin_np(t, &r, &past));
	printf("clockjoin: %d\n", pthread_clockjoin_np(t, &r, CLOCK_MONOTONIC, &past));
	printf("self join: %d\n", pthread_join(pthread_self(), NULL));
	sem_post(&go);
	printf("timedjoin: %d\n", pthread_timedjoin_np(t, &r, &far));
	printf("value: %p\n", r);
	return 0;
}

static pthread_mutex_t busy_lock = PTHREAD_MUTEX_INITIALIZER;
static long begun;

static void *lock_for_ever(void *unused)
{
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

	for (long i = 0;; i++) {
		pthread_mutex_t *which = i % 3 ? &busy_lock : &own;
		pthread_mutex_lock(which);
		pthread_mutex_unlock(which);
		if (i == 1000)
			__atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
	}
	return unused;
}

/* The process leaves while its threads lock all the time. */
static int leave_busy(long n)
{
	pthread_t t;

	for (long i = 0; i < n; i++)
		pthread_create(&t, NULL, lock_for_ever, NULL);
	while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < n)
		sched_yield();
	printf("%ld threads\n", n);
	return 8;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "sequence";
	const long n = argc > 2 ? atol(argv[2]) : 100;
	pthread_t t;

	sem_init(&go, 0, 0);
	if (!strcmp(how, "sequence"))
		return sequence(n);
	if (!strcmp(how, "live"))
		return live(n);
	if (!strcmp(how, "busy"))
		return leave_busy(n);
	if (!strcmp(how, "smallstack"))
		return small_stack();
	if (!strcmp(how, "timedjoin"))
		return timed_join();
	if (!strcmp(how, "tsd")) {
		last_round = argc > 2 ? n : last_round;
		pthread_key_create(&key, tsd_destructor);
		pthread_create(&t, NULL, with_tsd, (void *)5);
		pthread_join(t, NULL);
		printf("%ld after %d destructor rounds\n", total, rounds);
		return 0;
	}
	if (!strcmp(how, "detach")) {
		for (long i = 0; i < n; i++) {
			pthread_create(&t, NULL, wait_for_all, (void *)i);
			pthread_detach(t);
		}
		pthread_create(&t, NULL, leave_by_exit, (void *)1);
		pthread_join(t, NULL);
		pthread_mutex_lock(&m);
		while (arrived < n)
			pthread_cond_wait(&c, &m);
		printf("%ld\n", total);
		return 7; /* while the detached threads are still waiting, the mutex held */
	}
	atexit(at_exit);
	at_quick_exit(at_exit);
	pthread_create(&t, NULL, last_words, (void *)how);
	if (!strcmp(how, "mainexit")) {
		printf("main leaves\n");
		fflush(stdout);
		sem_post(&go);
		pthread_exit(NULL);
	}
	sem_post(&go);
	pthread_join(t, NULL);
	return 99;
}
