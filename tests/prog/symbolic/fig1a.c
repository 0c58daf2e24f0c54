/* Wang et al., Fig. 1(a): x = 0; T1 runs a region {a := x; x := a + 1}, then T2 { b := x;
 * if (b > 0) x := 5 }. -DAT_LEAST: the variant with >=. The order is forced: T2 goes on after T1. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "atommon.h"
#include "turn.h"

int x;

static void *first(void *arg)
{
	ATOMMON_REGION("t1")
	{
		const int a = x;
		x = a + 1;
	}
	turn_give();
	return arg;
}

static void *second(void *arg)
{
	turn_take();
	const int b = x;
#ifdef AT_LEAST
	if (b >= 0)
#else
	if (b > 0)
#endif
		x = 5;
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
