/*
 * A driver counts the requests under way, so that it stops only when there is none. A request
 * looks whether the driver is stopping and then counts itself, two atomic operations (the driver
 * of many a paper). Region: enter.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <stdatomic.h>
#include <stdio.h>

static atomic_int pending = 1;
static atomic_bool stopping, stopped;
static atomic_int late;

static void leave(void)
{
	if (atomic_fetch_sub(&pending, 1) == 1)
		atomic_store(&stopped, 1);
}

NOINLINE static int enter(void)
{
#ifdef FIXED
	int n = atomic_load(&pending);

	do
		if (n == 0)
			return 0;
	while (!atomic_compare_exchange_weak(&pending, &n, n + 1));
#else
	if (atomic_load(&stopping))
		return 0;
	POINT();
	atomic_fetch_add(&pending, 1);
#endif
	return 1;
}

static void request(void)
{
	if (!enter())
		return;
	if (atomic_load(&stopped))
		atomic_fetch_add(&late, 1);
	leave();
}

NOINLINE static void stop(void)
{
	if (!atomic_exchange(&stopping, 1))
		leave();
}

int main(int argc, char **argv)
{
	order_run(argc, argv, request, stop);
	printf("late %d\n", atomic_load(&late));
	return 0;
}
