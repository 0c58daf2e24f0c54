/* SPDX-License-Identifier: MIT */
/*
 * Brute force over all runs of a small trace program: the stupid twin of the engine in the property
 * tests. It steps the interpreter through every order that the memory model allows and judges each
 * run by the definitions of the properties, sharing nothing with the encoders.
 */
#ifndef ATOMMON_TESTS_CTP_BRUTE_H
#define ATOMMON_TESTS_CTP_BRUTE_H

#include "analyzer/predict/exec.h"
#include "analyzer/predict/must.h"

#include <stdlib.h>
#include <string.h>

enum { BRUTE_EVENTS = 24, BRUTE_QUERIES = 400 };

struct brute {
	struct am_ctp *ctp;
	enum am_model model;
	struct am_exec x;
	uint32_t run[BRUTE_EVENTS], length; /* all steps, skipped ones included */
	uint32_t assumed; /* bit i: event i is assumed to be skipped */
	const struct am_query *queries;
	uint32_t query_count;
	bool *hit;
	uint64_t steps, most;
	bool gave_up;
	bool unserializable; /* some run has a cycle of transactions */
};

static inline const struct am_ctp_event *brute_at(const struct brute *b, uint32_t e)
{
	return &b->ctp->events[e];
}

static inline bool brute_done(const struct brute *b, uint32_t e)
{
	return b->x.state[e] == 1;
}

static inline uint32_t brute_place(const struct brute *b, uint32_t e)
{
	for (uint32_t i = 0; i < b->length; i++)
		if (b->run[i] == e)
			return i;
	return UINT32_MAX;
}

static inline bool brute_overlap(const struct brute *b, uint32_t x, uint32_t y)
{
	const struct am_ctp_event *p = brute_at(b, x), *q = brute_at(b, y);
	if (p->object != q->object)
		return false;
	const uint64_t a = p->offset ? am_exec_eval(&b->x, p->offset) : 0;
	const uint64_t c = q->offset ? am_exec_eval(&b->x, q->offset) : 0;
	return a < c + q->size && c < a + p->size;
}

static inline bool brute_conflict(const struct brute *b, uint32_t x, uint32_t y)
{
	const struct am_ctp_event *p = brute_at(b, x), *q = brute_at(b, y);
	return am_ctp_is_access(p) && am_ctp_is_access(q) && p->thread != q->thread &&
	       (am_ctp_is_store(p) || am_ctp_is_store(q)) && brute_overlap(b, x, y);
}

static inline bool brute_leaf_in(const struct am_ctp *ctp, uint32_t node, uint32_t e)
{
	if (!node)
		return false;
	const struct am_expr *n = &ctp->nodes[node];
	if (n->op == AM_OP_READ)
		return n->value == e;
	const unsigned k = am_op_arity((enum am_op)n->op);
	return (k > 0 && brute_leaf_in(ctp, n->a, e)) ||
	       (k > 1 && n->op != AM_OP_EXTRACT && brute_leaf_in(ctp, n->b, e)) ||
	       (k > 2 && brute_leaf_in(ctp, n->c, e));
}

/* Does the value that e read matter to nothing but e's own condition? */
static inline bool brute_only_cond(const struct brute *b, uint32_t e)
{
	const struct am_ctp *ctp = b->ctp;
	if (brute_at(b, e)->kind != AM_READ || !brute_at(b, e)->cond)
		return false;
	for (uint32_t i = 0; i < ctp->event_count; i++) {
		const struct am_ctp_event *v = brute_at(b, i);
		if (brute_leaf_in(ctp, v->guard, e) || brute_leaf_in(ctp, v->offset, e) ||
		    brute_leaf_in(ctp, v->value, e) || (i != e && brute_leaf_in(ctp, v->cond, e)))
			return false;
	}
	return true;
}

/* Would the outcome of read r be the same had it seen `other`, which differs? Only as far as it is a
 * condition. */
