/* Decides a region by the solver: the question, the witness, and the second look at it. Runs in tools. */
/* SPDX-License-Identifier: MIT */
#include "attempt.h"
#include "predict_priv.h"

#include <stdio.h>
#include <stdlib.h>

static struct am_engine_options engine_options(const struct am_predict *p)
{
	struct am_engine_options o = am_engine_defaults();

	if (p->options.rounds)
		o.budget.rounds = p->options.rounds;
	return o;
}

/* The answer's run as events of the recorded run, each once, in order. */
static uint32_t *witness_of(const struct am_program *program, const struct am_answer *answer, uint32_t *n)
{
	uint32_t *out = am_xalloc(answer->length, sizeof *out), k = 0;

	for (uint32_t i = 0; i < answer->length; i++) {
		const uint32_t e = am_program_origin(program, answer->run[i]);
		if (e == AM_NONE)
			continue;
		bool is_repeat = false; /* a wide access is several events of the program, in a row */
		for (uint32_t j = k; j-- > 0 && !is_repeat && k - j < 64;)
			is_repeat = out[j] == e;
		if (!is_repeat)
			out[k++] = e;
	}
	*n = k;
	return out;
}

static bool has_no_effect(const struct am_run *run, uint32_t e)
{
	const struct am_run_event *r = &run->event.at[e];
	const uint8_t kind = am_run_raw(run, e)->kind;

	return !r->reads && !r->writes &&
	       (r->object == AM_NONE || kind == AM_INIT || kind == AM_DESTROY || kind == AM_ONCE_BEGIN);
}

/* A last look with other eyes: the schedule must run on the step machine (locks, conditions,
 * couples if the model keeps them) and its violation path must close. */
static bool runs(struct am_predict *p, const struct am_segment *segment, enum am_predict_model model,
		 const uint32_t *witness, uint32_t n)
{
	bool ok = true;

	am_machine_load(&p->machine, segment, model != AM_PREDICT_AVP);
	for (uint32_t i = 0; ok && i < n; i++) {
		const struct am_run_event *r = &p->run->event.at[witness[i]];
		/* events without effect have no place in the program; they run when their turn comes */
		for (;;) {
			const uint32_t e = am_machine_next(&p->machine, r->thread);
			if (e == witness[i] || e == AM_NONE)
				break;
			ok = has_no_effect(p->run, e) && am_machine_enabled(&p->machine, e);
			if (!ok)
				break;
			am_machine_step(&p->machine, e);
		}
		ok = ok && am_machine_next(&p->machine, r->thread) == witness[i] &&
		     am_machine_enabled(&p->machine, witness[i]);
		if (ok)
			am_machine_step(&p->machine, witness[i]);
	}
	am_machine_unload(&p->machine);
	return ok;
}

static void dump(const struct am_predict *p, struct am_engine *engine, const struct am_query *q,
		 uint32_t region)
{
	char path[4096];

	if (!p->options.smt2_dir)
		return;
	snprintf(path, sizeof path, "%s/region-%u.smt2", p->options.smt2_dir, region);
	FILE *out = fopen(path, "w");
	if (!out || !am_engine_dump_smt2(engine, q, out))
		fprintf(stderr, "atommon-predict: cannot write '%s'\n", path);
	if (out)
		fclose(out);
}

/*
 * A path that leaves the region and comes back runs through an access of another thread, to bytes that
 * the region accesses, between two of its events. That question is easier than the whole one, and
 * where the answer is no, so is the other.
 */
static bool nothing_intrudes(struct am_engine *engine, uint32_t region, struct am_region_result *r)
{
	const struct am_query q = {.property = AM_PROP_WINDOW, .region = region};
	struct am_answer answer = {0};

	am_engine_ask(engine, &q, &answer);
	r->rounds += answer.rounds;
	const bool is_infeasible = answer.verdict == AM_INFEASIBLE;
	am_answer_clear(&answer);
	return is_infeasible;
}

