/* The live checker on small traces with known verdicts. */
/* SPDX-License-Identifier: MIT */
#include "checker_text.h"

#include <criterion/criterion.h>

/* All three agree with the expected first violating event (counted from 1; 0: none). */
static void expect(const char *text, enum am_conflicts conflicts, size_t first)
{
	cr_expect_eq(text_check(text, conflicts).first, first, "summarised graph: %zu, not %zu, on %s",
		     text_check(text, conflicts).first, first, text);
	cr_expect_eq(text_full(text, conflicts), first, "full graph: %zu, not %zu, on %s",
		     text_full(text, conflicts), first, text);
	if (!strstr(text, "lost") && conflicts != AM_CONFLICTS_AUTO)
		cr_expect_eq(text_oracle(text, conflicts), first, "oracle: %zu, not %zu, on %s",
			     text_oracle(text, conflicts), first, text);
}

Test(scg, section_3_cycle_through_a_completed_transaction)
{
	expect(TEXT_SECTION_3, AM_CONFLICTS_DATA, 9);
}

Test(scg, b1_program_order_makes_ancestors)
{
	expect("T1:begin(m) T1:w(V1) T2:begin(m) T2:r(V1) T2:end(m) T2:begin(m) T2:w(V2) T2:end(m) T1:r(V2) T1:end(m)",
	       AM_CONFLICTS_DATA, 9);
}

Test(scg, b2_access_outside_regions_carries_order_on)
{
	expect("T2:begin(m) T2:r(V0) T0:begin(m) T0:w(V2) T1:w(V2) T1:w(V1) T0:w(V0) T0:end(m) T2:w(V1) T2:end(m)",
	       AM_CONFLICTS_DATA, 9);
}

Test(scg, b3_ancestors_learned_later_reach_what_finished_regions_touched)
{
	expect("T2:begin(m) T2:w(V1) T0:begin(m) T0:w(V2) T1:begin(m) T1:r(V0) T1:w(V2) T0:w(V1) T1:end(m) T0:end(m) "
	       "T2:w(V0) T2:end(m)",
	       AM_CONFLICTS_DATA, 11);
}

Test(scg, b4_serializable)
{
	expect("T2:r(V5) T0:begin(m) T0:w(V5) T0:w(V4) T1:w(V5) T1:begin(m) T1:w(V4) T1:end(m) T0:end(m)",
	       AM_CONFLICTS_DATA, 0);
}

Test(scg, b5_serializable)
{
	expect("T2:begin(m) T2:w(V1) T3:begin(m) T3:w(V2) T1:r(V1) T1:r(V2) T2:end(m) T3:end(m)", AM_CONFLICTS_DATA, 0);
}

Test(scg, b6_read_other_write_write)
{
	expect("T1:begin(m) T1:r(V1) T2:begin(m) T2:w(V1) T2:end(m) T1:w(V1) T1:end(m)", AM_CONFLICTS_DATA, 6);
}

Test(scg, b7_reported_at_the_closing_access)
{
	expect("T1:begin(m) T2:begin(m) T1:w(V1) T2:w(V2) T1:r(V2) T2:r(V1) T1:end(m) T2:end(m)", AM_CONFLICTS_DATA, 6);
}

Test(scg, b8_lock_operations_conflict_only_if_asked)
{
	const char *b8 = "T1:begin(m) T1:acq(L1) T1:rel(L1) T2:begin(m) T2:acq(L1) T2:rel(L1) T2:end(m) T1:acq(L1) "
			 "T1:rel(L1) T1:end(m)";
	expect(b8, AM_CONFLICTS_DATA, 0);
	expect(b8, AM_CONFLICTS_BOTH, 8);
	expect(b8, AM_CONFLICTS_LOCKS, 8);
	expect(b8, AM_CONFLICTS_AUTO, 8);
}

Test(scg, b9_fork_and_join_are_not_conflicts)
{
	expect("T0:begin(m) T0:fork(T1) T1:r(V1) T0:join(T1) T0:end(m)", AM_CONFLICTS_DATA, 0);
}

Test(scg, b11_fork_and_join_of_an_idle_thread)
{
	expect("T0:begin(m) T0:fork(T1) T0:join(T1) T0:end(m)", AM_CONFLICTS_DATA, 0);
}

