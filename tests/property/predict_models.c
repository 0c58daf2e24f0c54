/*
 * The solver's answers under the models sync and avp against plain enumeration on the step machine, on
 * random runs. usage: predict_models [SEED [COUNT]]
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/predict.h"
#include "predict_gen.h"
#include "tests/property/cases.h"

#include <stdio.h>

static uint64_t regions, broken, skipped, undecided_;

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
					.wide = gen_next(g, 4) == 0,
					.guarded = gen_next(g, 3) == 0};
	const enum am_predict_model model = gen_next(g, 3) ? AM_PREDICT_AVP : AM_PREDICT_SYNC;
	struct am_run run;
	bool ok = true;

	gen_run(g, &shape, &run);
	const struct am_predict_options plain = {.model = model, .engine = AM_ENGINE_PLAIN,
						 .steps = 60000, .max_segment = 1000,
						 .context_bound = UINT32_MAX, .no_static = true,
						 .no_segments = true};
	const struct am_predict_options smt = {.model = model, .engine = AM_ENGINE_SMT,
					       .max_segment = gen_next(g, 2) ? 1000 : 0,
					       .context_bound = UINT32_MAX, .no_static = true};
	struct am_predict *p = am_predict_new(&run, &plain), *q = am_predict_new(&run, &smt);
	for (uint32_t r = 0; ok && r < run.region.n && run.event.n <= 40; r++) {
		struct am_region_result a, b = {0};
		am_predict_region(p, r, &a);
		if (a.outcome == AM_OUT_UNDECIDED) {
			skipped++;
		} else {
			regions++;
			broken += a.outcome == AM_OUT_PREDICTED;
			am_predict_region(q, r, &b);
			if (b.outcome == AM_OUT_UNDECIDED) {
				undecided_++;
				ok = !b.reason || strncmp(b.reason, "internal", 8) != 0;
				if (!ok || getenv("SHOW"))
					printf("# undecided: %s\n", b.reason);
			} else {
				ok = a.outcome == b.outcome;
			}
			if (!ok) {
				printf("# model %s: enumeration %s, solver %s\n",
				       am_predict_model_name(model), am_outcome_name(a.outcome),
				       am_outcome_name(b.outcome));
				for (uint32_t i = 0; i < a.witness_n; i++)
					printf("# witness %u\n", a.witness[i]);
				dump(&run, r);
			}
		}
		am_region_result_free(&a);
		am_region_result_free(&b);
	}
	am_predict_free(p);
	am_predict_free(q);
	am_run_free(&run);
	return ok;
}

int main(int argc, char **argv)
{
	const uint64_t count = cases_wanted(argc, argv, 1000);
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;

	for (uint64_t i = 0; i < count; i++) {
		struct gen_rng g = {(seed + i) * UINT64_C(0x9e3779b97f4a7c15) | 1};
		if (!check_run(&g)) {
			printf("not ok 1 - solver and enumeration agree on sync and avp (seed %lu)\n",
			       seed + i);
			return 1;
		}
	}
	printf("ok 1 - solver and enumeration agree on sync and avp: %lu regions of %lu runs from seed "
	       "%lu, %lu broken, %lu undecided, %lu too large to enumerate\n",
	       regions, count, seed, broken, undecided_, skipped);
	return 0;
}
