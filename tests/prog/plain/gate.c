/*
 * A lock that main takes before it starts threads and never lets go, as interpreters do: gate
 * [broken]. Inside, main works in sections of its own; the broken one reads and writes in two, and
 * another thread comes in between, forced by semaphores.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static pthread_mutex_t interpreter = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t count = PTHREAD_MUTEX_INITIALIZER;
static sem_t turn, done;
static int value;

static int look(void)
{
	pthread_mutex_lock(&count);
	const int seen = value;
	pthread_mutex_unlock(&count);
	return seen;
}

static void change(int to)
{
	pthread_mutex_lock(&count);
	value = to;
	pthread_mutex_unlock(&count);
}

static void *other(void *arg)
{
	sem_wait(&turn);
	change(look() + 10);
	sem_post(&done);
	return arg;
}

static void let_other_in(void)
{
	sem_post(&turn);
	sem_wait(&done);
}

static void add_one(int is_broken)
{
	pthread_mutex_lock(&table);
	const int seen = look();
	if (is_broken)
		let_other_in();
	change(seen + 1);
	pthread_mutex_unlock(&table);
}

int main(int argc, char **argv)
{
	const int is_broken = argc > 1;
	pthread_t t;

	(void)argv;
	sem_init(&turn, 0, 0);
	sem_init(&done, 0, 0);
	pthread_mutex_lock(&interpreter);
	pthread_create(&t, NULL, other, NULL);
	add_one(0);
	add_one(is_broken);
	if (!is_broken)
		let_other_in();
	add_one(0);
	pthread_join(t, NULL);
	printf("%d\n", value);
	return 0;
}
