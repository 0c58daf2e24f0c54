/* The reporter: ids, counting, names, degradation, witnesses. */
/* SPDX-License-Identifier: MIT */
#include "analyzer/report/places.h"
#include "report_fixture.h"

/* ---- ids ---------------------------------------------------------------------------------------- */

static void id_of(uint64_t base, uint32_t shift, uint32_t t1, uint32_t t2, const struct am_cycle *given,
		  char id[AM_ID_SIZE])
{
	struct rig g = rig_new(base);
	const struct am_violation *v;

	g.w.line_shift = shift;
	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, NULL, 0);
	const struct am_cycle c = given ? *given : world_lost_update(&g.w, t1, t2);
	am_reporter_cycle(g.r, &c, NULL, &v);
	cr_assert_not_null(v);
	memcpy(id, v->id, AM_ID_SIZE);
	rig_free(&g);
}

Test(fingerprint, ignores_addresses_lines_and_thread_ids)
{
	char a[AM_ID_SIZE], b[AM_ID_SIZE];

	id_of(0x400000, 0, 1, 2, NULL, a);
	cr_expect_eq(strncmp(a, "AV-", 3), 0);
	id_of(0x7f0000000000, 0, 1, 2, NULL, b);
	cr_expect_str_eq(a, b);
	id_of(0x400000, 7, 1, 2, NULL, b);
	cr_expect_str_eq(a, b);
	id_of(0x400000, 0, 3, 1, NULL, b);
	cr_expect_str_eq(a, b);
}

Test(fingerprint, tells_regions_and_operations_apart)
{
	struct world w;
	char a[AM_ID_SIZE], b[AM_ID_SIZE];

	world_init(&w, 0x400000);
	struct am_cycle c = world_lost_update(&w, 1, 2);
	id_of(0x400000, 0, 1, 2, &c, a);
	c.region = STR_TOTAL;
	id_of(0x400000, 0, 1, 2, &c, b);
	cr_expect_str_neq(a, b);
	c = world_lost_update(&w, 1, 2);
	c.edge[1].to.kind = AM_READ;
	id_of(0x400000, 0, 1, 2, &c, b);
	cr_expect_str_neq(a, b);
}

/* The lost update through n further threads. */
static struct am_cycle through(const struct world *w, uint32_t n)
{
	struct am_cycle c = world_lost_update(w, 1, 2);

	for (uint32_t i = 1; i <= n; i++) {
		c.edge[i + 1] = c.edge[i];
		c.edge[i].to = world_access(w, 15 + i, 2 + i, i % 2 ? AM_READ : AM_WRITE, S_OTHER, i);
		c.edge[i].to.object += 8 * i; /* each over a variable of its own */
		c.edge[i].from.object = c.edge[i].to.object;
		c.edge[i + 1].from = c.edge[i].to;
	}
	c.edge[n + 1].to.index = c.close_index = 30;
	c.n_edges = n + 2;
	return c;
}

Test(fingerprint, ways_through_several_others_are_one_mistake)
{
	struct world w;
	char a[AM_ID_SIZE], b[AM_ID_SIZE];

	world_init(&w, 0x400000);
	struct am_cycle c = through(&w, 1);
	id_of(0x400000, 0, 1, 2, &c, a);
	c = through(&w, 3);
	id_of(0x400000, 0, 1, 2, &c, b);
	cr_expect_str_eq(a, b);
}

Test(reporter, a_roundabout_way_repeats_the_direct_one)
{
	struct rig g = rig_new(0x400000);
	struct am_reporter_stats st;

	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, NULL, 50);
	for (uint32_t n = 0; n < 4; n++) {
		const struct am_cycle c = through(&g.w, n);
		cr_expect_eq(am_reporter_cycle(g.r, &c, NULL, NULL), n == 0);
	}
	am_reporter_stats(g.r, &st);
	cr_expect_eq(st.distinct, 1u);
	cr_expect_eq(st.repeats, 3u);
	rig_free(&g);
}

