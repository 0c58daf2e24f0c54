/*
 * Segments, static check and partial order reduction against plain enumeration of the whole run, on
 * random runs. usage: predict_segment [SEED [COUNT]]
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/prove.h"
#include "analyzer/predict/search.h"
#include "predict_gen.h"
#include "tests/property/cases.h"

#include <stdio.h>

static uint64_t regions, broken, intruded, segmented, statically, skipped;
static uint64_t proved[4], unfinished;
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

/* A witness must run on the machine and break the region. */
static bool replays(struct am_machine *m, const struct am_search *s)
{
	const uint32_t mark = am_machine_mark(m);
	bool ok = true;

	for (uint32_t i = 0; ok && i < s->witness.n; i++) {
		const uint32_t e = s->witness.at[i];
		ok = am_machine_next(m, m->run->event.at[e].thread) == e && am_machine_enabled(m, e);
		if (ok)
			am_machine_step(m, e);
	}
	ok = ok && m->broken;
	am_machine_undo(m, mark);
	return ok;
}

/* The state loaded from the index is the one that a replay of the prefix leaves. */
static bool same_state(const struct am_machine *a, const struct am_machine *b)
{
	const struct am_run *run = a->run;
	bool ok = true;

	for (uint32_t t = 0; t < run->n_threads; t++)
		ok &= a->pos[t] == b->pos[t];
	for (uint32_t c = 0; c < run->n_cells; c++)
		ok &= !a->loaded[c] || a->last_write[c] == b->last_write[c];
	for (uint32_t o = 0; o < run->object.n; o++) {
		if (!a->loaded[run->n_cells + o])
			continue;
		ok &= a->owner[o] == b->owner[o] && a->readers[o] == b->readers[o] &&
		      a->count[o] == b->count[o] && a->generation[o] == b->generation[o];
		if (a->token_row[o] != AM_NONE) {
			const size_t row = (size_t)a->token_row[o] * (run->n_threads + 1);
			ok &= a->tokens[row] == b->tokens[row];
		}
	}
	return ok;
}

struct case_ {
	const struct am_run *run;
	const struct am_index *index;
	const struct am_order *order;
	struct am_prover *prover;
	struct am_machine machine;
	bool ignores_data;
};

