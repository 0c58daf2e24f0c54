/*
 * The rules of Yang et al., Appendix A, instantiated over a small program: an adjacency matrix of
 * Booleans (section 2.2), values as bit-vectors, one clause set per rule. Tool side; never prints.
 *
 * Beyond the paper: memory models other than sc (program order and read value vary, ctp.h), guards and
 * prefixes, and under mutual exclusion also conditions, semaphores and barriers.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/rules_priv.h"

#include <assert.h>

struct lits {
	int32_t *list;
	uint32_t count, room;
};

static void add(struct lits *l, int32_t lit)
{
	AM_PUSH(l->list, l->count, l->room) = lit;
}

static int32_t any(struct am_rules *r, const int32_t *lits, uint32_t count)
{
	return am_smt_or(r->smt, lits, count);
}

static int32_t both(struct am_rules *r, int32_t a, int32_t b)
{
	if (a == AM_SMT_FALSE || b == AM_SMT_FALSE)
		return AM_SMT_FALSE;
	if (a == AM_SMT_TRUE)
		return b;
	return b == AM_SMT_TRUE ? a : am_smt_and(r->smt, (int32_t[]){ a, b }, 2);
}

/* One instance of a rule over up to four items; left out if the query says so. */
static void rule(struct am_rules *r, enum am_rule which, const uint32_t *items, uint32_t count,
		 const int32_t *lits, uint32_t lit_count)
{
	if (r->query->without >> which & 1)
		return;
	struct lits c = { 0 };
	for (uint32_t i = 0; i < lit_count; i++)
		add(&c, lits[i]);
	if (r->query->explain) {
		struct am_rule_use use = { .rule = which, .count = count };
		for (uint32_t i = 0; i < 4; i++)
			use.events[i] = i < count ? r->items[items[i]] : AM_CTP_NONE;
		const int32_t s = am_smt_bool(r->smt, am_rule_name(which));
		r->selectors = am_grow(r->selectors, &r->selector_room, r->use_count + 1,
				       sizeof *r->selectors);
		r->selectors[r->use_count] = s;
		AM_PUSH(r->uses, r->use_count, r->use_room) = use;
		add(&c, -s);
	}
	am_smt_clause(r->smt, c.list, c.count);
	free(c.list);
}

#define RULE(r, which, items, ...)                                                                 \
	rule(r, which, items, sizeof(items) / sizeof((items)[0]), (const int32_t[]){ __VA_ARGS__ }, \
	     sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t))

static int32_t before(const struct am_rules *r, uint32_t i, uint32_t j)
{
	return i == j ? AM_SMT_FALSE : r->order[(size_t)i * r->n + j];
}

static const struct am_ctp_event *event_at(const struct am_rules *r, uint32_t item)
{
	return &r->ctp->events[r->items[item]];
}

/* Is the item executed? Initial writes always are. */
static int32_t feasible(const struct am_rules *r, uint32_t item)
{
	return item < r->initials ? AM_SMT_TRUE : r->run[r->items[item]];
}

/* ---- values ---------------------------------------------------------------------------------- */

static int32_t term(struct am_rules *r, uint32_t node)
{
	if (!node)
		return AM_SMT_TRUE;
	r->node = am_grow(r->node, &r->node_room, r->ctp->node_count, sizeof *r->node);
	if (r->node[node])
		return r->node[node];
	const struct am_expr n = r->ctp->nodes[node];
	const unsigned arity = am_op_arity((enum am_op)n.op);
	int32_t t;
	if (n.op == AM_OP_CONST) {
		t = am_smt_bv_const(r->smt, n.width, n.value);
	} else if (n.op == AM_OP_READ) {
		const uint32_t e = (uint32_t)n.value;
		t = r->read[e];
		if (r->ctp->events[e].guard)
			t = am_smt_op(r->smt, AM_OP_ITE, n.width, r->guard[e], t,
				      am_smt_bv_const(r->smt, n.width, 0));
	} else {
		const int32_t a = term(r, n.a);
		const int32_t b = n.op == AM_OP_EXTRACT ? (int32_t)n.b : arity > 1 ? term(r, n.b) : 0;
		const int32_t c = arity > 2 ? term(r, n.c) : 0;
		t = am_smt_op(r->smt, (enum am_op)n.op, n.width, a, b, c);
	}
	r->node[node] = t;
	return t;
}

