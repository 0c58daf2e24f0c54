/* The programs in the papers' figures, with the papers' verdicts, by both encodings. */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/rules.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct prog {
	struct am_ctp *c;
	uint32_t x, y;
};

static uint32_t k(struct prog *p, uint64_t v)
{
	return am_ctp_const(p->c, 32, v);
}

static struct prog start(uint32_t threads)
{
	struct prog p = { .c = am_ctp_new() };
	p.x = am_ctp_data(p.c, "x", 4);
	p.y = am_ctp_data(p.c, "y", 4);
	for (uint32_t t = 0; t < threads; t++)
		am_ctp_thread(p.c, (const char *[]){ "1", "2", "3", "4" }[t]);
	return p;
}

static uint32_t leaf(struct prog *p, uint32_t e)
{
	return p->c->events[e].read;
}

static uint32_t rd(struct prog *p, uint32_t t, uint32_t v)
{
	return am_ctp_read(p->c, t, v, 0, 4);
}

static uint32_t wr(struct prog *p, uint32_t t, uint32_t v, uint32_t node)
{
	return am_ctp_write(p->c, t, v, 0, 4, node);
}

static uint32_t cmp(struct prog *p, enum am_op op, uint32_t node, uint64_t v)
{
	return am_ctp_op(p->c, op, 1, node, k(p, v), 0);
}

static enum am_verdict ask_in(struct prog *p, struct am_query q, enum am_encoding encoding,
			      enum am_model model)
{
	struct am_engine_options o = am_engine_defaults();
	o.encoding = encoding;
	o.model = model;
	struct am_engine *e = am_engine_new(p->c, &o);
	struct am_answer a;
	am_engine_ask(e, &q, &a);
	const enum am_verdict v = a.verdict;
	am_answer_clear(&a);
	am_engine_free(e);
	return v;
}

/* What does a solver say to the dump? */
static void dump_agrees(struct prog *p, const struct am_query *q, bool sat, const char *solver)
{
	char path[] = "/tmp/atommon-query-XXXXXX.smt2", command[128], line[32] = "";
	FILE *f = fdopen(mkstemps(path, 5), "w");
	struct am_engine_options o = am_engine_defaults();
	struct am_engine *e = am_engine_new(p->c, &o);
	cr_assert(am_engine_dump_smt2(e, q, f));
	fclose(f);
	am_engine_free(e);
	snprintf(command, sizeof command, "command -v %s >/dev/null && %s %s 2>&1", solver, solver,
		 path);
	FILE *s = popen(command, "r");
	if (fgets(line, sizeof line, s))
		cr_assert_str_eq(line, sat ? "sat\n" : "unsat\n", "%s: %s", solver, line);
	pclose(s);
	unlink(path);
}

static void expect(struct prog *p, struct am_query q, bool feasible)
{
	if (!p->c->finished)
		cr_assert_null(am_ctp_finish(p->c));
	const enum am_verdict want = feasible ? AM_FEASIBLE : AM_INFEASIBLE;
	cr_expect_eq(ask_in(p, q, AM_ENCODE_LAZY, AM_MODEL_SC), want, "lazy");
	cr_expect_eq(ask_in(p, q, AM_ENCODE_DIRECT, AM_MODEL_SC), want, "direct");
	dump_agrees(p, &q, feasible, "cvc5");
	dump_agrees(p, &q, feasible, "z3");
}

/* ---- Wang et al. ------------------------------------------------------------------------------ */

/* Fig. 1(a): a := x; x := a + 1  ||  b := x; if (b OP 0) x := 5 */
static struct am_query wang_1a(struct prog *p, enum am_op op)
{
	*p = start(2);
	const uint32_t region = am_ctp_region(p->c, "atomic");
	am_ctp_event(p->c, 0, AM_BEGIN, region);
	const uint32_t t1 = rd(p, 0, p->x);
	const uint32_t t2 = wr(p, 0, p->x, am_ctp_op(p->c, AM_OP_ADD, 32, leaf(p, t1), k(p, 1), 0));
	am_ctp_event(p->c, 0, AM_END, region);
	const uint32_t t3 = rd(p, 1, p->x);
	am_ctp_assume(p->c, 1, cmp(p, op, leaf(p, t3), 0));
	const uint32_t t5 = wr(p, 1, p->x, k(p, 5));
	return (struct am_query){ .property = AM_PROP_THREE, .a = t1, .b = t5, .c = t2,
				  .region = region };
}

