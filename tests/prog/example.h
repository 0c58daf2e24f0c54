/*
 * Shared by the example programs: arguments, threads, and the order in which they are forced.
 *   PROGRAM [--fixed] [--order free|good|bad] [--threads N] [--size N]
 * good: one thread after the other. bad: thread 0 stops in the middle of its first region
 * (example_pause) until all others are done. free: as it comes. Semaphores force the order; they order
 * nothing that the programs share. With --fixed the mistake is not made, and bad means free, since
 * a correct program cannot be stopped there without a deadlock.
 */
/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <atommon.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLE_THREADS_MAX = 1024 };
enum example_order { EXAMPLE_FREE, EXAMPLE_GOOD, EXAMPLE_BAD };

static struct {
	bool fixed;
	enum example_order order;
	int threads;
	long size;
	void (*body)(int id);
	sem_t go[EXAMPLE_THREADS_MAX + 1], done;
	bool was_paused; /* thread 0's own */
} example;

static void example_parse(int argc, char **argv, int threads, long size)
{
	example.threads = threads;
	example.size = size;
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";
		if (!strcmp(argv[i], "--fixed")) {
			example.fixed = true;
			continue;
		}
		if (!strcmp(argv[i], "--order"))
			example.order = !strcmp(value, "good") ? EXAMPLE_GOOD : !strcmp(value, "bad") ? EXAMPLE_BAD : EXAMPLE_FREE;
		else if (!strcmp(argv[i], "--threads"))
			example.threads = atoi(value);
		else if (!strcmp(argv[i], "--size"))
			example.size = atol(value);
		else
			example.threads = 0;
		i++;
	}
	if (example.threads < 1 || example.threads > EXAMPLE_THREADS_MAX || example.size < 1) {
		fprintf(stderr, "usage: %s [--fixed] [--order free|good|bad] [--threads N] [--size N]\n", argv[0]);
		exit(2);
	}
	if (example.fixed && example.order == EXAMPLE_BAD)
		example.order = EXAMPLE_FREE;
}

/* In the middle of a region: with --order bad, thread 0 lets all others run here, once. */
static inline void example_pause(int id)
{
	if (example.order != EXAMPLE_BAD || id != 0 || example.was_paused)
		return;
	example.was_paused = true;
	for (int i = 1; i < example.threads; i++)
		sem_post(&example.go[i]);
	for (int i = 1; i < example.threads; i++)
		sem_wait(&example.done);
}

static void *example_thread(void *arg)
{
	const int id = (int)(long)arg;

	if (example.order != EXAMPLE_FREE)
		sem_wait(&example.go[id]);
	example.body(id);
	if (example.order == EXAMPLE_GOOD)
		sem_post(&example.go[id + 1]);
	else if (example.order == EXAMPLE_BAD && id != 0)
		sem_post(&example.done);
	return NULL;
}

static void example_run(void (*body)(int id))
{
	static pthread_t thread[EXAMPLE_THREADS_MAX];

	example.body = body;
	sem_init(&example.done, 0, 0);
	for (int i = 0; i <= example.threads; i++)
		sem_init(&example.go[i], 0, i == 0);
	for (int i = 0; i < example.threads; i++)
		pthread_create(&thread[i], NULL, example_thread, (void *)(long)i);
	for (int i = 0; i < example.threads; i++)
		pthread_join(thread[i], NULL);
}

#endif