static void computation(struct am_rules *r, uint32_t e)
{
	const struct am_ctp_event v = r->ctp->events[e];
	const uint32_t at[] = { am_rules_item(r, e) };
	if (v.guard)
		RULE(r, AM_RULE_COMPUTATION, at,
		     am_smt_iff(r->smt, r->guard[e], term(r, v.guard)));
	if (am_ctp_is_store(&v))
		RULE(r, AM_RULE_COMPUTATION, at, -r->run[e],
		     am_smt_eq(r->smt, r->data[e], term(r, v.value)));
	if (v.cond && v.kind != AM_ASSERT)
		RULE(r, AM_RULE_COMPUTATION, at, -r->run[e], term(r, v.cond));
	const struct am_ctp_thread *t = &r->ctp->threads[v.thread];
	if (v.kind == AM_ASSERT && v.pos + 1 < t->length)
		RULE(r, AM_RULE_COMPUTATION, at, -r->x[t->events[v.pos + 1]], -r->run[e],
		     term(r, v.cond));
	if (am_ctp_is_access(&v) && v.offset && !am_ctp_is_const(r->ctp, v.offset, NULL)) {
		const uint32_t room = r->ctp->objects[v.object].size - v.size;
		const uint32_t in = am_ctp_op(r->ctp, AM_OP_ULE, 1, v.offset,
					      am_ctp_const(r->ctp, 64, room), 0);
		RULE(r, AM_RULE_COMPUTATION, at, -r->run[e], term(r, in));
	}
}

/* ---- read value ------------------------------------------------------------------------------ */

static uint32_t offset_node(struct am_ctp *ctp, uint32_t e)
{
	return ctp->events[e].offset ? ctp->events[e].offset : am_ctp_const(ctp, 64, 0);
}

/* Distance of byte `piece` of read e from the start of write w, a node. */
static uint32_t distance(struct am_ctp *ctp, uint32_t w, uint32_t e, uint32_t piece)
{
	const uint32_t at = am_ctp_op(ctp, AM_OP_ADD, 64, offset_node(ctp, e),
				      am_ctp_const(ctp, 64, piece), 0);
	return am_ctp_op(ctp, AM_OP_SUB, 64, at, offset_node(ctp, w), 0);
}

static bool is_whole(const struct am_ctp *ctp, uint32_t e)
{
	const struct am_ctp_loc *l = &ctp->locs[ctp->events[e].loc];
	return l->exact || l->same_size;
}

/* Item i writes this piece of read e: a literal, false if it never does. */
static int32_t writes(struct am_rules *r, uint32_t i, uint32_t e, uint32_t piece)
{
	if (i < r->initials)
		return r->items[i] - r->ctp->event_count == r->ctp->events[e].object
			       ? AM_SMT_TRUE
			       : AM_SMT_FALSE;
	const uint32_t w = r->items[i];
	const struct am_ctp_event *v = event_at(r, i);
	if (w == e || !am_ctp_is_store(v) || v->loc != r->ctp->events[e].loc)
		return AM_SMT_FALSE;
	if (is_whole(r->ctp, e))
		return term(r, am_ctp_overlap(r->ctp, w, e));
	return term(r, am_ctp_op(r->ctp, AM_OP_ULT, 1, distance(r->ctp, w, e, piece),
				 am_ctp_const(r->ctp, 64, v->size), 0));
}

static int32_t initial_value(struct am_rules *r, uint32_t e, uint32_t piece, uint32_t size)
{
	const struct am_ctp_event *v = &r->ctp->events[e];
	const struct am_ctp_object *o = &r->ctp->objects[v->object];
	uint64_t at = 0;
	const bool fixed = !v->offset || am_ctp_is_const(r->ctp, v->offset, &at);
	int32_t t = am_smt_bv_const(r->smt, size * 8, 0);
	for (uint64_t start = at; start + piece + size <= o->size && o->init; start++) {
		uint64_t value = 0;
		for (uint32_t k = 0; k < size; k++)
			value |= (uint64_t)o->init[start + piece + k] << (8 * k);
		const int32_t c = am_smt_bv_const(r->smt, size * 8, value);
		if (fixed)
			return c;
		t = am_smt_op(r->smt, AM_OP_ITE, size * 8,
			      am_smt_eq(r->smt, term(r, v->offset),
					am_smt_bv_const(r->smt, 64, start)),
			      c, t);
	}
	return t;
}

