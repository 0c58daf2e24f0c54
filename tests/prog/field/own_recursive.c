/*
 * A lock that its owner may take again, made by hand of a mutex, an owner and a depth (an embedded
 * database did so before its systems had recursive ones). Leaving it resets the depth after the
 * mutex is free: that of the next owner. Region: leave.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t main_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t aux = PTHREAD_MUTEX_INITIALIZER;
static pthread_t owner;
static int owned, depth;
static long rows;

NOINLINE static void enter(void)
{
	pthread_mutex_lock(&aux);
	if (owned && pthread_equal(owner, pthread_self())) {
		depth++;
		pthread_mutex_unlock(&aux);
		return;
	}
	pthread_mutex_unlock(&aux);
	pthread_mutex_lock(&main_mutex);
	pthread_mutex_lock(&aux);
	owner = pthread_self();
	owned = 1;
	depth = 1;
	pthread_mutex_unlock(&aux);
}

NOINLINE static void leave(void)
{
	pthread_mutex_lock(&aux);
	const int is_last = depth == 1;
	if (!is_last)
		depth--;
	WHEN_FIXED(if (is_last) owned = depth = 0);
	pthread_mutex_unlock(&aux);
	if (!is_last)
		return;
	pthread_mutex_unlock(&main_mutex);
	POINT();
#ifndef FIXED
	pthread_mutex_lock(&aux);
	owned = 0;
	depth = 0;
	pthread_mutex_unlock(&aux);
#endif
}

static void statement(void)
{
	enter();
	enter();
	rows++;
	leave();
	leave();
}

int main(int argc, char **argv)
{
	order_run(argc, argv, statement, statement);
	printf("rows %ld depth %d\n", rows, depth);
	return 0;
}
