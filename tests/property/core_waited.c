/*
 * The stage of words that threads wait on (waited.h) against the trace without them. Random runs of a few threads with
 * regions and atomic and plain accesses; some words are told to be futexes, before the run or in the middle of it.
 *   1. Told before: the first cycle is found at the event at which the full graph finds it in the trace that
 *      never had accesses to these words; or neither finds one.
 *   2. Told anywhere: no cycle is told with an edge on a word that became known before the cycle's regions had all ended;
 *      and with words that nobody tells, just the cycles are told that the checker finds.
 * usage: core_waited [SEED [CASES]]
 */
/* SPDX-License-Identifier: MIT */
#include "cases.h"
#include "atommon/mem.h"
#include "atommon/waited.h"

#include <stdlib.h>
#include <string.h>

enum { LENGTH = 80, THREADS = 4, WORDS = 5, FUTEXES = 2, BASE = 0x1000 };

static uint64_t state;

static uint32_t draw(uint32_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((state >> 33) % below);
}

static struct am_event trace[LENGTH + 2 * FUTEXES];
static unsigned n_events;
static uint64_t known_at[WORDS]; /* index of the event that tells it; UINT64_MAX: none does */

static struct am_event *emit(enum am_kind kind, uint32_t thread, uint64_t object)
{
	struct am_event *e = &trace[n_events];

	*e = (struct am_event){.kind = (uint8_t)kind, .thread = thread, .object = object, .index = n_events, .site = n_events + 1};
	n_events++;
	return e;
}

static uint64_t word(unsigned i)
{
	return BASE + 8 * i;
}

static void tell(unsigned i)
{
	known_at[i] = n_events;
	emit(AM_INIT, draw(THREADS), word(i))->mode = AM_OBJ_FUTEX;
}

static void make(bool is_before, bool is_never)
{
	unsigned depth[THREADS] = {0};

	n_events = 0;
	for (unsigned i = 0; i < WORDS; i++)
		known_at[i] = UINT64_MAX;
	for (unsigned i = 0; is_before && i < FUTEXES; i++)
		tell(i);
	while (n_events < LENGTH) {
		const uint32_t t = draw(THREADS), what = draw(12);
		if (what == 0 && depth[t] < 2) {
			depth[t]++;
			emit(AM_BEGIN, t, 'r');
		} else if (what <= 2 && depth[t]) {
			depth[t]--;
			emit(AM_END, t, 'r');
		} else if (what == 3 && !is_before && !is_never && draw(4) == 0) {
			const unsigned i = draw(FUTEXES);
			if (known_at[i] == UINT64_MAX)
				tell(i);
		} else {
			struct am_event *e = emit((enum am_kind)(AM_READ + draw(3)), t, word(draw(WORDS)));
			e->size = 4;
			e->order = e->kind == AM_UPDATE || draw(2) ? 6 : 0;
		}
	}
}

/* ---- the stage, with a checker behind it ---- */

static struct am_waited *stage;
static struct am_checker *checker;
static uint64_t first_found, first_told;
static unsigned n_found, n_told;
static const char *wrong;

static void on_out(void *ctx, const struct am_event *event)
{
	(void)ctx;
	if (!am_is_waited_on(event))
		am_checker_event(checker, event);
}

static void on_cycle(void *ctx, const struct am_cycle *cycle)
{
	(void)ctx;
	n_found++;
	if (first_found == UINT64_MAX)
		first_found = cycle->close_index;
	am_waited_cycle(stage, cycle);
}

/* Where the region of this thread ends that is open behind event `at`; `at` if there is none. */
static uint64_t end_of(uint32_t thread, uint64_t at)
{
	unsigned depth = 0;

	for (unsigned i = 0; i < n_events; i++) {
		if (i > at && depth == 0)
			return at;
		if (trace[i].thread != thread)
			continue;
		depth += trace[i].kind == AM_BEGIN;
		depth -= trace[i].kind == AM_END;
		if (i > at && depth == 0)
			return i;
	}
	return depth ? n_events : at;
}

