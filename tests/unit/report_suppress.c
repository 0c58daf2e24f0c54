/* Suppressions: the grammar, what each kind matches, dates, usage; a bad line is never fatal. */
/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "report_fixture.h"

struct log {
	unsigned n;
	char text[4000];
};

static void keep(void *ctx, const char *message)
{
	struct log *l = ctx;

	l->n++;
	strncat(l->text, message, sizeof l->text - strlen(l->text) - 2);
	strcat(l->text, "\n");
}

static struct am_mem mem;
static struct am_suppressions *sup;
static struct log complaints;

static void setup(void)
{
	am_mem_init(&mem, 0);
	sup = am_suppressions_new(&mem);
	memset(&complaints, 0, sizeof complaints);
}

static void teardown(void)
{
	am_suppressions_free(sup);
	am_mem_destroy(&mem);
}

TestSuite(suppress, .init = setup, .fini = teardown);

static unsigned parse(const char *text)
{
	return am_suppressions_parse(sup, "my.supp", text, strlen(text), 20261116, keep, &complaints);
}

static char covered_id[AM_ID_SIZE];

/* Is the bank's lost update suppressed? */
static bool covered(void)
{
	struct rig g = rig_new(0x400000);
	const struct am_violation *v = NULL;

	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, NULL, 0);
	const struct am_cycle c = world_lost_update(&g.w, 1, 2);
	am_reporter_cycle(g.r, &c, NULL, &v);
	cr_assert_not_null(v);
	const bool yes = am_suppressions_match(sup, v);
	memcpy(covered_id, v->id, sizeof covered_id);
	rig_free(&g);
	return yes;
}

static bool one(const char *line)
{
	teardown();
	setup();
	cr_expect_eq(parse(line), 1u, "%s: %s", line, complaints.text);
	return covered();
}

Test(suppress, each_kind_matches_what_it_names)
{
	cr_expect(one("region:withdraw"));
	cr_expect(one("region:with*   known, see the design"));
	cr_expect(one("region:\"withdraw\" quoted"));
	cr_expect_not(one("region:deposit"));
	cr_expect(one("var:balance"));
	cr_expect(one("var:bal?nce"));
	cr_expect_not(one("lock:balance"));
	cr_expect(one("lib:bank"));
	cr_expect(one("lib:/opt/*"));
	cr_expect_not(one("lib:libz*"));
	cr_expect(one("stack:withdraw"));
	cr_expect(one("stack:deposit"));
	cr_expect_not(one("stack:withdraw;main"));
	char line[40];
	snprintf(line, sizeof line, "id:%s", covered_id);
	cr_expect(one(line));
	cr_expect_not(one("id:AV-00000000"));
}

Test(suppress, stack_frames_match_in_order_with_gaps)
{
	const struct am_vframe frames[] = {{"inner(int)", "", 0, "m", 1}, {"middle", "", 0, "m", 2},
					  {"outer", "", 0, "m", 3}};
	const struct am_place place = {.n_frames = 3, .frame = frames};
	const struct am_vstep step = {.number = 1, .kind = AM_READ, .role = AM_ROLE_CYCLE,
				      .object = AM_NO_OBJECT, .region = "", .place = &place};
	const struct am_violation v = {.n_steps = 1, .step = &step, .region = "r", .id = "AV-12345678"};

	parse("stack:outer;inner");
	cr_expect_not(am_suppressions_match(sup, &v));
	parse("stack:inner;outer");
	cr_expect(am_suppressions_match(sup, &v));
}

Test(suppress, dates_end_a_suppression)
{
	cr_expect(one("region:withdraw until=2026-11-16 last day"));
	teardown();
	setup();
	cr_expect_eq(parse("region:withdraw until=2026-11-15 too late"), 0u);
	cr_expect(strstr(complaints.text, "my.supp:1: expired after '2026-11-15'"), "%s", complaints.text);
	cr_expect_not(covered());
}

Test(suppress, bad_lines_are_named_and_skipped)
{
	const char *text = "# comment\n"
			   "\n"
			   "region:withdraw\n"
			   "regoin:x\n"
			   "nonsense\n"
			   "var:\n"
			   "id:AV-xyz\n"
			   "lock:a until=2026-13-01\n"
			   "region:\"open\n"
			   "stack:;;\n"
			   "  lib:libfoo* \t fine\r\n";
	cr_expect_eq(parse(text), 2u);
	cr_expect_eq(complaints.n, 7u, "%s", complaints.text);
	cr_expect(strstr(complaints.text, "my.supp:4: expected region:"));
	cr_expect(strstr(complaints.text, "not 'regoin'"));
	cr_expect(strstr(complaints.text, "my.supp:5:"));
	cr_expect(strstr(complaints.text, "my.supp:6: no pattern after 'var'"));
	cr_expect(strstr(complaints.text, "my.supp:7: an id is AV- and eight hex digits"));
	cr_expect(strstr(complaints.text, "my.supp:8: until= needs a date"));
	cr_expect(strstr(complaints.text, "my.supp:9: no closing quote"));
	cr_expect(strstr(complaints.text, "my.supp:10: no frames"));
	cr_expect(covered());
}

Test(suppress, any_bytes_are_survived)
{
	static const char bytes[] = "region:varlockstackid \n\t\"=;#AV-0129*?\0\xff";
	unsigned seed = 12345;
	char junk[200];

	for (unsigned round = 0; round < 3000; round++) {
		for (unsigned i = 0; i < sizeof junk; i++)
			junk[i] = bytes[rand_r(&seed) % sizeof bytes];
		am_suppressions_parse(sup, "junk", junk, sizeof junk, 20261116, NULL, NULL);
	}
	covered();
}

Test(suppress, usage_is_counted_and_the_unused_are_named)
{
	struct log usage = {0};

	parse("region:never\nregion:withdraw\n");
	cr_expect(covered());
	am_suppressions_usage(sup, false, keep, &usage);
	cr_expect(strstr(usage.text, "my.supp:2: region:withdraw: matched 1 violation\n"), "%s", usage.text);
	memset(&usage, 0, sizeof usage);
	am_suppressions_usage(sup, true, keep, &usage);
	cr_expect_str_eq(usage.text, "my.supp:1: region:never: never matched\n");
}

Test(suppress, suppressed_cycles_are_counted_and_silent)
{
	struct rig g = rig_new(0x400000);
	struct am_reporter_stats st;

	parse("var:balance");
	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, sup, 50);
	for (unsigned i = 0; i < 5; i++) {
		const struct am_cycle c = world_lost_update(&g.w, 1, 2);
		cr_expect_not(am_reporter_cycle(g.r, &c, NULL, NULL));
	}
	am_reporter_finish(g.r);
	am_reporter_stats(g.r, &st);
	cr_expect_eq(st.suppressed, 5u);
	cr_expect_eq(st.distinct, 0u);
	cr_expect_eq(g.page->n, 0u);
	rig_free(&g);
}
