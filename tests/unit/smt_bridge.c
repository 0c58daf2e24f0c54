/* The solver bridge: sorts, assumptions, cores, budgets, and dumps that other solvers decide alike. */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/smt.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Test(smt, booleans_assumptions_and_cores)
{
	struct am_smt *s = am_smt_new("QF_BV", 0);
	const int32_t a = am_smt_bool(s, "a"), b = am_smt_bool(s, "b"), c = am_smt_bool(s, "c");
	am_smt_clause(s, (int32_t[]){ -a, -b }, 2);
	cr_assert_eq(am_smt_check(s, (int32_t[]){ a, c }, 2, 0), AM_SMT_SAT);
	cr_assert(am_smt_true(s, a));
	cr_assert(am_smt_true(s, -b));
	cr_assert_eq(am_smt_check(s, (int32_t[]){ c, a, b }, 3, 0), AM_SMT_UNSAT);
	int32_t core[3];
	const uint32_t n = am_smt_core(s, core, 3);
	cr_assert_leq(n, 2);
	for (uint32_t i = 0; i < n; i++)
		cr_assert(core[i] == a || core[i] == b);
	am_smt_free(s);
}

Test(smt, push_and_pop_forget)
{
	struct am_smt *s = am_smt_new("QF_LIA", 0);
	const int32_t x = am_smt_int(s, "x"), y = am_smt_int(s, "y");
	am_smt_assert(s, am_smt_less(s, x, y));
	am_smt_push(s);
	am_smt_assert(s, am_smt_less(s, y, x));
	cr_assert_eq(am_smt_check(s, NULL, 0, 0), AM_SMT_UNSAT);
	am_smt_pop(s);
	cr_assert_eq(am_smt_check(s, NULL, 0, 0), AM_SMT_SAT);
	cr_assert_lt(am_smt_number(s, x), am_smt_number(s, y));
	am_smt_free(s);
}

/* Every operation of expr.h means the same to the solver as to the evaluator. */
Test(smt, operations_agree_with_the_evaluator)
{
	uint64_t seed = 42;
	for (int op = AM_OP_ADD; op < AM_OP_COUNT; op++) {
		for (int round = 0; round < 6; round++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
			const unsigned w = (unsigned[]){ 8, 16, 32, 64 }[round % 4];
			const uint64_t mask = w == 64 ? UINT64_MAX : (UINT64_C(1) << w) - 1;
			uint64_t a = (seed >> 7) & mask, b = (seed >> 23) & mask, c = seed & mask;
			unsigned width = w;
			if (round >= 4) /* corners: zero divisor, large shift */
				b = round == 4 ? 0 : w + 1;
			if (op >= AM_OP_EQ && op <= AM_OP_SGE)
				width = 1;
			if (op == AM_OP_ZEXT || op == AM_OP_SEXT)
				width = 64;
			if (op == AM_OP_TRUNC)
				width = 8;
			if (op == AM_OP_CONCAT) {
				if (w > 32)
					continue;
				width = 2 * w;
			}
			if (op == AM_OP_EXTRACT) {
				width = 4;
				b = 3;
			}
			if (op == AM_OP_ITE)
				a &= 1;
			const uint64_t want = am_op_eval((enum am_op)op, width,
							 op == AM_OP_ITE ? 1 : w, a, b, c);
			struct am_smt *s = am_smt_new("QF_BV", 0);
			const int32_t ta = op == AM_OP_ITE ? (a ? AM_SMT_TRUE : AM_SMT_FALSE)
							   : am_smt_bv_const(s, w, a);
			const int32_t tb = op == AM_OP_EXTRACT ? (int32_t)b : am_smt_bv_const(s, w, b);
			const int32_t tc = am_smt_bv_const(s, w, c);
			const int32_t t = am_smt_op(s, (enum am_op)op, width, ta, tb, tc);
			cr_assert_null(am_smt_error(s), "%s: %s", am_op_text((enum am_op)op),
				       am_smt_error(s));
			cr_assert_eq(am_smt_check(s, NULL, 0, 0), AM_SMT_SAT);
			cr_assert_eq(am_smt_bits(s, t), want, "%s width %u", am_op_text((enum am_op)op),
				     w);
			am_smt_free(s);
		}
	}
}