/* n++ reads and writes in one line: whichever closes the cycle first is told. */
Test(reporter, read_and_write_of_a_statement_are_one_mistake)
{
	struct rig g = rig_new(0x400000);
	struct am_reporter_stats st;
	struct am_cycle c = world_lost_update(&g.w, 1, 2);

	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, NULL, 50);
	c.edge[1].to.kind = AM_READ;
	cr_expect(am_reporter_cycle(g.r, &c, NULL, NULL));
	c.edge[1].to.kind = AM_WRITE;
	cr_expect(!am_reporter_cycle(g.r, &c, NULL, NULL));
	am_reporter_stats(g.r, &st);
	cr_expect_eq(st.distinct, 1u);
	cr_expect_eq(st.repeats, 0u, "in one region: no second time");
	c.begin_index = 900;
	cr_expect(!am_reporter_cycle(g.r, &c, NULL, NULL));
	am_reporter_stats(g.r, &st);
	cr_expect_eq(st.repeats, 1u);
	c.edge[1].to.site = S_UNLOCK; /* another line */
	cr_expect(am_reporter_cycle(g.r, &c, NULL, NULL));
	rig_free(&g);
}

/* x is read, others write it, it is read again and written by that: no update is lost. */
Test(reporter, what_was_read_again_is_not_lost)
{
	struct rig g = rig_new(0x400000);
	struct am_reporter_stats st;
	struct am_cycle c = world_lost_update(&g.w, 1, 2);
	struct am_cycle reads = c;

	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, NULL, 50);
	reads.edge[1].to.kind = AM_READ;
	reads.edge[1].to.site = S_UNLOCK; /* another line */
	reads.edge[1].to.index = reads.close_index = 17;
	cr_expect(am_reporter_cycle(g.r, &reads, NULL, NULL));
	cr_expect(!am_reporter_cycle(g.r, &c, NULL, NULL));
	am_reporter_stats(g.r, &st);
	cr_expect_eq(st.distinct, 1u);
	c.edge[1].from.index = 18; /* they wrote it once more */
	cr_expect(am_reporter_cycle(g.r, &c, NULL, NULL));
	c.begin_index = 5; /* another region */
	c.edge[1].from.index = 15;
	cr_expect(!am_reporter_cycle(g.r, &c, NULL, NULL), "a repeat");
	am_reporter_stats(g.r, &st);
	cr_expect_eq(st.repeats, 1u);
	rig_free(&g);
}

/* ---- counting ----------------------------------------------------------------------------------- */

Test(reporter, repeats_are_counted_not_printed)
{
	struct rig g = rig_new(0x400000);
	struct am_reporter_stats st;

	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, NULL, 50);
	for (uint32_t i = 0; i < 1000; i++) {
		const struct am_cycle c = world_lost_update(&g.w, 1 + i % 2, 2 - i % 2);
		cr_expect_eq(am_reporter_cycle(g.r, &c, NULL, NULL), i == 0);
	}
	am_reporter_stats(g.r, &st);
	cr_expect_eq(st.cycles, 1000u);
	cr_expect_eq(st.distinct, 1u);
	cr_expect_eq(st.printed, 1u);
	cr_expect_eq(st.repeats, 999u);
	am_reporter_finish(g.r);
	has("in region \"withdraw\": 1000 times in all");
	rig_free(&g);
}

Test(reporter, beyond_max_reports_only_a_line)
{
	struct rig g = rig_new(0x400000);
	struct am_reporter_stats st;

	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, NULL, 1);
	struct am_cycle c = world_lost_update(&g.w, 1, 2);
	am_reporter_cycle(g.r, &c, NULL, NULL);
	const size_t n = g.page->n;
	c.region = STR_TOTAL;
	cr_expect(am_reporter_cycle(g.r, &c, NULL, NULL));
	cr_expect_eq(g.page->n, n);
	am_reporter_stats(g.r, &st);
	cr_expect_eq(st.distinct, 2u);
	am_reporter_finish(g.r);
	has("in region \"total\": 1 time, not reported in full");
	rig_free(&g);
}

Test(reporter, survives_the_memory_ceiling)
{
	for (uint64_t limit = 256 * 1024; limit < 8u << 20; limit += 256 * 1024) {
		struct rig g = rig_new(0x400000);
		world_init(&g.w, 0x400000);
		g.mem.limit = limit;
		const struct am_reporter_config config = {
			.tables = &g.w.tables, .symbolizer = g.w.symbolizer, .out = {page_write, g.page},
			.max_reports = 50, .model = "", .next = ""};
		g.r = am_reporter_new(&config, &g.mem);
		if (g.r) {
			world_sections(&g.w, g.r, 1, 2);
			for (uint64_t i = 0; i < 20000; i++) {
				const struct am_event e = {.index = i, .object = 0x10000 + i * 64, .aux = 64,
							   .kind = AM_ALLOC, .site = S_ALLOC};
				am_reporter_event(g.r, &e);
			}
			const struct am_cycle c = world_lost_update(&g.w, 1, 2);
			am_reporter_cycle(g.r, &c, NULL, NULL);
		}
		rig_free(&g);
	}
}

