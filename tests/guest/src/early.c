/*
 * Uses locks before our constructor and after our destructor could have run: from the
 * .preinit_array of the program, from constructors of any priority, from atexit handlers and
 * destructors.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int steps;

static void step(void)
{
	pthread_mutex_lock(&m);
	pthread_cond_signal(&c);
	steps++;
	pthread_mutex_unlock(&m);
	pthread_rwlock_rdlock(&rw);
	pthread_rwlock_unlock(&rw);
}

static void *thread(void *unused)
{
	step();
	return unused;
}

static void with_thread(void)
{
	pthread_t t;

	pthread_once(&once, step);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
}

static void preinit(void)
{
	with_thread();
}
__attribute__((section(".preinit_array"), used)) static void (*const at_preinit)(void) = preinit;

__attribute__((constructor(101))) static void first(void)
{
	with_thread();
}

__attribute__((destructor(101))) static void last(void)
{
	with_thread();
	printf("%d steps\n", steps);
	fflush(stdout);
}

int main(void)
{
	atexit(with_thread);
	step();
	return 31;
}