static void ask(struct am_predict *p, const struct am_segment *segment, struct am_program *program,
		struct am_engine *engine, struct am_region_result *r)
{
	const struct am_query q = {.property = AM_PROP_SERIAL,
				   .region = program->region[segment->region],
				   .alone = true};
	struct am_answer answer = {0};
	struct am_validation v = {0};

	if (q.region == AM_NONE) {
		am_verdict_undecided(r, "the window begins inside the region");
		return;
	}
	if (nothing_intrudes(engine, q.region, r)) {
		if (segment->is_exact)
			am_verdict_proved(r, AM_HOW_SOLVER);
		else
			am_verdict_undecided(r, "its segment is larger than the window (--max-segment)");
		return;
	}
	dump(p, engine, &q, segment->region);
	am_engine_ask(engine, &q, &answer);
	r->rounds += answer.rounds;
	if (answer.verdict == AM_UNDECIDED) {
		am_verdict_undecided(r, answer.reason ? answer.reason : "the solver ran out of its budget");
	} else if (answer.verdict == AM_INFEASIBLE) {
		if (segment->is_exact)
			am_verdict_proved(r, AM_HOW_SOLVER);
		else
			am_verdict_undecided(r, "its segment is larger than the window (--max-segment)");
	} else {
		uint32_t n, *witness = witness_of(program, &answer, &n);
		const uint32_t attempt = am_attempt_of(program->ctp, q.region);
		if (!am_validate(program->ctp, AM_MODEL_SC, &q, &answer, &v) ||
		    !runs(p, segment, p->options.model, witness, n))
			am_verdict_undecided(r, "internal: a witness failed its validation");
		else if (!am_verdict_breaks(p, segment->region, witness, n))
			am_verdict_undecided(r, am_only_commutes);
		else if (attempt != AM_CTP_NONE && !am_attempt_succeeds(program->ctp, &answer, attempt))
			am_verdict_undecided(r, "its exchange fails in the schedule that was found, and is tried again");
		else
			am_verdict_predicted(r, segment, p->options.model, AM_HOW_SOLVER, witness, n);
		if (r->outcome == AM_OUT_PREDICTED && p->options.model >= AM_PREDICT_VALUE)
			am_verdict_take_values(program, &v, r);
		else if (r->outcome == AM_OUT_PREDICTED)
			am_verdict_keep_values(p, segment, r);
		am_validation_clear(&v);
		free(witness);
	}
	am_answer_clear(&answer);
}

void am_by_solver_whole(struct am_predict *p)
{
	const struct am_engine_options options = engine_options(p);

	if (p->has_whole)
		return;
	p->has_whole = true;
	am_segment_whole(&p->whole, p->run, 0);
	p->no_whole = am_program_build(&p->program, &p->index, &p->whole, p->options.model, false);
	if (!p->no_whole)
		p->engine = am_engine_new(p->program.ctp, &options);
}

void am_by_solver(struct am_predict *p, struct am_segment *segment, struct am_region_result *r)
{
	const struct am_engine_options options = engine_options(p);
	struct am_program program;

	if (p->run->event.n <= p->options.max_segment) {
		am_by_solver_whole(p);
		p->whole.region = r->region;
		if (p->no_whole)
			am_verdict_undecided(r, p->no_whole);
		else
			ask(p, &p->whole, &p->program, p->engine, r);
		return;
	}
	if (p->options.max_segment && segment->events > AM_SEARCH_FACTOR * p->options.max_segment) {
		am_verdict_undecided(r, "it is larger than --max-segment");
		return;
	}
	const char *why = am_program_build(&program, &p->index, segment, p->options.model, true);
	if (why) {
		am_verdict_undecided(r, why);
		return;
	}
	/* What a thread does with its own data, as far as it comes out the same always, is no part of the program. */
	if (p->options.max_segment && program.ctp->event_count > p->options.max_segment) {
		am_program_free(&program);
		am_verdict_undecided(r, "it is larger than --max-segment");
		return;
	}
	struct am_engine *engine = am_engine_new(program.ctp, &options);
	ask(p, segment, &program, engine, r);
	am_engine_free(engine);
	am_program_free(&program);
}
