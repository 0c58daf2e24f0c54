/*
 * Soundness of recorded expressions: random C programs are built with `atommon cc --symbolic`, run
 * and recorded; then every expression is evaluated with the values of the recorded reads, and must
 * equal what was recorded of writes, branches, assertions and pins, bit for bit; a read must see what
 * the trace last wrote there. Usage: expr_sound [seed [programs]], or EXPR_PROGRAMS in the
 * environment. Batches of 100 programs share one compilation.
 */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/trace/source.h"
#include "tests/property/cases.h"
#include "tests/property/expr_generate.h"

enum { BATCH = 100, NODES = 1 << 22, BYTES = 1 << 20 };

struct totals {
	uint64_t events, nodes, reads, writes, branches, pins, asserts, updates, wrong;
};

/* Values of the nodes of the one thread that runs the programs. */
static uint64_t value[NODES];
static uint8_t width[NODES];
static uint32_t n_nodes;

/* The program's own variables, as the trace wrote them. */
static uint64_t base;
static uint8_t memory[BYTES], is_known[BYTES];

static uint64_t mask(uint64_t v, unsigned bits)
{
	return bits >= 64 ? v : v & ((UINT64_C(1) << bits) - 1);
}

static void wrong(struct totals *t, const struct am_event *e, const char *what, uint64_t is,
		  uint64_t should)
{
	if (t->wrong++ < 10)
		printf("# event %" PRIu64 ": %s: %#" PRIx64 ", expected %#" PRIx64 "\n", e->index, what, is,
		       should);
}

static void define(struct totals *t, const struct am_event *e)
{
	const unsigned op = e->object & 0xff, w = e->object >> 8 & 0xff;
	const uint32_t a = (uint32_t)e->value, b = (uint32_t)(e->value >> 32);
	const uint32_t c = (uint32_t)(e->object >> 16);
	const uint32_t n = ++n_nodes;

	t->nodes++;
	if (n >= NODES)
		exit(1);
	width[n] = (uint8_t)w;
	if (op == AM_OP_CONST) {
		value[n] = mask(e->value, w);
		return;
	}
	if (a == 0 || a >= n || (am_op_arity(op) >= 2 && (b == 0 || b >= n))) {
		wrong(t, e, "operand", a, n);
		return;
	}
	if (op == AM_OP_ITE)
		value[n] = value[a] ? value[b] : value[c];
	else
		value[n] = am_op_eval(op, w, width[a], value[a], value[b], 0);
	value[n] = mask(value[n], w);
}

/* What code that is not seen may have written: anything. */
static void forget(void)
{
	memset(is_known, 0, sizeof is_known);
}

static void remember(const struct am_event *e, uint64_t v)
{
	if (!(e->flags & AM_HAS_VALUE)) { /* a range: written, nobody says what */
		for (uint64_t i = e->object - base; i < BYTES && i < e->object - base + e->size; i++)
			is_known[i] = 0;
		return;
	}
	for (uint32_t i = 0; i < e->size && i < 8; i++)
		if (e->object + i - base < BYTES) {
			memory[e->object + i - base] = (uint8_t)(v >> 8 * i);
			is_known[e->object + i - base] = 1;
		}
}

static void compare_memory(struct totals *t, const struct am_event *e)
{
	if (!(e->flags & AM_HAS_VALUE)) {
		if (e->kind != AM_READ)
			remember(e, 0);
		return;
	}
	for (uint32_t i = 0; i < e->size && i < 8; i++) {
		const uint64_t at = e->object + i - base;
		if (at < BYTES && is_known[at] && memory[at] != (uint8_t)(e->value >> 8 * i))
			wrong(t, e, "byte read", (uint8_t)(e->value >> 8 * i), memory[at]);
	}
	remember(e, e->value);
}

static void take(struct totals *t, const struct am_event *e)
{
	static uint32_t update_node;
	static struct am_event update;

	t->events++;
	if (e->thread != 0)
		return;
	switch (e->kind) {
	case AM_EXPR:
		define(t, e);
		if (update_node && n_nodes == update_node) {
			remember(&update, value[n_nodes]);
			update_node = 0;
		}
		break;
	case AM_READ:
	case AM_UPDATE:
		compare_memory(t, e);
		if (e->kind == AM_READ)
			t->reads++;
		else
			t->updates++;
		if (e->expr) {
			if (e->expr != ++n_nodes)
				wrong(t, e, "node of a read", e->expr, n_nodes);
			value[n_nodes] = mask(e->value, 8 * e->size);
			width[n_nodes] = (uint8_t)(8 * e->size);
		}
		if (e->kind == AM_UPDATE && e->aux <= n_nodes) {
			remember(e, value[e->aux]);
		} else if (e->kind == AM_UPDATE) {
			update = *e;
			update_node = (uint32_t)e->aux;
		}
		break;
	case AM_WRITE:
		t->writes++;
		remember(e, e->value);
		if (e->expr && (e->expr > n_nodes || value[e->expr] != mask(e->value, 8 * e->size)))
			wrong(t, e, "value written", value[e->expr], e->value);
		break;
	case AM_BRANCH:
	case AM_ASSERT:
		t->branches += e->kind == AM_BRANCH;
		t->asserts += e->kind == AM_ASSERT;
		if (e->expr == 0 || width[e->expr] != 1 || value[e->expr] != e->value)
			wrong(t, e, "condition", value[e->expr], e->value);
		break;
	case AM_PIN:
		t->pins++;
		if (value[e->expr] != mask(e->value, width[e->expr]))
			wrong(t, e, "pin", value[e->expr], e->value);
		break;
	case AM_CALL:
		forget();
		break;
	default:
		break;
	}
}

