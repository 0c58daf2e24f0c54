/*
 * Any cycle makes a report: random cycles with random names, sites, sizes and threads, through all
 * writers. Lines fit, JSON is balanced and escaped, ids do not depend on addresses or thread ids.
 * Usage: report_any [SEED [COUNT]]
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atommon/mem.h"
#include "atommon/report.h"
#include "tests/property/cases.h"

enum { STRINGS = 12, SITES = 20, THREADS = 70, BYTES = 1 << 20 };

static uint64_t seed;

static uint32_t rnd(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % below;
}

static char string_bytes[STRINGS][40];
static const char *string[STRINGS];
static struct am_site site[SITES];
static struct am_thread thread[THREADS];
static struct am_module module[2];
static struct am_tables tables;

static void random_text(char *out, size_t size)
{
	const size_t n = rnd((uint32_t)size - 1);

	for (size_t i = 0; i < n; i++)
		out[i] = rnd(6) ? (char)('a' + rnd(26)) : (char)(1 + rnd(255));
	out[n] = 0;
}

static unsigned code(void *ctx, const struct am_module *m, uint64_t offset, struct am_vframe *f, unsigned max)
{
	const unsigned n = (unsigned)(offset % 4);

	(void)ctx;
	(void)m;
	for (unsigned i = 0; i < n && i < max; i++)
		f[i] = (struct am_vframe){.function = string[(offset + i) % STRINGS],
					  .file = offset % 3 ? string[(offset * 7 + i) % STRINGS] : "",
					  .line = (uint32_t)offset};
	return n < max ? n : max;
}

static bool data(void *ctx, const struct am_module *m, uint64_t offset, struct am_symbol *s)
{
	(void)ctx;
	(void)m;
	*s = (struct am_symbol){string[offset / 64 % STRINGS], offset / 64 * 64, 64,
				offset % 3 ? NULL : string[offset % STRINGS]};
	return offset % 5 != 0;
}

static void make_world(uint64_t base)
{
	for (unsigned i = 0; i < STRINGS; i++)
		string[i] = string_bytes[i];
	for (unsigned i = 0; i < 2; i++)
		module[i] = (struct am_module){.path = i ? "/usr/lib/libx.so" : "prog", .base = base + i * 0x100000,
					       .start = base + i * 0x100000, .end = base + i * 0x100000 + 0x80000};
	tables = (struct am_tables){.string = string, .n_strings = STRINGS, .module = module, .n_modules = 2,
				    .site = site, .n_sites = SITES, .thread = thread, .n_threads = THREADS,
				    .command = string[1], .pid = 1};
}

static void move_sites(uint64_t from, uint64_t to)
{
	for (unsigned i = 0; i < SITES; i++)
		for (uint32_t k = 0; k < site[i].n_frames; k++)
			site[i].frame[k] += to - from;
}

static void random_tables(uint64_t base)
{
	for (unsigned i = 1; i < STRINGS; i++)
		random_text(string_bytes[i], sizeof string_bytes[i]);
	for (unsigned i = 0; i < SITES; i++) {
		site[i].n_frames = rnd(AM_FRAMES_MAX + 1);
		for (uint32_t k = 0; k < site[i].n_frames; k++)
			site[i].frame[k] = base + rnd(0x200000);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		thread[i] = (struct am_thread){i, rnd(3) ? rnd(THREADS) : UINT32_MAX, rnd(9999), rnd(SITES + 3),
					       string[rnd(STRINGS)]};
}

static struct am_access random_access(uint64_t base, uint64_t index)
{
	static const uint8_t kinds[] = {AM_READ, AM_WRITE, AM_UPDATE, AM_FREE, AM_ACQUIRE, AM_RELEASE, AM_WAKE};

	return (struct am_access){.index = index, .object = base + rnd(0x1c0000), .value = seed,
				  .size = rnd(5) ? 1u << rnd(7) : rnd(1 << 20), .thread = rnd(THREADS + 5),
				  .site = rnd(SITES + 3), .region = rnd(STRINGS + 2), .region_site = rnd(SITES + 2),
				  .kind = kinds[rnd(sizeof kinds)], .mode = (uint8_t)rnd(2), .flags = (uint8_t)rnd(2)};
}

static struct am_cycle random_cycle(uint64_t base)
{
	static struct am_cycle c;
	uint64_t index = 100;

	memset(&c, 0, sizeof c);
	c.n_edges = rnd(8) ? 2 + rnd(3) : 1 + rnd(AM_CYCLE_MAX);
	c.region = rnd(STRINGS + 1);
	c.region_site = rnd(SITES + 1);
	c.begin_index = rnd(100);
	c.n_inner = rnd(9);
	c.omitted = rnd(6) ? 0 : rnd(1000);
	for (uint32_t i = 0; i < c.n_inner; i++)
		c.inner[i] = rnd(STRINGS + 1);
	for (uint32_t i = 0; i < c.n_edges; i++) {
		c.edge[i].from = random_access(base, index += rnd(3));
		c.edge[i].to = random_access(base, index += rnd(3));
		c.edge[i].why = (uint8_t)rnd(2);
	}
	c.close_index = index;
	c.thread = c.edge[0].from.thread;
	return c;
}

static struct {
	size_t n;
	char text[BYTES];
} page;

static void keep(void *ctx, const char *bytes, size_t n)
{
	(void)ctx;
	if (page.n + n < BYTES)
		memcpy(page.text + page.n, bytes, n);
	page.n += n;
	page.text[page.n < BYTES ? page.n : BYTES - 1] = 0;
}

static const char *text_fault(void)
{
	unsigned columns = 0;

	for (const char *p = page.text; *p; p++) {
		columns = *p == '\n' ? 0 : columns + (((unsigned char)*p & 0xc0) != 0x80);
		if (columns > 100)
			return "a line of more than 100 columns";
		if (*p != '\n' && ((unsigned char)*p < ' ' || *p == 0x7f))
			return "a control character";
	}
	return NULL;
}

static const char *json_fault(void)
{
	char open[64];
	int depth = 0, in_text = 0;

	for (const char *p = page.text; *p; p++) {
		if ((unsigned char)*p < ' ' && *p != '\n')
			return "a control character";
		if (in_text) {
			if (*p == '\\')
				p++;
			else if (*p == '"')
				in_text = 0;
		} else if (*p == '"')
			in_text = 1;
		else if (*p == '{' || *p == '[')
			open[depth++] = *p;
		else if ((*p == '}' || *p == ']') && (depth == 0 || open[--depth] != (*p == '}' ? '{' : '[')))
			return "brackets that do not match";
		else if (*p == ',' && strchr(",]}", p[1]))
			return "a comma too many";
	}
	return depth || in_text ? "an open end" : NULL;
}

/* One report; returns what is wrong with it, or NULL. */
static const char *tell(const struct am_cycle *c, enum am_report_format format, char id[AM_ID_SIZE])
{
	struct am_mem mem;
	const char *fault = NULL;
	const struct am_violation *v;
	const struct am_reporter_config config = {
		.tables = &tables, .symbolizer = {NULL, code, data}, .format = format, .out = {keep, NULL},
		.style = {.width = 60 + rnd(60)}, .max_reports = 5, .model = "", .next = ""};

	page.n = 0;
	page.text[0] = 0;
	am_mem_init(&mem, 0);
	struct am_reporter *r = am_reporter_new(&config, &mem);
	am_reporter_cycle(r, c, NULL, &v);
	am_reporter_finish(r);
	if (!v)
		fault = "no report";
	else {
		memcpy(id, v->id, AM_ID_SIZE);
		for (uint32_t i = 0; i < v->n_edges; i++)
			if (!v->edge[i].from || v->edge[i].from > v->n_steps || !v->edge[i].to ||
			    v->edge[i].to > v->n_steps)
				fault = "an edge without its step";
	}
	if (!fault && page.n < BYTES)
		fault = format == AM_REPORT_TEXT ? text_fault() : json_fault();
	am_reporter_free(r);
	am_mem_destroy(&mem);
	return fault;
}