/* The piece of e's value equals what item i wrote there. */
static int32_t same_data(struct am_rules *r, uint32_t i, uint32_t e, uint32_t piece)
{
	const struct am_ctp_event *v = &r->ctp->events[e];
	const bool whole = is_whole(r->ctp, e);
	int32_t part = r->read[e];
	if (!whole && v->size > 1)
		part = am_smt_op(r->smt, AM_OP_EXTRACT, 8, part, (int32_t)(8 * piece), 0);
	if (i < r->initials)
		return am_smt_eq(r->smt, part, initial_value(r, e, piece, whole ? v->size : 1));
	const uint32_t w = r->items[i];
	if (whole)
		return am_smt_eq(r->smt, part, r->data[w]);
	int32_t value = r->data[w];
	if (r->ctp->events[w].size < 8)
		value = am_smt_op(r->smt, AM_OP_ZEXT, 64, value, 0, 0);
	const int32_t shift = am_smt_op(r->smt, AM_OP_MUL, 64,
					term(r, distance(r->ctp, w, e, piece)),
					am_smt_bv_const(r->smt, 64, 8), 0);
	value = am_smt_op(r->smt, AM_OP_LSHR, 64, value, shift, 0);
	return am_smt_eq(r->smt, part, am_smt_op(r->smt, AM_OP_EXTRACT, 8, value, 0, 0));
}

static bool forwards(const struct am_rules *r, uint32_t i, uint32_t e)
{
	const struct am_ctp_event *v = &r->ctp->events[e];
	if (i < r->initials || (r->query->model != AM_MODEL_TSO && r->query->model != AM_MODEL_PSO))
		return false;
	return v->kind == AM_READ && event_at(r, i)->thread == v->thread &&
	       event_at(r, i)->pos < v->pos;
}

static void read_value(struct am_rules *r, uint32_t e)
{
	const struct am_ctp_event v = r->ctp->events[e];
	const uint32_t k = am_rules_item(r, e), pieces = is_whole(r->ctp, e) ? 1 : v.size;
	const uint32_t at[] = { k };
	struct lits some = { 0 }, all = { 0 };
	for (uint32_t piece = 0; piece < pieces; piece++) {
		some.count = 0;
		add(&some, -r->run[e]);
		for (uint32_t i = 0; i < r->n; i++) {
			const int32_t w = writes(r, i, e, piece);
			if (w == AM_SMT_FALSE)
				continue;
			all.count = 0;
			add(&all, feasible(r, i));
			add(&all, w);
			add(&all, same_data(r, i, e, piece));
			if (!forwards(r, i, e))
				add(&all, -before(r, k, i));
			for (uint32_t j = 0; j < r->n; j++) {
				const int32_t over = writes(r, j, e, piece);
				if (i == j || over == AM_SMT_FALSE)
					continue;
				const int32_t seen = forwards(r, j, e) ? AM_SMT_TRUE : before(r, j, k);
				const int32_t out[] = { -feasible(r, j), -over, -before(r, i, j),
							-seen };
				add(&all, any(r, out, 4));
			}
			add(&some, am_smt_and(r->smt, all.list, all.count));
		}
		rule(r, AM_RULE_READ_VALUE, at, 1, some.list, some.count);
	}
	free(some.list);
	free(all.list);
}

/* ---- mutual exclusion and other synchronisation ---------------------------------------------- */

static uint32_t lock_of(const struct am_ctp_event *e)
{
	if (e->kind == AM_ACQUIRE || e->kind == AM_RELEASE)
		return e->object;
	return e->kind == AM_WAIT || e->kind == AM_WAKE ? e->aux : AM_CTP_NONE;
}

static bool opens(const struct am_ctp_event *e)
{
	return e->kind == AM_ACQUIRE || e->kind == AM_WAKE;
}

static bool is_shared(const struct am_ctp_event *e)
{
	return (e->kind == AM_ACQUIRE || e->kind == AM_RELEASE) && e->mode == AM_SHARED;
}

/* The event that closes what e opened: the next close of the lock in the thread. */
static uint32_t close_of(const struct am_ctp *ctp, uint32_t e)
{
	const struct am_ctp_event *v = &ctp->events[e];
	const struct am_ctp_thread *t = &ctp->threads[v->thread];
	for (uint32_t i = v->pos + 1; i < t->length; i++) {
		const struct am_ctp_event *c = &ctp->events[t->events[i]];
		if (lock_of(c) == lock_of(v) && !opens(c) && c->guard == v->guard)
			return t->events[i];
	}
	return AM_CTP_NONE;
}

/* Between lock i and its unlock j no event k of another thread on that lock. A lock that is not given
 * back in this prefix keeps all others out. */
