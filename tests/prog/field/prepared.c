/*
 * A count that is taken by compare-and-exchange, something written between the look and the exchange, and given back: it may be
 * what it was again, which is right. LOST: taken by a store, which is wrong. Region: take.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <stdatomic.h>
#include <stdio.h>

static atomic_int users;
static int note[2];

NOINLINE static void take(int *own)
{
	int old = atomic_load(&users);

#ifdef LOST
	*own = old;
	atomic_store(&users, old + 1);
#else
	do
		*own = old;
	while (!atomic_compare_exchange_strong(&users, &old, old + 1));
#endif
}

NOINLINE static void give(void)
{
	atomic_fetch_sub(&users, 1);
}

static void first(void)
{
	take(&note[0]);
	give();
}

static void second(void)
{
	take(&note[1]);
	give();
}

int main(int argc, char **argv)
{
	order_run(argc, argv, first, second);
	printf("%d\n", atomic_load(&users));
	return 0;
}
