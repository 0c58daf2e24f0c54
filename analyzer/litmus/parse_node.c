/*
 * Nodes of expressions. C's conversions become explicit nodes, so that every operation behind the
 * parser has SMT-LIB's meaning on known widths; pointers step by whole cells.
 */
/* SPDX-License-Identifier: MIT */
#include "parse.h"

#include <string.h>

struct am_lit_expr *am_parse_node(struct am_parser *p, enum am_lit_expr_kind kind,
				  struct am_lit_pos pos)
{
	if (++p->nodes > AM_LIT_NODES_MAX)
		am_parse_fail(p, pos, "the program is too large");
	struct am_lit_expr *e = am_parse_alloc(p, sizeof(*e));
	e->kind = (uint8_t)kind;
	e->pos = pos;
	e->type = AM_TYPE_INT;
	return e;
}

const struct am_lit_expr *am_parse_const(struct am_parser *p, struct am_lit_pos pos, uint64_t value,
					 struct am_lit_type type)
{
	struct am_lit_expr *e = am_parse_node(p, AM_LIT_X_CONST, pos);

	e->type = type;
	e->value = value & am_lit_mask(am_lit_width(type));
	return e;
}

const struct am_lit_expr *am_parse_local(struct am_parser *p, struct am_lit_pos pos, uint32_t local)
{
	struct am_lit_expr *e = am_parse_node(p, AM_LIT_X_LOCAL, pos);

	e->local = local;
	e->type = p->thread->locals[local].type;
	return e;
}

static const struct am_lit_expr *op_node(struct am_parser *p, struct am_lit_pos pos, enum am_op op,
					 struct am_lit_type type, const struct am_lit_expr *a,
					 const struct am_lit_expr *b)
{
	struct am_lit_expr *e = am_parse_node(p, AM_LIT_X_OP, pos);

	e->op = (uint8_t)op;
	e->bits = (uint8_t)am_lit_width(a->type);
	e->type = type;
	e->a = a;
	e->b = b;
	return e;
}

bool am_parse_has_value(const struct am_lit_expr *e)
{
	return e->kind < AM_LIT_X_FENCE && (e->type.base != AM_LIT_VOID || e->type.pointers);
}

const struct am_lit_expr *am_parse_convert(struct am_parser *p, const struct am_lit_expr *e,
					   struct am_lit_type type)
{
	const unsigned from = am_lit_width(e->type), to = am_lit_width(type);

	if (!am_parse_has_value(e))
		am_parse_fail(p, e->pos, "this has no value");
	if (to == 1 && from != 1) /* to bool: is it other than zero? */
		return op_node(p, e->pos, AM_OP_NE, type, e,
			       am_parse_const(p, e->pos, 0, e->type));
	if (from == to && !memcmp(&e->type, &type, sizeof(type)))
		return e;
	if (e->kind == AM_LIT_X_CONST)
		return am_parse_const(p, e->pos, (uint64_t)am_lit_extend(e->value, e->type), type);
	const bool is_zero_extended = e->type.is_unsigned || e->type.pointers;
	return op_node(p, e->pos,
		       from > to ? AM_OP_TRUNC : is_zero_extended ? AM_OP_ZEXT : AM_OP_SEXT, type, e,
		       NULL);
}

/* A condition: one bit. */
const struct am_lit_expr *am_parse_truth(struct am_parser *p, const struct am_lit_expr *e)
{
	return am_parse_convert(p, e,
				(struct am_lit_type){ .base = AM_LIT_INT, .bits = 1,
						      .is_unsigned = true });
}

struct am_lit_type am_parse_promoted(struct am_lit_type type)
{
	if (type.pointers)
		return (struct am_lit_type){ .base = AM_LIT_INT, .bits = 64, .is_unsigned = true };
	return type.bits < 32 ? AM_TYPE_INT : type;
}

struct am_lit_type am_parse_common(struct am_lit_type a, struct am_lit_type b)
{
	a = am_parse_promoted(a);
	b = am_parse_promoted(b);
	if (a.bits != b.bits)
		return a.bits > b.bits ? a : b;
	a.is_unsigned |= b.is_unsigned;
	return a;
}

static const struct am_lit_expr *scaled(struct am_parser *p, const struct am_lit_expr *e)
{
	const struct am_lit_type type = AM_TYPE_LONG;

	return op_node(p, e->pos, AM_OP_MUL, type, am_parse_convert(p, e, type),
		       am_parse_const(p, e->pos, AM_LIT_CELL_BYTES, type));
}

static const struct am_lit_expr *pointer_step(struct am_parser *p, struct am_lit_pos pos,
					      enum am_op op, const struct am_lit_expr *pointer,
					      const struct am_lit_expr *steps)
{
	if (steps->kind == AM_LIT_X_CONST && pointer->kind == AM_LIT_X_CONST) {
		const uint64_t bytes =
			(uint64_t)am_lit_extend(steps->value, steps->type) * AM_LIT_CELL_BYTES;
		return am_parse_const(p, pos,
				      op == AM_OP_ADD ? pointer->value + bytes : pointer->value - bytes,
				      pointer->type);
	}
	return op_node(p, pos, op, pointer->type, pointer, scaled(p, steps));
}

