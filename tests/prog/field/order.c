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

static bool is_bad, is_free, was_here;
static int go[2], done[2];
static order_body *bodies[2];

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
	tell(go);
	await(done);
}

void order_spin(void)
{
	static int turns;

	if (is_bad && __atomic_add_fetch(&turns, 1, __ATOMIC_RELAXED) == 3)
		tell(done);
	sched_yield();
}

static void *first(void *unused)
{
	bodies[0]();
	if (!was_here && !is_free)
		tell(go);
	return unused;
}

static void *second(void *unused)
{
	if (!is_free)
		await(go);
	bodies[1]();
	if (is_bad)
		tell(done);
	return unused;
}

void order_run(int argc, char **argv, order_body *a, order_body *b)
{
	const char *order = argc > 1 ? argv[1] : "free";
	pthread_t threads[2];

	is_bad = strcmp(order, "bad") == 0;
	is_free = strcmp(order, "free") == 0;
	bodies[0] = a;
	bodies[1] = b;
	if (pipe(go) != 0 || pipe(done) != 0)
		abort();
	pthread_create(&threads[0], NULL, first, NULL);
	pthread_create(&threads[1], NULL, second, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}