/* Pigeons: hard enough for a small budget, and the same budget gives the same answer. */
static enum am_smt_result pigeons(uint64_t units)
{
	enum { HOLES = 8 };
	struct am_smt *s = am_smt_new("QF_BV", 0);
	int32_t p[HOLES + 1][HOLES];
	for (int i = 0; i <= HOLES; i++) {
		for (int j = 0; j < HOLES; j++)
			p[i][j] = am_smt_bool(s, "p");
		am_smt_clause(s, p[i], HOLES);
	}
	for (int j = 0; j < HOLES; j++)
		for (int i = 0; i <= HOLES; i++)
			for (int k = 0; k < i; k++)
				am_smt_clause(s, (int32_t[]){ -p[i][j], -p[k][j] }, 2);
	const enum am_smt_result r = am_smt_check(s, NULL, 0, units);
	struct am_smt_stats stats;
	am_smt_get_stats(s, &stats);
	cr_assert_eq(stats.checks, 1);
	cr_assert_eq(stats.variables, (HOLES + 1) * HOLES);
	am_smt_free(s);
	return r;
}

Test(smt, budget_in_counted_work_repeats)
{
	cr_assert_eq(pigeons(2000), AM_SMT_UNKNOWN);
	cr_assert_eq(pigeons(2000), AM_SMT_UNKNOWN);
}

static void decided_by(const char *solver, const char *path, const char *want)
{
	char command[256], line[64] = "";
	snprintf(command, sizeof command, "command -v %s >/dev/null", solver);
	if (system(command))
		cr_skip_test("%s is not installed", solver);
	snprintf(command, sizeof command, "%s %s 2>&1", solver, path);
	FILE *p = popen(command, "r");
	cr_assert_not_null(p);
	cr_assert_not_null(fgets(line, sizeof line, p));
	pclose(p);
	cr_assert_str_eq(line, want, "%s says %s", solver, line);
}

static void dump_case(bool sat, const char *solver)
{
	char path[] = "/tmp/atommon-smt-XXXXXX.smt2";
	const int fd = mkstemps(path, 5);
	FILE *f = fdopen(fd, "w");
	struct am_smt *s = am_smt_new("ALL", 0);
	const int32_t x = am_smt_int(s, "O"), y = am_smt_int(s, "O");
	const int32_t v = am_smt_bv(s, "pi", 32), q = am_smt_bool(s, "X");
	am_smt_clause(s, (int32_t[]){ -q, am_smt_less(s, x, y) }, 2);
	am_smt_clause(s,
		      (int32_t[]){ -q, am_smt_op(s, AM_OP_SGT, 1,
						 am_smt_op(s, AM_OP_MUL, 32, v, v, 0),
						 am_smt_bv_const(s, 32, 3), 0) },
		      2);
	am_smt_push(s);
	am_smt_assert(s, AM_SMT_FALSE);
	am_smt_pop(s);
	const int32_t assume[2] = { q, am_smt_less(s, y, x) };
	cr_assert(am_smt_dump(s, assume, sat ? 1 : 2, f));
	fclose(f);
	cr_assert_eq(am_smt_check(s, assume, sat ? 1 : 2, 0), sat ? AM_SMT_SAT : AM_SMT_UNSAT);
	decided_by(solver, path, sat ? "sat\n" : "unsat\n");
	unlink(path);
	am_smt_free(s);
}

Test(smt, dump_is_decided_alike_by_cvc5)
{
	dump_case(true, "cvc5");
	dump_case(false, "cvc5");
}

Test(smt, dump_is_decided_alike_by_z3)
{
	dump_case(true, "z3");
	dump_case(false, "z3");
}
