/*
 * Cost of the checkers alone.
 *   checker-bench WORKLOAD THREADS ENTITIES EVENTS [scg|full|none]
 *   checker-bench --trace FILE [scg|full [SECONDS]]
 * Prints one line: workload threads entities events checker ns_per_event nodes edges entities_peak
 * bytes cycles. Only the checker's time counts: events are made a batch at a time, outside the clock,
 * and are then in memory; those of a trace are all read first. After SECONDS it gives up ("-" for ns_per_event).
 */
/* SPDX-License-Identifier: MIT */
#include "checker_gen.h"

#include "analyzer/core/map.h"
#include "analyzer/trace/source.h"
#include "atommon/checker.h"
#include "atommon/mem.h"

#include <stdio.h>
#include <time.h>

enum { BATCH = 1 << 14 };

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

struct bench {
	struct am_mem mem;
	struct am_checker *checker;
	struct am_fullgraph *full;
	uint64_t spent;
	bool is_full, is_none;
};

static void bench_open(struct bench *b, const char *which, enum am_conflicts conflicts)
{
	const struct am_checker_config config = {.conflicts = conflicts};

	memset(b, 0, sizeof *b);
	b->is_full = !strcmp(which, "full");
	b->is_none = !strcmp(which, "none");
	am_mem_init(&b->mem, 0);
	if (b->is_full)
		b->full = am_fullgraph_new(&config, &b->mem);
	else
		b->checker = am_checker_new(&config, &b->mem);
}

static void bench_run(struct bench *b, const struct am_event *event, uint64_t n)
{
	const uint64_t start = cpu_ns();

	if (b->is_full)
		for (uint64_t i = 0; i < n; i++)
			am_fullgraph_event(b->full, &event[i]);
	else if (!b->is_none)
		am_checker_events(b->checker, event, n);
	b->spent += cpu_ns() - start;
}

static void bench_print(struct bench *b, const char *name, uint32_t threads, uint64_t entities, uint64_t events,
			bool done)
{
	struct am_checker_stats s;

	if (b->is_full)
		am_fullgraph_stats(b->full, &s);
	else
		am_checker_stats(b->checker, &s);
	printf("%s %u %llu %llu %s ", name, threads, (unsigned long long)entities, (unsigned long long)events,
	       b->is_full ? "full" : "scg");
	if (done)
		printf("%.1f", (double)b->spent / (double)(events ? events : 1));
	else
		printf("-");
	printf(" %llu %llu %llu %llu %llu\n", (unsigned long long)s.nodes_peak, (unsigned long long)s.edges_peak,
	       (unsigned long long)s.entities_peak, (unsigned long long)s.bytes_peak, (unsigned long long)s.cycles);
	am_mem_destroy(&b->mem);
}

/* A recorded run; entities: words that more than one thread accessed. */
static int bench_trace(const char *path, const char *which, double seconds)
{
	char why[AM_SOURCE_ERROR_MAX];
	struct am_source *s = am_source_open(path, NULL, why);
	struct am_event *event = NULL;
	size_t n = 0, cap = 0;
	uint32_t threads = 0;
	struct am_map owner = {0};
	struct am_mem mem;
	struct bench b;
	uint64_t shared = 0, done = 0;
	int r = 1;

	if (!s) {
		fprintf(stderr, "checker-bench: %s\n", why);
		return 2;
	}
	am_mem_init(&mem, 0);
	while (r > 0) {
		if (n == cap) {
			cap = cap ? cap * 2 : 1 << 16;
			event = realloc(event, cap * sizeof *event);
			if (!event)
				return 2;
		}
		r = am_source_next(s, &event[n]);
		n += r > 0;
	}
	for (size_t i = 0; i < n; i++) {
		const struct am_event *e = &event[i];
		threads = e->thread >= threads ? e->thread + 1 : threads;
		if (e->kind < AM_READ || e->kind > AM_UPDATE)
			continue;
		uint64_t *o = am_map_put(&owner, &mem, (e->object >> 3) + 1);
		if (*o == 0)
			*o = e->thread + 1;
		if (*o != UINT64_MAX && *o != e->thread + 1) {
			*o = UINT64_MAX;
			shared++;
		}
	}
	bench_open(&b, which, AM_CONFLICTS_AUTO);
	while (done < n && (double)b.spent < seconds * 1e9) {
		const uint64_t step = n - done < BATCH ? n - done : BATCH;
		bench_run(&b, event + done, step);
		done += step;
	}
	bench_print(&b, "trace", threads, shared, n, done == n);
	am_mem_destroy(&mem);
	free(event);
	am_source_close(s);
	return r < 0 ? 2 : 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "--trace"))
		return bench_trace(argv[2], argc > 3 ? argv[3] : "scg", argc > 4 ? atof(argv[4]) : 1e9);
	if (argc < 5 || workload_of(argv[1]) < 0) {
		fprintf(stderr, "usage: checker-bench bank|sor|star|long|pipe THREADS ENTITIES EVENTS [scg|full|none]\n"
				"       checker-bench --trace FILE [scg|full [SECONDS]]\n");
		return 2;
	}
	const uint32_t threads = (uint32_t)strtoul(argv[2], NULL, 0);
	const uint64_t entities = strtoull(argv[3], NULL, 0), events = strtoull(argv[4], NULL, 0);
	static struct am_event batch[BATCH];
	struct bench b;
	struct gen g;

	gen_init(&g, (enum workload)workload_of(argv[1]), threads, entities);
	bench_open(&b, argc > 5 ? argv[5] : "scg", AM_CONFLICTS_DATA);
	for (uint64_t done = 0; done < events;) {
		const uint64_t n = events - done < BATCH ? events - done : BATCH;
		for (uint64_t i = 0; i < n; i++)
			gen_next(&g, &batch[i]);
		bench_run(&b, batch, n);
		done += n;
	}
	bench_print(&b, argv[1], threads, entities, events, true);
	gen_free(&g);
	return 0;
}
