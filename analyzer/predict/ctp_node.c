/*
 * The expression DAG of a trace program: hash-consing, constant folding, evaluation. Operands have
 * smaller numbers than the nodes that use them. Tool side; never prints.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/ctp_priv.h"

#include <assert.h>

static uint64_t mask(unsigned width)
{
	return width >= 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
}

static uint32_t hash_of(const struct am_expr *n)
{
	uint64_t h = n->op * UINT64_C(0x9e3779b97f4a7c15) + n->width;
	h = (h ^ n->a) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ n->b) * UINT64_C(0xc4ceb9fe1a85ec53);
	h = (h ^ n->c ^ n->value) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(h >> 32);
}

static bool same(const struct am_expr *a, const struct am_expr *b)
{
	return a->op == b->op && a->width == b->width && a->a == b->a && a->b == b->b &&
	       a->c == b->c && a->value == b->value;
}

static void rehash(struct am_ctp *ctp)
{
	struct am_ctp_private *p = ctp->priv;
	free(p->hash);
	p->hash_size = p->hash_size ? p->hash_size * 2 : 256;
	p->hash = am_zalloc(p->hash_size, sizeof *p->hash);
	for (uint32_t n = 1; n < ctp->node_count; n++) {
		uint32_t i = hash_of(&ctp->nodes[n]) & (p->hash_size - 1);
		while (p->hash[i])
			i = (i + 1) & (p->hash_size - 1);
		p->hash[i] = n;
	}
}

static uint32_t intern(struct am_ctp *ctp, struct am_expr n)
{
	struct am_ctp_private *p = ctp->priv;
	if (ctp->node_count * 2 >= p->hash_size)
		rehash(ctp);
	uint32_t i = hash_of(&n) & (p->hash_size - 1);
	for (; p->hash[i]; i = (i + 1) & (p->hash_size - 1))
		if (same(&ctp->nodes[p->hash[i]], &n))
			return p->hash[i];
	AM_PUSH(ctp->nodes, ctp->node_count, p->node_room) = n;
	p->hash[i] = ctp->node_count - 1;
	return ctp->node_count - 1;
}

uint32_t am_ctp_const(struct am_ctp *ctp, unsigned width, uint64_t value)
{
	assert(width >= 1 && width <= 64);
	return intern(ctp, (struct am_expr){ .op = AM_OP_CONST, .width = (uint8_t)width,
					     .value = value & mask(width) });
}

uint32_t am_ctp_leaf(struct am_ctp *ctp, uint32_t event, unsigned width)
{
	assert(width >= 1 && width <= 64);
	return intern(ctp, (struct am_expr){ .op = AM_OP_READ, .width = (uint8_t)width,
					     .value = event });
}

bool am_ctp_is_const(const struct am_ctp *ctp, uint32_t node, uint64_t *value)
{
	if (ctp->nodes[node].op != AM_OP_CONST)
		return false;
	if (value)
		*value = ctp->nodes[node].value;
	return true;
}

/* Width of the operands, as am_op_eval wants it. */
static unsigned operand_width(const struct am_ctp *ctp, const struct am_expr *n)
{
	return ctp->nodes[n->op == AM_OP_CONCAT ? n->b : n->a].width;
}

static uint64_t apply(const struct am_ctp *ctp, const struct am_expr *n, uint64_t a, uint64_t b,
		      uint64_t c)
{
	return am_op_eval((enum am_op)n->op, n->width, operand_width(ctp, n), a, b, c);
}

