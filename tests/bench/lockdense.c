/*
 * Lock-dense code: a lock around every 16 read-modify-writes of shared words, in a function that is
 * meant to be atomic. usage: lockdense own|share THREADS SECTIONS
 *   own    each thread has a lock and words of its own
 *   share  all threads use one lock and the same words
 * Prints CPU and wall clock per section in ns, of the whole process (the monitor's thread included).
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS_MAX = 64, WORDS = 16 };

static struct account {
	pthread_mutex_t mutex;
	long word[WORDS];
} __attribute__((aligned(128))) account[THREADS_MAX];

static long sections;
static int is_shared;
static pthread_barrier_t start;

static double seconds(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void post_all(struct account *a, long by)
{
	pthread_mutex_lock(&a->mutex);
#pragma GCC unroll 1
	for (int i = 0; i < WORDS; i++) {
		a->word[i] += by;
		__asm__ volatile("" : : : "memory"); /* one by one, in every build */
	}
	pthread_mutex_unlock(&a->mutex);
}

static void *work(void *arg)
{
	struct account *a = &account[is_shared ? 0 : (long)arg];

	pthread_barrier_wait(&start);
	for (long i = 0; i < sections; i++)
		post_all(a, i & 7);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS_MAX];
	int n;

	if (argc != 4 || (n = atoi(argv[2])) < 1 || n > THREADS_MAX || (sections = atol(argv[3])) < 1) {
		fprintf(stderr, "usage: lockdense own|share THREADS SECTIONS\n");
		return 2;
	}
	is_shared = !strcmp(argv[1], "share");
	for (int i = 0; i < n; i++)
		pthread_mutex_init(&account[i].mutex, NULL);
	pthread_barrier_init(&start, NULL, (unsigned)n);
	const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
	for (long i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)i) != 0)
			return 1;
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	const double total = (double)sections * n;
	printf("%.1f %.1f\n", (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / total * 1e9,
	       (seconds(CLOCK_MONOTONIC) - wall) / total * 1e9);
	return 0;
}