static void exclusion(struct am_rules *r, uint32_t i)
{
	const struct am_ctp *ctp = r->ctp;
	const struct am_ctp_event *v = &ctp->events[i];
	const uint32_t j = close_of(ctp, i), a = am_rules_item(r, i);
	for (uint32_t k = 0; k < ctp->event_count; k++) {
		const struct am_ctp_event *o = &ctp->events[k];
		if (lock_of(o) != lock_of(v) || o->thread == v->thread ||
		    (is_shared(o) && is_shared(v)))
			continue;
		const uint32_t c = am_rules_item(r, k);
		const int32_t closed = j == AM_CTP_NONE ? AM_SMT_FALSE : r->run[j];
		const uint32_t two[] = { a, c };
		if (opens(o))
			RULE(r, AM_RULE_MUTUAL_EXCLUSION, two, -r->run[i], -r->run[k], closed,
			     -before(r, a, c));
		if (j == AM_CTP_NONE)
			continue;
		const uint32_t three[] = { a, am_rules_item(r, j), c };
		RULE(r, AM_RULE_MUTUAL_EXCLUSION, three, -r->run[i], -r->run[j], -r->run[k],
		     -before(r, a, c), -before(r, c, am_rules_item(r, j)));
	}
}

/* Number of executed events of one kind on an object before item k, 32 bits. */
static int32_t count_before(struct am_rules *r, enum am_kind kind, uint32_t object, uint32_t k)
{
	int32_t sum = am_smt_bv_const(r->smt, 32, 0);
	for (uint32_t e = 0; e < r->ctp->event_count; e++) {
		const struct am_ctp_event *v = &r->ctp->events[e];
		if (v->kind != kind || v->object != object || am_rules_item(r, e) == k)
			continue;
		const int32_t here = both(r, r->run[e], before(r, am_rules_item(r, e), k));
		const int32_t one = am_smt_op(r->smt, AM_OP_ITE, 32, here,
					      am_smt_bv_const(r->smt, 32, 1),
					      am_smt_bv_const(r->smt, 32, 0));
		sum = am_smt_op(r->smt, AM_OP_ADD, 32, sum, one, 0);
	}
	return sum;
}

static void semaphore(struct am_rules *r, uint32_t e)
{
	const struct am_ctp_event *v = &r->ctp->events[e];
	const uint32_t at[] = { am_rules_item(r, e) };
	int32_t have = count_before(r, AM_POST, v->object, at[0]);
	have = am_smt_op(r->smt, AM_OP_ADD, 32, have,
			 am_smt_bv_const(r->smt, 32, r->ctp->objects[v->object].count), 0);
	const int32_t used = count_before(r, AM_TAKE, v->object, at[0]);
	RULE(r, AM_RULE_MUTUAL_EXCLUSION, at, -r->run[e],
	     am_smt_op(r->smt, AM_OP_UGT, 1, have, used, 0));
}

static void barrier(struct am_rules *r, uint32_t e)
{
	const struct am_ctp_event *v = &r->ctp->events[e];
	const uint32_t at[] = { am_rules_item(r, e) };
	const int32_t n = am_smt_bv_const(r->smt, 32, r->ctp->objects[v->object].count);
	if (v->match == AM_CTP_NONE) {
		RULE(r, AM_RULE_MUTUAL_EXCLUSION, at, -r->run[e]);
		return;
	}
	const int32_t rank = count_before(r, AM_ARRIVE, v->object, am_rules_item(r, v->match));
	const int32_t now = count_before(r, AM_ARRIVE, v->object, at[0]);
	int32_t need = am_smt_op(r->smt, AM_OP_UDIV, 32, rank, n, 0);
	need = am_smt_op(r->smt, AM_OP_ADD, 32, need, am_smt_bv_const(r->smt, 32, 1), 0);
	need = am_smt_op(r->smt, AM_OP_MUL, 32, need, n, 0);
	RULE(r, AM_RULE_MUTUAL_EXCLUSION, at, -r->run[e],
	     am_smt_op(r->smt, AM_OP_UGE, 1, now, need, 0));
}

