/*
 * Properties in the direct encoding: each query as one formula over the orders and values. Plain on
 * purpose: it is the twin against which the lazy engine is tested. Tool side.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/direct.h"
#include "analyzer/predict/goal.h"

#include <assert.h>

static int32_t same_place(struct am_direct *d, uint32_t a, uint32_t b)
{
	return am_direct_node(d, am_ctp_overlap(d->ctp, a, b));
}

/* ---- guarded independence -------------------------------------------------------------------- */

static bool only_own_condition(const struct am_ctp *ctp, uint32_t e)
{
	if (ctp->events[e].kind != AM_READ || !ctp->events[e].cond)
		return false;
	for (uint32_t i = 0; i < ctp->event_count; i++) {
		const struct am_ctp_event *v = &ctp->events[i];
		if (am_ctp_needs(ctp, v->guard, e) || am_ctp_needs(ctp, v->offset, e) ||
		    am_ctp_needs(ctp, v->value, e) ||
		    (i != e && am_ctp_needs(ctp, v->cond, e)))
			return false;
	}
	return true;
}

/* cond[x -> e]: the condition of r with its own leaf replaced by a term (rule 4c). */
static int32_t substitute(struct am_direct *d, uint32_t node, uint32_t r, int32_t value)
{
	const struct am_expr n = d->ctp->nodes[node];
	if (n.op == AM_OP_READ && n.value == r)
		return value;
	if (!am_ctp_needs(d->ctp, node, r))
		return am_direct_node(d, node);
	const unsigned arity = am_op_arity((enum am_op)n.op);
	return am_smt_op(d->smt, (enum am_op)n.op, n.width, substitute(d, n.a, r, value),
			 n.op == AM_OP_EXTRACT ? (int32_t)n.b
			 : arity > 1	       ? substitute(d, n.b, r, value)
					       : 0,
			 arity > 2 ? substitute(d, n.c, r, value) : 0);
}

/* Read r would not notice if it saw `other` instead of `seen`. */
static int32_t unnoticed(struct am_direct *d, uint32_t r, int32_t seen, int32_t other)
{
	int32_t same[2] = { am_smt_eq(d->smt, seen, other), AM_SMT_FALSE };
	if (only_own_condition(d->ctp, r))
		same[1] = substitute(d, d->ctp->events[r].cond, r, other);
	return am_direct_or(d, same, 2);
}

/* Not c_G(x, y): dependent, x first. */
static int32_t dependent(struct am_direct *d, uint32_t x, uint32_t y, bool plain)
{
	const struct am_ctp_event a = d->ctp->events[x], b = d->ctp->events[y];
	const struct am_ctp_loc *l = &d->ctp->locs[a.loc];
	if (plain || a.size != b.size || !(l->exact || l->same_size))
		return same_place(d, x, y);
	const bool ar = a.kind != AM_WRITE, aw = a.kind != AM_READ;
	const bool br = b.kind != AM_WRITE, bw = b.kind != AM_READ;
	const int32_t wa = aw ? am_direct_node(d, a.value) : 0;
	const int32_t wb = bw ? am_direct_node(d, b.value) : 0;
	int32_t any[3] = { AM_SMT_FALSE, AM_SMT_FALSE, AM_SMT_FALSE };
	if (aw && bw)
		any[0] = -am_smt_eq(d->smt, wa, wb);
	if (ar && bw)
		any[1] = aw ? -am_smt_eq(d->smt, am_direct_old(d, x), wb)
			    : -unnoticed(d, x, am_direct_old(d, x), wb);
	if (aw && br) {
		const int32_t silent = am_smt_eq(d->smt, am_direct_old(d, x), wa);
		int32_t none[2] = { silent, AM_SMT_FALSE };
		if (!bw && only_own_condition(d->ctp, y))
			none[1] = substitute(d, b.cond, y, am_direct_old(d, x));
		any[2] = -am_direct_or(d, none, 2);
	}
	const int32_t both[2] = { same_place(d, x, y), am_direct_or(d, any, 3) };
	return am_direct_and(d, both, 2);
}

static int32_t three(struct am_direct *d, const struct am_query *q)
{
	const int32_t all[] = { d->run[q->a],
				d->run[q->b],
				d->run[q->c],
				am_direct_before(d, q->a, q->b),
				am_direct_before(d, q->b, q->c),
				dependent(d, q->a, q->b, q->plain),
				dependent(d, q->b, q->c, q->plain) };
	return am_direct_and(d, all, sizeof all / sizeof all[0]);
}

