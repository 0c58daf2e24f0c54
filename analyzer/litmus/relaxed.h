/* SPDX-License-Identifier: MIT */
/*
 * Exhaustive search over the memory orders of a concurrent trace program, for every model, by brute
 * force: an event may go to memory when everything that the model keeps before it has gone. The only
 * explicit engine for `coherence`; for the others a second twin, beside the store-buffer machine.
 */
#ifndef ATOMMON_LITMUS_RELAXED_H
#define ATOMMON_LITMUS_RELAXED_H

#include "analyzer/predict/engine.h"
#include "explore.h"
#include "to_ctp.h"

struct am_relaxed {
	bool reached;	    /* the observer's branch held in some run */
	bool *failed;	    /* by event: assertions that failed in some run */
	bool out_of_budget;
	uint64_t states;
	struct am_explored found; /* properties of histories, if wanted */
	struct am_explore_run reach; /* a run that reaches the observer's branch */
	struct am_explore_run failure; /* one that fails the assertion `failed_event` first */
	uint32_t failed_event;
};

/* want_runs: judge all histories (options->want); else only states, each once. */
void am_relaxed_explore(const struct am_lit *lit, const struct am_lit_ctp *lc, enum am_model model,
			const struct am_explore_options *options, bool want_runs,
			struct am_relaxed *out);
void am_relaxed_clear(struct am_relaxed *out);

#endif
