/* Wang et al., Fig. 1(b): T1 runs a region {x := 1; a := x + 1}, then signals; T2 waits, then
 * x := 3. T2 waits first, so that the signal is not lost. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "atommon.h"

int x, a;
static int is_waiting;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER, ready = PTHREAD_COND_INITIALIZER;

static void *first(void *arg)
{
	ATOMMON_REGION("t1")
	{
		x = 1;
		a = x + 1;
	}
	pthread_mutex_lock(&m);
	pthread_cond_signal(&c);
	pthread_mutex_unlock(&m);
	return arg;
}

static void *second(void *arg)
{
	pthread_mutex_lock(&m);
	is_waiting = 1;
	pthread_cond_signal(&ready);
	pthread_cond_wait(&c, &m);
	pthread_mutex_unlock(&m);
	x = 3;
	return arg;
}

int main(void)
{
	pthread_t t1, t2;

	pthread_mutex_lock(&m);
	pthread_create(&t2, 0, second, 0);
	while (!is_waiting)
		pthread_cond_wait(&ready, &m);
	pthread_mutex_unlock(&m);
	pthread_create(&t1, 0, first, 0);
	pthread_join(t1, 0);
	pthread_join(t2, 0);
	return 0;
}