static void notifications(struct am_rules *r, uint32_t cond)
{
	const struct am_ctp *ctp = r->ctp;
	const uint32_t n = ctp->event_count;
	int32_t *m = am_zalloc((size_t)n * n, sizeof *m);
	struct lits some = { 0 };
	for (uint32_t e = 0; e < n; e++) {
		const struct am_ctp_event *v = &ctp->events[e];
		const uint32_t at[] = { am_rules_item(r, e) };
		if (v->kind != AM_WAKE || v->object != cond)
			continue;
		if (v->match != AM_CTP_NONE &&
		    (ctp->spurious || (v->flags & (AM_TIMED_OUT | AM_CANCELLED))))
			continue;
		some.count = 0;
		add(&some, -r->run[e]);
		for (uint32_t s = 0; s < n && v->match != AM_CTP_NONE; s++) {
			const struct am_ctp_event *g = &ctp->events[s];
			if ((g->kind != AM_SIGNAL && g->kind != AM_BROADCAST) || g->object != cond)
				continue;
			const int32_t lit = m[e * n + s] = am_smt_bool(r->smt, "m");
			const uint32_t is = am_rules_item(r, s), iw = am_rules_item(r, v->match);
			const int32_t needs[] = { r->run[s], before(r, iw, is), before(r, is, at[0]) };
			for (uint32_t i = 0; i < 3; i++)
				am_smt_clause(r->smt, (int32_t[]){ -lit, needs[i] }, 2);
			for (uint32_t o = 0; o < e && g->kind == AM_SIGNAL; o++)
				if (m[o * n + s])
					am_smt_clause(r->smt, (int32_t[]){ -lit, -m[o * n + s] }, 2);
			add(&some, lit);
		}
		rule(r, AM_RULE_MUTUAL_EXCLUSION, at, 1, some.list, some.count);
	}
	free(some.list);
	free(m);
}

/* ---- order ----------------------------------------------------------------------------------- */

static void program_order(struct am_rules *r)
{
	struct am_ctp *ctp = r->ctp;
	for (uint32_t i = 0; i < r->initials; i++)
		for (uint32_t j = r->initials; j < r->n; j++) {
			const uint32_t two[] = { i, j };
			RULE(r, AM_RULE_PROGRAM_ORDER, two, -feasible(r, j), before(r, i, j));
		}
	for (uint32_t a = 0; a < ctp->event_count; a++)
		for (uint32_t b = 0; b < ctp->event_count; b++) {
			const struct am_ctp_event *x = &ctp->events[a], *y = &ctp->events[b];
			const bool program = x->thread == y->thread && x->pos < y->pos &&
					     am_must_keeps(ctp, r->query->model, a, b);
			const bool fork = (x->kind == AM_FORK && x->object == y->thread) ||
					  (y->kind == AM_JOIN && y->object == x->thread);
			if (!program && !fork)
				continue;
			const uint32_t two[] = { am_rules_item(r, a), am_rules_item(r, b) };
			RULE(r, AM_RULE_PROGRAM_ORDER, two, -r->run[a], -r->run[b],
			     before(r, two[0], two[1]));
		}
	for (uint32_t i = 0; i < ctp->order_count; i++) {
		const uint32_t a = ctp->orders[i].before, b = ctp->orders[i].after;
		const uint32_t two[] = { am_rules_item(r, a), am_rules_item(r, b) };
		RULE(r, AM_RULE_PROGRAM_ORDER, two, -r->run[a], -r->run[b],
		     before(r, two[0], two[1]));
	}
}

static void general_order(struct am_rules *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		for (uint32_t j = 0; j < r->n; j++) {
			const uint32_t two[] = { i, j };
			const int32_t fi = -feasible(r, i), fj = -feasible(r, j);
			if (i == j)
				continue;
			if (i < j) {
				RULE(r, AM_RULE_TOTAL, two, fi, fj, before(r, i, j), before(r, j, i));
				RULE(r, AM_RULE_ASYMMETRIC, two, fi, fj, -before(r, i, j),
				     -before(r, j, i));
			}
			for (uint32_t k = 0; k < r->n; k++) {
				const uint32_t three[] = { i, j, k };
				if (k != i && k != j)
					RULE(r, AM_RULE_TRANSITIVE, three, fi, fj, -feasible(r, k),
					     -before(r, i, j), -before(r, j, k), before(r, i, k));
			}
		}
}

