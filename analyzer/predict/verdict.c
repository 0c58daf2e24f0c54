/* What was found out of one region: fills its result. Runs in tools. */
/* SPDX-License-Identifier: MIT */
#include "predict_priv.h"

#include <stdlib.h>
#include <string.h>

void am_region_result_free(struct am_region_result *r)
{
	free(r->witness);
	free(r->value);
	free(r->is_known);
	free(r->from);
	r->witness = r->from = NULL;
	r->value = NULL;
	r->is_known = NULL;
}

void am_verdict_proved(struct am_region_result *r, enum am_how how)
{
	r->outcome = AM_OUT_PROVED;
	r->how = (uint8_t)how;
}

void am_verdict_undecided(struct am_region_result *r, const char *reason)
{
	r->outcome = AM_OUT_UNDECIDED;
	r->reason = reason;
}

/* The searches and the solver take updates that commute for conflicts: what they find must not rest on these. */
bool am_verdict_breaks(const struct am_predict *p, uint32_t region, const uint32_t *witness, uint32_t n)
{
	struct am_cycle cycle;

	return am_vpath_find(p->run, region, witness, n, &cycle);
}
const char am_only_commutes[] = "the schedule that was found rests on updates that commute";

void am_verdict_predicted(struct am_region_result *r, const struct am_segment *segment,
		      enum am_predict_model model, enum am_how how, const uint32_t *witness, uint32_t n)
{
	r->outcome = AM_OUT_PREDICTED;
	r->how = (uint8_t)how;
	r->model = model;
	r->witness = am_xalloc(n, sizeof *r->witness);
	memcpy(r->witness, witness, n * sizeof *witness);
	r->witness_n = n;
	r->value = am_xalloc(n, sizeof *r->value);
	r->is_known = am_xalloc(n, sizeof *r->is_known);
	r->from = am_xalloc(segment->n_threads, sizeof *r->from);
	memcpy(r->from, segment->from, segment->n_threads * sizeof *r->from);
}

/* With data respected, a step has its recorded value unless it is a read that broke its couple. */
void am_verdict_keep_values(struct am_predict *p, const struct am_segment *segment, struct am_region_result *r)
{
	if (r->model == AM_PREDICT_SYNC)
		return;
	am_machine_load(&p->machine, segment, false);
	for (uint32_t i = 0; i < r->witness_n; i++) {
		const struct am_event *raw = am_run_raw(p->run, r->witness[i]);
		am_machine_step(&p->machine, r->witness[i]);
		r->value[i] = raw->value;
		r->is_known[i] = (raw->flags & AM_HAS_VALUE) &&
				 !p->machine.cut[p->run->event.at[r->witness[i]].thread];
	}
	am_machine_unload(&p->machine);
}

/* What the validator saw each step read or write. */
void am_verdict_take_values(const struct am_program *program, const struct am_validation *v,
			struct am_region_result *r)
{
	for (uint32_t i = 0; i < r->witness_n; i++) {
		const uint32_t x = program->event[r->witness[i] - program->low];
		if (x == AM_NONE || v->state[x] != 1)
			continue;
		const uint8_t kind = program->ctp->events[x].kind;
		r->is_known[i] = kind == AM_READ || kind == AM_WRITE || kind == AM_UPDATE;
		r->value[i] = kind == AM_WRITE ? v->wrote[x] : v->reads[x];
	}
}