/* Identities that keep skeletons small; anything else stays as it is. */
static uint32_t simplify(struct am_ctp *ctp, struct am_expr n)
{
	uint64_t k;
	switch (n.op) {
	case AM_OP_ITE:
		if (am_ctp_is_const(ctp, n.a, &k))
			return k & 1 ? n.b : n.c;
		return n.b == n.c ? n.b : 0;
	case AM_OP_AND:
		if (n.a == n.b)
			return n.a;
		for (int i = 0; i < 2; i++) {
			const uint32_t x = i ? n.b : n.a, y = i ? n.a : n.b;
			if (am_ctp_is_const(ctp, x, &k) && (k == 0 || k == mask(n.width)))
				return k ? y : x;
		}
		return 0;
	case AM_OP_OR:
		if (n.a == n.b)
			return n.a;
		for (int i = 0; i < 2; i++) {
			const uint32_t x = i ? n.b : n.a, y = i ? n.a : n.b;
			if (am_ctp_is_const(ctp, x, &k) && (k == 0 || k == mask(n.width)))
				return k ? x : y;
		}
		return 0;
	case AM_OP_NOT:
		return ctp->nodes[n.a].op == AM_OP_NOT ? ctp->nodes[n.a].a : 0;
	case AM_OP_ADD:
	case AM_OP_SUB:
	case AM_OP_XOR:
	case AM_OP_SHL:
	case AM_OP_LSHR:
		return am_ctp_is_const(ctp, n.b, &k) && k == 0 ? n.a : 0;
	case AM_OP_ZEXT:
	case AM_OP_SEXT:
	case AM_OP_TRUNC:
		return ctp->nodes[n.a].width == n.width ? n.a : 0;
	case AM_OP_EXTRACT:
		return n.b == 0 && ctp->nodes[n.a].width == n.width ? n.a : 0;
	case AM_OP_EQ:
	case AM_OP_ULE:
	case AM_OP_UGE:
	case AM_OP_SLE:
	case AM_OP_SGE:
		if (n.a == n.b)
			return am_ctp_const(ctp, 1, 1);
		/* a comparison of width 1 with a constant is the operand or its negation */
		if (n.op == AM_OP_EQ && ctp->nodes[n.a].width == 1 &&
		    am_ctp_is_const(ctp, n.b, &k))
			return k ? n.a : am_ctp_not(ctp, n.a);
		/* (zext b) == k for a truth value b */
		if (n.op == AM_OP_EQ && ctp->nodes[n.a].op == AM_OP_ZEXT &&
		    ctp->nodes[ctp->nodes[n.a].a].width == 1 && am_ctp_is_const(ctp, n.b, &k)) {
			const uint32_t b = ctp->nodes[n.a].a;
			return k > 1 ? am_ctp_const(ctp, 1, 0) : k ? b : am_ctp_not(ctp, b);
		}
		return 0;
	case AM_OP_NE:
		return am_ctp_not(ctp, am_ctp_op(ctp, AM_OP_EQ, 1, n.a, n.b, 0));
	case AM_OP_ULT:
	case AM_OP_UGT:
	case AM_OP_SLT:
	case AM_OP_SGT:
		return n.a == n.b ? am_ctp_const(ctp, 1, 0) : 0;
	default:
		return 0;
	}
}

uint32_t am_ctp_op(struct am_ctp *ctp, enum am_op op, unsigned width, uint32_t a, uint32_t b,
		   uint32_t c)
{
	struct am_expr n = { .op = (uint8_t)op, .width = (uint8_t)width, .a = a, .b = b, .c = c };
	const unsigned arity = am_op_arity(op);
	assert(arity && width >= 1 && width <= 64 && a && a < ctp->node_count);
	assert(arity < 2 || op == AM_OP_EXTRACT || (b && b < ctp->node_count));
	assert(arity < 3 || (c && c < ctp->node_count));
	/* commutative operations: constants to the right, else smaller node first */
	if (op == AM_OP_ADD || op == AM_OP_MUL || op == AM_OP_AND || op == AM_OP_OR ||
	    op == AM_OP_XOR || op == AM_OP_EQ || op == AM_OP_NE) {
		const bool ka = am_ctp_is_const(ctp, a, NULL), kb = am_ctp_is_const(ctp, b, NULL);
		if ((ka && !kb) || (ka == kb && a > b)) {
			n.a = b;
			n.b = a;
		}
	}
	uint64_t va = 0, vb = b, vc = 0;
	const bool all = am_ctp_is_const(ctp, n.a, &va) &&
			 (arity < 2 || op == AM_OP_EXTRACT || am_ctp_is_const(ctp, n.b, &vb)) &&
			 (arity < 3 || am_ctp_is_const(ctp, n.c, &vc));
	if (all)
		return am_ctp_const(ctp, width, apply(ctp, &n, va, vb, vc));
	const uint32_t simple = simplify(ctp, n);
	return simple ? simple : intern(ctp, n);
}