Test(scg, auto_leaves_locks_at_the_first_access)
{
	expect("T1:begin(m) T1:acq(L1) T1:rel(L1) T2:acq(L1) T2:r(V1) T2:rel(L1) T1:acq(L1) T1:r(V1) T1:rel(L1) T1:end(m)",
	       AM_CONFLICTS_AUTO, 0);
	expect("T1:begin(m) T1:acq(L1) T1:r(V1) T1:rel(L1) T2:acq(L1) T2:w(V1) T2:rel(L1) T1:acq(L1) T1:w(V1)",
	       AM_CONFLICTS_AUTO, 9);
}

Test(scg, one_section_as_region_is_never_broken)
{
	expect("T1:begin(m) T1:acq(L1) T1:rel(L1) T1:end(m) T2:begin(m) T2:acq(L1) T2:rel(L1) T2:end(m) T1:begin(m) "
	       "T1:acq(L1) T1:rel(L1) T1:end(m)",
	       AM_CONFLICTS_LOCKS, 0);
}

Test(scg, region_that_begins_inside_a_section_counts_its_rest)
{
	expect("T1:acq(L1) T1:begin(m) T1:rel(L1) T2:acq(L1) T2:rel(L1) T1:acq(L1) T1:rel(L1) T1:end(m)",
	       AM_CONFLICTS_LOCKS, 6);
	expect("T1:acq(L1) T1:begin(m) T1:end(m) T1:rel(L1) T2:acq(L1) T2:rel(L1) T1:acq(L1)", AM_CONFLICTS_LOCKS, 0);
}

Test(scg, wait_splits_a_section)
{
	expect("T1:begin(m) T1:acq(L1) T1:wait(L1) T2:acq(L1) T2:rel(L1) T1:wake(L1) T1:rel(L1) T1:end(m)",
	       AM_CONFLICTS_LOCKS, 6);
}

Test(scg, shared_sections_do_not_conflict)
{
	expect("T1:begin(m) T1:acqs(L1) T1:rels(L1) T2:acqs(L1) T2:rels(L1) T1:acqs(L1) T1:rels(L1) T1:end(m)",
	       AM_CONFLICTS_LOCKS, 0);
	expect("T1:begin(m) T1:acqs(L1) T1:rels(L1) T2:acq(L1) T2:rel(L1) T1:acqs(L1) T1:rels(L1) T1:end(m)",
	       AM_CONFLICTS_LOCKS, 6);
}

Test(scg, free_counts_as_a_write)
{
	expect("T1:begin(m) T1:r(V1) T2:free(V1) T1:r(V1)", AM_CONFLICTS_DATA, 4);
	expect("T1:begin(m) T1:r(V2) T2:w(V2) T2:free(V1) T1:r(V1)", AM_CONFLICTS_DATA, 5);
	expect("T1:begin(m) T1:r(V1) T2:free(V1) T2:alloc(V1) T1:r(V1)", AM_CONFLICTS_DATA, 0);
	expect("T1:begin(m) T1:w(V1) T2:r(V1) T2:w(V2) T1:free(V2)", AM_CONFLICTS_DATA, 5);
	expect("T1:begin(m) T1:r(V1) T1:w(V2) T2:free(V1) T2:w(V2) T1:w(V2)", AM_CONFLICTS_DATA, 6);
}

Test(scg, reused_address_is_a_new_entity)
{
	expect("T1:begin(m) T1:w(V1) T2:alloc(V1) T2:w(V1) T1:w(V1)", AM_CONFLICTS_DATA, 0);
	expect("T1:begin(m) T1:w(V1) T2:w(V1) T1:w(V1)", AM_CONFLICTS_DATA, 4);
}

Test(scg, ended_thread_still_counts_and_its_slot_is_reused)
{
	expect("T1:begin(m) T1:w(V1) T2:r(V1) T2:w(V2) T2:exit(T2) T3:w(V3) T1:r(V3) T1:r(V2)", AM_CONFLICTS_DATA, 8);
	expect("T2:w(V2) T2:exit(T2) T1:begin(m) T1:w(V1) T3:w(V3) T1:r(V2) T1:r(V3)", AM_CONFLICTS_DATA, 0);
}

