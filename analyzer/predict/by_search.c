/* Decides a region by explicit search. Runs in tools. */
/* SPDX-License-Identifier: MIT */
#include "predict_priv.h"

bool am_by_search(struct am_predict *p, const struct am_segment *segment, uint64_t steps,
		   enum am_predict_model model, struct am_region_result *r)
{
	struct am_search s = {.max_steps = steps, .context_bound = p->options.context_bound};
	bool is_decided = true;

	am_machine_load(&p->machine, segment, model == AM_PREDICT_SYNC);
	if (p->options.engine == AM_ENGINE_PLAIN) {
		am_search_plain(&s, &p->machine);
	} else {
		if (p->options.engine == AM_ENGINE_AUTO)
			am_search_intrude(&s, &p->machine);
		if (s.verdict != AM_SEARCH_FOUND) {
			r->steps += s.steps;
			s.steps = 0;
			am_search_dpor(&s, &p->machine);
		}
	}
	am_machine_unload(&p->machine);
	r->steps += s.steps;
	r->interleavings += s.interleavings;
	const bool is_found = s.verdict == AM_SEARCH_FOUND;
	if (is_found && am_verdict_breaks(p, segment->region, s.witness.at, s.witness.n)) {
		am_verdict_predicted(r, segment, model, AM_HOW_SEARCH, s.witness.at, s.witness.n);
		am_verdict_keep_values(p, segment, r);
	} else if (s.verdict == AM_SEARCH_NONE && segment->is_exact && !s.was_bounded &&
		 model == p->options.model)
		am_verdict_proved(r, AM_HOW_SEARCH);
	else
		is_decided = false;
	if (!is_decided)
		am_verdict_undecided(r, is_found ? am_only_commutes
			     : s.verdict == AM_SEARCH_BUDGET ? "the search ran out of its budget"
			     : s.was_bounded ? "no schedule within the context bound"
					     : "its segment is larger than the window (--max-segment)");
	am_search_free(&s);
	return is_decided;
}
