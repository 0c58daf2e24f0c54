/* Regions made from locks and functions. */
/* SPDX-License-Identifier: MIT */
#include "checker_text.h"

#include "atommon/regions.h"

#include <criterion/criterion.h>

struct out {
	char text[1024];
};

static void on_event(void *ctx, const struct am_event *e)
{
	struct out *o = ctx;
	const size_t n = strlen(o->text);
	const char *name = e->kind == AM_BEGIN ? "(" : e->kind == AM_END ? ")" : am_kind_name(e->kind);

	snprintf(o->text + n, sizeof o->text - n, "%s%s%u", n ? " " : "", name, e->thread);
}

static uint32_t section_name(void *ctx, uint64_t lock, uint32_t site)
{
	(void)ctx, (void)site;
	return (uint32_t)lock;
}

static void expect(const char *atomic, const char *text, const char *expected)
{
	struct text_trace t = text_parse(text);
	struct out o = {""};
	const struct am_regions_config config = {atomic, on_event, &o, section_name, NULL, NULL};
	struct am_mem mem;

	am_mem_init(&mem, 0);
	struct am_regions *r = am_regions_new(&config, &mem);
	for (size_t i = 0; i < t.n; i++)
		am_regions_event(r, &t.event[i]);
	am_regions_free(r);
	am_mem_destroy(&mem);
	cr_expect_str_eq(o.text, expected, "%s on %s:\n  %s\nnot\n  %s", atomic, text, o.text, expected);
}

Test(regions, the_list_is_checked)
{
	cr_expect_null(am_regions_bad("marked"));
	cr_expect_null(am_regions_bad("sections,fn:get_*,marked"));
	cr_expect_str_eq(am_regions_bad("marked,section"), "section");
	cr_expect_str_eq(am_regions_bad("fn:,marked"), "fn:,marked");
	cr_expect_str_eq(am_regions_bad(""), "");
}

Test(regions, marked_ones_pass_only_if_asked)
{
	expect("marked", "T1:begin(m) T1:w(V1) T1:end(m)", "(1 write1 )1");
	expect("sections", "T1:begin(m) T1:w(V1) T1:end(m)", "write1");
}

Test(regions, outermost_section_holds_its_lock_operations)
{
	expect("sections", "T1:acq(L1) T1:acq(L2) T1:rel(L2) T1:rel(L1) T1:acq(L1) T1:rel(L1)",
	       "(1 acquire1 acquire1 release1 release1 )1 (1 acquire1 release1 )1");
	expect("sections", "T1:acq(L1) T1:acq(L2) T1:rel(L1) T1:rel(L2)", "(1 acquire1 acquire1 release1 release1 )1");
	expect("sections", "T1:acq(L1) T2:acq(L2) T1:rel(L1) T2:rel(L2)", "(1 acquire1 (2 acquire2 release1 )1 release2 )2");
}

Test(regions, shared_lock_taken_twice_is_one_section)
{
	expect("sections", "T1:acqs(L1) T1:acqs(L1) T1:rels(L1) T1:rels(L1)", "(1 acquire1 acquire1 release1 release1 )1");
}

Test(regions, wait_splits_a_section)
{
	expect("sections", "T1:acq(L1) T1:wait(L1) T1:wake(L1) T1:rel(L1)", "(1 acquire1 wait1 )1 (1 wake1 release1 )1");
	expect("sections", "T1:acq(L2) T1:acq(L1) T1:wait(L1) T1:wake(L1) T1:rel(L1) T1:rel(L2)",
	       "(1 acquire1 acquire1 wait1 )1 (1 wake1 release1 release1 )1");
}

/* Who waits asks others to change what the region saw. */
Test(regions, wait_splits_a_marked_region)
{
	expect("marked", "T1:begin(m) T1:acq(L1) T1:wait(L1) T1:wake(L1) T1:rel(L1) T1:end(m)",
	       "(1 acquire1 wait1 )1 (1 wake1 release1 )1");
	expect("marked", "T1:begin(m) T1:begin(n) T1:wait(L1) T1:wake(L1) T1:end(n) T1:end(m)",
	       "(1 (1 wait1 )1 )1 (1 (1 wake1 )1 )1");
	expect("marked", "T1:begin(m) T1:wait(L1) T2:begin(m) T2:end(m) T1:wake(L1) T1:end(m)",
	       "(1 wait1 )1 (2 )2 (1 wake1 )1");
	expect("marked", "T1:wait(L1) T1:wake(L1) T1:begin(m) T1:end(m) T1:end(m)", "wait1 wake1 (1 )1 )1");
}

