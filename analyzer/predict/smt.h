/* SPDX-License-Identifier: MIT */
/*
 * The solver bridge: all that the symbolic core knows of cvc5. One C++ file stands behind it.
 *
 * A term is a positive number. A literal is a Boolean term or the negative of one. Term 1 is true.
 * A failure inside the solver never escapes: the next check answers unknown, am_smt_error says why.
 */
#ifndef ATOMMON_PREDICT_SMT_H
#define ATOMMON_PREDICT_SMT_H

#include "atommon/expr.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum am_smt_result { AM_SMT_UNSAT, AM_SMT_SAT, AM_SMT_UNKNOWN };

#define AM_SMT_TRUE 1
#define AM_SMT_FALSE (-1)

struct am_smt;

struct am_smt_stats {
	uint64_t checks, variables, assertions;
	uint64_t conflicts, decisions, propagations, clause_literals, units;
};

/* logic: an SMT-LIB name. ms: wall clock per check, 0 none. */
struct am_smt *am_smt_new(const char *logic, uint64_t ms);
void am_smt_free(struct am_smt *smt);
const char *am_smt_error(const struct am_smt *smt); /* NULL: none */

/* Variables; name may be NULL. Names get a number, so they need not be unique. */
int32_t am_smt_bool(struct am_smt *smt, const char *name);
int32_t am_smt_int(struct am_smt *smt, const char *name);
int32_t am_smt_bv(struct am_smt *smt, const char *name, unsigned width);
int32_t am_smt_int_const(struct am_smt *smt, int64_t value);
int32_t am_smt_bv_const(struct am_smt *smt, unsigned width, uint64_t value);

/* Boolean terms over literals. */
int32_t am_smt_and(struct am_smt *smt, const int32_t *lits, uint32_t count);
int32_t am_smt_or(struct am_smt *smt, const int32_t *lits, uint32_t count);
int32_t am_smt_iff(struct am_smt *smt, int32_t a, int32_t b);
int32_t am_smt_eq(struct am_smt *smt, int32_t a, int32_t b);   /* terms of one sort */
int32_t am_smt_less(struct am_smt *smt, int32_t a, int32_t b); /* integers: the order atom */

/* An operation of expr.h. Values of width 1 are Booleans (and may be literals), others bit-vectors;
 * conversions happen inside. b of AM_OP_EXTRACT is the plain lowest bit. */
int32_t am_smt_op(struct am_smt *smt, enum am_op op, unsigned width, int32_t a, int32_t b,
		  int32_t c);

void am_smt_assert(struct am_smt *smt, int32_t lit);
void am_smt_clause(struct am_smt *smt, const int32_t *lits, uint32_t count);
void am_smt_push(struct am_smt *smt);
void am_smt_pop(struct am_smt *smt);

/* units: solver resource units for this check, 0 no limit; the same input uses the same units. */
enum am_smt_result am_smt_check(struct am_smt *smt, const int32_t *assumptions, uint32_t count,
				uint64_t units);

/* After SAT. */
bool am_smt_true(struct am_smt *smt, int32_t lit);
void am_smt_truths(struct am_smt *smt, const int32_t *lits, uint32_t count, int8_t *truth);
uint64_t am_smt_bits(struct am_smt *smt, int32_t term);
int64_t am_smt_number(struct am_smt *smt, int32_t term);
/* After UNSAT: the assumptions that were needed, a subset of those given; returns how many. */
uint32_t am_smt_core(struct am_smt *smt, int32_t *lits, uint32_t room);

void am_smt_get_stats(struct am_smt *smt, struct am_smt_stats *stats);
/* All that is asserted now, the assumptions as further assertions, and (check-sat). */
bool am_smt_dump(struct am_smt *smt, const int32_t *assumptions, uint32_t count, FILE *out);

#ifdef __cplusplus
}
#endif
#endif
