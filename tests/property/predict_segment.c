/*
 * Segments, static check and partial order reduction against plain enumeration of the whole run, on
 * random runs. usage: predict_segment [COUNT [SEED]]
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/search.h"
#include "predict_gen.h"

#include <stdio.h>

static uint64_t regions, broken, segmented, statically, skipped;
static int verdicts[4];

static void dump(const struct am_run *run, uint32_t region)
{
	const struct am_run_region *a = &run->region.at[region];

	printf("# region of T%u, eids %u..%u\n", a->thread, a->first, a->last);
	for (uint32_t e = 0; e < run->event.n; e++) {
		const struct am_event *raw = am_run_raw(run, e);
		printf("# %u T%u.%u %s %#lx %#lx size %u mode %u\n", e, run->event.at[e].thread,
		       run->event.at[e].eid, am_kind_name(raw->kind), raw->object, raw->aux, raw->size,
		       raw->mode);
	}
}

static bool wrong(const struct am_run *run, uint32_t region, const char *what)
{
	printf("# %s: plain %d on segment %d, dpor %d on segment %d\n", what, verdicts[0], verdicts[1],
	       verdicts[3], verdicts[2]);
	dump(run, region);
	return false;
}

/* A witness must run on the whole machine and break the region. */
static bool replays(const struct am_run *run, const struct am_segment *seg, const struct am_search *s)
{
	struct am_machine m;
	bool ok = am_machine_init(&m, run, seg, s->ignores_data);

	for (uint32_t i = 0; ok && i < s->witness.n; i++) {
		ok = am_machine_next(&m, run->event.at[s->witness.at[i]].thread) == s->witness.at[i] &&
		     am_machine_enabled(&m, s->witness.at[i]);
		if (ok)
			am_machine_step(&m, s->witness.at[i]);
	}
	ok = ok && m.broken;
	am_machine_free(&m);
	return ok;
}

static bool check_region(const struct am_run *run, const struct am_index *index,
			 const struct am_order *order, uint32_t region, bool ignores_data)
{
	struct am_segment whole, part;
	struct am_search plain = {.max_steps = 60000, .ignores_data = ignores_data}, seg = plain;
	struct am_search dpor = {.max_steps = 300000, .context_bound = UINT32_MAX,
				 .ignores_data = ignores_data};
	struct am_search dpor_whole = dpor;
	bool ok = true;

	am_segment_whole(&whole, run, region);
	am_segment_find(&part, index, order, region, 0);
	am_search_plain(&plain, run, &whole);
	if (plain.verdict == AM_SEARCH_BUDGET) {
		skipped++;
		goto out;
	}
	regions++;
	broken += plain.verdict == AM_SEARCH_FOUND;
	segmented += part.events < whole.events;
	const bool may = am_segment_may_break(&part, index, order);
	statically += !may;
	seg.max_steps *= 10;
	am_search_plain(&seg, run, &part);
	am_search_dpor(&dpor, run, &part);
	am_search_dpor(&dpor_whole, run, &whole);
	verdicts[0] = plain.verdict;
	verdicts[1] = seg.verdict;
	verdicts[2] = dpor.verdict;
	verdicts[3] = dpor_whole.verdict;
	if (plain.verdict == AM_SEARCH_FOUND && !may)
		ok = wrong(run, region, "static check proved a region that breaks");
	else if (seg.verdict != plain.verdict && seg.verdict != AM_SEARCH_BUDGET)
		ok = wrong(run, region, "segment and whole run disagree");
	else if (dpor_whole.verdict != plain.verdict)
		ok = wrong(run, region, "dpor and enumeration disagree on the whole run");
	else if (dpor.verdict != plain.verdict)
		ok = wrong(run, region, "dpor and enumeration disagree on the segment");
	else if (plain.verdict == AM_SEARCH_FOUND &&
		 (!replays(run, &whole, &plain) || !replays(run, &part, &dpor)))
		ok = wrong(run, region, "a witness does not replay");
out:
	am_search_free(&plain);
	am_search_free(&seg);
	am_search_free(&dpor);
	am_search_free(&dpor_whole);
	am_segment_free(&whole);
	am_segment_free(&part);
	return ok;
}

static bool check_run(struct gen_rng *g)
{
	const struct gen_shape shape = {.threads = 2 + gen_next(g, 3),
					.ops = 2 + gen_next(g, 3),
					.vars = 1 + gen_next(g, 3),
					.locks = gen_next(g, 3),
					.conds = gen_next(g, 3) == 0,
					.sems = gen_next(g, 4) == 0,
					.barrier = gen_next(g, 4) == 0,
					.forks = gen_next(g, 3) == 0,
					.wide = gen_next(g, 3) == 0};
	struct am_run run;
	bool ok = true;

	gen_run(g, &shape, &run);
	const bool ignores_data = gen_next(g, 4) == 0;
	struct am_index index;
	struct am_order order;
	am_index_build(&index, &run);
	am_order_build(&order, &run, ignores_data ? AM_ORDER_SYNC : AM_ORDER_COUPLED);
	for (uint32_t r = 0; ok && r < run.region.n; r++)
		ok = check_region(&run, &index, &order, r, ignores_data);
	am_order_free(&order);
	am_index_free(&index);
	am_run_free(&run);
	return ok;
}

int main(int argc, char **argv)
{
	const uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 10000;
	const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

	for (uint64_t i = 0; i < count; i++) {
		struct gen_rng g = {(seed + i) * UINT64_C(0x9e3779b97f4a7c15) | 1};
		if (!check_run(&g)) {
			printf("not ok 1 - segments, reduction and enumeration agree (seed %lu)\n", seed + i);
			return 1;
		}
	}
	printf("ok 1 - segments, reduction and enumeration agree: %lu regions of %lu runs from seed "
	       "%lu, %lu broken, %lu with a smaller segment, %lu proved statically, %lu too large\n",
	       regions, count, seed, broken, segmented, statically, skipped);
	return 0;
}
