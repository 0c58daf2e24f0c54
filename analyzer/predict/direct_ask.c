/*
 * The direct encoding: program order and variable definitions, asking, dumping. One formula serves all
 * queries that need the same part of the program, each as an assumption. Tool side; never prints.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/direct.h"
#include "analyzer/predict/slice.h"

#include <assert.h>

#define AND AM_DIRECT_AND
#define CLAUSE AM_DIRECT_CLAUSE

/* ---- the formula ----------------------------------------------------------------------------- */

static void program_order(struct am_direct *d)
{
	const struct am_ctp *ctp = d->ctp;
	for (uint32_t a = 0; a < ctp->event_count; a++)
		for (uint32_t i = d->engine->must.first[a]; i < d->engine->must.first[a + 1]; i++) {
			const uint32_t b = d->engine->must.out[i];
			if (!d->engine->must.never[b]) /* of those, orders may be cyclic */
				am_direct_assert(d, am_smt_less(d->smt, d->order[a], d->order[b]));
		}
	for (uint32_t i = 0; i < ctp->order_count; i++)
		CLAUSE(d, -d->x[ctp->orders[i].after], d->x[ctp->orders[i].before]);
	for (uint32_t t = 0; t < ctp->thread_count; t++) {
		const struct am_ctp_thread *th = &ctp->threads[t];
		for (uint32_t i = 0; i < th->length; i++) {
			const uint32_t e = th->events[i];
			if (d->engine->must.never[e])
				am_direct_assert(d, -d->x[e]);
			if (i == 0) {
				if (th->fork != AM_CTP_NONE)
					CLAUSE(d, -d->x[e], d->run[th->fork]);
				continue;
			}
			const uint32_t p = th->events[i - 1];
			CLAUSE(d, -d->x[e], d->x[p]);
			if (ctp->events[p].kind == AM_ASSERT)
				CLAUSE(d, -d->x[e], -d->run[p],
				       am_direct_node(d, ctp->events[p].cond));
		}
	}
}

static void event_formula(struct am_direct *d, uint32_t e)
{
	struct am_ctp *ctp = d->ctp;
	const struct am_ctp_event v = ctp->events[e];
	if (v.cond && v.kind != AM_ASSERT)
		CLAUSE(d, -d->run[e], am_direct_node(d, v.cond));
	if (v.kind == AM_JOIN && ctp->threads[v.object].length) {
		const struct am_ctp_thread *t = &ctp->threads[v.object];
		const uint32_t last = t->events[t->length - 1];
		CLAUSE(d, -d->run[e], d->x[last]);
		CLAUSE(d, -d->run[e], am_direct_before(d, last, e));
		if (ctp->events[last].kind == AM_ASSERT)
			CLAUSE(d, -d->run[e], -d->run[last],
			       am_direct_node(d, ctp->events[last].cond));
	}
	if (am_ctp_is_access(&v) && v.offset && !am_ctp_is_const(ctp, v.offset, NULL)) {
		const uint32_t size = ctp->objects[v.object].size;
		const uint32_t in = am_ctp_op(ctp, AM_OP_ULE, 1, v.offset,
					      am_ctp_const(ctp, 64, size - v.size), 0);
		CLAUSE(d, -d->run[e], am_direct_node(d, in));
	}
}

static void build(struct am_direct *d, struct am_engine *engine)
{
	const uint32_t n = engine->ctp->event_count;
	*d = (struct am_direct){ .engine = engine, .ctp = engine->ctp };
	d->smt = am_smt_new("ALL", engine->options.budget.ms);
	d->order = am_zalloc(n, sizeof *d->order);
	d->x = am_zalloc(n, sizeof *d->x);
	d->run = am_zalloc(n, sizeof *d->run);
	d->old = am_zalloc(n, sizeof *d->old);
	d->regular = am_zalloc(d->ctp->object_count, sizeof *d->regular);
	const int32_t end = am_smt_int(d->smt, "end");
	for (uint32_t e = 0; e < n; e++) {
		d->order[e] = am_smt_int(d->smt, "O");
		d->x[e] = am_smt_less(d->smt, d->order[e], end);
		d->run[e] = d->ctp->events[e].guard ? am_smt_bool(d->smt, "g") : d->x[e];
	}
	for (uint32_t e = 0; e < n; e++)
		if (d->ctp->events[e].guard)
			am_direct_assert(d, am_smt_iff(d->smt, d->run[e],
						       AND(d, d->x[e],
							   am_direct_node(d, d->ctp->events[e].guard))));
	program_order(d);
	for (uint32_t e = 0; e < n; e++)
		event_formula(d, e);
	am_direct_sync(d);
}