/* A handler that runs during the wait has regions of its own; one that is left by a jump out of the
 * wait is over. */
Test(regions, what_happens_during_a_wait)
{
	expect("marked", "T1:begin(m) T1:wait(L1) T1:begin(n) T1:end(n) T1:wake(L1) T1:end(m)",
	       "(1 wait1 )1 (1 )1 (1 wake1 )1");
	expect("marked", "T1:begin(m) T1:wait(L1) T1:end(m) T1:begin(n) T1:end(n)", "(1 wait1 )1 (1 )1");
	expect("marked", "T1:begin(m) T1:wait(L1) T1:exit(T1)", "(1 wait1 )1 thread-end1");
}

/* A lock held over the start of a thread (an interpreter lock, a gate) is no outer section later. */
Test(regions, started_thread_ends_a_section)
{
	expect("sections", "T1:acq(L1) T1:fork(T2) T1:acq(L2) T1:rel(L2) T1:acq(L3) T1:rel(L3) T1:rel(L1)",
	       "(1 acquire1 fork1 )1 (1 acquire1 release1 )1 (1 acquire1 release1 )1 release1");
	expect("sections", "T1:acq(L1) T1:fork(T2) T1:acq(L2) T1:rel(L1) T1:rel(L2) T1:acq(L1) T1:rel(L1)",
	       "(1 acquire1 fork1 )1 (1 acquire1 release1 release1 )1 (1 acquire1 release1 )1");
	expect("sections", "T1:acq(L1) T2:fork(T3) T1:acq(L2) T1:rel(L2) T1:rel(L1)",
	       "(1 acquire1 fork2 acquire1 release1 release1 )1");
	expect("sections", "T1:acqs(L1) T1:fork(T2) T1:acqs(L1) T1:rels(L1) T1:rels(L1) T1:acqs(L1) T1:rels(L1)",
	       "(1 acquire1 fork1 )1 acquire1 release1 release1 (1 acquire1 release1 )1");
}

/* Who waits for the end of a thread waits for others; the locks go on being held. */
Test(regions, joined_thread_ends_a_section)
{
	expect("sections", "T1:acq(L1) T1:acq(L2) T1:rel(L2) T1:join(T2) T1:acq(L2) T1:rel(L2) T1:acq(L3) T1:rel(L3) T1:rel(L1)",
	       "(1 acquire1 acquire1 release1 join1 )1 (1 acquire1 release1 acquire1 release1 release1 )1");
	expect("sections", "T1:acq(L1) T1:join(T2) T1:rel(L1) T1:acq(L1) T1:rel(L1)",
	       "(1 acquire1 join1 )1 release1 (1 acquire1 release1 )1");
	expect("sections", "T1:acq(L1) T3:join(T2) T1:rel(L1)", "(1 acquire1 join3 release1 )1");
	expect("marked", "T1:begin(m) T1:join(T2) T1:end(m)", "(1 join1 )1");
}

Test(regions, release_without_acquire_is_not_counted)
{
	expect("sections", "T1:rel(L1) T1:acq(L2) T1:rel(L1) T1:rel(L2)", "release1 (1 acquire1 release1 release1 )1");
}

Test(regions, hole_ends_what_is_open)
{
	expect("sections", "T1:acq(L1) T1:lost(x) T1:rel(L1) T1:acq(L2) T1:rel(L2)",
	       "(1 acquire1 )1 lost1 release1 (1 acquire1 release1 )1");
	expect("sections", "T1:acq(L1) T1:exit(T1)", "(1 acquire1 )1 thread-end1");
}

struct step {
	enum am_kind kind;
	uint64_t function;
	uint32_t name;
};