Test(wang, figure_1a_is_serializable)
{
	struct prog p;
	struct am_query q = wang_1a(&p, AM_OP_SGT);
	expect(&p, q, false);
	q.property = AM_PROP_SERIAL;
	expect(&p, q, false);
	am_ctp_free(p.c);
}

Test(wang, figure_1a_with_weaker_branch_is_not)
{
	struct prog p;
	struct am_query q = wang_1a(&p, AM_OP_SGE);
	expect(&p, q, true);
	q.property = AM_PROP_SERIAL;
	expect(&p, q, true);
	am_ctp_free(p.c);
}

/* Fig. 7(a): data ignored, the condition always holds. */
Test(wang, figure_7a_reports_the_bogus_violation)
{
	struct prog p = start(2);
	const uint32_t t1 = rd(&p, 0, p.x), t2 = wr(&p, 0, p.x, k(&p, 1));
	rd(&p, 1, p.x);
	const uint32_t t5 = wr(&p, 1, p.x, k(&p, 5));
	expect(&p, (struct am_query){ .property = AM_PROP_THREE, .a = t1, .b = t5, .c = t2,
				      .plain = true }, true);
	am_ctp_free(p.c);
}

/* Fig. 1(b): x := 1; a := x + 1; signal(c)  ||  wait(c); x := 3 */
static struct am_query wang_1b(struct prog *p, bool synchronised)
{
	*p = start(2);
	const uint32_t cond = am_ctp_object(p->c, AM_CTP_COND, "c");
	const uint32_t m = am_ctp_object(p->c, AM_CTP_LOCK, "m");
	const uint32_t t1 = wr(p, 0, p->x, k(p, 1)), t2 = rd(p, 0, p->x);
	if (synchronised) {
		am_ctp_event(p->c, 0, AM_SIGNAL, cond);
		am_ctp_event(p->c, 1, AM_ACQUIRE, m);
		am_ctp_wait(p->c, 1, cond, m);
		am_ctp_wake(p->c, 1, cond, m);
	}
	const uint32_t t5 = wr(p, 1, p->x, k(p, 3));
	return (struct am_query){ .property = AM_PROP_THREE, .a = t1, .b = t5, .c = t2 };
}

Test(wang, figure_1b_is_serializable)
{
	struct prog p;
	expect(&p, wang_1b(&p, true), false);
	am_ctp_free(p.c);
}

Test(wang, figure_1b_without_signal_is_not)
{
	struct prog p;
	expect(&p, wang_1b(&p, false), true);
	am_ctp_free(p.c);
}

Test(wang, spurious_wake_ups_are_a_choice)
{
	struct prog p;
	const struct am_query q = wang_1b(&p, true);
	p.c->spurious = true;
	expect(&p, q, true);
	am_ctp_free(p.c);
}

Test(wang, a_signal_while_nobody_waits_is_lost)
{
	struct prog p = start(2);
	const uint32_t cond = am_ctp_object(p.c, AM_CTP_COND, "c");
	const uint32_t m = am_ctp_object(p.c, AM_CTP_LOCK, "m");
	am_ctp_event(p.c, 0, AM_SIGNAL, cond);
	am_ctp_event(p.c, 0, AM_FORK, 1);
	am_ctp_event(p.c, 1, AM_ACQUIRE, m);
	am_ctp_wait(p.c, 1, cond, m);
	const uint32_t wake = am_ctp_wake(p.c, 1, cond, m);
	expect(&p, (struct am_query){ .property = AM_PROP_REACH, .a = wake }, false);
	am_ctp_free(p.c);
}

