/* Answers of the brute force over memory orders, in the common form. */
/* SPDX-License-Identifier: MIT */
#include "ask_explicit.h"
#include "relaxed.h"

#include <stdlib.h>

/* Some loop went beyond the bound in some run: what was not found may still be there. */
static void bound(const struct am_lit_ctp *lc, const struct am_relaxed *r, struct am_explored *found)
{
	for (uint32_t i = 0; i < lc->ctp->event_count; i++)
		if (r->failed[i] && lc->events[i].origin == AM_LIT_O_BOUND) {
			found->hit_bound = true;
			found->bound_pos = lc->events[i].pos;
		}
	found->out_of_budget |= r->out_of_budget;
}

static void states(const struct am_lit *lit, const struct am_lit_options *options, bool is_outcome,
		   const struct am_explore_options *how, struct am_lit_report *report)
{
	const struct am_lit_ctp_options translate = { .unroll = options->unroll,
						      .observe = is_outcome,
						      .negate = lit->quantifier == AM_LIT_FORALL };
	struct am_lit_ctp *lc = am_lit_to_ctp(lit, &translate);
	struct am_lit_verdict *v = am_lit_report_add(
		report, is_outcome ? AM_LIT_PROP_OUTCOME : AM_LIT_PROP_ASSERT, AM_LIT_UNDECIDED);
	struct am_relaxed r;

	if (lc->unsupported) {
		snprintf(v->reason, sizeof(v->reason), "%s", lc->unsupported);
		am_lit_ctp_free(lc);
		return;
	}
	am_relaxed_explore(lit, lc, options->model, how, false, &r);
	bound(lc, &r, &r.found);
	v->work = r.states;
	const struct am_explore_run *run = is_outcome ? &r.reach : &r.failure;
	if (run->steps) {
		v->answer = AM_LIT_CAN;
		am_lit_fill_run(lit, NULL, run, v);
		if (!is_outcome)
			snprintf(v->reason, sizeof(v->reason), "the assertion in P%u, line %u",
				 lit->threads[lc->ctp->events[r.failed_event].thread].number,
				 lc->events[r.failed_event].pos.line);
	} else {
		v->answer = am_lit_absence(lit, &r.found, v->reason, sizeof(v->reason));
	}
	am_relaxed_clear(&r);
	am_lit_ctp_free(lc);
}

static void runs(const struct am_lit *lit, const struct am_lit_options *options,
		 struct am_explore_options *how, struct am_lit_report *report)
{
	const struct am_lit_ctp_options translate = { .unroll = options->unroll };
	struct am_lit_ctp *lc = am_lit_to_ctp(lit, &translate);
	struct am_relaxed r;

	for (unsigned p = 0; p < AM_LIT_PROP_COUNT; p++)
		if (p != AM_LIT_PROP_OUTCOME && p != AM_LIT_PROP_ASSERT &&
		    (options->properties & 1u << p))
			how->want[am_lit_history_of[p]] = true;
	if (lc->unsupported || lc->lock_data) {
		struct am_explored none;
		am_explored_init(&none, lit);
		none.out_of_budget = true;
		am_lit_fill_runs(lit, NULL, options, &none, report);
		am_explored_clear(&none);
	} else {
		am_relaxed_explore(lit, lc, options->model, how, true, &r);
		bound(lc, &r, &r.found);
		am_lit_fill_runs(lit, NULL, options, &r.found, report);
		am_relaxed_clear(&r);
	}
	am_lit_ctp_free(lc);
}

void am_lit_ask_orders(const struct am_lit *lit, const struct am_lit_options *options,
			  struct am_lit_report *report)
{
	struct am_explore_options how = { .unroll = options->unroll,
					  .budget = options->budget ? options->budget : 5000000 };
	const uint32_t of_states = 1u << AM_LIT_PROP_OUTCOME | 1u << AM_LIT_PROP_ASSERT;

	if ((options->properties & 1u << AM_LIT_PROP_OUTCOME) && lit->condition)
		states(lit, options, true, &how, report);
	if (options->properties & 1u << AM_LIT_PROP_ASSERT)
		states(lit, options, false, &how, report);
	if (options->properties & ~of_states)
		runs(lit, options, &how, report);
}