static inline bool brute_same_outcome(struct brute *b, uint32_t r, uint64_t other)
{
	const uint64_t seen = b->x.old[r];
	if (!brute_only_cond(b, r))
		return false;
	b->x.reads[r] = other;
	const bool same = am_exec_eval(&b->x, brute_at(b, r)->cond) & 1;
	b->x.reads[r] = seen;
	return same;
}

/* Section 3 of Wang et al.: x before y. */
static inline bool brute_dependent(struct brute *b, uint32_t x, uint32_t y)
{
	const struct am_ctp_event *p = brute_at(b, x), *q = brute_at(b, y);
	const uint64_t wx = p->value ? am_exec_eval(&b->x, p->value) : 0;
	const uint64_t wy = q->value ? am_exec_eval(&b->x, q->value) : 0;
	const struct am_ctp_loc *l = &b->ctp->locs[p->loc];
	if (!brute_overlap(b, x, y))
		return false;
	if (p->size != q->size || (!l->exact && !l->same_size))
		return true;
	if (p->kind != AM_READ && q->kind != AM_READ && wx != wy)
		return true;
	if (p->kind != AM_WRITE && q->kind != AM_READ && b->x.old[x] != wy &&
	    !brute_same_outcome(b, x, wy))
		return true;
	return p->kind != AM_READ && q->kind != AM_WRITE &&
	       (q->kind == AM_UPDATE ? b->x.old[x] != wx
				     : b->x.old[x] != wx && !brute_same_outcome(b, y, b->x.old[x]));
}

static inline bool brute_in(const struct brute *b, uint32_t region, uint32_t e)
{
	const struct am_ctp_region *r = &b->ctp->regions[region];
	const struct am_ctp_event *v = brute_at(b, e);
	return v->thread == r->thread && v->pos > brute_at(b, r->begin)->pos &&
	       v->pos < brute_at(b, r->end)->pos;
}

/* Transaction of an event: region, or itself. */
static inline uint32_t brute_transaction(const struct brute *b, uint32_t e)
{
	const uint32_t r = brute_at(b, e)->region;
	return r == AM_CTP_NONE ? e : BRUTE_EVENTS + r;
}

/* Is the run conflict-serializable: is the graph of transactions free of cycles? */
static inline bool brute_serializable(const struct brute *b)
{
	bool edge[2 * BRUTE_EVENTS][2 * BRUTE_EVENTS];
	memset(edge, 0, sizeof edge);
	for (uint32_t i = 0; i < b->length; i++)
		for (uint32_t j = 0; j < b->length; j++) {
			const uint32_t x = b->run[i], y = b->run[j];
			const uint32_t s = brute_transaction(b, x), t = brute_transaction(b, y);
			if (s == t || !brute_done(b, x) || !brute_done(b, y))
				continue;
			const bool program = brute_at(b, x)->thread == brute_at(b, y)->thread &&
					     brute_at(b, x)->pos < brute_at(b, y)->pos;
			if (program || (i < j && brute_conflict(b, x, y)))
				edge[s][t] = true;
		}
	for (int k = 0; k < 2 * BRUTE_EVENTS; k++)
		for (int i = 0; i < 2 * BRUTE_EVENTS; i++)
			for (int j = 0; edge[i][k] && j < 2 * BRUTE_EVENTS; j++)
				edge[i][j] |= edge[k][j];
	for (int i = 0; i < 2 * BRUTE_EVENTS; i++)
		if (edge[i][i])
			return false;
	return true;
}