static unsigned n_asked; /* how often live_block was */

static bool live_block(uint64_t address, struct am_block *out)
{
	n_asked++;
	*out = (struct am_block){.start = address & ~UINT64_C(0xff), .size = 256, .site = S_ALLOC};
	return true;
}

Test(reporter, a_repeat_asks_once_for_each_block)
{
	struct rig g = rig_new(0x400000);
	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, NULL, 50);
	am_reporter_free(g.r);
	const struct am_reporter_config config = {
		.tables = &g.w.tables, .symbolizer = g.w.symbolizer, .block = live_block, .format = AM_REPORT_TEXT,
		.out = {page_write, g.page}, .max_reports = 50, .status = AM_OBSERVED, .model = "", .next = ""};
	g.r = am_reporter_new(&config, &g.mem);
	struct am_reporter_stats st;
	struct am_cycle c = world_lost_update(&g.w, 1, 2);
	for (unsigned i = 0; i < 2; i++)
		c.edge[i].from.object = c.edge[i].to.object = 0x900008 + i * 0x1000;
	cr_expect(am_reporter_cycle(g.r, &c, NULL, NULL));
	for (unsigned k = 0; k < 10; k++) {
		n_asked = 0;
		cr_expect_not(am_reporter_cycle(g.r, &c, NULL, NULL));
		cr_expect_eq(n_asked, 2, "%u", n_asked);
	}
	am_reporter_stats(g.r, &st);
	cr_expect_eq(st.repeats, 10);
	rig_free(&g);
}

Test(reporter, names_heap_blocks_by_where_they_came_from)
{
	struct rig g = rig_new(0x400000);
	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, NULL, 50);
	struct am_event e = {.index = 1, .object = 0x900000, .aux = 48, .kind = AM_ALLOC, .site = S_ALLOC,
			     .thread = 0};
	am_reporter_event(g.r, &e);
	struct am_cycle c = world_lost_update(&g.w, 1, 2);
	for (unsigned i = 0; i < 2; i++)
		c.edge[i].from.object = c.edge[i].to.object = 0x900008;
	/* gone by the time it is told */
	e = (struct am_event){.index = 30, .object = 0x900000, .aux = 48, .kind = AM_FREE, .site = S_ALLOC};
	am_reporter_event(g.r, &e);
	e = (struct am_event){.index = 31, .object = 0x900000, .aux = 16, .kind = AM_ALLOC, .site = S_CREATE};
	am_reporter_event(g.r, &e);
	cr_expect(am_reporter_cycle(g.r, &c, NULL, NULL));
	has("read block@account_new+8 = 100");
	has("heap at 0x900000, 48 bytes, allocated by T0 at account_new()");
	rig_free(&g);
}

Test(reporter, names_given_by_the_program_win)
{
	struct rig g = rig_new(0x400000);
	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, NULL, 50);
	const struct am_event e = {.index = 1, .object = g.w.base + OFF_BALANCE, .size = 8, .aux = STR_TOTAL,
				   .kind = AM_NAME};
	am_reporter_event(g.r, &e);
	const struct am_cycle c = world_lost_update(&g.w, 1, 2);
	am_reporter_cycle(g.r, &c, NULL, NULL);
	has("read total = 100");
	rig_free(&g);
}

Test(reporter, without_symbols_shows_module_and_offset)
{
	struct rig g = rig_new(0x400000);
	world_init(&g.w, 0x400000);
	const struct am_reporter_config config = {.tables = &g.w.tables, .out = {page_write, g.page},
						  .max_reports = 50, .model = "", .next = ""};
	g.r = am_reporter_new(&config, &g.mem);
	const struct am_cycle c = world_lost_update(&g.w, 1, 2);
	cr_expect(am_reporter_cycle(g.r, &c, NULL, NULL));
	has("read bank+0x4010 = 100");
	has("bank+0x101f");
	rig_free(&g);
}