/* Fig. 4: the CSSA form of Fig. 3(a). */
Test(wang, figure_4_pi_functions)
{
	struct prog p;
	char *text;
	size_t size;
	wang_1a(&p, AM_OP_SGT);
	cr_assert_null(am_ctp_finish(p.c));
	FILE *f = open_memstream(&text, &size);
	am_ctp_dump_cssa(p.c, f);
	fclose(f);
	cr_expect(strstr(text, "r2 <- pi(x0, x7)"), "%s", text);
	cr_expect(strstr(text, "r5 <- pi(x0, x3)"), "%s", text);
	cr_expect(strstr(text, "t6: <2, (assume((r5 >s 0)), {  })>"), "%s", text);
	free(text);
	am_ctp_free(p.c);
}

/* Fig. 6: the violation makes the trace leave its path; a prefix shows it, a full run cannot. */
Test(wang, figure_6_needs_an_erroneous_prefix)
{
	struct prog p = start(2);
	const uint32_t t1 = wr(&p, 0, p.x, k(&p, 0)), t2 = rd(&p, 0, p.x);
	const uint32_t a = am_ctp_op(p.c, AM_OP_ADD, 32, leaf(&p, t2), k(&p, 1), 0);
	am_ctp_assume(p.c, 0, cmp(&p, AM_OP_EQ, a, 1));
	wr(&p, 0, p.x, k(&p, 2));
	const uint32_t t5 = wr(&p, 1, p.x, k(&p, 3));
	rd(&p, 1, p.x);
	struct am_query q = { .property = AM_PROP_THREE, .a = t1, .b = t5, .c = t2 };
	expect(&p, q, true);
	q.complete = true;
	expect(&p, q, false);
	am_ctp_free(p.c);
}

/* Section 3: x = 5 and x = 5 conflict, but are independent; rules 2 and 3: different elements. */
Test(wang, guarded_independence)
{
	struct prog p = start(2);
	const uint32_t t1 = wr(&p, 0, p.x, k(&p, 5)), t2 = wr(&p, 0, p.x, k(&p, 6));
	const uint32_t t3 = wr(&p, 1, p.x, k(&p, 5));
	struct am_query q = { .property = AM_PROP_THREE, .a = t1, .b = t3, .c = t2 };
	expect(&p, q, false);
	q.plain = true;
	expect(&p, q, true);
	am_ctp_free(p.c);
}

Test(wang, array_elements_are_independent_when_indices_differ)
{
	for (uint32_t index = 0; index < 2; index++) {
		struct prog p = start(2);
		const uint32_t arr = am_ctp_data(p.c, "a", 8);
		am_ctp_init(p.c, p.x, 0, 4, index);
		const uint32_t at0 = am_ctp_const(p.c, 64, 0);
		const uint32_t i = rd(&p, 1, p.x);
		const uint32_t at = am_ctp_op(p.c, AM_OP_SHL, 64,
					      am_ctp_op(p.c, AM_OP_ZEXT, 64, leaf(&p, i), 0, 0),
					      am_ctp_const(p.c, 64, 2), 0);
		const uint32_t t1 = am_ctp_read(p.c, 0, arr, at0, 4);
		const uint32_t t2 = am_ctp_write(p.c, 0, arr, at0, 4, k(&p, 7));
		const uint32_t t3 = am_ctp_write(p.c, 1, arr, at, 4, k(&p, 9));
		expect(&p, (struct am_query){ .property = AM_PROP_THREE, .a = t1, .b = t3, .c = t2 },
		       index == 0);
		am_ctp_free(p.c);
	}
}

/* ---- Yang et al. ------------------------------------------------------------------------------ */

/* Fig. 1: r1 = x; if (r1 > 0) y = 1  ||  r2 = y; if (r2 OP 0) x = 1 */
static struct prog yang_1(enum am_op op, uint32_t *reads, uint32_t *writes)
{
	struct prog p = start(2);
	for (uint32_t t = 0; t < 2; t++) {
		reads[t] = rd(&p, t, t ? p.y : p.x);
		writes[t] = wr(&p, t, t ? p.x : p.y, k(&p, 1));
		p.c->events[writes[t]].guard = cmp(&p, t ? op : AM_OP_SGT, leaf(&p, reads[t]), 0);
	}
	return p;
}

