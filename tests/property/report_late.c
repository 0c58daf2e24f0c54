/*
 * Names that come late: random runs with locks, heap blocks that come and go, and cycles, told by three reporters.
 * One knows every name at once; one has to wait for each, while the run goes on; one is asked for every
 * violation, so that it never recognises a cycle before it has its names. The first two write the same
 * reports, byte by byte; the third one, too. Where no lines are known the first two also count the same. (With lines,
 * "the rest of that statement" is not counted, and what is one depends on what was told when.)
 * Usage: report_late [SEED [COUNT]]
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atommon/mem.h"
#include "atommon/report.h"
#include "tests/property/cases.h"

enum { SITES = 24, THREADS = 5, BLOCKS = 6, GLOBALS = 12, PAST = 64, STEPS = 400, BYTES = 1 << 22, PLACES = 4096 };
enum { STR_NONE, STR_PUT, STR_GET, STR_NAMED, STRINGS };
static const uint64_t base = 0x400000, heap = 0x900000;

static uint64_t seed;

static uint32_t rnd(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % below;
}

/* ---- the program ----------------------------------------------------------------------------- */

static const char *string[STRINGS] = {"", "put", "get", "named"};
static struct am_site site[SITES];
static struct am_thread thread[THREADS];
static struct am_module module = {.path = "/opt/prog"};
static struct am_tables tables;
static bool has_lines;

static void make_program(void)
{
	module.base = module.start = base;
	module.end = base + 0x100000;
	for (uint32_t i = 1; i < SITES; i++) {
		site[i].n_frames = 1 + rnd(3);
		for (uint32_t k = 0; k < site[i].n_frames; k++)
			site[i].frame[k] = base + 0x1000 + rnd(PLACES - 1) / 8 * 8 + 1;
	}
	for (uint32_t i = 0; i < THREADS; i++)
		thread[i] = (struct am_thread){i, 0, 100 + i, i ? 1 + rnd(SITES - 1) : 0, i % 2 ? "odd" : ""};
	tables = (struct am_tables){.string = string, .n_strings = STRINGS, .module = &module, .n_modules = 1,
				    .site = site, .n_sites = SITES, .thread = thread, .n_threads = THREADS,
				    .command = "prog", .pid = 1};
}

static unsigned true_code(uint64_t offset, struct am_vframe *f, unsigned max)
{
	static const char *const name[] = {"a", "b", "c", "std::lock", "d"};
	const unsigned n = offset / 8 % 7 == 0 ? 0 : offset / 8 % 5 == 0 ? 2 : 1;

	for (unsigned i = 0; i < n && i < max; i++)
		f[i] = (struct am_vframe){.function = name[(offset / 8 + i) % 5], .file = "prog.c",
					  .line = has_lines ? (uint32_t)(offset / 8 % 11) : 0};
	return n < max ? n : max;
}

static bool true_data(uint64_t offset, struct am_symbol *s)
{
	static const char *const name[] = {"first", "second", "third"}, *const part[] = {"", "[1]", ".x"};

	if (offset < 0x8000)
		return false;
	*s = (struct am_symbol){name[offset / 64 % 3], offset / 64 * 64, 64, part[offset / 8 % 3]};
	return true;
}

/* ---- who knows names ------------------------------------------------------------------------- */

struct knower {
	bool is_late;
	uint64_t asked, answered, missed;
	uint64_t number[2][0x10000 / 8]; /* of the question, by what and place; 0: not asked */
};

static bool is_there(struct knower *k, int what, uint64_t offset)
{
	uint64_t *number = &k->number[what][offset / 8 % (0x10000 / 8)];

	if (!k->is_late)
		return true;
	if (!*number && k->asked - k->answered < 20) /* else: not now */
		*number = ++k->asked;
	if (*number && *number <= k->answered)
		return true;
	k->missed++;
	return false;
}

static unsigned code(void *ctx, const struct am_module *m, uint64_t offset, struct am_vframe *f, unsigned max)
{
	(void)m;
	return is_there(ctx, 0, offset) ? true_code(offset, f, max) : 0;
}

static bool data(void *ctx, const struct am_module *m, uint64_t offset, struct am_symbol *s)
{
	(void)m;
	return is_there(ctx, 1, offset) && true_data(offset, s);
}