Test(reporter, a_witness_gives_the_order_of_the_steps)
{
	struct rig g = rig_new(0x400000);
	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, NULL, 50);
	/* recorded: T1 whole (2..5), then T2 (7); told: T1 read, T2, T1 write */
	const struct am_event read = {.index = 2, .thread = 1, .kind = AM_READ, .object = g.w.base + OFF_BALANCE,
				      .size = 8, .site = S_READ};
	struct am_event write = read, other = read, begin = read;
	write.index = 5, write.kind = AM_WRITE, write.site = S_WRITE;
	other.index = 7, other.thread = 2, other.kind = AM_WRITE, other.site = S_OTHER;
	begin.index = 1, begin.kind = AM_BEGIN, begin.object = STR_WITHDRAW, begin.site = S_BEGIN;
	const struct am_event *order[] = {&begin, &read, &other, &write};
	struct am_cycle c = world_lost_update(&g.w, 1, 2);
	c.begin_index = 1;
	c.close_index = 5;
	c.edge[0].from.index = 2;
	c.edge[0].to.index = c.edge[1].from.index = 7;
	c.edge[1].to.index = 5;
	c.edge[0].to.flags = c.edge[1].from.flags = 0; /* not known in this schedule */
	const struct am_witness witness = {.event = order, .n_events = 4, .status = AM_PREDICTED,
					   .model = "avp", .moved = "T2's write moves before T1's."};
	const struct am_violation *v;
	cr_expect(am_reporter_cycle(g.r, &c, &witness, &v));
	cr_assert_eq(v->n_steps, 4u);
	cr_expect_eq(v->step[2].index, 7u);
	cr_expect_eq(v->step[3].index, 5u);
	cr_expect(v->step[3].flags & AM_HAS_VALUE);
	cr_expect_not(v->step[2].flags & AM_HAS_VALUE);
	has("predicted (model avp)");
	has("T2's write moves before T1's.");
	has("Region \"withdraw\" is not atomic");
	rig_free(&g);
}

/* ---- shorter ways ------------------------------------------------------------------------------- */

static struct am_access lock_access(const struct world *w, uint64_t index, uint32_t thread, enum am_kind kind)
{
	return (struct am_access){.index = index, .object = w->base + OFF_LOCK, .thread = thread, .site = S_LOCK,
				  .region = thread == 1 ? STR_WITHDRAW : 0, .kind = (uint8_t)kind};
}

/* T1 leaves by one lock and comes back by another, over T2. */
static struct am_cycle two_locks(const struct world *w, uint64_t out, uint64_t in)
{
	struct am_cycle c = {.thread = 1, .region = STR_WITHDRAW, .begin_index = 1, .close_index = 9, .n_edges = 2};

	c.edge[0] = (struct am_edge){lock_access(w, 2, 1, AM_ACQUIRE), lock_access(w, 4, 2, AM_WAKE), 0};
	c.edge[1] = (struct am_edge){lock_access(w, 6, 2, AM_ACQUIRE), lock_access(w, 9, 1, AM_ACQUIRE), 0};
	c.edge[0].to.region = c.edge[1].from.region = STR_DEPOSIT;
	c.edge[0].from.object = c.edge[0].to.object = w->base + out;
	c.edge[1].from.object = c.edge[1].to.object = w->base + in;
	return c;
}

Test(reporter, a_region_that_is_not_two_phase_is_one_mistake)
{
	struct rig g = rig_new(0x400000);

	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, NULL, 50);
	struct am_cycle c = two_locks(&g.w, OFF_LOCK, OFF_LOCK + 0x100);
	cr_expect(am_reporter_cycle(g.r, &c, NULL, NULL));
	c = two_locks(&g.w, OFF_LOCK + 0x200, OFF_LOCK + 0x100);
	cr_expect_not(am_reporter_cycle(g.r, &c, NULL, NULL), "other locks, the same mistake");
	c = two_locks(&g.w, OFF_LOCK, OFF_LOCK);
	cr_expect(am_reporter_cycle(g.r, &c, NULL, NULL), "one lock taken twice is another");
	c = two_locks(&g.w, OFF_LOCK + 0x100, OFF_LOCK + 0x100);
	cr_expect(am_reporter_cycle(g.r, &c, NULL, NULL), "and that for each lock");
	rig_free(&g);
}

Test(reporter, a_section_begun_by_a_wake_is_told_once)
{
	struct rig g = rig_new(0x400000);
	const struct am_violation *v;
	unsigned wakes = 0, waits = 0;

	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, NULL, 50);
	const uint64_t mutex = g.w.base + OFF_LOCK, condition = 0x900000;
	const struct am_event wake = {.index = 4, .thread = 2, .kind = AM_WAKE, .object = condition, .aux = mutex};
	const struct am_event wait = {.index = 8, .thread = 2, .kind = AM_WAIT, .object = condition, .aux = mutex};
	am_reporter_event(g.r, &wake);
	am_reporter_event(g.r, &wait);
	const struct am_cycle c = two_locks(&g.w, OFF_LOCK, OFF_LOCK + 0x100);
	cr_expect(am_reporter_cycle(g.r, &c, NULL, &v));
	for (uint32_t i = 0; i < v->n_steps; i++) {
		cr_expect(v->step[i].index != 4 || v->step[i].kind == AM_WAKE);
		wakes += v->step[i].index == 4;
		waits += v->step[i].kind == AM_WAIT;
	}
	cr_expect_eq(wakes, 1u);
	cr_expect_eq(waits, 1u);
	rig_free(&g);
}