Test(yang, figure_1_program_1_has_no_race)
{
	uint32_t r[2], w[2];
	struct prog p = yang_1(AM_OP_SGT, r, w);
	expect(&p, (struct am_query){ .property = AM_PROP_RACE, .a = AM_CTP_NONE }, false);
	am_ctp_free(p.c);
}

Test(yang, figure_1_program_2_has_a_race)
{
	uint32_t r[2], w[2];
	struct prog p = yang_1(AM_OP_SGE, r, w);
	cr_assert_null(am_ctp_finish(p.c));
	cr_expect_eq(ask_in(&p, (struct am_query){ .property = AM_PROP_RACE, .a = r[0], .b = w[1] },
			    AM_ENCODE_LAZY, AM_MODEL_SC), AM_FEASIBLE);
	expect(&p, (struct am_query){ .property = AM_PROP_RACE, .a = r[0], .b = w[1] }, true);
	am_ctp_free(p.c);
}

/* Fig. 2: deposit and withdraw: no race, and not atomic. */
Test(yang, figure_2_is_free_of_races_but_not_atomic)
{
	struct prog p = start(2);
	const uint32_t l = am_ctp_object(p.c, AM_CTP_LOCK, "l1");
	uint32_t region = 0;
	for (uint32_t t = 0; t < 2; t++) {
		region = am_ctp_region(p.c, t ? "withdraw" : "deposit");
		am_ctp_event(p.c, t, AM_BEGIN, region);
		am_ctp_event(p.c, t, AM_ACQUIRE, l);
		const uint32_t r = rd(&p, t, p.x);
		am_ctp_event(p.c, t, AM_RELEASE, l);
		am_ctp_event(p.c, t, AM_ACQUIRE, l);
		wr(&p, t, p.x, am_ctp_op(p.c, t ? AM_OP_SUB : AM_OP_ADD, 32, leaf(&p, r), k(&p, 1), 0));
		am_ctp_event(p.c, t, AM_RELEASE, l);
		am_ctp_event(p.c, t, AM_END, region);
	}
	cr_assert_null(am_ctp_finish(p.c));
	const struct am_query race = { .property = AM_PROP_RACE, .a = AM_CTP_NONE };
	cr_expect_eq(ask_in(&p, race, AM_ENCODE_LAZY, AM_MODEL_SC), AM_INFEASIBLE);
	for (int f = AM_PROP_SERIAL; f <= AM_PROP_WINDOW; f++)
		expect(&p, (struct am_query){ .property = (enum am_property)f, .region = region }, true);
	am_ctp_free(p.c);
}

/* Fig. 4 and 5: program 2 with r1 = 1 and r2 = 0, and its order matrix. */
Test(yang, figure_5_matrix)
{
	struct prog p = start(2);
	const uint32_t e3 = rd(&p, 0, p.x);
	am_ctp_at(p.c, e3)->cond = cmp(&p, AM_OP_EQ, leaf(&p, e3), 1);
	am_ctp_assume(p.c, 0, cmp(&p, AM_OP_SGT, leaf(&p, e3), 0));
	wr(&p, 0, p.y, k(&p, 1));
	const uint32_t e6 = rd(&p, 1, p.y);
	am_ctp_at(p.c, e6)->cond = cmp(&p, AM_OP_EQ, leaf(&p, e6), 0);
	am_ctp_assume(p.c, 1, cmp(&p, AM_OP_SGE, leaf(&p, e6), 0));
	wr(&p, 1, p.x, k(&p, 1));
	cr_assert_null(am_ctp_finish(p.c));
	const struct am_rules_query q = { .reach = AM_CTP_NONE, .complete = true, .matrix = true };
	struct am_rules_answer a;
	am_rules_ask(p.c, &q, &a);
	cr_assert_eq(a.verdict, AM_FEASIBLE);
	cr_assert_eq(a.item_count, 8);
	const char *want = "0X111111"
			   "X0111111"
			   "00011000"
			   "00001000"
			   "00000000"
			   "00111011"
			   "00111001"
			   "00111000";
	for (int i = 0; i < 8; i++)
		cr_expect_arr_eq(a.matrix + 8 * i, want + 8 * i, 8, "row %d: %.8s", i + 1,
				 a.matrix + 8 * i);
	/* initial writes, then 6 7 8 3 4 5 as the paper has it */
	const uint32_t order[] = { 3, 4, 5, 0, 1, 2 };
	cr_assert_eq(a.length, 8);
	cr_expect_arr_eq(a.run + 2, order, sizeof order);
	am_rules_clear(&a);
	am_ctp_free(p.c);
}