static bool check_region(struct case_ *c, uint32_t region)
{
	struct am_segment whole, part;
	struct am_search plain = {.max_steps = 60000}, seg = {.max_steps = 600000};
	struct am_search dpor = {.max_steps = 300000, .context_bound = UINT32_MAX}, dpor_whole = dpor;
	struct am_search intrude = {.max_steps = 100000};
	struct am_machine twin;
	bool ok = true, may = false;

	am_segment_whole(&whole, c->run, region);
	am_segment_find(&part, c->index, c->order, region, 0);
	am_machine_new(&twin, c->index);
	am_machine_load(&c->machine, &whole, c->ignores_data);
	am_search_plain(&plain, &c->machine);
	if (plain.verdict == AM_SEARCH_BUDGET || c->run->event.n > 40) {
		skipped++;
		goto out;
	}
	regions++;
	broken += plain.verdict == AM_SEARCH_FOUND;
	segmented += part.events < whole.events;
	am_search_dpor(&dpor_whole, &c->machine);
	if (plain.verdict == AM_SEARCH_FOUND && !replays(&c->machine, &plain))
		ok = wrong(c->run, region, "a witness does not replay");
	const enum am_proof proof = am_prover_ask(c->prover, c->order, region);
	proved[proof]++;
	if (plain.verdict == AM_SEARCH_FOUND && proof != AM_PROOF_NONE)
		ok = wrong(c->run, region, "a proof of a region that breaks");
	verdicts[0] = plain.verdict;
	verdicts[3] = dpor_whole.verdict;
	if (part.is_empty) {
		ok = ok && plain.verdict == AM_SEARCH_NONE;
		goto out;
	}
	am_machine_unload(&c->machine);
	may = am_segment_may_break(&part, c->index, c->order);
	statically += !may;
	am_machine_load(&c->machine, &part, c->ignores_data);
	am_search_plain(&seg, &c->machine);
	am_search_dpor(&dpor, &c->machine);
	am_search_intrude(&intrude, &c->machine);
	intruded += intrude.verdict == AM_SEARCH_FOUND;
	if (intrude.verdict == AM_SEARCH_FOUND &&
	    (plain.verdict != AM_SEARCH_FOUND || !replays(&c->machine, &intrude)))
		ok = wrong(c->run, region, "an intrusion that cannot happen");
	verdicts[1] = seg.verdict;
	verdicts[2] = dpor.verdict;
	if (!am_machine_replay(&twin, &part, c->ignores_data))
		ok = wrong(c->run, region, "the events before the segment cannot run");
	else if (!same_state(&c->machine, &twin))
		ok = wrong(c->run, region, "loaded and replayed state differ");
	else if (plain.verdict == AM_SEARCH_FOUND && !may)
		ok = wrong(c->run, region, "static check proved a region that breaks");
	else if (seg.verdict != plain.verdict && seg.verdict != AM_SEARCH_BUDGET)
		ok = wrong(c->run, region, "segment and whole run disagree");
	else if (dpor_whole.verdict != plain.verdict && dpor_whole.verdict != AM_SEARCH_BUDGET)
		ok = wrong(c->run, region, "dpor and enumeration disagree on the whole run");
	else if (dpor.verdict != plain.verdict && dpor.verdict != AM_SEARCH_BUDGET)
		ok = wrong(c->run, region, "dpor and enumeration disagree on the segment");
	unfinished += dpor.verdict == AM_SEARCH_BUDGET || dpor_whole.verdict == AM_SEARCH_BUDGET;
	if (ok && dpor.verdict == AM_SEARCH_FOUND && !replays(&c->machine, &dpor))
		ok = wrong(c->run, region, "a witness does not replay");
out:
	am_machine_unload(&c->machine);
	am_machine_free(&twin);
	am_search_free(&plain);
	am_search_free(&seg);
	am_search_free(&dpor);
	am_search_free(&dpor_whole);
	am_search_free(&intrude);
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
					.wide = gen_next(g, 3) == 0,
					.guarded = gen_next(g, 3) == 0};
	struct am_run run;
	bool ok = true;

	gen_run(g, &shape, &run);
	const bool ignores_data = gen_next(g, 4) == 0;
	struct am_index index;
	struct am_order order;
	am_index_build(&index, &run);
	am_order_build(&order, &run, ignores_data ? AM_ORDER_SYNC : AM_ORDER_COUPLED);
	struct case_ c = {.run = &run, .index = &index, .order = &order, .ignores_data = ignores_data};
	struct am_locksets locks;
	am_locksets_build(&locks, &index);
	c.prover = am_prover_new(&locks);
	am_machine_new(&c.machine, &index);
	for (uint32_t r = 0; ok && r < run.region.n; r++)
		ok = check_region(&c, r);
	am_machine_free(&c.machine);
	am_prover_free(c.prover);
	am_locksets_free(&locks);
	am_order_free(&order);
	am_index_free(&index);
	am_run_free(&run);
	return ok;
}

int main(int argc, char **argv)
{
	const uint64_t count = cases_wanted(argc, argv, 5000);
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;

	for (uint64_t i = 0; i < count; i++) {
		struct gen_rng g = {(seed + i) * UINT64_C(0x9e3779b97f4a7c15) | 1};
		if (!check_run(&g)) {
			printf("not ok 1 - segments, reduction and enumeration agree (seed %lu)\n", seed + i);
			return 1;
		}
	}
	printf("ok 1 - segments, reduction and enumeration agree: %lu regions of %lu runs from seed "
	       "%lu, %lu broken (%lu found the straight way), %lu with a smaller segment, %lu passed the static check, %lu proved by "
	       "order, %lu by locks, %lu too large to enumerate, %lu to reduce\n",
	       regions, count, seed, broken, intruded, segmented, statically, proved[AM_PROOF_ORDER],
	       proved[AM_PROOF_LOCKS], skipped, unfinished);
	return 0;
}