int main(int argc, char **argv)
{
	const uint64_t start = argc > 1 ? strtoull(argv[1], NULL, 0) : 20260116;
	const unsigned count = (unsigned)cases_wanted(argc, argv, 3000);
	const uint64_t here = 0x400000, there = 0x7f0000000000;

	printf("# seed %llu, %u cycles\n", (unsigned long long)start, count);
	for (unsigned i = 0; i < count; i++) {
		char ids[4][AM_ID_SIZE] = {{0}};
		seed = start + i;
		make_world(here);
		random_tables(here);
		struct am_cycle c = random_cycle(here);
		const char *fault = NULL;
		for (int format = AM_REPORT_TEXT; format <= AM_REPORT_SARIF && !fault; format++)
			fault = tell(&c, (enum am_report_format)format, ids[format]);
		/* elsewhere in memory */
		make_world(there);
		move_sites(here, there);
		for (uint32_t k = 0; k < c.n_edges; k++) {
			c.edge[k].from.object += there - here;
			c.edge[k].to.object += there - here;
		}
		if (!fault)
			fault = tell(&c, AM_REPORT_TEXT, ids[3]);
		if (!fault && (strcmp(ids[0], ids[1]) || strcmp(ids[0], ids[2]) || strcmp(ids[0], ids[3])))
			fault = "an id that changes";
		if (fault) {
			printf("not ok 1 - cycle %u (seed %llu): %s\n%s\n", i, (unsigned long long)start + i, fault,
			       page.text);
			return 1;
		}
	}
	printf("ok 1 - %u random cycles make reports\n1..1\n", count);
	return 0;
}