/* ---- strong and window form ------------------------------------------------------------------ */

static bool is_operation(const struct am_ctp_event *e)
{
	return am_ctp_is_access(e) || (e->kind >= AM_FORK && e->kind <= AM_ONCE_END);
}

static int32_t touches(struct am_direct *d, uint32_t region, uint32_t k)
{
	struct am_lits any = { 0 };
	for (uint32_t m = 0; m < d->ctp->event_count; m++) {
		if (!am_goal_in_region(d->ctp, region, m) ||
		    !am_ctp_is_access(&d->ctp->events[m]))
			continue;
		const int32_t both[2] = { d->run[m], same_place(d, m, k) };
		am_lits_add(&any, am_direct_and(d, both, 2));
	}
	const int32_t t = am_direct_or(d, any.list, any.count);
	free(any.list);
	return t;
}

static int32_t intruder(struct am_direct *d, const struct am_query *q)
{
	const struct am_ctp *ctp = d->ctp;
	struct am_lits any = { 0 }, first = { 0 }, last = { 0 };
	for (uint32_t k = 0; k < ctp->event_count; k++) {
		const struct am_ctp_event *v = &ctp->events[k];
		const bool window = q->property == AM_PROP_WINDOW;
		if (v->thread == ctp->regions[q->region].thread || !is_operation(v) ||
		    (window && !am_ctp_is_access(v)))
			continue;
		first.count = last.count = 0;
		for (uint32_t i = 0; i < ctp->event_count; i++) {
			if (!am_goal_in_region(ctp, q->region, i) || !is_operation(&ctp->events[i]))
				continue;
			const int32_t a[2] = { d->run[i], am_direct_before(d, i, k) };
			const int32_t b[2] = { d->run[i], am_direct_before(d, k, i) };
			am_lits_add(&first, am_direct_and(d, a, 2));
			am_lits_add(&last, am_direct_and(d, b, 2));
		}
		const int32_t all[4] = { d->run[k], am_direct_or(d, first.list, first.count),
					 am_direct_or(d, last.list, last.count),
					 window ? touches(d, q->region, k) : AM_SMT_TRUE };
		am_lits_add(&any, am_direct_and(d, all, 4));
	}
	const int32_t t = am_direct_or(d, any.list, any.count);
	free(any.list);
	free(first.list);
	free(last.list);
	return t;
}

/* ---- serializability ------------------------------------------------------------------------- */

struct step {
	uint32_t u, v;
	int32_t lit;
};

struct cycle {
	struct am_direct *d;
	struct step *steps;
	uint32_t count, room;
	uint32_t home, region;
};

static uint32_t transaction(const struct am_ctp *ctp, uint32_t e)
{
	const uint32_t r = ctp->events[e].region;
	return r == AM_CTP_NONE ? ctp->events[e].pos : ctp->events[ctp->regions[r].begin].pos;
}

/* May a cycle that enters the thread of `in` by it go out of it by `out`? */
static bool may_follow(const struct cycle *c, const struct step *in, const struct step *out)
{
	const struct am_ctp *ctp = c->d->ctp;
	if (ctp->events[in->v].thread != ctp->events[out->u].thread)
		return false;
	if (ctp->events[in->v].thread == c->home)
		return ctp->events[out->u].pos < ctp->events[in->v].pos;
	return transaction(ctp, in->v) <= transaction(ctp, out->u);
}

