/* Decides regions, one at a time: the driver of the stages. Runs in tools. */
/* SPDX-License-Identifier: MIT */
#include "predict_priv.h"

#include <stdlib.h>

const char *am_outcome_name(enum am_outcome outcome)
{
	static const char *const names[] = {"proved",	"predicted", "same",
					    "observed", "undecided", "skipped", "elsewhere"};
	return names[outcome];
}

const char *am_how_name(enum am_how how)
{
	static const char *const names[] = {"",	     "too few shared accesses", "must-happen-before", "locks",
					    "static check", "search",		   "solver"};
	return names[how];
}

struct am_predict *am_predict_new(const struct am_run *run, const struct am_predict_options *options)
{
	struct am_predict *p = am_xalloc(1, sizeof *p);

	p->run = run;
	p->options = *options;
	am_index_build(&p->index, run);
	am_order_build(&p->sync, run, AM_ORDER_SYNC);
	am_order_build(&p->coupled, run, AM_ORDER_COUPLED);
	am_locksets_build(&p->locks, &p->index);
	p->prover = am_prover_new(&p->locks);
	am_machine_new(&p->machine, &p->index);
	return p;
}

void am_predict_free(struct am_predict *p)
{
	if (p->engine)
		am_engine_free(p->engine);
	if (p->has_whole) {
		am_program_free(&p->program);
		am_segment_free(&p->whole);
	}
	am_machine_free(&p->machine);
	am_prover_free(p->prover);
	am_locksets_free(&p->locks);
	am_order_free(&p->coupled);
	am_order_free(&p->sync);
	am_index_free(&p->index);
	free(p);
}

static enum am_how how_proved(enum am_proof proof)
{
	return proof == AM_PROOF_EMPTY ? AM_HOW_EMPTY : proof == AM_PROOF_ORDER ? AM_HOW_ORDER
										 : AM_HOW_LOCKS;
}

/* Steps of the quick look before the solver is asked: some, and some per event. */
enum { QUICK = 2000, QUICK_PER_EVENT = 16 };

/* May the region have an exchange that can fail? Then the solver is asked, which knows values. */
static bool has_attempt(const struct am_predict *p, uint32_t region)
{
	const struct am_run_region *a = &p->run->region.at[region];
	bool is_update = false;

	for (uint32_t eid = a->first; eid <= a->last && p->options.model == AM_PREDICT_CTP; eid++) {
		const struct am_event *raw = am_run_raw(p->run, am_run_at(p->run, a->thread, eid));
		if (raw->kind == AM_BRANCH && is_update)
			return true;
		if (raw->kind != AM_EXPR)
			is_update = raw->kind == AM_UPDATE;
	}
	return false;
}

static void search_or_solve(struct am_predict *p, struct am_segment *segment, struct am_region_result *r)
{
	const enum am_predict_model model = p->options.model;
	const bool is_explicit = model == AM_PREDICT_SYNC || model == AM_PREDICT_AVP;

	if (p->options.engine == AM_ENGINE_DPOR || p->options.engine == AM_ENGINE_PLAIN) {
		am_by_search(p, segment, p->options.steps, is_explicit ? model : AM_PREDICT_AVP, r);
		return;
	}
	/* what avp finds is feasible in every stronger model; where the search can prove as well, it has
	 * half of the work to itself */
	uint64_t steps = QUICK + QUICK_PER_EVENT * (uint64_t)segment->events;
	if (is_explicit && steps < p->options.steps / 2)
		steps = p->options.steps / 2;
	if (p->options.engine == AM_ENGINE_AUTO && !p->run->at_lock_level && !has_attempt(p, r->region) &&
	    am_by_search(p, segment, steps, is_explicit ? model : AM_PREDICT_AVP, r))
		return;
	am_by_solver(p, segment, r);
	if (r->outcome == AM_OUT_UNDECIDED && p->options.engine == AM_ENGINE_AUTO && is_explicit)
		am_by_search(p, segment, p->options.steps, model, r);
}

/* Proofs that hold in every model, and those that rest on read couples. */
static bool prove(struct am_predict *p, uint32_t region, struct am_region_result *r)
{
	const enum am_proof proof = am_prover_ask(p->prover, &p->sync, region);

	if (proof != AM_PROOF_NONE)
		am_verdict_proved(r, how_proved(proof));
	else if (p->options.model == AM_PREDICT_AVP &&
		 am_prover_ask(p->prover, &p->coupled, region) != AM_PROOF_NONE)
		am_verdict_proved(r, AM_HOW_STATIC);
	else
		return false;
	return true;
}

static void decide(struct am_predict *p, uint32_t region, struct am_region_result *r)
{
	const struct am_order *order = p->options.model == AM_PREDICT_AVP ? &p->coupled : &p->sync;
	struct am_segment segment;

	if (!p->options.no_static && prove(p, region, r))
		return;
	if (p->options.no_segments)
		am_segment_whole(&segment, p->run, region);
	else
		am_segment_find_within(&segment, &p->index, order, region,
				       AM_SEARCH_FACTOR * p->options.max_segment, p->options.max_segment);
	r->segment_events = segment.events;
	if (segment.is_empty)
		am_verdict_proved(r, AM_HOW_EMPTY);
	else if (!p->options.no_static && segment.is_exact &&
		 !am_segment_may_break(&segment, &p->index, order))
		am_verdict_proved(r, AM_HOW_STATIC);
	else
		search_or_solve(p, &segment, r);
	am_segment_free(&segment);
}

/* A window does not tell what others do beyond it. */
void am_predict_region(struct am_predict *p, uint32_t region, struct am_region_result *r)
{
	const bool is_cut = p->run->is_cut;

	*r = (struct am_region_result){.region = region};
	if (is_cut && p->run->region.at[region].is_open) {
		am_verdict_undecided(r, "it goes on beyond the window");
		return;
	}
	if (is_cut && !p->options.no_static && p->options.outline &&
	    am_prover_is_guarded(p->prover, p->options.outline, region)) {
		am_verdict_proved(r, AM_HOW_LOCKS);
		return;
	}
	decide(p, region, r);
	if (is_cut && r->outcome == AM_OUT_PROVED)
		am_verdict_undecided(r, "nothing breaks it within its window of the run (--window)");
}