static void expect_steps(const char *atomic, const struct step *steps, size_t n, const char *expected)
{
	struct out o = {""};
	const struct am_regions_config config = {atomic, on_event, &o, NULL, NULL, NULL};
	struct am_event e = {.thread = 1};
	struct am_mem mem;

	am_mem_init(&mem, 0);
	struct am_regions *r = am_regions_new(&config, &mem);
	for (size_t i = 0; i < n; i++) {
		e.kind = (uint8_t)steps[i].kind;
		e.object = steps[i].function;
		e.aux = steps[i].name;
		am_regions_event(r, &e);
	}
	am_regions_free(r);
	am_mem_destroy(&mem);
	cr_expect_str_eq(o.text, expected);
}

Test(regions, functions_end_with_their_caller)
{
	static const struct step steps[] = {{AM_ENTER, 10, 1}, {AM_ENTER, 20, 0}, {AM_ENTER, 30, 2},
					    {AM_LEAVE_FN, 20, 0}, {AM_LEAVE_FN, 10, 1}, {AM_LEAVE_FN, 10, 1}};

	expect_steps("fn:f*", steps, sizeof steps / sizeof *steps,
		     "(1 enter1 enter1 (1 enter1 leave-fn1 leave-fn1 )1 )1 leave-fn1");
}

/* One that locks for its caller may begin a region and return. */
Test(regions, marked_region_outlives_the_function_that_began_it)
{
	static const struct step steps[] = {{AM_ENTER, 10, 1}, {AM_BEGIN, 5, 0}, {AM_LEAVE_FN, 10, 1},
					    {AM_WAIT, 7, 0}, {AM_WAKE, 7, 0}, {AM_END, 5, 0}};

	expect_steps("marked,fn:f*", steps, sizeof steps / sizeof *steps,
		     "(1 enter1 (1 leave-fn1 )1 wait1 )1 (1 wake1 )1");
}

Test(regions, wait_splits_functions)
{
	static const struct step steps[] = {{AM_ENTER, 10, 1}, {AM_ENTER, 20, 2}, {AM_WAIT, 7, 0}, {AM_WAKE, 7, 0},
					    {AM_LEAVE_FN, 20, 2}, {AM_LEAVE_FN, 10, 1}};
	static const struct step jump[] = {{AM_ENTER, 10, 1}, {AM_ENTER, 20, 2}, {AM_WAIT, 7, 0},
					   {AM_LEAVE_FN, 10, 1}, {AM_ENTER, 10, 1}, {AM_LEAVE_FN, 10, 1}};

	expect_steps("fn:f*", steps, sizeof steps / sizeof *steps,
		     "(1 enter1 (1 enter1 wait1 )1 )1 (1 (1 wake1 leave-fn1 )1 leave-fn1 )1");
	expect_steps("fn:f*", jump, sizeof jump / sizeof *jump,
		     "(1 enter1 (1 enter1 wait1 )1 )1 leave-fn1 (1 enter1 leave-fn1 )1");
}

static void check_event(void *ctx, const struct am_event *e)
{
	am_checker_event(ctx, e);
}

/* The stage and the checker together: bank in two sections, at lock level and by data. */
Test(regions, sections_are_checked)
{
	struct text_verdict v = {0};
	const struct am_checker_config check = {AM_CONFLICTS_LOCKS, text_on_cycle, &v};
	struct am_mem mem;

	am_mem_init(&mem, 0);
	struct am_checker *c = am_checker_new(&check, &mem);
	const struct am_regions_config config = {"sections", check_event, c, section_name, NULL, NULL};
	struct am_regions *r = am_regions_new(&config, &mem);
	const struct text_trace t =
		text_parse("T1:acq(O1) T1:acq(L1) T1:rel(L1) T2:acq(L1) T2:rel(L1) T1:acq(L1) T1:rel(L1) T1:rel(O1)");
	for (size_t i = 0; i < t.n; i++)
		am_regions_event(r, &t.event[i]);
	cr_expect_eq(v.first, 6);
	cr_expect_eq(v.cycle.region, (uint32_t)t.event[0].object);
	am_regions_free(r);
	am_checker_free(c);
	am_mem_destroy(&mem);
}