static void clear(struct am_direct *d)
{
	am_smt_free(d->smt);
	free(d->order);
	free(d->x);
	free(d->run);
	free(d->old);
	free(d->hb);
	free(d->regular);
	free(d->node);
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct placed {
	int64_t at;
	uint32_t event;
};

static int by_order(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

/* The model's linearisation, executed; false if the interpreter disagrees. */
static bool witness(struct am_direct *d, struct am_answer *answer)
{
	const uint32_t n = d->ctp->event_count;
	struct placed *p = am_zalloc(n, sizeof *p);
	struct am_exec x;
	uint32_t count = 0;
	bool fine = true;
	for (uint32_t e = 0; e < n; e++)
		if (am_smt_true(d->smt, d->x[e]))
			p[count++] = (struct placed){ am_smt_number(d->smt, d->order[e]), e };
	qsort(p, count, sizeof *p, by_order);
	am_exec_init(&x, d->ctp, AM_MODEL_SC);
	answer->run = am_zalloc(count, sizeof *answer->run);
	for (uint32_t i = 0; i < count && fine; i++) {
		const enum am_step s = am_exec_step(&x, p[i].event);
		fine = s == AM_STEP_OK || s == AM_STEP_SKIPPED;
		if (s == AM_STEP_OK)
			answer->run[answer->length++] = p[i].event;
	}
	am_exec_clear(&x);
	free(p);
	return fine;
}

/* The part of the program that a kind of query needs, its formula, and what was asked last. */
struct am_direct_part {
	struct am_slice slice;
	struct am_engine engine;
	struct am_direct direct;
	struct am_query query;
	struct am_engine_stats counted;
};

static void part_make(struct am_direct_part *part, struct am_engine *engine,
		      const struct am_query *query)
{
	*part = (struct am_direct_part){ .query = *query };
	am_slice_make(&part->slice, engine->ctp, query);
	part->engine = (struct am_engine){ .ctp = part->slice.ctp, .options = engine->options };
	am_must_init(&part->engine.must, part->engine.ctp, AM_MODEL_SC);
	build(&part->direct, &part->engine);
}

static void part_clear(struct am_direct_part *part)
{
	clear(&part->direct);
	am_must_clear(&part->engine.must);
	am_slice_clear(&part->slice);
}

void am_direct_free(struct am_direct_part *part)
{
	if (!part)
		return;
	part_clear(part);
	free(part);
}

/* The formula of the last query serves this one if it has the same slice. */
static struct am_direct_part *part_for(struct am_engine *engine, const struct am_query *query)
{
	if (engine->direct && am_slice_serves(engine->ctp, &engine->direct->query, query))
		return engine->direct;
	am_direct_free(engine->direct);
	engine->direct = am_zalloc(1, sizeof *engine->direct);
	part_make(engine->direct, engine, query);
	return engine->direct;
}

/* Adds what the solver did since it was counted last. */
static void count(struct am_engine *engine, struct am_direct_part *part)
{
	struct am_engine_stats *old = &part->counted, now = { 0 };
	struct am_smt_stats s;
	am_smt_get_stats(part->direct.smt, &s);
	now.literals = s.variables;
	now.clauses = part->direct.clauses;
	now.conflicts = s.conflicts;
	now.decisions = s.decisions;
	now.propagations = s.propagations;
	now.checks = s.checks;
	engine->stats.literals += now.literals - old->literals;
	engine->stats.clauses += now.clauses - old->clauses;
	engine->stats.conflicts += now.conflicts - old->conflicts;
	engine->stats.decisions += now.decisions - old->decisions;
	engine->stats.propagations += now.propagations - old->propagations;
	engine->stats.checks += now.checks - old->checks;
	engine->stats.sliced_events = part->engine.ctp->event_count;
	*old = now;
}

void am_direct_ask(struct am_engine *engine, const struct am_query *query,
		   struct am_answer *answer)
{
	answer->verdict = AM_UNDECIDED;
	if (engine->options.model != AM_MODEL_SC) {
		answer->reason = "the direct encoding knows sequential consistency only";
		return;
	}
	struct am_direct_part *part = part_for(engine, query);
	struct am_direct *d = &part->direct;
	const struct am_query q = am_slice_query(&part->slice, query);
	const int32_t asked = am_direct_property(d, &q);
	answer->rounds = 1;
	switch (am_smt_check(d->smt, &asked, 1, engine->options.budget.units)) {
	case AM_SMT_UNSAT:
		answer->verdict = AM_INFEASIBLE;
		break;
	case AM_SMT_UNKNOWN:
		answer->reason = am_smt_error(d->smt) ? "the solver failed" : "solver budget used up";
		break;
	case AM_SMT_SAT:
		if (witness(d, answer)) {
			answer->verdict = AM_FEASIBLE;
			am_slice_restore(&part->slice, answer);
		} else
			answer->reason = "internal: the model is not a run of the program";
	}
	count(engine, part);
}

bool am_engine_dump_smt2(struct am_engine *engine, const struct am_query *query, FILE *out)
{
	struct am_direct_part part;
	part_make(&part, engine, query);
	const struct am_query q = am_slice_query(&part.slice, query);
	am_direct_assert(&part.direct, am_direct_property(&part.direct, &q));
	const bool fine = am_smt_dump(part.direct.smt, NULL, 0, out);
	part_clear(&part);
	return fine;
}
