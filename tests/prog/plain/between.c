/*
 * A look between any two instructions: one thread releases a lock made by hand under the trap flag, and at one of its
 * instructions, another in each round, the thread that waits for the lock looks at it once more. Both locks are right. Or, `taken`: a third
 * thread has added to a number in a region that stays open, one adds to it under the trap flag, and in
 * between the last does, which comes behind the first in all that it does.
 * usage: between FORM STRIDE, FORM flag, ticket or taken; every STRIDE-th instruction. Regions: add_*.
 */
/* SPDX-License-Identifier: MIT */
#include "between.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static atomic_int busy, next, serving;
static long guarded;

NOINLINE static void add_flag(void)
{
	do
		while (atomic_load(&busy))
			pace();
	while (atomic_exchange(&busy, 1));
	guarded++;
	held();
	steps_begin();
	atomic_store(&busy, 0);
	steps_end();
}

NOINLINE static void add_ticket(void)
{
	const int mine = atomic_fetch_add(&next, 1);

	while (atomic_load(&serving) != mine)
		pace();
	guarded++;
	held();
	steps_begin();
	atomic_store(&serving, mine + 1);
	steps_end();
}

static long sum;

NOINLINE static void add_first(void)
{
	sum += atomic_fetch_add(&next, 1);
	guarded++;
	stay();
}

NOINLINE static void add_taken(void)
{
	if (is_waiter())
		pace();
	held();
	steps_begin();
	const int mine = atomic_fetch_add(&next, 1);
	steps_end();
	if (!is_waiter())
		return;
	guarded += mine > 0;
	pace();
}

int main(int argc, char **argv)
{
	if (argc < 3 || atoi(argv[2]) < 1)
		return 2;
	const bool is_taken = strcmp(argv[1], "taken") == 0;
	const long rounds = between_run(is_taken ? add_taken : strcmp(argv[1], "ticket") == 0 ? add_ticket : add_flag,
					is_taken ? add_first : NULL, atoi(argv[2]));
	printf("%s, %ld rounds\n", guarded == 2 * rounds ? "right" : "wrong", rounds);
	return 0;
}