static bool check_trace(struct totals *t, const char *path)
{
	char why[AM_SOURCE_ERROR_MAX];
	struct am_source *s = am_source_open(path, &(struct am_source_config){.no_exprs = true}, why);
	struct am_event e;
	int r = -1;

	if (!s) {
		printf("# %s\n", why);
		return false;
	}
	n_nodes = 0;
	base = 0;
	forget();
	while ((r = am_source_next(s, &e)) > 0) {
		const struct am_tables *tables = am_source_tables(s);
		if (!base && tables->n_modules)
			base = tables->module[0].start;
		take(t, &e);
	}
	if (r < 0)
		printf("# %s\n", am_source_error(s));
	am_source_close(s);
	return r == 0;
}

static bool shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool shell(const char *format, ...)
{
	char command[4 * PATH_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof command, format, args);
	va_end(args);
	if (system(command) == 0)
		return true;
	printf("# failed: %s\n", command);
	return false;
}

static bool run_batch(struct totals *t, const char *build, const char *dir, uint64_t seed,
		      unsigned first, unsigned n)
{
	/* Optimised builds take clang six times as long, and the pass runs before the optimisers. */
	static const char *const levels[] = {"-O1", "-O0", "-O0", "-O2", "-O0", "-O0", "-O0", "-O0"};
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/p.c", dir);
	FILE *out = fopen(path, "w");
	if (!out)
		return false;
	gen_prologue(out);
	for (unsigned i = 0; i < n; i++)
		gen_program(out, seed + (first + i) * UINT64_C(0x9e3779b97f4a7c15), i);
	gen_main(out, n);
	fclose(out);
	if (!shell("cd %s && rm -f t.atm && %s/bin/atommon-cc --symbolic %s -w -fwrapv p.c -o p && ./p >plain && "
		   "ATOMMON_MODE=record ATOMMON_TRACE=t.atm ATOMMON_STACK=1 LD_PRELOAD=%s/lib/libatommon.so "
		   "./p >watched && cmp plain watched",
		   dir, build, levels[first / BATCH % 8], build))
		return false;
	snprintf(path, sizeof path, "%s/t.atm", dir);
	return check_trace(t, path);
}

int main(int argc, char **argv)
{
	const char *count = argc > 2 ? argv[2] : getenv("EXPR_PROGRAMS");
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	const unsigned programs = count ? (unsigned)strtoul(count, NULL, 0) : (unsigned)cases_part(400);
	const char *build = getenv("ATOMMON_BUILD");
	char self[PATH_MAX], dir[] = "/tmp/atommon-expr-XXXXXX";
	struct totals t = {0};
	unsigned done = 0;

	if (!build) {
		if (!realpath(argv[0], self))
			return 1;
		build = dirname(dirname(dirname(self)));
	}
	if (!mkdtemp(dir))
		return 1;
	printf("# seed %" PRIu64 ", %u programs\n", seed, programs);
	bool is_fine = true;
	while (is_fine && done < programs && t.wrong == 0) {
		const unsigned n = programs - done < BATCH ? programs - done : BATCH;
		is_fine = run_batch(&t, build, dir, seed, done, n);
		if (!is_fine || t.wrong)
			printf("# batch of programs %u to %u, in %s\n", done, done + n - 1, dir);
		done += n;
	}
	printf("# %" PRIu64 " events: %" PRIu64 " nodes, %" PRIu64 " reads, %" PRIu64 " writes, %" PRIu64
	       " updates, %" PRIu64 " branches, %" PRIu64 " assertions, %" PRIu64 " pins\n",
	       t.events, t.nodes, t.reads, t.writes, t.updates, t.branches, t.asserts, t.pins);
	printf("%s 1 - the programs build, run and print the same\n", is_fine ? "ok" : "not ok");
	printf("%s 2 - every expression evaluates to what was recorded\n", t.wrong ? "not ok" : "ok");
	printf("%s 3 - there is something of every kind\n",
	       t.nodes && t.branches && t.pins && t.asserts && t.updates ? "ok" : "not ok");
	printf("1..3\n");
	if (is_fine && !t.wrong)
		shell("rm -rf %s", dir);
	return !is_fine || t.wrong;
}
