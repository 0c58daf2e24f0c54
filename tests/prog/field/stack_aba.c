/*
 * A stack without locks: pop reads the top and what is below it, and exchanges them if the top is
 * still the same. It may be the same again, with something else below. Right: a counter beside the
 * pointer. Region: pop.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { NODES = 8, NONE = 0xff };
static struct {
	_Atomic uint8_t next;
	int value;
} nodes[NODES];
#ifdef FIXED
static _Atomic uint32_t top = NONE; /* index in the low byte, counter above */
#define MAKE(old, index) ((((old) >> 8) + 1) << 8 | (index))
#else
static _Atomic uint32_t top = NONE;
#define MAKE(old, index) (index)
#endif

NOINLINE static void push(unsigned index)
{
	uint32_t old = atomic_load(&top);

	do
		atomic_store(&nodes[index].next, (uint8_t)old);
	while (!atomic_compare_exchange_weak(&top, &old, MAKE(old, index)));
}

NOINLINE static unsigned pop(void)
{
	uint32_t old = atomic_load(&top);
	unsigned index, below;

	do {
		index = old & 0xff;
		if (index == NONE)
			return NONE;
		below = atomic_load(&nodes[index].next);
		POINT();
	} while (!atomic_compare_exchange_weak(&top, &old, MAKE(old, below)));
	return index;
}

static void first(void)
{
	const unsigned a = pop();

	if (a != NONE)
		push(a);
}

static void second(void)
{
	const unsigned a = pop(), b = pop();

	if (a != NONE)
		push(a);
	(void)b; /* in use by this thread from here on */
}

int main(int argc, char **argv)
{
	for (unsigned i = 0; i < NODES; i++)
		push(i);
	order_run(argc, argv, first, second);
	printf("top %u\n", (unsigned)(atomic_load(&top) & 0xff));
	return 0;
}