static uint64_t missed(void *ctx)
{
	return ((struct knower *)ctx)->missed;
}

static uint64_t asked(void *ctx)
{
	return ((struct knower *)ctx)->asked;
}

static uint64_t answered(void *ctx, uint64_t wanted)
{
	struct knower *k = ctx;

	k->answered += k->answered < k->asked && k->asked % 3 == 0;
	if (k->answered < wanted)
		k->answered = wanted < k->asked ? wanted : k->asked;
	return k->answered;
}

/* ---- the run --------------------------------------------------------------------------------- */

static struct am_access past[PAST]; /* newest last */
static uint64_t now, begin[THREADS], held[THREADS];
static bool is_block[BLOCKS];

static uint64_t any_object(void)
{
	return rnd(2) ? base + 0x8000 + rnd(GLOBALS) * 64 + rnd(2) * 8 : heap + rnd(BLOCKS) * 64 + rnd(8) * 8;
}

static void access_now(uint32_t t)
{
	memmove(past, past + 1, sizeof past - sizeof past[0]);
	past[PAST - 1] = (struct am_access){.index = now, .object = any_object(), .size = 8, .thread = t,
					    .site = 1 + rnd(4), .kind = rnd(2) ? AM_READ : AM_WRITE,
					    .region = t % 2 ? STR_PUT : STR_GET, .region_site = 1 + t % 2};
}

static bool any_event(struct am_event *e, uint32_t t)
{
	*e = (struct am_event){.index = now, .thread = t, .site = 1 + rnd(SITES - 1), .size = 8};
	const uint32_t b = rnd(BLOCKS);
	switch (rnd(8)) {
	case 0:
		is_block[b] = !is_block[b];
		e->kind = is_block[b] ? AM_ALLOC : AM_FREE;
		e->object = heap + b * 64;
		e->aux = 64;
		return true;
	case 1:
	case 2:
	case 3:
		e->kind = held[t] ? AM_RELEASE : AM_ACQUIRE;
		e->object = held[t] ? held[t] : base + 0x9000 + rnd(2) * 64;
		held[t] = held[t] ? 0 : e->object;
		return true;
	case 4:
		begin[t] = now;
		return false;
	case 5:
		if (rnd(10))
			return false;
		*e = (struct am_event){.index = now, .thread = t, .kind = AM_NAME, .object = any_object(), .size = 8,
				       .aux = STR_NAMED};
		return true;
	default:
		return false;
	}
}

/* Out of the region of the newest access' thread, through others, and back. */
static bool any_cycle(struct am_cycle *c)
{
	const struct am_access *last = &past[PAST - 1];
	const uint32_t edges = rnd(3) ? 2 : 3;
	uint32_t at = 0;

	memset(c, 0, sizeof *c);
	c->thread = last->thread;
	c->region = last->region;
	c->region_site = last->region_site;
	c->begin_index = begin[last->thread];
	c->close_index = last->index;
	while (at < PAST && (past[at].thread != c->thread || !past[at].kind || past[at].index < c->begin_index))
		at++;
	if (at == PAST)
		return false;
	for (uint32_t i = 0; i < edges; i++) {
		c->edge[i].from = past[at];
		do
			at++;
		while (at < PAST - 1 && (past[at].thread == c->thread || rnd(3) == 0));
		if (at >= PAST)
			return false;
		c->edge[i].to = i + 1 == edges ? *last : past[at];
	}
	c->n_edges = edges;
	return c->edge[edges - 1].from.thread != c->thread && last->kind && at <= PAST - 1;
}

/* The same again, now. */
static void again(struct am_cycle *c)
{
	const uint64_t later = now - c->close_index;

	c->begin_index += later;
	c->close_index += later;
	for (uint32_t i = 0; i < c->n_edges; i++) {
		c->edge[i].from.index += later;
		c->edge[i].to.index += later;
	}
}

/* ---- three who tell it ----------------------------------------------------------------------- */

struct page {
	size_t n;
	char text[BYTES];
};

