/* The witness validator refuses what is no run of the program, and what does not show the property. */
/* SPDX-License-Identifier: MIT */
#include "analyzer/litmus/to_ctp.h"
#include "analyzer/predict/validate.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct subject {
	struct am_lit *lit;
	struct am_lit_ctp *lc;
};

static struct subject subject(const char *text)
{
	const struct am_lit_ctp_options options = { .unroll = 3 };
	struct am_lit_error error;
	struct subject s = { .lit = am_lit_parse("t", text, strlen(text), &error) };

	cr_assert(s.lit, "%s", error.message);
	s.lc = am_lit_to_ctp(s.lit, &options);
	cr_assert(!s.lc->unsupported, "%s", s.lc->unsupported);
	return s;
}

static void done(struct subject *s)
{
	am_lit_ctp_free(s->lc);
	am_lit_free(s->lit);
}

static const char *verdict(struct subject *s, enum am_model model, struct am_query query,
			   const uint32_t *run, uint32_t length, const uint32_t *marks, uint32_t n_marks)
{
	uint32_t run_copy[32], mark_copy[8];
	struct am_validation v;

	memcpy(run_copy, run, length * sizeof(*run));
	if (n_marks)
		memcpy(mark_copy, marks, n_marks * sizeof(*marks));
	const struct am_answer answer = { .verdict = AM_FEASIBLE, .run = run_copy, .length = length,
					  .marks = mark_copy, .mark_count = n_marks };
	am_validate(s->lc->ctp, model, &query, &answer, &v);
	const char *wrong = v.wrong;
	am_validation_clear(&v);
	return wrong;
}

#define RUN(...) (const uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4
#define ACCEPT(...) cr_expect(!verdict(&s, __VA_ARGS__), "%s", verdict(&s, __VA_ARGS__))
#define REFUSE(...) cr_expect(verdict(&s, __VA_ARGS__))

static struct am_query reach(uint32_t e)
{
	return (struct am_query){ .property = AM_PROP_REACH, .a = e };
}

/* events: P0: 0 write x, 1 read y; P1: 2 write y, 3 read x */
static const char sb[] = "C sb\n{}\nP0(int *x, int *y) { *x = 1; int r0 = *y; }\n"
			 "P1(int *x, int *y) { *y = 1; int r0 = *x; }\n";

Test(litmus_validate, program_order_is_that_of_the_model)
{
	struct subject s = subject(sb);

	ACCEPT(AM_MODEL_SC, reach(3), RUN(0, 1, 2, 3), NULL, 0);
	ACCEPT(AM_MODEL_SC, reach(3), RUN(2, 3), NULL, 0);
	REFUSE(AM_MODEL_SC, reach(3), RUN(1, 0, 2, 3), NULL, 0);
	REFUSE(AM_MODEL_SC, reach(3), RUN(1, 2, 3), NULL, 0);
	ACCEPT(AM_MODEL_TSO, reach(3), RUN(1, 3, 0, 2), NULL, 0);
	ACCEPT(AM_MODEL_COHERENCE, reach(3), RUN(1, 3, 0, 2), NULL, 0);
	REFUSE(AM_MODEL_SC, reach(3), RUN(0, 1, 2), NULL, 0);
	REFUSE(AM_MODEL_SC, reach(0), RUN(0, 0), NULL, 0);
	REFUSE(AM_MODEL_SC, reach(0), RUN(0, 77), NULL, 0);
	done(&s);
}

Test(litmus_validate, a_complete_run_leaves_nothing_out)
{
	struct subject s = subject(sb);
	struct am_query query = reach(3);

	query.complete = true;
	ACCEPT(AM_MODEL_SC, query, RUN(0, 1, 2, 3), NULL, 0);
	REFUSE(AM_MODEL_SC, query, RUN(2, 3), NULL, 0);
	done(&s);
}

/* P0: 0 lock, 1 write x, 2 unlock; P1: 3 lock, 4 read x, 5 write y if x is 1, 6 unlock */
static const char locks[] = "C l\n{}\nP0(int *x, spinlock_t *l) { spin_lock(l); *x = 1; spin_unlock(l); }\n"
			    "P1(int *x, int *y, spinlock_t *l) { spin_lock(l); int r = *x; if (r == 1) "
			    "*y = 2; spin_unlock(l); }\n";

