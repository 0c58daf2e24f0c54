/* Counts three-access candidates: see predict.h. Runs in tools. */
/* SPDX-License-Identifier: MIT */
#include "predict_priv.h"

struct triplets {
	struct am_predict *p;
	struct am_predict_counts *counts;
	uint64_t left; /* work */
	bool asks;
};

/* Of the eight patterns five cannot be serialised (Wang et al. §3): R-W-R, W-W-R, W-R-W, R-W-W, W-W-W. */
static bool is_unserializable(const struct am_run_event *c, const struct am_run_event *r,
			      const struct am_run_event *d)
{
	return (r->writes && (c->reads || c->writes) && (d->reads || d->writes)) ||
	       (r->reads && c->writes && d->writes);
}

static void ask_three(struct triplets *t, uint32_t c, uint32_t x, uint32_t d)
{
	struct am_predict *p = t->p;
	const uint32_t low = p->program.low;
	const struct am_query q = {.property = AM_PROP_THREE,
				   .a = p->program.event[c - low],
				   .b = p->program.event[x - low],
				   .c = p->program.event[d - low],
				   .plain = p->options.model != AM_PREDICT_CTP};
	struct am_answer answer = {0};
	struct am_validation v = {0};

	if (q.a == AM_NONE || q.b == AM_NONE || q.c == AM_NONE) {
		t->counts->undecided++;
		return;
	}
	am_engine_ask(p->engine, &q, &answer);
	if (answer.verdict == AM_INFEASIBLE)
		t->counts->infeasible++;
	else if (answer.verdict == AM_FEASIBLE && am_validate(p->program.ctp, AM_MODEL_SC, &q, &answer, &v))
		t->counts->feasible++;
	else
		t->counts->undecided++;
	am_validation_clear(&v);
	am_answer_clear(&answer);
}

static void count_remote(struct triplets *t, uint32_t c, uint32_t d, uint32_t cell)
{
	struct am_predict *p = t->p;
	const struct am_run *run = p->run;
	const struct am_run_event *first = &run->event.at[c], *second = &run->event.at[d];

	for (uint32_t i = p->index.start[cell]; i < p->index.start[cell + 1] && t->left; i++) {
		const struct am_index_entry *e = &p->index.entry[i];
		const uint32_t x = am_run_at(run, e->thread, e->eid);
		if (e->thread == first->thread || !is_unserializable(first, &run->event.at[x], second))
			continue;
		t->left--;
		t->counts->candidates++;
		if (am_order_before(&p->sync, x, c) || am_order_before(&p->sync, d, x))
			continue;
		t->counts->after_order++;
		const bool may_meet = am_locksets_may_meet(&p->locks, c, d, x);
		t->counts->after_locks += may_meet;
		if (t->asks && may_meet)
			ask_three(t, c, x, d);
		else if (t->asks)
			t->counts->infeasible++;
	}
}

static void count_region(struct triplets *t, const struct am_run_region *a)
{
	const struct am_run *run = t->p->run;

	for (uint32_t x = a->first; x <= a->last; x++) {
		const uint32_t c = am_run_at(run, a->thread, x);
		const struct am_run_event *rc = &run->event.at[c];
		for (uint32_t y = x + 1; (rc->reads || rc->writes) && y <= a->last; y++) {
			const uint32_t d = am_run_at(run, a->thread, y);
			const struct am_run_event *rd = &run->event.at[d];
			if ((rd->reads || rd->writes) && rd->cell == rc->cell)
				count_remote(t, c, d, rc->cell);
		}
	}
}

void am_predict_triplets(struct am_predict *p, uint64_t limit, bool asks, struct am_predict_counts *counts)
{
	const struct am_run *run = p->run;
	struct triplets t = {.p = p, .counts = counts, .left = limit, .asks = asks};

	*counts = (struct am_predict_counts){.events = run->event.n, .threads = run->n_threads,
					     .cells = run->n_cells, .regions = run->region.n};
	if (asks) {
		am_by_solver_whole(p);
		t.asks = p->engine != NULL;
		counts->program_events = t.asks ? p->program.ctp->event_count : 0;
	}
	for (uint32_t c = 0; c < run->n_cells; c++)
		counts->shared_cells += run->cell_shared[c];
	for (uint32_t i = 0; i < run->region.n && t.left; i++)
		count_region(&t, &run->region.at[i]);
}