static int32_t serial(struct am_direct *d, const struct am_query *q)
{
	struct am_ctp *ctp = d->ctp;
	struct cycle c = { .d = d, .home = ctp->regions[q->region].thread, .region = q->region };
	struct am_lits goal = { 0 }, any = { 0 };
	for (uint32_t u = 0; u < ctp->event_count; u++)
		for (uint32_t v = 0; v < ctp->event_count; v++) {
			const struct am_ctp_event *a = &ctp->events[u], *b = &ctp->events[v];
			if (!am_ctp_is_access(a) || !am_ctp_is_access(b) || a->thread == b->thread ||
			    (!am_ctp_is_store(a) && !am_ctp_is_store(b)) || a->loc != b->loc ||
			    (a->flags | b->flags) & AM_CTP_VOUCHED ||
			    (a->thread == c.home && !am_goal_in_region(ctp, q->region, u)) ||
			    (b->thread == c.home && !am_goal_in_region(ctp, q->region, v)))
				continue;
			const int32_t lit = am_smt_bool(d->smt, "c");
			const int32_t all[4] = { d->run[u], d->run[v], am_direct_before(d, u, v),
						 same_place(d, u, v) };
			const int32_t imp[2] = { -lit, am_direct_and(d, all, 4) };
			am_direct_clause(d, imp, 2);
			AM_PUSH(c.steps, c.count, c.room) = (struct step){ u, v, lit };
			if (ctp->events[v].thread == c.home)
				am_lits_add(&goal, lit);
		}
	for (uint32_t i = 0; i < c.count; i++) {
		/* goes on, has come from somewhere, is the only one in and out of its threads */
		for (int side = 0; side < 2; side++) {
			any.count = 0;
			am_lits_add(&any, -c.steps[i].lit);
			for (uint32_t j = 0; j < c.count; j++)
				if (side ? may_follow(&c, &c.steps[i], &c.steps[j])
					 : may_follow(&c, &c.steps[j], &c.steps[i]))
					am_lits_add(&any, c.steps[j].lit);
			am_direct_clause(d, any.list, any.count);
		}
		for (uint32_t j = 0; j < i; j++)
			if (ctp->events[c.steps[i].u].thread == ctp->events[c.steps[j].u].thread ||
			    ctp->events[c.steps[i].v].thread == ctp->events[c.steps[j].v].thread) {
				const int32_t amo[2] = { -c.steps[i].lit, -c.steps[j].lit };
				am_direct_clause(d, amo, 2);
			}
	}
	const int32_t t = am_direct_or(d, goal.list, goal.count);
	free(goal.list);
	free(any.list);
	free(c.steps);
	return t;
}

/* ---- race: Yang et al., Appendix C ------------------------------------------------------------ */

static bool is_lock_pair(const struct am_ctp_event *x, const struct am_ctp_event *y)
{
	const uint32_t given = x->kind == AM_RELEASE ? x->object
			       : x->kind == AM_WAIT  ? x->aux
						     : AM_CTP_NONE;
	const uint32_t taken = y->kind == AM_ACQUIRE ? y->object
			       : y->kind == AM_WAKE  ? y->aux
						     : AM_CTP_NONE;
	return given != AM_CTP_NONE && given == taken &&
	       !(x->kind == AM_RELEASE && y->kind == AM_ACQUIRE && x->mode && y->mode);
}

/* Condition under which a happens before b by synchronisation. */
static int32_t sync_edge(struct am_direct *d, uint32_t a, uint32_t b)
{
	const struct am_ctp_event *x = &d->ctp->events[a], *y = &d->ctp->events[b];
	const int32_t later = am_direct_before(d, a, b);
	if (is_lock_pair(x, y) ||
	    (x->kind == AM_POST && y->kind == AM_TAKE && x->object == y->object) ||
	    (x->kind == AM_ARRIVE && y->kind == AM_LEAVE && x->object == y->object))
		return later;
	if (x->kind == AM_FORK && y->thread == x->object)
		return AM_SMT_TRUE;
	if (y->kind == AM_JOIN && y->object == x->thread)
		return AM_SMT_TRUE;
	if ((x->kind == AM_SIGNAL || x->kind == AM_BROADCAST) && y->kind == AM_WAKE &&
	    x->object == y->object && y->match != AM_CTP_NONE) {
		const int32_t in[2] = { am_direct_before(d, y->match, a), later };
		return am_direct_and(d, in, 2);
	}
	for (uint32_t i = 0; i < d->ctp->order_count; i++)
		if (d->ctp->orders[i].before == a && d->ctp->orders[i].after == b)
			return AM_SMT_TRUE;
	return AM_SMT_FALSE;
}

/* A release write that acquire read b sees: latest before it; bytes one by one. */
static int32_t reads_from(struct am_direct *d, uint32_t a, uint32_t b)
{
	struct am_lits all = { 0 };
	const struct am_ctp *ctp = d->ctp;
	am_lits_add(&all, am_direct_before(d, a, b));
	am_lits_add(&all, same_place(d, a, b));
	for (uint32_t j = 0; j < ctp->event_count; j++) {
		if (j == a || j == b || !am_ctp_is_store(&ctp->events[j]) ||
		    ctp->events[j].loc != ctp->events[b].loc)
			continue;
		const int32_t out[] = { -d->run[j], -same_place(d, j, b), am_direct_before(d, j, a),
					am_direct_before(d, b, j) };
		am_lits_add(&all, am_direct_or(d, out, 4));
	}
	const int32_t t = am_direct_and(d, all.list, all.count);
	free(all.list);
	return t;
}