/* Can the cycle go on from access e of another thread, and come back to the region after `start`? */
static inline bool brute_returns(const struct brute *b, uint32_t region, uint32_t start, uint32_t e,
				 uint32_t visited)
{
	const struct am_ctp_event *v = brute_at(b, e);
	for (uint32_t i = 0; i < b->length; i++) {
		const uint32_t u = b->run[i]; /* leaves the thread of e from u */
		const struct am_ctp_event *w = brute_at(b, u);
		if (w->thread != v->thread || !brute_done(b, u) ||
		    (w->pos < v->pos && brute_transaction(b, u) != brute_transaction(b, e)))
			continue;
		for (uint32_t j = i + 1; j < b->length; j++) {
			const uint32_t o = b->run[j];
			if (!brute_done(b, o) || !brute_conflict(b, u, o))
				continue;
			if (brute_in(b, region, o) && brute_at(b, o)->pos > brute_at(b, start)->pos)
				return true;
			if (!(visited >> brute_at(b, o)->thread & 1) &&
			    brute_returns(b, region, start, o,
					  visited | 1u << brute_at(b, o)->thread))
				return true;
		}
	}
	return false;
}

/* The definition of a broken region in engine.h. */
static inline bool brute_broken(const struct brute *b, uint32_t region)
{
	const uint32_t home = 1u << b->ctp->regions[region].thread;
	for (uint32_t i = 0; i < b->length; i++)
		for (uint32_t j = i + 1; j < b->length; j++) {
			const uint32_t u = b->run[i], v = b->run[j];
			if (brute_in(b, region, u) && brute_done(b, u) && brute_done(b, v) &&
			    brute_conflict(b, u, v) &&
			    brute_returns(b, region, u, v, home | 1u << brute_at(b, v)->thread))
				return true;
		}
	return false;
}

static inline bool brute_operation(const struct am_ctp_event *e)
{
	return am_ctp_is_access(e) || (e->kind >= AM_FORK && e->kind <= AM_ONCE_END);
}

static inline bool brute_intruder(const struct brute *b, const struct am_query *q)
{
	for (uint32_t k = 0; k < b->length; k++) {
		const uint32_t e = b->run[k];
		bool before = false, after = false, touches = false;
		if (!brute_done(b, e) || !brute_operation(brute_at(b, e)) ||
		    brute_at(b, e)->thread == b->ctp->regions[q->region].thread ||
		    (q->property == AM_PROP_WINDOW && !am_ctp_is_access(brute_at(b, e))))
			continue;
		for (uint32_t i = 0; i < b->length; i++) {
			const uint32_t o = b->run[i];
			if (!brute_done(b, o) || !brute_in(b, q->region, o) ||
			    !brute_operation(brute_at(b, o)))
				continue;
			before |= i < k;
			after |= i > k;
			touches |= am_ctp_is_access(brute_at(b, o)) &&
				   am_ctp_is_access(brute_at(b, e)) && brute_overlap(b, o, e);
		}
		if (before && after && (q->property == AM_PROP_STRONG || touches))
			return true;
	}
	return false;
}

static inline bool brute_sync_edge(const struct brute *b, uint32_t i, uint32_t j)
{
	const uint32_t x = b->run[i], y = b->run[j];
	const struct am_ctp_event *p = brute_at(b, x), *q = brute_at(b, y);
	const uint32_t given = p->kind == AM_RELEASE ? p->object
			       : p->kind == AM_WAIT  ? p->aux
						     : AM_CTP_NONE;
	const uint32_t taken = q->kind == AM_ACQUIRE ? q->object
			       : q->kind == AM_WAKE  ? q->aux
						     : AM_CTP_NONE;
	if (given != AM_CTP_NONE && given == taken &&
	    !(p->kind == AM_RELEASE && q->kind == AM_ACQUIRE && p->mode && q->mode))
		return true;
	if (p->kind == AM_POST)
		return q->kind == AM_TAKE && q->object == p->object;
	if (p->kind == AM_ARRIVE)
		return q->kind == AM_LEAVE && q->object == p->object;
	if (p->kind == AM_SIGNAL || p->kind == AM_BROADCAST)
		return q->kind == AM_WAKE && q->object == p->object &&
		       brute_place(b, q->match) < i;
	if (p->kind == AM_FORK && q->thread == p->object)
		return true;
	if (q->kind == AM_JOIN && q->object == p->thread)
		return true;
	if (am_ctp_is_store(p) && p->order >= 4 && q->read && (q->order == 3 || q->order > 4))
		for (uint32_t k = 0; k < q->size; k++)
			if (b->x.from[y][k] == x)
				return true;
	return false;
}

