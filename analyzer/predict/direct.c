/*
 * The direct encoding: order, values and pi-functions of variables. Tool side; never prints.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/direct.h"

#include <assert.h>

void am_direct_assert(struct am_direct *d, int32_t lit)
{
	am_smt_assert(d->smt, lit);
	d->clauses++;
}

void am_direct_clause(struct am_direct *d, const int32_t *lits, uint32_t count)
{
	am_direct_assert(d, am_smt_or(d->smt, lits, count));
}

int32_t am_direct_and(struct am_direct *d, const int32_t *lits, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (lits[i] == AM_SMT_FALSE)
			return AM_SMT_FALSE;
	return am_smt_and(d->smt, lits, count);
}

int32_t am_direct_or(struct am_direct *d, const int32_t *lits, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (lits[i] == AM_SMT_TRUE)
			return AM_SMT_TRUE;
	return am_smt_or(d->smt, lits, count);
}

/* HB(a, b), with must-happen-before folded into constants. Equal numbers count in the order of the
 * events, as the witness has it: so HB is total, and HB(b, a) is its negation. */
int32_t am_direct_before(struct am_direct *d, uint32_t a, uint32_t b)
{
	if (a == b || am_must_before(&d->engine->must, b, a))
		return AM_SMT_FALSE;
	if (am_must_before(&d->engine->must, a, b))
		return AM_SMT_TRUE;
	return a < b ? -am_smt_less(d->smt, d->order[b], d->order[a])
		     : am_smt_less(d->smt, d->order[a], d->order[b]);
}

int32_t am_direct_node(struct am_direct *d, uint32_t node)
{
	if (!node)
		return AM_SMT_TRUE;
	d->node = am_grow(d->node, &d->node_room, d->ctp->node_count, sizeof *d->node);
	if (d->node[node])
		return d->node[node];
	const struct am_expr n = d->ctp->nodes[node];
	const unsigned arity = am_op_arity((enum am_op)n.op);
	int32_t t;
	if (n.op == AM_OP_CONST) {
		t = am_smt_bv_const(d->smt, n.width, n.value);
	} else if (n.op == AM_OP_READ) {
		t = am_direct_old(d, (uint32_t)n.value);
		if (d->ctp->events[n.value].guard) /* skipped: 0 */
			t = am_smt_op(d->smt, AM_OP_ITE, n.width,
				      am_direct_node(d, d->ctp->events[n.value].guard), t,
				      am_smt_bv_const(d->smt, n.width, 0));
	} else {
		const int32_t a = am_direct_node(d, n.a);
		const int32_t b = n.op == AM_OP_EXTRACT ? (int32_t)n.b
				  : arity > 1		? am_direct_node(d, n.b)
							: 0;
		const int32_t c = arity > 2 ? am_direct_node(d, n.c) : 0;
		t = am_smt_op(d->smt, (enum am_op)n.op, n.width, a, b, c);
	}
	d->node[node] = t;
	return t;
}

/* ---- pi-functions ---------------------------------------------------------------------------- */

static bool defines(const struct am_ctp_event *v, const struct am_ctp_event *e)
{
	if (am_ctp_is_access(e))
		return am_ctp_is_store(v) && v->loc == e->loc;
	const uint32_t o = am_direct_sync_variable(e);
	return am_direct_sync_variable(v) == o && v->kind != AM_LEAVE;
}

/* Does the definition in w reach this piece of e? A literal. */
static int32_t covers(struct am_direct *d, uint32_t w, uint32_t e, uint32_t piece, bool by_byte)
{
	struct am_ctp *ctp = d->ctp;
	if (!am_ctp_is_access(&ctp->events[e]))
		return AM_SMT_TRUE;
	if (!by_byte)
		return am_direct_node(d, am_ctp_overlap(ctp, w, e));
	const uint32_t zero = am_ctp_const(ctp, 64, 0);
	const uint32_t p = ctp->events[e].offset ? ctp->events[e].offset : zero;
	const uint32_t q = ctp->events[w].offset ? ctp->events[w].offset : zero;
	const uint32_t at = am_ctp_op(ctp, AM_OP_SUB, 64,
				      am_ctp_op(ctp, AM_OP_ADD, 64, p,
						am_ctp_const(ctp, 64, piece), 0),
				      q, 0);
	return am_direct_node(d, am_ctp_op(ctp, AM_OP_ULT, 1, at,
					   am_ctp_const(ctp, 64, ctp->events[w].size), 0));
}

