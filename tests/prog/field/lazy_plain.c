/*
 * An object that is made by whoever needs it first: a plain look, and an exchange that fails if another was faster. In the bad order both threads
 * make one, and the slower drops its own. That is right, also if both count what they made under a lock (-DCOUNT). Mistakes: -DSTORE, the
 * exchange is a store; -DAGAIN, there is none, but a second look, that is taken for the first; -DOTHER, the attempt that fails is on another
 * variable; -DSUM, a sum is read before and written after. With -DATOMIC beside, the look is atomic. Region: get.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int *object, *second;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count, sum;
static volatile int sink;

static int *make(void)
{
	int *made = malloc(sizeof *made);

	*made = 1;
#ifdef COUNT
	pthread_mutex_lock(&lock);
	count++;
	pthread_mutex_unlock(&lock);
#endif
	return made;
}

#if defined STORE
static int *find(void)
{
	if (!object) {
		order_point();
		object = make();
		__sync_bool_compare_and_swap(&second, NULL, object);
	}
	return object;
}
#elif defined AGAIN
static int *find(void)
{
	const int was_there = object != NULL;

	order_point();
	if (__atomic_load_n(&second, __ATOMIC_RELAXED) == NULL)
		__sync_bool_compare_and_swap(&object, NULL, make());
	__sync_bool_compare_and_swap(&second, NULL, object);
	sink = was_there && *object;
	return object;
}
#elif defined OTHER
static int *find(void)
{
	if (!object) {
		int *made = make();
		order_point();
		if (!__sync_bool_compare_and_swap(&second, NULL, made)) {
			free(made);
			return object;
		}
		__sync_bool_compare_and_swap(&object, NULL, made);
	}
	return object;
}
#else
#ifdef ATOMIC
#define LOOK() __atomic_load_n(&object, __ATOMIC_ACQUIRE)
#else
#define LOOK() object
#endif
static int *find(void)
{
	if (!LOOK()) {
#ifdef COUNT
		order_point();
#endif
		int *made = make();
		order_point();
		if (!__sync_bool_compare_and_swap(&object, NULL, made))
			free(made);
	}
	return LOOK();
}
#endif

static int read_sum(void)
{
	pthread_mutex_lock(&lock);
	const int seen = sum;
	pthread_mutex_unlock(&lock);
	return seen;
}

static void write_sum(int value)
{
	pthread_mutex_lock(&lock);
	sum = value;
	pthread_mutex_unlock(&lock);
}

NOINLINE static void get(void)
{
#ifdef SUM
	const int seen = read_sum();
	write_sum(seen + *find());
#else
	sink = *find();
#endif
}

int main(int argc, char **argv)
{
	order_run(argc, argv, get, get);
	printf("object %d, count %d, sum %d\n", *object, count, read_sum());
	write_sum(0);
	return 0;
}