static inline bool brute_race(const struct brute *b, uint32_t x, uint32_t y)
{
	bool hb[BRUTE_EVENTS][BRUTE_EVENTS];
	memset(hb, 0, sizeof hb);
	for (uint32_t i = 0; i < b->length; i++)
		for (uint32_t j = 0; j < b->length; j++) {
			const struct am_ctp_event *p = brute_at(b, b->run[i]);
			const struct am_ctp_event *q = brute_at(b, b->run[j]);
			if (!brute_done(b, b->run[i]) || !brute_done(b, b->run[j]))
				continue;
			hb[i][j] = p->thread == q->thread ? p->pos < q->pos
							  : i < j && brute_sync_edge(b, i, j);
		}
	for (uint32_t k = 0; k < b->length; k++)
		for (uint32_t i = 0; i < b->length; i++)
			for (uint32_t j = 0; j < b->length; j++)
				hb[i][j] |= hb[i][k] && hb[k][j];
	const uint32_t i = brute_place(b, x), j = brute_place(b, y);
	return !hb[i][j] && !hb[j][i];
}

static inline bool brute_complete(const struct brute *b)
{
	for (uint32_t e = 0; e < b->ctp->event_count; e++)
		if (!b->x.state[e] || b->x.failed[e])
			return false;
	return true;
}

static inline bool brute_has(struct brute *b, const struct am_query *q)
{
	if (q->complete && !brute_complete(b))
		return false;
	switch (q->property) {
	case AM_PROP_REACH:
		return brute_done(b, q->a);
	case AM_PROP_ASSERT:
		return brute_done(b, q->a) && b->x.failed[q->a];
	case AM_PROP_THREE:
		return brute_done(b, q->a) && brute_done(b, q->b) && brute_done(b, q->c) &&
		       brute_place(b, q->a) < brute_place(b, q->b) &&
		       brute_place(b, q->b) < brute_place(b, q->c) &&
		       (q->plain ? brute_overlap(b, q->a, q->b) && brute_overlap(b, q->b, q->c)
				 : brute_dependent(b, q->a, q->b) && brute_dependent(b, q->b, q->c));
	case AM_PROP_SERIAL:
		b->unserializable |= !brute_serializable(b);
		return brute_broken(b, q->region);
	case AM_PROP_STRONG:
	case AM_PROP_WINDOW:
		return brute_intruder(b, q);
	case AM_PROP_RACE:
		return brute_done(b, q->a) && brute_done(b, q->b) &&
		       brute_conflict(b, q->a, q->b) && brute_race(b, q->a, q->b);
	}
	return false;
}

/* May e be next in memory order, as far as program order goes? */
static inline bool brute_may_be_next(const struct brute *b, uint32_t e)
{
	const struct am_ctp_event *v = brute_at(b, e);
	const struct am_ctp_thread *t = &b->ctp->threads[v->thread];
	for (uint32_t i = 0; i < v->pos; i++) {
		const uint32_t p = t->events[i];
		if (b->x.state[p])
			continue;
		if (b->model == AM_MODEL_SC || v->kind == AM_BEGIN || v->kind == AM_END)
			return false;
		if ((b->assumed >> p & 1) || (b->assumed >> e & 1))
			continue;
		if (am_must_keeps(b->ctp, b->model, p, e))
			return false;
	}
	/* a skipped event: after the reads that its guard needs */
	for (uint32_t i = 0; i < v->pos && (b->assumed >> e & 1); i++)
		if (!b->x.state[t->events[i]] && brute_leaf_in(b->ctp, v->guard, t->events[i]))
			return false;
	return true;
}