static void keep(void *ctx, const char *bytes, size_t n)
{
	struct page *p = ctx;

	if (p->n + n < BYTES) {
		memcpy(p->text + p->n, bytes, n);
		p->n += n;
	}
	p->text[p->n] = 0;
}

enum { AT_ONCE, LATE, ASKED, TELLERS };
static struct {
	struct am_mem mem;
	struct knower knower;
	struct page page;
	struct am_reporter *reporter;
} teller[TELLERS];

static void open_teller(int i, uint32_t max_reports)
{
	struct knower *k = &teller[i].knower;
	struct am_symbolizer names = {.ctx = k, .code = code, .data = data};

	memset(k, 0, sizeof *k);
	teller[i].page.n = 0;
	teller[i].page.text[0] = 0;
	k->is_late = i == LATE;
	if (k->is_late) {
		names.missed = missed;
		names.asked = asked;
		names.answered = answered;
	}
	const struct am_reporter_config config = {.tables = &tables, .symbolizer = names, .format = AM_REPORT_JSON,
						  .out = {keep, &teller[i].page}, .max_reports = max_reports,
						  .model = "", .next = ""};
	am_mem_init(&teller[i].mem, 0);
	teller[i].reporter = am_reporter_new(&config, &teller[i].mem);
}

static const char *run(uint64_t *waited)
{
	const uint32_t max_reports = rnd(3) ? 1000 : 2;
	struct am_reporter_stats stats[TELLERS];
	static struct am_cycle c;
	struct am_event e;
	const char *fault = NULL;

	memset(past, 0, sizeof past);
	memset(begin, 0, sizeof begin);
	memset(held, 0, sizeof held);
	memset(is_block, 0, sizeof is_block);
	c.n_edges = 0;
	has_lines = rnd(2);
	make_program();
	for (int i = 0; i < TELLERS; i++)
		open_teller(i, max_reports);
	for (now = 1; now < STEPS; now++) {
		const uint32_t t = rnd(THREADS);
		if (any_event(&e, t))
			for (int i = 0; i < TELLERS; i++)
				am_reporter_event(teller[i].reporter, &e);
		else
			access_now(t);
		for (uint32_t n = rnd(3); n-- > 0;) {
			if (c.n_edges && rnd(3) == 0)
				again(&c);
			else if (!any_cycle(&c))
				c.n_edges = 0;
			for (int i = 0; i < TELLERS && c.n_edges; i++) {
				const struct am_violation *v;
				am_reporter_cycle(teller[i].reporter, &c, NULL, i == ASKED ? &v : NULL);
			}
		}
		if (rnd(3) == 0)
			*waited += am_reporter_settle(teller[LATE].reporter, false) > 0;
	}
	am_reporter_settle(teller[LATE].reporter, true);
	if (strcmp(teller[AT_ONCE].page.text, teller[LATE].page.text))
		fault = "reports with late names differ";
	if (strcmp(teller[AT_ONCE].page.text, teller[ASKED].page.text))
		fault = "cycles are mistaken for others";
	for (int i = 0; i < TELLERS; i++) {
		am_reporter_finish(teller[i].reporter);
		am_reporter_stats(teller[i].reporter, &stats[i]);
		am_reporter_free(teller[i].reporter);
		am_mem_destroy(&teller[i].mem);
	}
	if (!fault && !has_lines && memcmp(&stats[AT_ONCE], &stats[LATE], sizeof stats[LATE]))
		fault = "with late names it counts otherwise";
	return fault;
}

int main(int argc, char **argv)
{
	const uint64_t start = argc > 1 ? strtoull(argv[1], NULL, 0) : 20261118;
	const unsigned count = (unsigned)cases_wanted(argc, argv, 150);
	uint64_t waited = 0;

	printf("# seed %llu, %u runs\n", (unsigned long long)start, count);
	for (unsigned i = 0; i < count; i++) {
		seed = start + i;
		const char *fault = run(&waited);
		if (fault) {
			printf("not ok 1 - run %u (seed %llu): %s\n", i, (unsigned long long)start + i, fault);
			return 1;
		}
	}
	printf("%sok 1 - %u random runs are told the same, names late or not (%llu times some waited)\n1..1\n",
	       waited ? "" : "not ", count, (unsigned long long)waited);
	return waited ? 0 : 1;
}
