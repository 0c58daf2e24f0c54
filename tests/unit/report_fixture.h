/* SPDX-License-Identifier: MIT */
/*
 * A small world for the tests of reports: a program "bank" with two tellers, its sites, strings and
 * a symboliser that knows them. The base address can be moved, as address randomisation does.
 */
#ifndef REPORT_FIXTURE_H
#define REPORT_FIXTURE_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "atommon/mem.h"
#include "atommon/report.h"

enum { S_NONE, S_BEGIN, S_READ, S_WRITE, S_OTHER, S_CREATE, S_LOCK, S_UNLOCK, S_ALLOC, SITES };
enum { STR_NONE, STR_WITHDRAW, STR_DEPOSIT, STR_INNER, STR_TOTAL, STRINGS };
enum { OFF_BALANCE = 0x4010, OFF_LOCK = 0x4040 };

struct world {
	uint64_t base;
	uint32_t line_shift; /* a rebuild moves lines */
	struct am_module module[1];
	struct am_site site[SITES];
	struct am_thread thread[4];
	const char *string[STRINGS];
	struct am_tables tables;
	struct am_symbolizer symbolizer;
};

static unsigned world_code(void *ctx, const struct am_module *m, uint64_t offset,
			   struct am_vframe *frames, unsigned max)
{
	static const char *const functions[SITES] = {"?",    "withdraw", "withdraw", "withdraw", "deposit",
						     "main", "withdraw", "withdraw", "account_new"};
	const struct world *w = ctx;
	const uint64_t n = (offset + 1 - 0x1000) / 16;

	(void)m;
	if (!max || n == 0 || n >= SITES)
		return 0;
	frames[0].function = functions[n];
	frames[0].file = "/src/bank.c";
	frames[0].line = 30 + (uint32_t)n + w->line_shift;
	return 1;
}

static bool world_data(void *ctx, const struct am_module *m, uint64_t offset, struct am_symbol *symbol)
{
	(void)ctx;
	(void)m;
	if (offset >= OFF_BALANCE && offset < OFF_BALANCE + 16) {
		*symbol = (struct am_symbol){"balance", OFF_BALANCE, 16, NULL};
		return true;
	}
	if (offset >= OFF_LOCK && offset < OFF_LOCK + 40) {
		*symbol = (struct am_symbol){"bank_lock", OFF_LOCK, 40, NULL};
		return true;
	}
	return false;
}

static inline void world_init(struct world *w, uint64_t base)
{
	memset(w, 0, sizeof *w);
	w->base = base;
	w->module[0] = (struct am_module){.path = "/opt/bank", .base = base, .start = base,
					  .end = base + 0x10000};
	for (unsigned i = 1; i < SITES; i++) {
		w->site[i].n_frames = 1;
		w->site[i].frame[0] = base + 0x1000 + 16 * i;
	}
	w->thread[0] = (struct am_thread){.id = 0, .parent = UINT32_MAX, .name = ""};
	for (uint32_t i = 1; i < 4; i++)
		w->thread[i] = (struct am_thread){.id = i, .parent = 0, .create_site = S_CREATE,
						  .name = i == 1 ? "teller-1" : "teller-2"};
	w->string[STR_WITHDRAW] = "withdraw";
	w->string[STR_DEPOSIT] = "deposit";
	w->string[STR_INNER] = "check";
	w->string[STR_TOTAL] = "total";
	w->tables = (struct am_tables){.string = w->string, .n_strings = STRINGS, .module = w->module,
				       .n_modules = 1, .site = w->site, .n_sites = SITES,
				       .thread = w->thread, .n_threads = 4, .command = "./bank 2",
				       .pid = 4711};
	w->symbolizer = (struct am_symbolizer){.ctx = w, .code = world_code, .data = world_data};
}

static inline struct am_access world_access(const struct world *w, uint64_t index, uint32_t thread,
					    enum am_kind kind, uint32_t site, uint64_t value)
{
	return (struct am_access){.index = index, .object = w->base + OFF_BALANCE, .value = value,
				  .size = 8, .thread = thread, .site = site,
				  .region = site == S_OTHER ? STR_DEPOSIT : STR_WITHDRAW,
				  .region_site = S_BEGIN, .kind = (uint8_t)kind, .flags = AM_HAS_VALUE};
}

/* T1 reads, T2 writes, T1 writes. */
static inline struct am_cycle world_lost_update(const struct world *w, uint32_t t1, uint32_t t2)
{
	struct am_cycle c = {.thread = t1, .region = STR_WITHDRAW, .region_site = S_BEGIN,
			     .begin_index = 10, .close_index = 19, .n_edges = 2};
	c.edge[0].from = world_access(w, 12, t1, AM_READ, S_READ, 100);
	c.edge[0].to = world_access(w, 15, t2, AM_WRITE, S_OTHER, 150);
	c.edge[1].from = c.edge[0].to;
	c.edge[1].to = world_access(w, 19, t1, AM_WRITE, S_WRITE, (uint64_t)-90);
	return c;
}

/* The critical sections around it. */
static inline void world_sections(const struct world *w, struct am_reporter *r, uint32_t t1, uint32_t t2)
{
	static const struct {
		uint8_t index, who, kind, site;
	} plan[] = {{11, 1, AM_ACQUIRE, S_LOCK}, {13, 1, AM_RELEASE, S_UNLOCK}, {14, 2, AM_ACQUIRE, S_OTHER},
		    {16, 2, AM_RELEASE, S_OTHER}, {18, 1, AM_ACQUIRE, S_LOCK}};

	for (size_t i = 0; i < sizeof plan / sizeof *plan; i++) {
		const struct am_event e = {.index = plan[i].index, .object = w->base + OFF_LOCK,
					   .thread = plan[i].who == 1 ? t1 : t2, .site = plan[i].site,
					   .kind = plan[i].kind};
		am_reporter_event(r, &e);
	}
}

/* A sink that keeps what it is given. */
struct page_text {
	size_t n;
	char text[1 << 16];
};

static inline void page_write(void *ctx, const char *bytes, size_t n)
{
	struct page_text *p = ctx;

	if (p->n + n < sizeof p->text)
		memcpy(p->text + p->n, bytes, n);
	p->n += n;
	p->text[p->n < sizeof p->text ? p->n : sizeof p->text - 1] = 0;
}

struct rig {
	struct world w;
	struct am_mem mem;
	struct am_reporter *r;
	struct page_text *page;
};

static inline struct rig rig_new(uint64_t base)
{
	struct rig g = {.w = {.base = base}, .page = calloc(1, sizeof *g.page)};

	am_mem_init(&g.mem, 0);
	return g;
}

static inline void rig_start(struct rig *g, enum am_report_format format, struct am_style style,
		      struct am_suppressions *sup, uint32_t max)
{
	const uint32_t shift = g->w.line_shift;
	world_init(&g->w, g->w.base);
	g->w.line_shift = shift;
	const struct am_reporter_config config = {
		.tables = &g->w.tables, .symbolizer = g->w.symbolizer, .suppressions = sup,
		.format = format, .style = style, .out = {page_write, g->page}, .max_reports = max,
		.status = AM_OBSERVED, .model = "", .next = "atommon-predict bank.atm"};
	g->r = am_reporter_new(&config, &g->mem);
	cr_assert_not_null(g->r);
}

static inline void rig_free(struct rig *g)
{
	am_reporter_free(g->r);
	am_mem_destroy(&g->mem);
	free(g->page);
}

#define has(part) cr_expect(strstr(g.page->text, part), "'%s' in\n%s", part, g.page->text)

#endif