struct binary_op {
	const char *text;
	enum am_op with_sign, without_sign;
	bool is_comparison, is_shift;
};

static const struct binary_op binary_ops[] = {
	{ "+", AM_OP_ADD, AM_OP_ADD, false, false },  { "-", AM_OP_SUB, AM_OP_SUB, false, false },
	{ "*", AM_OP_MUL, AM_OP_MUL, false, false },  { "/", AM_OP_SDIV, AM_OP_UDIV, false, false },
	{ "%", AM_OP_SREM, AM_OP_UREM, false, false }, { "&", AM_OP_AND, AM_OP_AND, false, false },
	{ "|", AM_OP_OR, AM_OP_OR, false, false },    { "^", AM_OP_XOR, AM_OP_XOR, false, false },
	{ "<<", AM_OP_SHL, AM_OP_SHL, false, true },  { ">>", AM_OP_ASHR, AM_OP_LSHR, false, true },
	{ "==", AM_OP_EQ, AM_OP_EQ, true, false },    { "!=", AM_OP_NE, AM_OP_NE, true, false },
	{ "<", AM_OP_SLT, AM_OP_ULT, true, false },   { "<=", AM_OP_SLE, AM_OP_ULE, true, false },
	{ ">", AM_OP_SGT, AM_OP_UGT, true, false },   { ">=", AM_OP_SGE, AM_OP_UGE, true, false },
};

const struct am_lit_expr *am_parse_binary(struct am_parser *p, struct am_lit_pos pos,
					  const char *op, const struct am_lit_expr *a,
					  const struct am_lit_expr *b)
{
	const struct binary_op *found = binary_ops;

	if (!am_parse_has_value(a) || !am_parse_has_value(b))
		am_parse_fail(p, am_parse_has_value(a) ? b->pos : a->pos, "this has no value");
	while (strcmp(found->text, op))
		found++;
	if (found->with_sign == AM_OP_ADD && a->type.pointers != 0 && b->type.pointers == 0)
		return pointer_step(p, pos, AM_OP_ADD, a, b);
	if (found->with_sign == AM_OP_ADD && b->type.pointers != 0 && a->type.pointers == 0)
		return pointer_step(p, pos, AM_OP_ADD, b, a);
	if (found->with_sign == AM_OP_SUB && a->type.pointers != 0 && b->type.pointers == 0)
		return pointer_step(p, pos, AM_OP_SUB, a, b);
	struct am_lit_type type = found->is_shift ? am_parse_promoted(a->type) : am_parse_common(a->type, b->type);
	const struct am_lit_type operand = type;
	if (found->is_comparison)
		type = AM_TYPE_INT;
	a = am_parse_convert(p, a, operand);
	b = am_parse_convert(p, b, operand);
	const enum am_op code = operand.is_unsigned ? found->without_sign : found->with_sign;
	if (a->kind == AM_LIT_X_CONST && b->kind == AM_LIT_X_CONST)
		return am_parse_const(p, pos,
				      am_op_eval(code, type.bits, operand.bits, a->value, b->value, 0),
				      type);
	return op_node(p, pos, code, type, a, b);
}

const struct am_lit_expr *am_parse_load(struct am_parser *p, struct am_lit_pos pos,
					const struct am_lit_expr *address, struct am_lit_type type,
					enum am_lit_order order)
{
	struct am_lit_expr *e = am_parse_node(p, AM_LIT_X_LOAD, pos);

	e->a = address;
	e->type = type;
	e->order = (uint8_t)order;
	return e;
}

const struct am_lit_expr *am_parse_store(struct am_parser *p, struct am_lit_pos pos,
					 const struct am_lit_expr *address, struct am_lit_type type,
					 const struct am_lit_expr *value, enum am_lit_order order)
{
	struct am_lit_expr *e = am_parse_node(p, AM_LIT_X_STORE, pos);

	e->a = address;
	e->b = am_parse_convert(p, value, type);
	e->type = type;
	e->order = (uint8_t)order;
	return e;
}

const struct am_lit_expr *am_parse_set(struct am_parser *p, struct am_lit_pos pos, uint32_t local,
				       const struct am_lit_expr *value)
{
	struct am_lit_expr *e = am_parse_node(p, AM_LIT_X_SET, pos);

	e->local = local;
	e->type = p->thread->locals[local].type;
	e->a = am_parse_convert(p, value, e->type);
	return e;
}

const struct am_lit_expr *am_parse_comma(struct am_parser *p, const struct am_lit_expr *a,
					 const struct am_lit_expr *b)
{
	struct am_lit_expr *e = am_parse_node(p, AM_LIT_X_COMMA, a->pos);

	e->a = a;
	e->b = b;
	e->type = am_parse_has_value(b) ? b->type : AM_TYPE_VOID;
	return e;
}