/* ... and with r1 = 0 and r2 = 1 it is illegal: because of these rules. */
Test(yang, the_other_outcome_is_illegal_and_explained)
{
	struct prog p = start(2);
	const uint32_t e3 = rd(&p, 0, p.x);
	am_ctp_at(p.c, e3)->cond = cmp(&p, AM_OP_EQ, leaf(&p, e3), 0);
	const uint32_t e5 = wr(&p, 0, p.y, k(&p, 1));
	p.c->events[e5].guard = cmp(&p, AM_OP_SGT, leaf(&p, e3), 0);
	const uint32_t e6 = rd(&p, 1, p.y);
	am_ctp_at(p.c, e6)->cond = cmp(&p, AM_OP_EQ, leaf(&p, e6), 1);
	wr(&p, 1, p.x, k(&p, 1));
	cr_assert_null(am_ctp_finish(p.c));
	struct am_rules_query q = { .reach = AM_CTP_NONE, .complete = true, .explain = true };
	struct am_rules_answer a;
	am_rules_ask(p.c, &q, &a);
	cr_assert_eq(a.verdict, AM_INFEASIBLE);
	cr_expect_gt(a.use_count, 0);
	uint32_t rules = 0;
	for (uint32_t i = 0; i < a.use_count; i++)
		rules |= 1u << a.uses[i].rule;
	cr_expect(rules & 1u << AM_RULE_READ_VALUE);
	cr_expect(rules & 1u << AM_RULE_COMPUTATION);
	/* minimal: without any of these rules it is possible */
	for (int r = 0; r < AM_RULE_COUNT; r++) {
		struct am_rules_answer b;
		if (!(rules & 1u << r))
			continue;
		q.without = 1u << r;
		q.explain = false;
		am_rules_ask(p.c, &q, &b);
		cr_expect_eq(b.verdict, AM_FEASIBLE, "without %s", am_rule_name((enum am_rule)r));
		am_rules_clear(&b);
	}
	am_rules_clear(&a);
	am_ctp_free(p.c);
}

/* ---- Sinha et al., Fig. 1 and 2 ---------------------------------------------------------------- */

/* atomic { p = &A; b = p; if (b) use(p) }  ||  p = 0: e1 W p, e2 R p, e3 R p; e4 W p */
Test(sinha, figure_2a_is_real)
{
	struct prog p = start(2);
	const uint32_t region = am_ctp_region(p.c, "atomic");
	am_ctp_event(p.c, 0, AM_BEGIN, region);
	wr(&p, 0, p.x, k(&p, 1));
	const uint32_t e2 = rd(&p, 0, p.x);
	am_ctp_assume(p.c, 0, cmp(&p, AM_OP_NE, leaf(&p, e2), 0));
	rd(&p, 0, p.x);
	am_ctp_event(p.c, 0, AM_END, region);
	wr(&p, 1, p.x, k(&p, 0));
	expect(&p, (struct am_query){ .property = AM_PROP_SERIAL, .region = region }, true);
	am_ctp_free(p.c);
}

/* ---- Farzan and Madhusudan: a cycle over three threads and three variables --------------------- */

Test(farzan, a_cycle_through_three_threads)
{
	struct prog p = start(3);
	const uint32_t z = am_ctp_data(p.c, "z", 4);
	const uint32_t v[3] = { p.x, p.y, z };
	uint32_t region = 0;
	for (uint32_t t = 0; t < 3; t++) {
		const uint32_t r = am_ctp_region(p.c, "r");
		region = t ? region : r;
		am_ctp_event(p.c, t, AM_BEGIN, r);
		wr(&p, t, v[t], k(&p, t + 1));
		rd(&p, t, v[(t + 1) % 3]);
		am_ctp_event(p.c, t, AM_END, r);
	}
	expect(&p, (struct am_query){ .property = AM_PROP_SERIAL, .region = region }, true);
	am_ctp_free(p.c);
}

