/* See order.h. Never instrumented. */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 3 };

static bool is_bad, is_free, was_here;
static int turn[MOST + 1][2]; /* the last: the first thread may go on */
static order_body *bodies[MOST];
static int threads_n, rounds = 1;

static void tell(const int *pipe_ends)
{
	if (write(pipe_ends[1], "x", 1) != 1)
		abort();
}

static void await(const int *pipe_ends)
{
	char c;

	if (read(pipe_ends[0], &c, 1) != 1)
		abort();
}

void order_point(void)
{
	if (!is_bad || was_here)
		return;
	was_here = true;
	tell(turn[1]);
	await(turn[threads_n]);
}

void order_spin(void)
{
	static int turns;

	if (is_bad && __atomic_add_fetch(&turns, 1, __ATOMIC_RELAXED) == 3)
		tell(turn[threads_n]);
	sched_yield();
}

static void *body(void *number)
{
	const int me = (int)(long)number;

	if (me > 0 && !is_free)
		await(turn[me]);
	for (int i = 0; i < rounds; i++)
		bodies[me]();
	if (is_free || (me == 0 && was_here))
		return NULL;
	if (me + 1 < threads_n || is_bad)
		tell(turn[me + 1]);
	return NULL;
}

static void run(int argc, char **argv)
{
	const char *order = argc > 1 ? argv[1] : "free";
	pthread_t threads[MOST];

	is_bad = strcmp(order, "bad") == 0;
	is_free = strcmp(order, "free") == 0;
	if (is_free && argc > 2)
		rounds = atoi(argv[2]);
	for (int i = 0; i <= threads_n; i++)
		if (pipe(turn[i]) != 0)
			abort();
	for (int i = 0; i < threads_n; i++)
		pthread_create(&threads[i], NULL, body, (void *)(long)i);
	for (int i = 0; i < threads_n; i++)
		pthread_join(threads[i], NULL);
}

void order_run(int argc, char **argv, order_body *first, order_body *second)
{
	bodies[0] = first;
	bodies[1] = second;
	threads_n = 2;
	run(argc, argv);
}

void order_run3(int argc, char **argv, order_body *first, order_body *second, order_body *third)
{
	bodies[2] = third;
	bodies[0] = first;
	bodies[1] = second;
	threads_n = 3;
	run(argc, argv);
}
