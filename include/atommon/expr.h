/* SPDX-License-Identifier: MIT */
/*
 * Expressions of the symbolic level: bit-vector DAGs over the reads of one thread.
 *
 * Each thread numbers its nodes 1, 2, 3, ... in the order of their definition in its stream. A node
 * is defined by an AM_EXPR record (or by a read: AM_OP_READ) before any event uses it:
 *   w0 object field (48 bits): bits 0..7 op, 8..15 width in bits (1..64, 0 stands for 128 and is
 *      not used yet), 16..47 third operand
 *   w1: first operand in the low half, second in the high half; AM_OP_CONST: the constant itself
 * Operands are node numbers. An AM_READ or AM_UPDATE with an AM_X_EXPR extension *defines* that node
 * as the value it read (AM_OP_READ); it is the next number, no AM_EXPR record precedes it. AM_WRITE
 * with AM_X_EXPR uses a node: the value written. Semantics of operations: SMT-LIB QF_BV, division by
 * zero included (the pass pins before it could trap).
 */
#ifndef ATOMMON_EXPR_H
#define ATOMMON_EXPR_H

#include <stdint.h>

/* op, text, arity */
#define AM_OPS(X)                                                                                  \
	X(NONE, "?", 0)                                                                            \
	X(CONST, "const", 0)                                                                       \
	X(READ, "read", 0)                                                                         \
	X(ADD, "+", 2)                                                                             \
	X(SUB, "-", 2)                                                                             \
	X(MUL, "*", 2)                                                                             \
	X(UDIV, "/u", 2)                                                                           \
	X(SDIV, "/s", 2)                                                                           \
	X(UREM, "%u", 2)                                                                           \
	X(SREM, "%s", 2)                                                                           \
	X(AND, "&", 2)                                                                             \
	X(OR, "|", 2)                                                                              \
	X(XOR, "^", 2)                                                                             \
	X(SHL, "<<", 2)                                                                            \
	X(LSHR, ">>u", 2)                                                                          \
	X(ASHR, ">>s", 2)                                                                          \
	X(EQ, "==", 2)                                                                             \
	X(NE, "!=", 2)                                                                             \
	X(ULT, "<u", 2)                                                                            \
	X(ULE, "<=u", 2)                                                                           \
	X(SLT, "<s", 2)                                                                            \
	X(SLE, "<=s", 2)                                                                           \
	X(UGT, ">u", 2)                                                                            \
	X(UGE, ">=u", 2)                                                                           \
	X(SGT, ">s", 2)                                                                            \
	X(SGE, ">=s", 2)                                                                           \
	X(ITE, "?:", 3)                                                                            \
	X(ZEXT, "zext", 1)                                                                         \
	X(SEXT, "sext", 1)                                                                         \
	X(TRUNC, "trunc", 1)                                                                       \
	X(NOT, "~", 1)                                                                             \
	X(NEG, "neg", 1)                                                                           \
	X(CONCAT, "++", 2)                                                                         \
	X(EXTRACT, "[]", 2) /* first: node, second: lowest bit (plain number, not a node) */

enum am_op {
#define X(name, text, arity) AM_OP_##name,
	AM_OPS(X)
#undef X
		AM_OP_COUNT
};

struct am_expr {
	uint8_t op;
	uint8_t width;
	uint32_t a, b, c;
	uint64_t value; /* AM_OP_CONST: the constant; AM_OP_READ: index of the reading event */
};

const char *am_op_text(enum am_op op);
unsigned am_op_arity(enum am_op op);

/* Concrete evaluation of one operation on operands already evaluated; widths of operands as in
 * SMT-LIB (comparisons take the operands' width). Result is masked to `width`. */
uint64_t am_op_eval(enum am_op op, unsigned width, unsigned operand_width, uint64_t a, uint64_t b,
		    uint64_t c);

#endif
