/* Wang et al., Fig. 6: T1 runs a region {x := 0; a := x + 1}, then if (a = 1) x := 2; then T2
 * x := 3; b := x. The order is forced: T2 goes on after T1. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "atommon.h"
#include "turn.h"

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
	turn_give();
	return arg;
}

static void *second(void *arg)
{
	turn_take();
	x = 3;
	b = x;
	return arg;
}

int main(void)
{
	pthread_t t1, t2;

	turn_init();
	pthread_create(&t1, 0, first, 0);
	pthread_create(&t2, 0, second, 0);
	pthread_join(t1, 0);
	pthread_join(t2, 0);
	return 0;
}
