/*
 * Bit-vector cones: for conditions over values that range widely, the solver gets the arithmetic
 * itself instead of one lemma per combination of sources. Tool side.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/lazy.h"

#include <assert.h>

static int32_t term(struct am_lazy *z, uint32_t node);

static void equal_if(struct am_lazy *z, int32_t lit, int32_t a, int32_t b)
{
	am_lazy_clause(z, (int32_t[]){ -lit, am_smt_eq(z->smt, a, b) }, 2);
}

static int32_t offset_term(struct am_lazy *z, uint32_t e)
{
	const uint32_t node = z->ctp->events[e].offset;
	return node ? term(z, node) : am_smt_bv_const(z->smt, 64, 0);
}

/* The initial bytes as a term over a symbolic offset: a chain of choices. */
static int32_t initial(struct am_lazy *z, uint32_t e, uint32_t piece, uint32_t size)
{
	const struct am_ctp_event *v = &z->ctp->events[e];
	const struct am_ctp_object *o = &z->ctp->objects[v->object];
	uint64_t at = 0;
	const bool fixed = !v->offset || am_ctp_is_const(z->ctp, v->offset, &at);
	int32_t t = 0;
	for (uint64_t start = fixed ? at : 0; start + piece + size <= o->size;
	     start += size > 1 ? size : 1) {
		uint64_t value = 0;
		for (uint32_t k = 0; k < size && o->init; k++)
			value |= (uint64_t)o->init[start + piece + k] << (8 * k);
		const int32_t c = am_smt_bv_const(z->smt, size * 8, value);
		if (fixed || !o->init)
			return c;
		const int32_t here = am_smt_eq(z->smt, offset_term(z, e),
					       am_smt_bv_const(z->smt, 64, start));
		t = t ? am_smt_op(z->smt, AM_OP_ITE, size * 8, here, c, t) : c;
	}
	return t ? t : am_smt_bv_const(z->smt, size * 8, 0);
}

/* Byte of write w that lies at byte `piece` of access e. */
static int32_t written_byte(struct am_lazy *z, uint32_t w, uint32_t e, uint32_t piece)
{
	const unsigned width = z->ctp->events[w].size * 8;
	struct am_smt *s = z->smt;
	int32_t byte = am_smt_op(s, AM_OP_ADD, 64, offset_term(z, e),
				 am_smt_bv_const(s, 64, piece), 0);
	byte = am_smt_op(s, AM_OP_SUB, 64, byte, offset_term(z, w), 0);
	int32_t shift = am_smt_op(s, AM_OP_MUL, 64, byte, am_smt_bv_const(s, 64, 8), 0);
	int32_t value = term(z, z->ctp->events[w].value);
	if (width < 64)
		value = am_smt_op(s, AM_OP_ZEXT, 64, value, 0, 0);
	value = am_smt_op(s, AM_OP_LSHR, 64, value, shift, 0);
	return am_smt_op(s, AM_OP_EXTRACT, 8, value, 0, 0);
}

static void leaf_clauses(struct am_lazy *z, uint32_t r, int32_t leaf)
{
	const struct am_ctp_event *v = &z->ctp->events[r];
	const unsigned width = v->size * 8;
	am_lazy_activate(z, r);
	for (uint32_t i = 0; i < z->active[r].count; i++) {
		const struct am_source s = z->active[r].sources[i];
		if (z->active[r].pieces == 1) {
			const int32_t value = s.writer == AM_CTP_NONE
						      ? initial(z, r, 0, v->size)
						      : term(z, z->ctp->events[s.writer].value);
			equal_if(z, s.lit, leaf, value);
			continue;
		}
		const int32_t part =
			width == 8 ? leaf
				   : am_smt_op(z->smt, AM_OP_EXTRACT, 8, leaf,
					       (int32_t)(s.piece * 8), 0);
		equal_if(z, s.lit, part,
			 s.writer == AM_CTP_NONE ? initial(z, r, s.piece, 1)
						 : written_byte(z, s.writer, r, s.piece));
	}
	if (v->guard)
		equal_if(z, -am_lazy_node(z, v->guard), leaf, am_smt_bv_const(z->smt, width, 0));
}

static int32_t term(struct am_lazy *z, uint32_t node)
{
	const struct am_expr n = z->ctp->nodes[node];
	z->bv = am_grow(z->bv, &z->bv_room, z->ctp->node_count, sizeof *z->bv);
	if (z->bv[node])
		return z->bv[node];
	int32_t t;
	if (n.op == AM_OP_CONST) {
		t = am_smt_bv_const(z->smt, n.width, n.value);
	} else if (n.op == AM_OP_READ) {
		t = am_smt_bv(z->smt, "r", n.width);
		z->bv[node] = t; /* before its sources, which may depend on it */
		leaf_clauses(z, (uint32_t)n.value, t);
		return t;
	} else {
		const unsigned arity = am_op_arity((enum am_op)n.op);
		const int32_t a = term(z, n.a);
		const int32_t b = n.op == AM_OP_EXTRACT ? (int32_t)n.b : arity > 1 ? term(z, n.b) : 0;
		const int32_t c = arity > 2 ? term(z, n.c) : 0;
		t = am_smt_op(z->smt, (enum am_op)n.op, n.width, a, b, c);
	}
	z->bv[node] = t;
	return t;
}

bool am_lazy_tie(struct am_lazy *z, uint32_t node)
{
	z->tied = am_grow(z->tied, &z->tied_room, z->ctp->node_count, sizeof *z->tied);
	if (z->tied[node])
		return true;
	z->tied[node] = true;
	z->stats->bitvector_cones++;
	const int32_t t = term(z, node), lit = am_lazy_node(z, node);
	am_lazy_clause(z, (int32_t[]){ -lit, t }, 2);
	am_lazy_clause(z, (int32_t[]){ lit, -t }, 2);
	return true;
}