/* Byte `piece` of e as w wrote it, a node. */
static uint32_t byte_node(struct am_ctp *ctp, uint32_t w, uint32_t e, uint32_t piece)
{
	const uint32_t zero = am_ctp_const(ctp, 64, 0);
	const uint32_t p = ctp->events[e].offset ? ctp->events[e].offset : zero;
	const uint32_t q = ctp->events[w].offset ? ctp->events[w].offset : zero;
	uint32_t at = am_ctp_op(ctp, AM_OP_ADD, 64, p, am_ctp_const(ctp, 64, piece), 0);
	at = am_ctp_op(ctp, AM_OP_SUB, 64, at, q, 0);
	at = am_ctp_op(ctp, AM_OP_MUL, 64, at, am_ctp_const(ctp, 64, 8), 0);
	uint32_t v = ctp->events[w].value;
	if (ctp->nodes[v].width < 64)
		v = am_ctp_op(ctp, AM_OP_ZEXT, 64, v, 0, 0);
	return am_ctp_op(ctp, AM_OP_TRUNC, 8, am_ctp_op(ctp, AM_OP_LSHR, 64, v, at, 0), 0, 0);
}

static int32_t initial(struct am_direct *d, uint32_t e, uint32_t piece, uint32_t size)
{
	const struct am_ctp_event *v = &d->ctp->events[e];
	if (!am_ctp_is_access(v))
		return am_direct_sync_initial(d, v);
	const struct am_ctp_object *o = &d->ctp->objects[v->object];
	uint64_t at = 0;
	const bool fixed = !v->offset || am_ctp_is_const(d->ctp, v->offset, &at);
	int32_t t = am_smt_bv_const(d->smt, size * 8, 0);
	for (uint64_t start = at; start + piece + size <= o->size && o->init; start++) {
		uint64_t value = 0;
		for (uint32_t k = 0; k < size; k++)
			value |= (uint64_t)o->init[start + piece + k] << (8 * k);
		const int32_t c = am_smt_bv_const(d->smt, size * 8, value);
		if (fixed)
			return c;
		const int32_t here = am_smt_eq(d->smt, am_direct_node(d, v->offset),
					       am_smt_bv_const(d->smt, 64, start));
		t = am_smt_op(d->smt, AM_OP_ITE, size * 8, here, c, t);
	}
	return t;
}

static int32_t definition(struct am_direct *d, uint32_t w, uint32_t e, uint32_t piece, bool by_byte)
{
	if (!am_ctp_is_access(&d->ctp->events[e])) {
		am_direct_old(d, w);
		return am_direct_sync_value(d, w);
	}
	return am_direct_node(d, by_byte ? byte_node(d->ctp, w, e, piece)
					 : d->ctp->events[w].value);
}

/* The definitions that a use may see or that may hide one from it, in the order of the events. */
struct defs {
	struct am_direct *d;
	uint32_t use, piece;
	bool by_byte;
	struct am_list list;
};

/* Writes all of the piece whenever its thread comes past it. */
static bool is_sure(const struct defs *f, uint32_t w)
{
	return !f->d->ctp->events[w].guard &&
	       covers(f->d, w, f->use, f->piece, f->by_byte) == AM_SMT_TRUE;
}

static void find_definitions(struct defs *f)
{
	const struct am_ctp *ctp = f->d->ctp;
	for (uint32_t i = 0; i < ctp->event_count; i++)
		if (i != f->use && defines(&ctp->events[i], &ctp->events[f->use]) &&
		    !am_must_before(&f->d->engine->must, f->use, i))
			AM_PUSH(f->list.list, f->list.count, f->list.room) = i;
}

/* Does every run that gets to the use have another definition between i and it? */
static bool is_hidden(const struct defs *f, uint32_t i)
{
	const struct am_must *must = &f->d->engine->must;
	for (uint32_t k = 0; k < f->list.count; k++) {
		const uint32_t j = f->list.list[k];
		if ((i == AM_CTP_NONE || am_must_before(must, i, j)) &&
		    am_must_before(must, j, f->use) && is_sure(f, j))
			return true;
	}
	return false;
}

/* Does what is said about another definition say it of j, too? After i, in its thread, the next one
 * comes first; before the use, in its thread, the one before it comes last. */
