/*
 * The summarised graph against its twins on random traces: the full graph on all of them, the
 * oracle on tiny ones; same verdict, same first violating event, and every reported cycle is checked
 * edge by edge against the trace. usage: checker_twins [SEED [COUNT]]
 */
/* SPDX-License-Identifier: MIT */
#include "checker_trace.h"

#include "atommon/mem.h"
#include "tests/property/cases.h"

#include <stdlib.h>
#include <sys/types.h>

#ifndef TWINS_COUNT
#define TWINS_COUNT 120000
#endif

struct verdict {
	const struct trace *trace;
	enum am_conflicts conflicts;
	size_t first; /* SIZE_MAX: serializable */
	uint64_t cycles;
	const char *wrong;
	bool check;
};

static uint64_t omitted; /* cycles that were not told in full */

static void on_cycle(void *ctx, const struct am_cycle *cycle)
{
	struct verdict *v = ctx;

	if (v->first == SIZE_MAX)
		v->first = cycle->close_index;
	v->cycles++;
	omitted += cycle->omitted != 0;
	if (v->check && !v->wrong)
		v->wrong = cycle_wrong(v->trace, cycle, v->conflicts);
}

static void run_fast(struct verdict *v, struct am_mem *mem, enum am_conflicts conflicts)
{
	const struct am_checker_config config = {conflicts, on_cycle, v};
	struct am_checker *c = am_checker_new(&config, mem);

	/* One by one, or many at a time. */
	const size_t step = 1 + v->trace->n % 67;
	for (size_t i = 0; i < v->trace->n; i += step)
		if (step < 4)
			for (size_t k = i; k < i + step && k < v->trace->n; k++)
				am_checker_event(c, &v->trace->event[k]);
		else
			am_checker_events(c, &v->trace->event[i], step < v->trace->n - i ? step : v->trace->n - i);
	struct am_checker_stats s;
	am_checker_stats(c, &s);
	if (!v->wrong && (s.cycles != v->cycles || s.events != v->trace->n || s.forgotten))
		v->wrong = "statistics that do not add up";
	am_checker_free(c);
}

static void run_full(struct verdict *v, struct am_mem *mem, enum am_conflicts conflicts)
{
	const struct am_checker_config config = {conflicts, on_cycle, v};
	struct am_fullgraph *g = am_fullgraph_new(&config, mem);

	for (size_t i = 0; i < v->trace->n; i++)
		am_fullgraph_event(g, &v->trace->event[i]);
	am_fullgraph_free(g);
}

static struct trace trace;
static struct am_mem mem;

struct tally {
	uint64_t traces, violations, oracle, oracle_violations, cycles;
};

/* What is wrong with the checkers on this trace, or NULL. */
static const char *judge(enum am_conflicts conflicts, bool has_lost, struct tally *n)
{
	struct verdict fast = {&trace, conflicts, SIZE_MAX, 0, NULL, true};
	struct verdict full = fast;

	/* auto behaves like locks up to the first access, then like data: conflicts checked as both */
	fast.conflicts = full.conflicts = conflicts == AM_CONFLICTS_AUTO ? AM_CONFLICTS_BOTH : conflicts;
	run_fast(&fast, &mem, conflicts);
	run_full(&full, &mem, conflicts);
	n->traces++;
	n->violations += fast.cycles != 0;
	n->cycles += fast.cycles;
	if (fast.wrong || full.wrong)
		return fast.wrong ? fast.wrong : full.wrong;
	if (fast.first != full.first) {
		printf("# first violating event: summarised %zd, full %zd\n", (ssize_t)fast.first,
		       (ssize_t)full.first);
		return "the twins differ";
	}
	if (has_lost || conflicts == AM_CONFLICTS_AUTO || trace.n > AM_ORACLE_ACCESSES)
		return NULL;
	const size_t oracle = am_oracle(trace.event, trace.n, conflicts);
	if (oracle == AM_ORACLE_TOO_LARGE)
		return NULL;
	n->oracle++;
	n->oracle_violations += oracle != AM_ORACLE_SERIALIZABLE;
	return fast.first == oracle ? NULL : "the oracle differs";
}

int main(int argc, char **argv)
{
	const char *env = getenv("CHECKER_SEED");
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : env ? strtoull(env, NULL, 0) : 1;
	const uint64_t count = cases_wanted(argc, argv, TWINS_COUNT);
	struct tally n = {0};

	printf("# seed %llu, %llu traces\n", (unsigned long long)seed, (unsigned long long)count);
	am_mem_init(&mem, 0);
	for (uint64_t i = 0; i < count; i++) {
		struct rng r = {seed * 1000003 + i};
		const enum am_conflicts conflicts = draw(&r, 3) ? AM_CONFLICTS_DATA : (enum am_conflicts)draw(&r, 4);
		const bool has_lost = draw(&r, 20) == 0;
		const uint32_t shape = draw(&r, 10);
		const size_t length = shape < 5 ? 4 + draw(&r, 22) : shape < 9 ? 20 + draw(&r, 80) : 100 + draw(&r, 400);
		trace_make(&trace, &r, length, has_lost);
		const char *wrong = judge(conflicts, has_lost, &n);
		if (wrong) {
			printf("not ok 1 - trace %llu of seed %llu (conflicts %d): %s\n", (unsigned long long)i,
			       (unsigned long long)seed, conflicts, wrong);
			trace_print(&trace, trace.n < 60 ? trace.n : 60);
			return 1;
		}
	}
	am_mem_destroy(&mem);
	printf("# %llu not serializable, %llu cycles checked; oracle: %llu traces, %llu not serializable\n",
	       (unsigned long long)n.violations, (unsigned long long)n.cycles, (unsigned long long)n.oracle,
	       (unsigned long long)n.oracle_violations);
#ifdef TRACE_ALLOWS_OMITTED
	printf("# %llu cycles not told in full\n", (unsigned long long)omitted);
	printf("%s 2 - some cycles go through merged threads\n", omitted ? "ok" : "not ok");
#endif
	printf("ok 1 - summarised graph, full graph and oracle agree on %llu traces\n", (unsigned long long)n.traces);
	return 0;
}