static void on_told(void *ctx, const struct am_cycle *cycle)
{
	uint64_t end = end_of(cycle->thread, cycle->close_index);

	(void)ctx;
	n_told++;
	if (first_told > cycle->close_index) /* they do not all wait as long */
		first_told = cycle->close_index;
	for (uint32_t i = 0; i < cycle->n_edges; i++) {
		const uint64_t other = end_of(cycle->edge[i].from.thread, cycle->close_index);
		end = other > end ? other : end;
	}
	for (uint32_t i = 0; i < cycle->n_edges; i++) {
		const struct am_edge *e = &cycle->edge[i];
		const bool is_atomic = (e->from.flags | e->to.flags) & AM_ATOMIC;
		const uint64_t known = known_at[(e->from.object - BASE) / 8];
		if (e->why == AM_EDGE_CONFLICT && (known <= cycle->close_index || (is_atomic && known <= end)))
			wrong = "a cycle through a word that threads wait on";
	}
}

static void run_stage(void)
{
	const struct am_waited_config config = {.out = on_out, .on_cycle = on_told};
	const struct am_checker_config check = {.conflicts = AM_CONFLICTS_DATA, .on_cycle = on_cycle};
	struct am_mem mem;

	am_mem_init(&mem, 0);
	first_found = first_told = UINT64_MAX;
	n_found = n_told = 0;
	wrong = NULL;
	stage = am_waited_new(&config, &mem);
	checker = am_checker_new(&check, &mem);
	for (unsigned i = 0; i < n_events; i++)
		am_waited_event(stage, &trace[i]);
	am_waited_hurry(stage);
	if (am_waited_holds(stage))
		wrong = "a cycle is still held back";
	am_waited_free(stage);
	am_checker_free(checker);
	am_mem_destroy(&mem);
}

/* ---- the twin: the accesses are not there ---- */

static uint64_t first_twin;

static void on_twin(void *ctx, const struct am_cycle *cycle)
{
	(void)ctx;
	if (first_twin == UINT64_MAX)
		first_twin = cycle->close_index;
}

static void run_twin(void)
{
	const struct am_checker_config check = {.conflicts = AM_CONFLICTS_DATA, .on_cycle = on_twin};
	struct am_mem mem;

	am_mem_init(&mem, 0);
	first_twin = UINT64_MAX;
	struct am_fullgraph *graph = am_fullgraph_new(&check, &mem);
	for (unsigned i = 0; i < n_events; i++) {
		const bool is_access = trace[i].kind >= AM_READ && trace[i].kind <= AM_UPDATE;
		if (!is_access || trace[i].object >= word(FUTEXES))
			am_fullgraph_event(graph, &trace[i]);
	}
	am_fullgraph_free(graph);
	am_mem_destroy(&mem);
}

int main(int argc, char **argv)
{
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	const uint64_t cases = cases_wanted(argc, argv, 4000);
	uint64_t n_cycles = 0, n_voided = 0;

	for (uint64_t i = 0; i < cases; i++) {
		state = seed * UINT64_C(0x9e3779b97f4a7c15) + i;
		make(true, false);
		run_stage();
		run_twin();
		if (first_found != first_twin || first_told != first_twin)
			wrong = "told before, and another first cycle";
		n_cycles += first_twin != UINT64_MAX;
		for (int is_never = 0; is_never < 2 && !wrong; is_never++) {
			make(false, is_never);
			run_stage();
			n_voided += n_found - n_told;
			if (!wrong && is_never && n_found <= 16 && n_found != n_told)
				wrong = "nothing is a futex, and a cycle is not told";
		}
		if (wrong) {
			printf("not ok 1 - words that threads wait on: %s (seed %llu, case %llu)\n", wrong,
			       (unsigned long long)seed, (unsigned long long)i);
			return 1;
		}
	}
	printf("ok 1 - words that threads wait on: %llu cases (seed %llu), %llu with a cycle, %llu cycles not told\n",
	       (unsigned long long)cases, (unsigned long long)seed, (unsigned long long)n_cycles, (unsigned long long)n_voided);
	return 0;
}