static bool is_implied(const struct defs *f, uint32_t i, uint32_t j)
{
	const struct am_ctp_event *events = f->d->ctp->events, *y = &events[j], *u = &events[f->use];
	const struct am_ctp_event *x = i == AM_CTP_NONE ? NULL : &events[i];
	for (uint32_t k = 0; k < f->list.count; k++) {
		const uint32_t o = f->list.list[k];
		const struct am_ctp_event *z = &events[o];
		if (o == j || o == i || z->thread != y->thread)
			continue;
		if (x && z->thread == x->thread && x->pos < z->pos && z->pos < y->pos &&
		    is_sure(f, o))
			return true;
		if (z->thread == u->thread && y->pos < z->pos && z->pos < u->pos && is_sure(f, o))
			return true;
	}
	return false;
}

/* i is the latest definition before the use (section 4.2): it is executed before it, and every other
 * one is not executed, or does not reach, or is before i, or after the use. Events that are not in the
 * prefix lie behind all that are, so only guards need to be asked for. */
static void is_latest(struct defs *f, uint32_t i, struct am_lits *all)
{
	struct am_direct *d = f->d;
	const uint32_t e = f->use;
	if (i != AM_CTP_NONE) {
		if (d->ctp->events[i].guard)
			am_lits_add(all, d->run[i]);
		am_lits_add(all, am_direct_before(d, i, e));
		am_lits_add(all, covers(d, i, e, f->piece, f->by_byte));
	}
	for (uint32_t k = 0; k < f->list.count; k++) {
		const uint32_t j = f->list.list[k];
		if (j == i || is_implied(f, i, j))
			continue;
		const int32_t out[] = { d->ctp->events[j].guard ? -d->run[j] : AM_SMT_FALSE,
					-covers(d, j, e, f->piece, f->by_byte),
					i == AM_CTP_NONE ? AM_SMT_FALSE : am_direct_before(d, j, i),
					am_direct_before(d, e, j) };
		am_lits_add(all, am_direct_or(d, out, 4));
	}
}

/* part = the latest definition before e: one disjunct per definition, and one for the initial value. */
static void pi_function(struct am_direct *d, uint32_t e, uint32_t piece, bool by_byte, int32_t part,
			uint32_t size)
{
	struct defs f = { .d = d, .use = e, .piece = piece, .by_byte = by_byte };
	struct am_lits any = { 0 }, all = { 0 };
	find_definitions(&f);
	am_lits_add(&any, -d->run[e]);
	for (uint32_t k = 0; k <= f.list.count; k++) {
		const uint32_t i = k < f.list.count ? f.list.list[k] : AM_CTP_NONE;
		/* a lock is taken when free: only what frees it can be the definition (end of 4.3) */
		if (is_hidden(&f, i) || (i != AM_CTP_NONE && am_direct_takes(&d->ctp->events[e]) &&
					 am_direct_takes(&d->ctp->events[i])))
			continue;
		all.count = 0;
		am_lits_add(&all, am_smt_eq(d->smt, part,
					    i == AM_CTP_NONE ? initial(d, e, piece, size)
							     : definition(d, i, e, piece, by_byte)));
		is_latest(&f, i, &all);
		am_lits_add(&any, am_direct_and(d, all.list, all.count));
	}
	am_direct_clause(d, any.list, any.count);
	free(any.list);
	free(all.list);
	free(f.list.list);
}

int32_t am_direct_old(struct am_direct *d, uint32_t e)
{
	const struct am_ctp_event *v = &d->ctp->events[e];
	if (d->old[e])
		return d->old[e];
	if (!am_ctp_is_access(v)) {
		d->old[e] = am_smt_bv(d->smt, "pi", AM_DIRECT_SYNC_WIDTH);
		pi_function(d, e, 0, false, d->old[e], AM_DIRECT_SYNC_WIDTH / 8);
		return d->old[e];
	}
	const uint32_t size = v->size;
	const struct am_ctp_loc *loc = &d->ctp->locs[v->loc];
	d->old[e] = am_smt_bv(d->smt, "pi", size * 8);
	if (loc->exact || loc->same_size) {
		pi_function(d, e, 0, false, d->old[e], size);
		return d->old[e];
	}
	for (uint32_t k = 0; k < size; k++) {
		const int32_t byte = size == 1 ? d->old[e]
					       : am_smt_op(d->smt, AM_OP_EXTRACT, 8, d->old[e],
							   (int32_t)(8 * k), 0);
		pi_function(d, e, k, true, byte, 1);
	}
	return d->old[e];
}