/* ---- classic litmus shapes under each model ---------------------------------------------------- */

struct shape {
	const char *name;
	/* per thread: W or R, variable, value; upper case F: fence */
	const char *threads[4];
	bool allowed[4]; /* sc, tso, pso, coherence */
};

static void run_shape(const struct shape *s)
{
	struct prog p = start(0);
	uint32_t threads = 0, last = 0, condition = 0;
	while (threads < 4 && s->threads[threads])
		am_ctp_thread(p.c, (const char *[]){ "P0", "P1", "P2", "P3" }[threads++]);
	for (uint32_t t = 0; t < threads; t++)
		for (const char *c = s->threads[t]; *c; c += c[0] == 'F' ? 1 : 3) {
			if (c[0] == 'F') {
				am_ctp_event(p.c, t, AM_FENCE, AM_CTP_NONE);
				continue;
			}
			const uint32_t v = c[1] == 'x' ? p.x : p.y;
			if (c[0] == 'W') {
				wr(&p, t, v, k(&p, (uint64_t)(c[2] - '0')));
			} else {
				const uint32_t e = rd(&p, t, v);
				condition = am_ctp_and(p.c, condition,
						       cmp(&p, AM_OP_EQ, leaf(&p, e),
							   (uint64_t)(c[2] - '0')));
			}
		}
	const uint32_t observer = am_ctp_thread(p.c, "observer");
	for (uint32_t t = 0; t < threads; t++)
		am_ctp_event(p.c, observer, AM_JOIN, t);
	if (!condition) { /* 2+2W: both end as 1 */
		condition = cmp(&p, AM_OP_EQ, leaf(&p, rd(&p, observer, p.x)), 1);
		condition = am_ctp_and(p.c, condition,
				       cmp(&p, AM_OP_EQ, leaf(&p, rd(&p, observer, p.y)), 1));
	}
	last = am_ctp_assume(p.c, observer, condition);
	cr_assert_null(am_ctp_finish(p.c));
	for (int m = 0; m < 4; m++) {
		const enum am_verdict want = s->allowed[m] ? AM_FEASIBLE : AM_INFEASIBLE;
		cr_expect_eq(ask_in(&p, (struct am_query){ .property = AM_PROP_REACH, .a = last },
				    AM_ENCODE_LAZY, (enum am_model)m),
			     want, "%s, %s", s->name, am_model_name((enum am_model)m));
		struct am_rules_query q = { .model = (enum am_model)m, .reach = last };
		struct am_rules_answer a;
		am_rules_ask(p.c, &q, &a);
		cr_expect_eq(a.verdict, want, "rules: %s, %s", s->name,
			     am_model_name((enum am_model)m));
		am_rules_clear(&a);
	}
	am_ctp_free(p.c);
}

Test(litmus, classic_shapes)
{
	static const struct shape shapes[] = {
		{ "SB", { "Wx1Ry0", "Wy1Rx0" }, { false, true, true, true } },
		{ "SB+mb", { "Wx1FRy0", "Wy1FRx0" }, { false, false, false, false } },
		{ "MP", { "Wx1Wy1", "Ry1Rx0" }, { false, false, true, true } },
		{ "MP+mb", { "Wx1FWy1", "Ry1FRx0" }, { false, false, false, false } },
		{ "LB", { "Rx1Wy1", "Ry1Wx1" }, { false, false, false, true } },
		{ "IRIW", { "Wx1", "Wy1", "Rx1Ry0", "Ry1Rx0" }, { false, false, false, true } },
		{ "WRC", { "Wx1", "Rx1Wy1", "Ry1Rx0" }, { false, false, false, true } },
		{ "2+2W", { "Wx1Wy2", "Wy1Wx2" }, { false, false, true, true } },
		{ "CoRR", { "Wx1", "Rx1Rx0" }, { false, false, false, false } },
		{ "CoWR", { "Wx1Rx0", "Wx2" }, { false, false, false, false } },
	};
	for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
		run_shape(&shapes[i]);
}
