/* As Wang et al., Fig. 1(a), but T2 decides by what a function of the C library finds in memory, which only the end of T1 puts
 * there: { region { a := x; x := a + 1 } name := "b" }, then if (strcmp(name, "b") == 0) x := 5. -DANYWAY: it is so without T1,
 * too. The order is forced: T2 goes on after T1. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <string.h>

#include "atommon.h"
#include "turn.h"

int x;
#ifdef ANYWAY
char name[16] = "a long b";
#else
char name[16] = "a long a";
#endif

static void *first(void *arg)
{
	ATOMMON_REGION("t1")
	{
		const int a = x;
		x = a + 1;
	}
	name[7] = 'b';
	turn_give();
	return arg;
}

static void *second(void *arg)
{
	turn_take();
	if (strcmp(name, "a long b") == 0)
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