Test(litmus_validate, locks_and_guards_are_checked)
{
	struct subject s = subject(locks);

	ACCEPT(AM_MODEL_SC, reach(5), RUN(0, 1, 2, 3, 4, 5, 6), NULL, 0);
	REFUSE(AM_MODEL_SC, reach(4), RUN(0, 1, 3, 4, 2), NULL, 0);
	REFUSE(AM_MODEL_SC, reach(5), RUN(3, 4, 5, 6), NULL, 0);
	ACCEPT(AM_MODEL_SC, reach(6), RUN(3, 4, 6, 0, 1, 2), NULL, 0);
	REFUSE(AM_MODEL_SC, reach(6), RUN(0, 1, 2, 3, 4, 6), NULL, 0);
	done(&s);
}

/* P0: 0 begin, 1 read x, 2 write x, 3 end; P1: 4 write x */
static const char block[] = "C b\n{}\nP0(int *x) { atomic { int r = *x; *x = r + 1; } }\n"
			    "P1(int *x) { *x = 5; }\n";

Test(litmus_validate, atomicity_needs_the_intruder_in_between)
{
	struct subject s = subject(block);
	const struct am_query three = { .property = AM_PROP_THREE, .a = 1, .b = 4, .c = 2 };
	const struct am_query serial = { .property = AM_PROP_SERIAL, .region = 0 };
	const struct am_query strong = { .property = AM_PROP_STRONG, .region = 0 };

	ACCEPT(AM_MODEL_SC, three, RUN(0, 1, 4, 2), RUN(1, 4, 2));
	REFUSE(AM_MODEL_SC, three, RUN(0, 1, 2, 4), RUN(1, 4, 2));
	ACCEPT(AM_MODEL_SC, serial, RUN(0, 1, 4, 2), RUN(1, 4, 4, 2));
	REFUSE(AM_MODEL_SC, serial, RUN(4, 0, 1, 2), RUN(1, 4, 4, 2));
	REFUSE(AM_MODEL_SC, serial, RUN(0, 1, 4, 2), RUN(4, 1, 2, 4));
	ACCEPT(AM_MODEL_SC, serial, RUN(0, 1, 4, 2), NULL, 0);
	REFUSE(AM_MODEL_SC, serial, RUN(0, 1, 2, 4), NULL, 0);
	ACCEPT(AM_MODEL_SC, strong, RUN(0, 1, 4, 2), NULL, 0);
	REFUSE(AM_MODEL_SC, strong, RUN(0, 1, 2, 3, 4), NULL, 0);
	done(&s);
}

Test(litmus_validate, a_silent_write_is_no_intruder)
{
	struct subject s = subject("C b\n{ int x = 5; }\nP0(int *x) { atomic { int r = *x; int q = *x; } }\n"
				   "P1(int *x) { *x = 5; }\n");
	const struct am_query three = { .property = AM_PROP_THREE, .a = 1, .b = 4, .c = 2 };
	struct am_query plain = three;

	plain.plain = true;
	REFUSE(AM_MODEL_SC, three, RUN(0, 1, 4, 2), RUN(1, 4, 2));
	ACCEPT(AM_MODEL_SC, plain, RUN(0, 1, 4, 2), RUN(1, 4, 2));
	done(&s);
}

Test(litmus_validate, a_race_needs_unordered_plain_accesses)
{
	struct subject s = subject(locks);
	struct subject t = subject(block);
	const struct am_query race = { .property = AM_PROP_RACE, .a = AM_CTP_NONE, .b = AM_CTP_NONE };

	REFUSE(AM_MODEL_SC, race, RUN(0, 1, 2, 3, 4), RUN(1, 4));
	REFUSE(AM_MODEL_SC, race, RUN(0, 1, 2, 3, 4), NULL, 0);
	cr_expect(!verdict(&t, AM_MODEL_SC, race, RUN(0, 1, 4), RUN(1, 4)));
	done(&s);
	done(&t);
}

Test(litmus_validate, waits_need_a_later_signal)
{
	/* P0: 0 lock m, 1 wait, 2 wake, 3 unlock; P1: 4 signal */
	struct subject s = subject("C c\n{ mutex_t m; cond_t c; }\nP0(mutex_t *m, cond_t *c) { mutex_lock(m); "
				   "cond_wait(c, m); mutex_unlock(m); }\nP1(cond_t *c) { cond_signal(c); }\n");

	ACCEPT(AM_MODEL_SC, reach(2), RUN(0, 1, 4, 2), NULL, 0);
	REFUSE(AM_MODEL_SC, reach(2), RUN(4, 0, 1, 2), NULL, 0);
	REFUSE(AM_MODEL_SC, reach(2), RUN(0, 1, 2, 4), NULL, 0);
	done(&s);
}
