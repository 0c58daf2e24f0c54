/*
 * At the memory ceiling the checker forgets and goes on: it may miss, it never says what did not
 * happen. Tiny table, tiny ceiling, long traces with many variables; every reported cycle is checked
 * against the trace, and none comes before the full graph's first. usage: checker_ceiling [SEED [COUNT]]
 */
/* SPDX-License-Identifier: MIT */
#define AM_SCG_FIRST_LOG 5
#define AM_SCG_SCRATCH_LOG 6
#define AM_SCG_ENDED 3
#include "analyzer/core/scg.c"
#include "analyzer/core/scg_table.c"

#define TRACE_THREAD_RATE 120
#include "checker_trace.h"
#include "tests/property/cases.h"


#include <stdlib.h>

struct verdict {
	const struct trace *trace;
	size_t first;
	uint64_t cycles, incomplete;
	const char *wrong;
};

static void on_cycle(void *ctx, const struct am_cycle *cycle)
{
	struct verdict *v = ctx;

	if (v->first == SIZE_MAX)
		v->first = cycle->close_index;
	v->cycles++;
	v->incomplete += cycle->omitted != 0;
	if (!v->wrong && !cycle->omitted)
		v->wrong = cycle_wrong(v->trace, cycle, AM_CONFLICTS_DATA);
}

static struct trace trace;

int main(int argc, char **argv)
{
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	const uint64_t count = cases_wanted(argc, argv, 3000);
	uint64_t forgotten = 0, cycles = 0, missed = 0, incomplete = 0;

	printf("# seed %llu, %llu traces\n", (unsigned long long)seed, (unsigned long long)count);
	for (uint64_t i = 0; i < count; i++) {
		struct rng r = {seed * 7777777 + i};
		struct verdict fast = {&trace, SIZE_MAX, 0, 0, NULL}, full = fast;
		const struct am_checker_config config = {AM_CONFLICTS_DATA, on_cycle, &fast};
		const struct am_checker_config twin = {AM_CONFLICTS_DATA, on_cycle, &full};
		struct am_mem small, large;
		trace_make(&trace, &r, 200 + draw(&r, 390), false);
		am_mem_init(&small, 256 * 1024); /* one chunk; the rest of it is taken away soon */
		am_mem_init(&large, 0);
		struct am_checker *c = am_checker_new(&config, &small);
		const size_t full_at = draw(&r, 150), least = 16u << draw(&r, 6);
		struct am_fullgraph *g = am_fullgraph_new(&twin, &large);
		for (size_t k = 0; k < trace.n && c; k++) {
			for (size_t spare = 4096; k == full_at && spare >= least; spare /= 2)
				while (am_mem_alloc(&small, spare))
					;
			am_checker_event(c, &trace.event[k]);
			am_fullgraph_event(g, &trace.event[k]);
		}
		struct am_checker_stats s = {0};
		if (c)
			am_checker_stats(c, &s);
		forgotten += s.forgotten;
		cycles += fast.cycles;
		incomplete += fast.incomplete;
		missed += full.cycles && !fast.cycles;
		if (!c || fast.wrong || fast.first < full.first) {
			printf("not ok 1 - trace %llu of seed %llu: %s\n", (unsigned long long)i, (unsigned long long)seed,
			       !c ? "no checker" : fast.wrong ? fast.wrong : "a report before the twin's");
			return 1;
		}
		am_mem_destroy(&small);
		am_mem_destroy(&large);
	}
	printf("# forgotten %llu, cycles %llu (%llu not told in full), traces missed %llu\n", (unsigned long long)forgotten,
	       (unsigned long long)cycles, (unsigned long long)incomplete, (unsigned long long)missed);
	printf("%s 1 - nothing is reported that did not happen\n", forgotten && cycles ? "ok" : "not ok");
	return 0;
}