/* Happens-before of the executed events: at least the edges, and transitive. */
static void happens_before(struct am_direct *d)
{
	const struct am_ctp *ctp = d->ctp;
	const uint32_t n = ctp->event_count;
	int32_t *hb = d->hb = am_zalloc((size_t)n * n, sizeof *hb);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++) {
			const struct am_ctp_event *x = &ctp->events[i], *y = &ctp->events[j];
			hb[i * n + j] = am_smt_bool(d->smt, "hb");
			int32_t edge = AM_SMT_FALSE;
			if (x->thread == y->thread)
				edge = x->pos < y->pos ? AM_SMT_TRUE : AM_SMT_FALSE;
			else if (am_ctp_is_store(x) && x->order >= 4 && y->read &&
				 (y->order == 3 || y->order == 2 || y->order > 4) && x->loc == y->loc)
				edge = reads_from(d, i, j);
			else
				edge = sync_edge(d, i, j);
			const int32_t c[4] = { -d->run[i], -d->run[j], -edge, hb[i * n + j] };
			if (edge != AM_SMT_FALSE)
				am_direct_clause(d, c, 4);
		}
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t j = 0; j < n; j++)
				if (i != j && i != k && j != k) {
					const int32_t c[3] = { -hb[i * n + k], -hb[k * n + j],
							       hb[i * n + j] };
					am_direct_clause(d, c, 3);
				}
}

static int32_t race(struct am_direct *d, const struct am_query *q)
{
	const uint32_t n = d->ctp->event_count;
	if (!d->hb)
		happens_before(d);
	const int32_t *hb = d->hb;
	struct am_lits some = { 0 };
	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = a + 1; b < n; b++) {
			const bool asked = (a == q->a && b == q->b) || (a == q->b && b == q->a);
			if (!(asked || q->a == AM_CTP_NONE) || !am_engine_may_race(d->engine, a, b))
				continue;
			const int32_t all[] = { d->run[a], d->run[b], same_place(d, a, b),
						-hb[a * n + b], -hb[b * n + a] };
			am_lits_add(&some, am_direct_and(d, all, sizeof all / sizeof all[0]));
		}
	const int32_t t = am_direct_or(d, some.list, some.count);
	free(some.list);
	return t;
}

static int32_t assertion(struct am_direct *d, const struct am_query *q)
{
	struct am_lits some = { 0 };
	for (uint32_t a = 0; a < d->ctp->event_count; a++) {
		const struct am_ctp_event *v = &d->ctp->events[a];
		if (v->kind != AM_ASSERT || (q->a != AM_CTP_NONE && q->a != a))
			continue;
		const int32_t fails[2] = { d->run[a], -am_direct_node(d, v->cond) };
		am_lits_add(&some, am_direct_and(d, fails, 2));
	}
	const int32_t t = am_direct_or(d, some.list, some.count);
	free(some.list);
	return t;
}

/* ---- entry ----------------------------------------------------------------------------------- */

static int32_t all_ends(struct am_direct *d)
{
	struct am_lits all = { 0 };
	for (uint32_t t = 0; t < d->ctp->thread_count; t++) {
		const struct am_ctp_thread *th = &d->ctp->threads[t];
		if (!th->length)
			continue;
		const uint32_t last = th->events[th->length - 1];
		am_lits_add(&all, d->x[last]);
		if (d->ctp->events[last].kind == AM_ASSERT) {
			const int32_t held[2] = { -d->run[last],
						  am_direct_node(d, d->ctp->events[last].cond) };
			am_lits_add(&all, am_direct_or(d, held, 2));
		}
	}
	const int32_t t = am_direct_and(d, all.list, all.count);
	free(all.list);
	return t;
}

int32_t am_direct_property(struct am_direct *d, const struct am_query *query)
{
	int32_t p[2] = { AM_SMT_FALSE, query->complete ? all_ends(d) : AM_SMT_TRUE };
	switch (query->property) {
	case AM_PROP_REACH:
		p[0] = d->run[query->a];
		break;
	case AM_PROP_ASSERT:
		p[0] = assertion(d, query);
		break;
	case AM_PROP_THREE:
		p[0] = three(d, query);
		break;
	case AM_PROP_SERIAL:
		p[0] = serial(d, query);
		break;
	case AM_PROP_STRONG:
	case AM_PROP_WINDOW:
		p[0] = intruder(d, query);
		break;
	case AM_PROP_RACE:
		p[0] = race(d, query);
		break;
	}
	return am_direct_and(d, p, 2);
}
