/*
 * A wait that keeps its recursive mutex names none: two of them in different threads have nothing in
 * common, and must not look like sections of one lock. Runs in the unit tests.
 */
/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "atommon/checker.h"
#include "atommon/mem.h"

static void count(void *ctx, const struct am_cycle *cycle)
{
	(void)cycle;
	++*(int *)ctx;
}

static int cycles_with_mutex(uint64_t mutex)
{
	const struct am_event e[] = {
		{.thread = 1, .kind = AM_BEGIN, .object = 1, .index = 0},
		{.thread = 1, .kind = AM_WAIT, .object = 0x100, .aux = mutex, .index = 1},
		{.thread = 2, .kind = AM_BEGIN, .object = 2, .index = 2},
		{.thread = 2, .kind = AM_WAIT, .object = 0x200, .aux = mutex, .index = 3},
		{.thread = 2, .kind = AM_WAKE, .object = 0x200, .aux = mutex, .index = 4},
		{.thread = 2, .kind = AM_END, .object = 2, .index = 5},
		{.thread = 1, .kind = AM_WAKE, .object = 0x100, .aux = mutex, .index = 6},
		{.thread = 1, .kind = AM_END, .object = 1, .index = 7},
	};
	int cycles = 0;
	struct am_mem mem;
	const struct am_checker_config config = {AM_CONFLICTS_LOCKS, count, &cycles};

	am_mem_init(&mem, 0);
	struct am_checker *c = am_checker_new(&config, &mem);
	for (size_t i = 0; i < sizeof e / sizeof *e; i++)
		am_checker_event(c, &e[i]);
	am_checker_free(c);
	am_mem_destroy(&mem);
	return cycles;
}

Test(deepwait, a_wait_that_keeps_its_mutex_conflicts_with_nothing)
{
	cr_expect_eq(cycles_with_mutex(0), 0);
}

Test(deepwait, a_common_mutex_does_conflict)
{
	cr_expect_eq(cycles_with_mutex(0x40), 1);
}