Test(simplify, a_section_outside_any_region_is_one_step)
{
	struct rig g = rig_new(0x400000);
	const struct am_violation *v;

	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, NULL, 50);
	struct am_cycle c = {.thread = 1, .region = STR_WITHDRAW, .begin_index = 1, .close_index = 9, .n_edges = 3};
	c.edge[0] = (struct am_edge){lock_access(&g.w, 2, 1, AM_ACQUIRE), lock_access(&g.w, 4, 2, AM_ACQUIRE), 0};
	c.edge[1] = (struct am_edge){c.edge[0].to, lock_access(&g.w, 5, 2, AM_RELEASE), AM_EDGE_PROGRAM};
	c.edge[2] = (struct am_edge){c.edge[1].to, lock_access(&g.w, 9, 1, AM_ACQUIRE), 0};
	am_reporter_cycle(g.r, &c, NULL, &v);
	cr_expect_eq(v->n_edges, 2u);
	cr_expect_eq(v->pattern, AM_PATTERN_TWO_SECTIONS);
	cr_expect_eq(v->step[v->edge[1].from - 1].kind, AM_ACQUIRE);
	rig_free(&g);
}

Test(simplify, a_chain_over_one_variable_becomes_direct)
{
	struct rig g = rig_new(0x400000);
	const struct am_violation *v;

	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, NULL, 50);
	struct am_cycle c = world_lost_update(&g.w, 1, 2);
	c.n_edges = 3;
	c.omitted = 5;
	c.omit_at = 2;
	c.edge[2] = c.edge[1];
	c.edge[1].to = c.edge[2].from = world_access(&g.w, 16, 3, AM_WRITE, S_OTHER, 1);
	am_reporter_cycle(g.r, &c, NULL, &v);
	cr_expect_eq(v->n_edges, 2u);
	cr_expect_eq(v->pattern, AM_PATTERN_LOST_UPDATE);
	cr_expect_eq(v->omitted, 0u);
	rig_free(&g);
}

Test(simplify, keeps_program_order_where_nothing_else_connects)
{
	struct rig g = rig_new(0x400000);
	const struct am_violation *v;

	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, NULL, 50);
	struct am_cycle c = world_lost_update(&g.w, 1, 2);
	c.n_edges = 3;
	c.edge[2] = c.edge[1];
	c.edge[1] = (struct am_edge){c.edge[0].to, world_access(&g.w, 16, 2, AM_WRITE, S_OTHER, 1), AM_EDGE_PROGRAM};
	c.edge[1].to.object += 8; /* another variable, and the way back is over that one */
	c.edge[2].from = c.edge[1].to;
	c.edge[2].to.object += 8;
	am_reporter_cycle(g.r, &c, NULL, &v);
	cr_expect_eq(v->n_edges, 3u);
	cr_expect(v->edge[1].is_program);
	rig_free(&g);
}

/* ---- names of functions ------------------------------------------------------------------------- */

Test(places, function_names_are_short)
{
	static const char *const pairs[][2] = {
		{"main", "main"},
		{"void bank::withdraw<int>(Account*, int)", "bank::withdraw<int>"},
		{"Account::get() const", "Account::get"},
		{"main::{lambda()#1}::operator()() const", "main::{lambda()#1}::operator()"},
		{"std::map<int, long>::operator[](int const&)", "std::map<int, long>::operator[]"},
		{"(anonymous namespace)::f(int)", "(anonymous namespace)::f"},
		{"operator new(unsigned long)", "operator new"},
		{"bool operator< <int>(A<int> const&)", "operator< <int>"},
		{"void f<(anonymous namespace)::E>(int (*)(char))", "f<(anonymous namespace)::E>"},
		{"", ""},
		{"(", "("},
		{"f(", "f"},
		{"operator", "operator"},
	};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		char out[100];
		am_function_short(pairs[i][0], out, sizeof out);
		cr_expect_str_eq(out, pairs[i][1], "%s: %s", pairs[i][0], out);
	}
}
