/* Operations of the symbolic level: names and concrete meaning (SMT-LIB QF_BV). No state. */
/* SPDX-License-Identifier: MIT */
#include "atommon/expr.h"

#include <assert.h>

static const char *const texts[AM_OP_COUNT] = {
#define X(name, text, arity) [AM_OP_##name] = text,
	AM_OPS(X)
#undef X
};

static const uint8_t arities[AM_OP_COUNT] = {
#define X(name, text, arity) [AM_OP_##name] = arity,
	AM_OPS(X)
#undef X
};

const char *am_op_text(enum am_op op)
{
	return (unsigned)op < AM_OP_COUNT ? texts[op] : "?";
}

unsigned am_op_arity(enum am_op op)
{
	return (unsigned)op < AM_OP_COUNT ? arities[op] : 0;
}

static uint64_t mask(unsigned width)
{
	return width >= 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
}

static int64_t sign(uint64_t v, unsigned width)
{
	if (width >= 64)
		return (int64_t)v;
	const uint64_t top = UINT64_C(1) << (width - 1);
	return (int64_t)(((v & mask(width)) ^ top) - top);
}

/* SMT-LIB: x / 0 is all ones (unsigned), -1 or 1 (signed); x % 0 is x. */
static uint64_t udiv(uint64_t a, uint64_t b)
{
	return b ? a / b : UINT64_MAX;
}

static uint64_t urem(uint64_t a, uint64_t b)
{
	return b ? a % b : a;
}

static uint64_t sdiv(int64_t a, int64_t b)
{
	if (b == 0)
		return a < 0 ? 1 : UINT64_MAX;
	return b == -1 ? 0 - (uint64_t)a : (uint64_t)(a / b);
}

static uint64_t srem(int64_t a, int64_t b)
{
	if (b == 0)
		return (uint64_t)a;
	return b == -1 ? 0 : (uint64_t)(a % b);
}

uint64_t am_op_eval(enum am_op op, unsigned width, unsigned operand_width, uint64_t a, uint64_t b,
		    uint64_t c)
{
	const uint64_t m = mask(width);
	const unsigned w = operand_width;

	if (op != AM_OP_CONCAT && op != AM_OP_ITE) {
		a &= mask(w);
		if (op != AM_OP_EXTRACT)
			b &= mask(w);
	}
	const int64_t sa = sign(a, w), sb = sign(b, w);
	uint64_t r = 0;

	switch (op) {
	case AM_OP_ADD: r = a + b; break;
	case AM_OP_SUB: r = a - b; break;
	case AM_OP_MUL: r = a * b; break;
	case AM_OP_UDIV: r = udiv(a, b); break;
	case AM_OP_SDIV: r = sdiv(sa, sb); break;
	case AM_OP_UREM: r = urem(a, b); break;
	case AM_OP_SREM: r = srem(sa, sb); break;
	case AM_OP_AND: r = a & b; break;
	case AM_OP_OR: r = a | b; break;
	case AM_OP_XOR: r = a ^ b; break;
	case AM_OP_SHL: r = b >= w ? 0 : a << b; break;
	case AM_OP_LSHR: r = b >= w ? 0 : a >> b; break;
	case AM_OP_ASHR: r = (uint64_t)(sa >> (b >= w ? (w >= 64 ? 63 : w - 1) : b)); break;
	case AM_OP_EQ: r = a == b; break;
	case AM_OP_NE: r = a != b; break;
	case AM_OP_ULT: r = a < b; break;
	case AM_OP_ULE: r = a <= b; break;
	case AM_OP_SLT: r = sa < sb; break;
	case AM_OP_SLE: r = sa <= sb; break;
	case AM_OP_UGT: r = a > b; break;
	case AM_OP_UGE: r = a >= b; break;
	case AM_OP_SGT: r = sa > sb; break;
	case AM_OP_SGE: r = sa >= sb; break;
	case AM_OP_ITE: r = (a & 1) ? b : c; break;
	case AM_OP_ZEXT: r = a; break;
	case AM_OP_SEXT: r = (uint64_t)sa; break;
	case AM_OP_TRUNC: r = a; break;
	case AM_OP_NOT: r = ~a; break;
	case AM_OP_NEG: r = 0 - a; break;
	case AM_OP_CONCAT: r = w >= 64 ? b : (a << w) | (b & mask(w)); break; /* w: width of b */
	case AM_OP_EXTRACT: r = b >= 64 ? 0 : a >> b; break;
	case AM_OP_NONE:
	case AM_OP_CONST:
	case AM_OP_READ:
	case AM_OP_COUNT:
		assert(!"a leaf has no operation");
		break;
	}
	return r & m;
}
