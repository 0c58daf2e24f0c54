/*
 * A read that was told late and went on in doubt: the checker dates it by a mark, and the stage that judges cycles
 * (vain.h) must find it all the same.
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/checker.h"
#include "atommon/mem.h"
#include "atommon/vain.h"

#include <criterion/criterion.h>

enum { LOCK = 0x1000, DATA = 0x2000, OTHER = 0x3000, OWN = 0x4000, NUMBER = 5 };

static struct am_vain *stage;
static struct am_checker *checker;
static unsigned n_found, n_told;
static uint64_t told_index;

static void on_out(void *ctx, const struct am_event *event)
{
	(void)ctx;
	am_checker_event(checker, event);
}

static void on_cycle(void *ctx, const struct am_cycle *cycle)
{
	(void)ctx;
	n_found++;
	for (uint32_t i = 0; i < cycle->n_edges; i++)
		if (cycle->edge[i].from.told)
			told_index = cycle->edge[i].from.told;
	am_vain_cycle(stage, cycle);
}

static void on_judged(void *ctx, const struct am_cycle *cycle)
{
	(void)ctx;
	(void)cycle;
	n_told++;
}

static void step(struct am_event event)
{
	static uint64_t index;

	event.index = ++index;
	event.site = event.kind == AM_MARK ? 0 : (uint32_t)index;
	am_vain_event(stage, &event);
	am_vain_hurry(stage); /* nothing is held back: all reads are in doubt */
}

/* A region of thread 1 looks at a lock and reads data, of which thread 2 tells when it writes there; then the region
 * reads what thread 2 wrote after it. */
static void prepare(struct am_mem *mem)
{
	const struct am_vain_config vain = {.out = on_out, .on_cycle = on_judged};
	const struct am_checker_config config = {.conflicts = AM_CONFLICTS_DATA, .on_cycle = on_cycle};

	n_found = n_told = 0;
	told_index = 0;
	am_mem_init(mem, 0);
	stage = am_vain_new(&vain, mem);
	checker = am_checker_new(&config, mem);
	step((struct am_event){.kind = AM_BEGIN, .thread = 1, .object = 'm'});
	step((struct am_event){.kind = AM_READ, .thread = 1, .object = LOCK, .size = 4, .order = 5});
	step((struct am_event){.kind = AM_MARK, .thread = 1, .object = AM_THREAD_OBJECT(1), .aux = NUMBER});
	step((struct am_event){.kind = AM_LATE, .thread = 2, .object = DATA, .size = 4,
			       .aux = UINT64_C(1) << 32 | NUMBER});
	step((struct am_event){.kind = AM_WRITE, .thread = 2, .object = DATA, .size = 4});
	step((struct am_event){.kind = AM_WRITE, .thread = 2, .object = OTHER, .size = 4});
	step((struct am_event){.kind = AM_READ, .thread = 1, .object = OTHER, .size = 4});
}

static void finish(struct am_mem *mem)
{
	am_vain_finish(stage);
	am_vain_free(stage);
	am_checker_free(checker);
	am_mem_destroy(mem);
}

Test(doubt, a_late_read_that_is_made_again_is_in_vain)
{
	struct am_mem mem;

	prepare(&mem);
	cr_assert_eq(n_found, 1);
	cr_assert_neq(told_index, 0, "the cycle says which event told the read");
	cr_assert_eq(n_told, 0, "it waits");
	step((struct am_event){.kind = AM_READ, .thread = 1, .object = DATA, .size = 4});
	step((struct am_event){.kind = AM_END, .thread = 1, .object = 'm'});
	finish(&mem);
	cr_assert_eq(n_told, 0);
}

Test(doubt, a_late_read_that_is_not_counts)
{
	struct am_mem mem;

	prepare(&mem);
	cr_assert_eq(n_told, 0, "it waits");
	step((struct am_event){.kind = AM_WRITE, .thread = 1, .object = OWN, .size = 4});
	step((struct am_event){.kind = AM_END, .thread = 1, .object = 'm'});
	finish(&mem);
	cr_assert_eq(n_told, 1);
}
