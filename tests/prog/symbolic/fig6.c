/* Wang et al., Fig. 6: T1 runs a region {x := 0; a := x + 1}, then if (a = 1) x := 2; then T2
 * x := 3; b := x. The order is forced: T2 starts after T1. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "atommon.h"

int x, b;

static void *first(void *arg)
{
	int a = 0;

	ATOMMON_REGION("t1")
	{
		x = 0;
		a = x + 1;
	}
	if (a == 1)
		x = 2;
	return arg;
}

static void *second(void *arg)
{
	x = 3;
	b = x;
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, 0, first, 0);
	pthread_join(t, 0);
	pthread_create(&t, 0, second, 0);
	pthread_join(t, 0);
	return 0;
}
