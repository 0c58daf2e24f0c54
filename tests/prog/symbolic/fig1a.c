/* Wang et al., Fig. 1(a): x = 0; T1 runs a region {a := x; x := a + 1}, then T2 { b := x;
 * if (b > 0) x := 5 }. -DAT_LEAST: the variant with >=. The order is forced: T2 starts after T1. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "atommon.h"

int x;

static void *first(void *arg)
{
	ATOMMON_REGION("t1")
	{
		const int a = x;
		x = a + 1;
	}
	return arg;
}

static void *second(void *arg)
{
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
	pthread_t t;

	pthread_create(&t, 0, first, 0);
	pthread_join(t, 0);
	pthread_create(&t, 0, second, 0);
	pthread_join(t, 0);
	return 0;
}