/* Weak models: a run counts if what program order demands of each thread's prefix is there. */
static inline bool brute_is_prefix(const struct brute *b)
{
	for (uint32_t e = 0; e < b->ctp->event_count; e++) {
		const struct am_ctp_event *v = brute_at(b, e);
		if (b->x.state[e] && v->pos &&
		    !b->x.state[b->ctp->threads[v->thread].events[v->pos - 1]])
			return false;
	}
	return true;
}

/* Commutes with all other events: one order is enough. */
static inline bool brute_is_local(const struct brute *b, uint32_t e)
{
	const struct am_ctp_event *v = brute_at(b, e);
	if (v->guard)
		return false;
	return v->kind == AM_BEGIN || v->kind == AM_END ||
	       (b->model == AM_MODEL_SC &&
		(v->kind == AM_FENCE || v->kind == AM_BRANCH || v->kind == AM_ASSERT));
}

static inline void brute_replay(struct brute *b)
{
	am_exec_reset(&b->x);
	for (uint32_t i = 0; i < b->length; i++)
		am_exec_step(&b->x, b->run[i]);
}

static inline bool brute_local_first(struct brute *b);

static inline void brute_visit(struct brute *b)
{
	if (brute_local_first(b))
		return;
	if (++b->steps > b->most) {
		b->gave_up = true;
		return;
	}
	const bool prefix = brute_is_prefix(b);
	for (uint32_t i = 0; i < b->query_count && prefix; i++)
		if ((!b->hit[i] || b->queries[i].property == AM_PROP_SERIAL) &&
		    brute_has(b, &b->queries[i]))
			b->hit[i] = true;
	for (uint32_t e = 0; e < b->ctp->event_count && !b->gave_up; e++) {
		if (b->x.state[e] || !brute_may_be_next(b, e))
			continue;
		const enum am_step s = am_exec_step(&b->x, e);
		const bool skip = b->assumed >> e & 1;
		if ((s == AM_STEP_OK && !skip) || (s == AM_STEP_SKIPPED && skip)) {
			b->run[b->length++] = e;
			brute_visit(b);
			b->length--;
		}
		brute_replay(b); /* the interpreter has no undo */
	}
}

/* If a local event can be next: only that one. */
static inline bool brute_local_first(struct brute *b)
{
	for (uint32_t e = 0; e < b->ctp->event_count; e++) {
		if (b->x.state[e] || !brute_is_local(b, e) || !brute_may_be_next(b, e))
			continue;
		if (am_exec_step(&b->x, e) != AM_STEP_OK) {
			brute_replay(b);
			continue;
		}
		b->run[b->length++] = e;
		brute_visit(b);
		b->length--;
		brute_replay(b);
		return true;
	}
	return false;
}

/* hit[i]: some run has the property of queries[i]. False: too many runs. */
static inline bool brute_force(struct am_ctp *ctp, enum am_model model,
			       const struct am_query *queries, uint32_t count, bool *hit,
			       uint64_t most, bool *unserializable)
{
	struct brute b = { .ctp = ctp, .model = model, .queries = queries,
			   .query_count = count, .hit = hit, .most = most };
	uint32_t guarded = 0;
	for (uint32_t e = 0; e < ctp->event_count; e++)
		if (ctp->events[e].guard)
			guarded |= 1u << e;
	am_exec_init(&b.x, ctp, model);
	/* every choice of which guarded events are skipped; execution confirms it */
	uint32_t subset = 0;
	do {
		b.assumed = subset;
		b.length = 0;
		am_exec_reset(&b.x);
		brute_visit(&b);
		subset = (subset - guarded) & guarded;
	} while (subset && !b.gave_up);
	am_exec_clear(&b.x);
	*unserializable = b.unserializable;
	return !b.gave_up;
}

#endif