/* Which events are reached at all: not a rule, but what a thread is. */
static void structure(struct am_rules *r)
{
	const struct am_ctp *ctp = r->ctp;
	for (uint32_t t = 0; t < ctp->thread_count; t++) {
		const struct am_ctp_thread *th = &ctp->threads[t];
		for (uint32_t i = 0; i < th->length; i++) {
			const uint32_t e = th->events[i];
			const int32_t need = i ? r->x[th->events[i - 1]]
					     : th->fork != AM_CTP_NONE ? r->run[th->fork]
								       : AM_SMT_TRUE;
			am_smt_clause(r->smt, (int32_t[]){ -r->x[e], need }, 2);
			if (ctp->events[e].kind != AM_JOIN || !ctp->threads[ctp->events[e].object].length)
				continue;
			const struct am_ctp_thread *child = &ctp->threads[ctp->events[e].object];
			const uint32_t last = child->events[child->length - 1];
			am_smt_clause(r->smt, (int32_t[]){ -r->run[e], r->x[last] }, 2);
			if (ctp->events[last].kind == AM_ASSERT)
				am_smt_clause(r->smt,
					      (int32_t[]){ -r->run[e], -r->run[last],
							   term(r, ctp->events[last].cond) },
					      3);
		}
	}
	for (uint32_t i = 0; i < ctp->order_count; i++)
		am_smt_clause(r->smt,
			      (int32_t[]){ -r->x[ctp->orders[i].after], r->x[ctp->orders[i].before] },
			      2);
	if (r->query->reach != AM_CTP_NONE)
		am_smt_assert(r->smt, r->run[r->query->reach]);
	for (uint32_t t = 0; t < ctp->thread_count && r->query->complete; t++)
		if (ctp->threads[t].length)
			am_smt_assert(r->smt, r->x[ctp->threads[t].events[ctp->threads[t].length - 1]]);
}

static void make_variables(struct am_rules *r)
{
	const struct am_ctp *ctp = r->ctp;
	const uint32_t events = ctp->event_count;
	char name[32];
	for (uint32_t o = 0; o < ctp->object_count; o++)
		r->initials += ctp->objects[o].class == AM_CTP_DATA;
	r->n = r->initials + events;
	r->items = am_zalloc(r->n, sizeof *r->items);
	uint32_t i = 0;
	for (uint32_t o = 0; o < ctp->object_count; o++)
		if (ctp->objects[o].class == AM_CTP_DATA)
			r->items[i++] = events + o;
	for (uint32_t e = 0; e < events; e++)
		r->items[i++] = e;
	r->order = am_zalloc((size_t)r->n * r->n, sizeof *r->order);
	for (uint32_t k = 0; k < r->n * r->n; k++) {
		snprintf(name, sizeof name, "o_%u_%u", k / r->n + 1, k % r->n + 1);
		r->order[k] = am_smt_bool(r->smt, name);
	}
	r->x = am_zalloc(events, sizeof *r->x);
	r->run = am_zalloc(events, sizeof *r->run);
	r->guard = am_zalloc(events, sizeof *r->guard);
	r->data = am_zalloc(events, sizeof *r->data);
	r->read = am_zalloc(events, sizeof *r->read);
	for (uint32_t e = 0; e < events; e++) {
		const struct am_ctp_event *v = &ctp->events[e];
		r->x[e] = am_smt_bool(r->smt, "x");
		r->guard[e] = v->guard ? am_smt_bool(r->smt, "g") : AM_SMT_TRUE;
		r->run[e] = both(r, r->x[e], r->guard[e]);
		if (am_ctp_is_store(v))
			r->data[e] = am_smt_bv(r->smt, "d", v->size * 8);
		if (v->read)
			r->read[e] = am_smt_bv(r->smt, "r", v->size * 8);
	}
}

void am_rules_build(struct am_rules *r, struct am_ctp *ctp, const struct am_rules_query *query)
{
	*r = (struct am_rules){ .ctp = ctp, .query = query };
	r->smt = am_smt_new("QF_BV", query->budget.ms);
	make_variables(r);
	structure(r);
	program_order(r);
	for (uint32_t e = 0; e < ctp->event_count; e++) {
		const struct am_ctp_event v = ctp->events[e];
		computation(r, e);
		if (v.read)
			read_value(r, e);
		if (opens(&v))
			exclusion(r, e);
		if (v.kind == AM_TAKE)
			semaphore(r, e);
		if (v.kind == AM_LEAVE)
			barrier(r, e);
	}
	for (uint32_t o = 0; o < ctp->object_count; o++)
		if (ctp->objects[o].class == AM_CTP_COND)
			notifications(r, o);
	general_order(r);
}

void am_rules_destroy(struct am_rules *r)
{
	am_smt_free(r->smt);
	free(r->items);
	free(r->order);
	free(r->x);
	free(r->run);
	free(r->guard);
	free(r->data);
	free(r->read);
	free(r->node);
	free(r->uses);
	free(r->selectors);
}