Test(scg, nested_regions_are_one_transaction_and_names_are_kept)
{
	const char *nested = "T1:begin(a) T1:begin(b) T1:r(V1) T1:end(b) T2:w(V1) T1:begin(c) T1:w(V1)";
	expect(nested, AM_CONFLICTS_DATA, 7);
	const struct text_verdict v = text_check(nested, AM_CONFLICTS_DATA);
	cr_expect_eq(v.cycle.region, 'a');
	cr_expect_eq(v.cycle.n_inner, 1);
	cr_expect_eq(v.cycle.inner[0], 'c');
	cr_expect_eq(v.cycle.begin_index, 0);
}

Test(scg, nothing_seen_before_a_hole_is_used_after_it)
{
	expect("T1:begin(m) T1:r(V1) T2:w(V1) T2:lost(x) T1:w(V1)", AM_CONFLICTS_DATA, 0);
	expect("T1:begin(m) T1:r(V1) T1:lost(x) T2:w(V1) T1:w(V1)", AM_CONFLICTS_DATA, 0);
	expect("T1:begin(m) T3:lost(x) T1:r(V1) T2:w(V1) T1:w(V1)", AM_CONFLICTS_DATA, 5);
}

Test(scg, every_violating_event_is_reported)
{
	const char *twice = "T1:begin(m) T1:r(V1) T1:r(V2) T2:w(V1) T2:w(V2) T1:w(V1) T1:w(V2) T1:end(m)";
	const struct text_verdict v = text_check(twice, AM_CONFLICTS_DATA);
	cr_expect_eq(v.cycles, 2);
	cr_expect_eq(v.first, 6);
}

Test(scg, cycle_tells_each_access)
{
	const struct text_verdict v = text_check(TEXT_SECTION_3, AM_CONFLICTS_DATA);
	cr_assert_eq(v.cycle.n_edges, 2);
	cr_expect_eq(v.cycle.omitted, 0);
	cr_expect_eq(v.cycle.edge[0].from.index, 1);
	cr_expect_eq(v.cycle.edge[0].from.kind, AM_READ);
	cr_expect_eq(v.cycle.edge[0].to.index, 3);
	cr_expect_eq(v.cycle.edge[1].from.index, 3);
	cr_expect_eq(v.cycle.edge[1].to.index, 8);
	cr_expect_eq(v.cycle.thread, 1);
}

/* More threads than one mask word holds, and a way longer than a report. */
Test(scg, hundreds_of_threads_and_a_long_way)
{
	enum { THREADS = 300 };
	struct text_verdict v = {0};
	const struct am_checker_config config = {AM_CONFLICTS_DATA, text_on_cycle, &v};
	struct am_mem mem;
	struct am_event e = {.size = 8};

	am_mem_init(&mem, 0);
	struct am_checker *c = am_checker_new(&config, &mem);
	for (uint32_t t = 0; t < THREADS; t++) {
		e.thread = t;
		e.kind = AM_BEGIN;
		e.object = 1;
		am_checker_event(c, &e);
		e.index++;
		for (int k = 0; k < 2; k++, e.index++) {
			e.kind = k ? AM_WRITE : AM_READ;
			e.object = 0x1000 + 8 * (t + (uint32_t)k);
			am_checker_event(c, &e);
		}
		if (t && t < THREADS - 1) {
			e.kind = AM_END;
			am_checker_event(c, &e);
			e.index++;
		}
	}
	cr_expect_eq(v.cycles, 0);
	e.thread = 0;
	e.kind = AM_WRITE;
	e.object = 0x1000 + 8 * THREADS;
	am_checker_event(c, &e);
	cr_assert_eq(v.cycles, 1);
	cr_expect_eq(v.cycle.n_edges, AM_CYCLE_MAX);
	cr_expect_eq(v.cycle.omitted, THREADS - AM_CYCLE_MAX);
	cr_expect_eq(v.cycle.omit_at, AM_CYCLE_MAX - 1);
	cr_expect_eq(v.cycle.edge[0].from.thread, 0);
	cr_expect_eq(v.cycle.edge[AM_CYCLE_MAX - 2].to.thread, AM_CYCLE_MAX - 1);
	cr_expect_eq(v.cycle.edge[AM_CYCLE_MAX - 1].from.thread, THREADS - 1);
	am_checker_free(c);
	am_mem_destroy(&mem);
}

