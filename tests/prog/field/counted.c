/*
 * A counter that others add to while a region is at work. usage: counted REGION ORDER. Regions: look reads it twice, twice uses
 * what its additions give back: both are wrong in the bad order. silent adds and subtracts, and nobody looks: right.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <stdatomic.h>

static atomic_int n;
static volatile int sink;

NOINLINE static void look(void)
{
	const int before = atomic_load(&n);
	atomic_fetch_add(&n, 1);
	order_point();
	sink = atomic_load(&n) - before;
}

NOINLINE static void twice(void)
{
	sink = atomic_fetch_add(&n, 1);
	order_point();
	sink = atomic_fetch_add(&n, 1);
}

NOINLINE static void silent(void)
{
	atomic_fetch_add(&n, 1);
	order_point();
	atomic_fetch_sub(&n, 1);
}

NOINLINE static void other(void)
{
	atomic_fetch_add(&n, 1);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	order_run(argc - 1, argv + 1, argv[1][0] == 'l' ? look : argv[1][0] == 't' ? twice : silent, other);
	return 0;
}
