/* SPDX-License-Identifier: MIT */
/*
 * Correct programs, several to a file: `PROGRAM NAME [THREADS [ROUNDS]]` runs one, without arguments it lists them.
 * THREADS threads do body(who, round) ROUNDS times; functions that begin with op_ are meant to be atomic, and are.
 * At the end `is_right` tells whether the result is what it must be: a checker that disturbs would be
 * noticed, too.
 */
#ifndef TEAM_H
#define TEAM_H

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

struct job {
	const char *name;
	void (*body)(unsigned who, unsigned round);
	int (*is_right)(unsigned threads, unsigned rounds);
	void (*setup)(unsigned threads);
};

struct worker {
	const struct job *job;
	pthread_t thread;
	unsigned who, rounds;
};

static pthread_barrier_t team_start;

static void *team_work(void *arg)
{
	struct worker *w = (struct worker *)arg;

	pthread_barrier_wait(&team_start);
	for (unsigned i = 0; i < w->rounds; i++)
		w->job->body(w->who, i);
	return NULL;
}

static int team_main(int argc, char **argv, const struct job *jobs, unsigned n)
{
	static struct worker workers[64];
	const unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 3;
	const unsigned rounds = argc > 3 ? (unsigned)atoi(argv[3]) : 100;

	for (unsigned i = 0; i < n; i++) {
		if (argc < 2) {
			puts(jobs[i].name);
			continue;
		}
		if (strcmp(argv[1], jobs[i].name) != 0)
			continue;
		if (jobs[i].setup)
			jobs[i].setup(threads);
		pthread_barrier_init(&team_start, NULL, threads);
		for (unsigned t = 0; t < threads; t++) {
			workers[t].job = &jobs[i];
			workers[t].who = t;
			workers[t].rounds = rounds;
			if (pthread_create(&workers[t].thread, NULL, team_work, &workers[t]) != 0)
				return 3;
		}
		for (unsigned t = 0; t < threads; t++)
			pthread_join(workers[t].thread, NULL);
		return !jobs[i].is_right(threads, rounds);
	}
	return argc < 2 ? 0 : 2;
}

#endif