/* A region that stays open while threads come and go: what it reaches is merged, nothing is missed. */
Test(scg, a_hundred_thousand_threads_below_one_open_region)
{
	enum { THREADS = 100000 };
	struct text_verdict v = {0};
	const struct am_checker_config config = {AM_CONFLICTS_DATA, text_on_cycle, &v};
	struct am_checker_stats s;
	struct am_mem mem;
	struct am_event e = {.size = 8, .object = 1, .kind = AM_BEGIN};

	am_mem_init(&mem, 0);
	struct am_checker *c = am_checker_new(&config, &mem);
	am_checker_event(c, &e);
	e.index++;
	e.kind = AM_WRITE;
	e.object = 0x1000;
	am_checker_event(c, &e);
	for (uint32_t t = 1; t <= THREADS; t++) {
		static const enum am_kind kinds[] = {AM_READ, AM_WRITE, AM_THREAD_END};
		for (int k = 0; k < 3; k++) {
			e.index++;
			e.thread = t;
			e.kind = (uint8_t)kinds[k];
			e.object = k == 0 ? 0x1000 : k == 1 ? 0x2000 + 8 * (t % 1000) : t;
			am_checker_event(c, &e);
		}
	}
	am_checker_stats(c, &s);
	cr_expect_eq(v.cycles, 0);
	cr_expect_eq(s.forgotten, 0);
	cr_expect_lt(s.bytes_peak, 4u << 20, "%llu bytes", (unsigned long long)s.bytes_peak);
	e.index++;
	e.thread = 0;
	e.kind = AM_READ;
	e.object = 0x2008;
	am_checker_event(c, &e);
	cr_assert_eq(v.cycles, 1);
	cr_expect_gt(v.cycle.omitted, 0);
	cr_expect_eq(v.cycle.edge[v.cycle.n_edges - 1].from.thread, THREADS - 999);
	am_checker_free(c);
	am_mem_destroy(&mem);
}

/* Deeper than anybody can count: the thread's regions are given up, and that is told. */
Test(scg, regions_nested_too_deep_are_given_up)
{
	struct text_verdict v = {0};
	const struct am_checker_config config = {AM_CONFLICTS_DATA, text_on_cycle, &v};
	struct am_checker_stats s;
	struct am_mem mem;
	struct am_event e = {.object = 1, .kind = AM_BEGIN};

	am_mem_init(&mem, 0);
	struct am_checker *c = am_checker_new(&config, &mem);
	for (; e.index < 70000; e.index++)
		am_checker_events(c, &e, 1);
	am_checker_stats(c, &s);
	cr_expect_eq(s.forgotten, 1);
	cr_expect_eq(s.nodes_live, 0);
	cr_expect_eq(v.cycles, 0);
	e.thread = 1;
	am_checker_events(c, &e, 1);
	am_checker_stats(c, &s);
	cr_expect_eq(s.nodes_live, 1);
	am_checker_free(c);
	am_mem_destroy(&mem);
}

static void count_cycle(void *ctx, const struct am_cycle *cycle)
{
	(void)cycle;
	++*(size_t *)ctx;
}

/* Large enough for the table to grow over many pages, some of which it gives back on the way. */
Test(scg, a_table_that_grows_loses_nothing)
{
	enum { WORDS = 400000, EVERY = 37 };
	size_t cycles = 0, expected = 0;
	const struct am_checker_config config = {.conflicts = AM_CONFLICTS_DATA, .on_cycle = count_cycle, .ctx = &cycles};
	struct am_mem mem;
	uint64_t index = 0;

	am_mem_init(&mem, 0);
	struct am_checker *c = am_checker_new(&config, &mem);
	am_checker_event(c, &(struct am_event){.kind = AM_BEGIN, .thread = 1, .object = 1, .index = index++});
	for (uint64_t i = 0; i < WORDS; i++)
		am_checker_event(c, &(struct am_event){.kind = AM_READ, .thread = 1, .index = index++, .size = 8,
						       .object = 0x10000 + i * 8});
	for (uint64_t i = 0; i < WORDS; i += EVERY, expected++) {
		const uint64_t word = 0x10000 + i * 8;
		am_checker_event(c, &(struct am_event){.kind = AM_WRITE, .thread = 2, .index = index++, .size = 8,
						       .object = word});
		am_checker_event(c, &(struct am_event){.kind = AM_READ, .thread = 1, .index = index++, .size = 8,
						       .object = word});
	}
	cr_expect_eq(cycles, expected, "%zu of %zu found", cycles, expected);
	am_checker_free(c);
	am_mem_destroy(&mem);
}
