/*
 * Cost of the checkers alone. usage: checker-bench WORKLOAD THREADS ENTITIES EVENTS [scg|full|none]
 * Prints one line: workload threads entities events checker ns_per_event nodes edges entities_peak
 * bytes cycles. Only the checker's time counts: events are made a batch at a time, outside the clock.
 */
/* SPDX-License-Identifier: MIT */
#include "checker_gen.h"

#include "atommon/checker.h"
#include "atommon/mem.h"

#include <stdio.h>
#include <time.h>

enum { BATCH = 1 << 10 };

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int workload_of(const char *name)
{
	for (int w = 0; w < WORKLOADS; w++)
		if (!strcmp(name, workload_name[w]))
			return w;
	return -1;
}

int main(int argc, char **argv)
{
	if (argc < 5 || workload_of(argv[1]) < 0) {
		fprintf(stderr, "usage: checker-bench bank|sor|star|long|pipe THREADS ENTITIES EVENTS [scg|full|none]\n");
		return 2;
	}
	const uint32_t threads = (uint32_t)strtoul(argv[2], NULL, 0);
	const uint64_t entities = strtoull(argv[3], NULL, 0), events = strtoull(argv[4], NULL, 0);
	const char *which = argc > 5 ? argv[5] : "scg";
	const bool full = !strcmp(which, "full"), none = !strcmp(which, "none");
	static struct am_event batch[BATCH];
	const struct am_checker_config config = {.conflicts = AM_CONFLICTS_DATA};
	struct am_mem mem;
	struct gen g;
	uint64_t spent = 0, done = 0;

	am_mem_init(&mem, 0);
	gen_init(&g, (enum workload)workload_of(argv[1]), threads, entities);
	struct am_checker *c = am_checker_new(&config, &mem);
	struct am_fullgraph *f = am_fullgraph_new(&config, &mem);
	while (done < events) {
		const uint64_t n = events - done < BATCH ? events - done : BATCH;
		for (uint64_t i = 0; i < n; i++)
			gen_next(&g, &batch[i]);
		const uint64_t start = cpu_ns();
		if (full)
			for (uint64_t i = 0; i < n; i++)
				am_fullgraph_event(f, &batch[i]);
		else if (!none)
			for (uint64_t i = 0; i < n; i++)
				am_checker_event(c, &batch[i]);
		spent += cpu_ns() - start;
		done += n;
	}
	struct am_checker_stats s;
	if (full)
		am_fullgraph_stats(f, &s);
	else
		am_checker_stats(c, &s);
	printf("%s %u %llu %llu %s %.1f %llu %llu %llu %llu %llu\n", argv[1], threads, (unsigned long long)entities,
	       (unsigned long long)events, which, (double)spent / (double)events, (unsigned long long)s.nodes_peak,
	       (unsigned long long)s.edges_peak, (unsigned long long)s.entities_peak,
	       (unsigned long long)s.bytes_peak, (unsigned long long)s.cycles);
	am_checker_free(c);
	am_fullgraph_free(f);
	gen_free(&g);
	am_mem_destroy(&mem);
	return 0;
}