uint32_t am_ctp_bool(struct am_ctp *ctp, uint32_t node)
{
	const unsigned w = ctp->nodes[node].width;
	return w == 1 ? node : am_ctp_op(ctp, AM_OP_NE, 1, node, am_ctp_const(ctp, w, 0), 0);
}

uint32_t am_ctp_and(struct am_ctp *ctp, uint32_t a, uint32_t b)
{
	return !a ? b : !b ? a : am_ctp_op(ctp, AM_OP_AND, 1, a, b, 0);
}

uint32_t am_ctp_not(struct am_ctp *ctp, uint32_t a)
{
	return a ? am_ctp_op(ctp, AM_OP_NOT, 1, a, 0, 0) : am_ctp_const(ctp, 1, 0);
}

static void next_generation(const struct am_ctp *ctp)
{
	struct am_ctp_private *p = ctp->priv;
	p->memo = am_grow(p->memo, &p->memo_room, ctp->node_count, sizeof *p->memo);
	p->stamp = am_grow(p->stamp, &p->stamp_room, ctp->node_count, sizeof *p->stamp);
	if (++p->generation == 0) {
		memset(p->stamp, 0, p->stamp_room * sizeof *p->stamp);
		p->generation = 1;
	}
}

static bool needs(const struct am_ctp *ctp, uint32_t node, uint32_t event)
{
	struct am_ctp_private *p = ctp->priv;
	const struct am_expr *n = &ctp->nodes[node];
	if (!node || p->stamp[node] == p->generation)
		return false; /* seen before, and did not need it */
	p->stamp[node] = p->generation;
	if (n->op == AM_OP_READ)
		return n->value == event;
	const unsigned arity = am_op_arity((enum am_op)n->op);
	return (arity > 0 && needs(ctp, n->a, event)) ||
	       (arity > 1 && n->op != AM_OP_EXTRACT && needs(ctp, n->b, event)) ||
	       (arity > 2 && needs(ctp, n->c, event));
}

bool am_ctp_needs(const struct am_ctp *ctp, uint32_t node, uint32_t event)
{
	next_generation(ctp);
	return needs(ctp, node, event);
}

static uint64_t eval(const struct am_ctp *ctp, uint32_t node, const uint64_t *values)
{
	struct am_ctp_private *p = ctp->priv;
	const struct am_expr *n = &ctp->nodes[node];
	if (n->op == AM_OP_CONST)
		return n->value;
	if (n->op == AM_OP_READ)
		return values[n->value] & mask(n->width);
	if (p->stamp[node] == p->generation)
		return p->memo[node];
	const unsigned arity = am_op_arity((enum am_op)n->op);
	const uint64_t a = eval(ctp, n->a, values);
	const uint64_t b = n->op == AM_OP_EXTRACT ? n->b : arity > 1 ? eval(ctp, n->b, values) : 0;
	const uint64_t c = arity > 2 ? eval(ctp, n->c, values) : 0;
	p->memo[node] = apply(ctp, n, a, b, c);
	p->stamp[node] = p->generation;
	return p->memo[node];
}

uint64_t am_ctp_eval(const struct am_ctp *ctp, uint32_t node, const uint64_t *read_values)
{
	next_generation(ctp);
	return eval(ctp, node, read_values);
}
