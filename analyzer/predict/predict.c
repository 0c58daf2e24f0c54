/* Decides regions, one at a time: the driver of the stages. Runs in tools. */
/* SPDX-License-Identifier: MIT */
#include "predict.h"
#include "attempt.h"
#include "validate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct am_predict {
	const struct am_run *run;
	struct am_predict_options options;
	struct am_index index;
	struct am_order sync, coupled;
	struct am_locksets locks;
	struct am_prover *prover;
	struct am_machine machine;
	/* one program for the whole run, if it is small: what one region teaches helps the next */
	struct am_segment whole;
	struct am_program program;
	struct am_engine *engine;
	bool has_whole;
	const char *no_whole; /* why not */
};

const char *am_outcome_name(enum am_outcome outcome)
{
	static const char *const names[] = {"proved",	"predicted", "same",
					    "observed", "undecided", "skipped", "elsewhere"};
	return names[outcome];
}

const char *am_how_name(enum am_how how)
{
	static const char *const names[] = {"",	     "too few shared accesses", "must-happen-before", "locks",
					    "static check", "search",		   "solver"};
	return names[how];
}

static struct am_engine_options engine_options(const struct am_predict *p)
{
	struct am_engine_options o = am_engine_defaults();

	if (p->options.rounds)
		o.budget.rounds = p->options.rounds;
	return o;
}

struct am_predict *am_predict_new(const struct am_run *run, const struct am_predict_options *options)
{
	struct am_predict *p = am_xalloc(1, sizeof *p);

	p->run = run;
	p->options = *options;
	am_index_build(&p->index, run);
	am_order_build(&p->sync, run, AM_ORDER_SYNC);
	am_order_build(&p->coupled, run, AM_ORDER_COUPLED);
	am_locksets_build(&p->locks, &p->index);
	p->prover = am_prover_new(&p->locks);
	am_machine_new(&p->machine, &p->index);
	return p;
}

void am_predict_free(struct am_predict *p)
{
	if (p->engine)
		am_engine_free(p->engine);
	if (p->has_whole) {
		am_program_free(&p->program);
		am_segment_free(&p->whole);
	}
	am_machine_free(&p->machine);
	am_prover_free(p->prover);
	am_locksets_free(&p->locks);
	am_order_free(&p->coupled);
	am_order_free(&p->sync);
	am_index_free(&p->index);
	free(p);
}

void am_region_result_free(struct am_region_result *r)
{
	free(r->witness);
	free(r->value);
	free(r->is_known);
	free(r->from);
	r->witness = r->from = NULL;
	r->value = NULL;
	r->is_known = NULL;
}

/* ---- results --------------------------------------------------------------------------------------- */

static void proved(struct am_region_result *r, enum am_how how)
{
	r->outcome = AM_OUT_PROVED;
	r->how = (uint8_t)how;
}

static void undecided(struct am_region_result *r, const char *reason)
{
	r->outcome = AM_OUT_UNDECIDED;
	r->reason = reason;
}

/* The searches and the solver take updates that commute for conflicts: what they find must not rest on these. */
static bool breaks(const struct am_predict *p, uint32_t region, const uint32_t *witness, uint32_t n)
{
	struct am_cycle cycle;

	return am_vpath_find(p->run, region, witness, n, &cycle);
}
static const char only_commutes[] = "the schedule that was found rests on updates that commute";

static void predicted(struct am_region_result *r, const struct am_segment *segment,
		      enum am_predict_model model, enum am_how how, const uint32_t *witness, uint32_t n)
{
	r->outcome = AM_OUT_PREDICTED;
	r->how = (uint8_t)how;
	r->model = model;
	r->witness = am_xalloc(n, sizeof *r->witness);
	memcpy(r->witness, witness, n * sizeof *witness);
	r->witness_n = n;
	r->value = am_xalloc(n, sizeof *r->value);
	r->is_known = am_xalloc(n, sizeof *r->is_known);
	r->from = am_xalloc(segment->n_threads, sizeof *r->from);
	memcpy(r->from, segment->from, segment->n_threads * sizeof *r->from);
}

/* With data respected, a step has its recorded value unless it is a read that broke its couple. */
static void keep_values(struct am_predict *p, const struct am_segment *segment, struct am_region_result *r)
{
	if (r->model == AM_PREDICT_SYNC)
		return;
	am_machine_load(&p->machine, segment, false);
	for (uint32_t i = 0; i < r->witness_n; i++) {
		const struct am_event *raw = am_run_raw(p->run, r->witness[i]);
		am_machine_step(&p->machine, r->witness[i]);
		r->value[i] = raw->value;
		r->is_known[i] = (raw->flags & AM_HAS_VALUE) &&
				 !p->machine.cut[p->run->event.at[r->witness[i]].thread];
	}
	am_machine_unload(&p->machine);
}

/* What the validator saw each step read or write. */
static void take_values(const struct am_program *program, const struct am_validation *v,
			struct am_region_result *r)
{
	for (uint32_t i = 0; i < r->witness_n; i++) {
		const uint32_t x = program->event[r->witness[i] - program->low];
		if (x == AM_NONE || v->state[x] != 1)
			continue;
		const uint8_t kind = program->ctp->events[x].kind;
		r->is_known[i] = kind == AM_READ || kind == AM_WRITE || kind == AM_UPDATE;
		r->value[i] = kind == AM_WRITE ? v->wrote[x] : v->reads[x];
	}
}

/* ---- explicit search ------------------------------------------------------------------------------- */

/* sync and avp by search on the step machine. True when the region is decided. */
static bool search(struct am_predict *p, const struct am_segment *segment, uint64_t steps,
		   enum am_predict_model model, struct am_region_result *r)
{
	struct am_search s = {.max_steps = steps, .context_bound = p->options.context_bound};
	bool is_decided = true;

	am_machine_load(&p->machine, segment, model == AM_PREDICT_SYNC);
	if (p->options.engine == AM_ENGINE_PLAIN) {
		am_search_plain(&s, &p->machine);
	} else {
		if (p->options.engine == AM_ENGINE_AUTO)
			am_search_intrude(&s, &p->machine);
		if (s.verdict != AM_SEARCH_FOUND) {
			r->steps += s.steps;
			s.steps = 0;
			am_search_dpor(&s, &p->machine);
		}
	}
	am_machine_unload(&p->machine);
	r->steps += s.steps;
	r->interleavings += s.interleavings;
	const bool is_found = s.verdict == AM_SEARCH_FOUND;
	if (is_found && breaks(p, segment->region, s.witness.at, s.witness.n)) {
		predicted(r, segment, model, AM_HOW_SEARCH, s.witness.at, s.witness.n);
		keep_values(p, segment, r);
	} else if (s.verdict == AM_SEARCH_NONE && segment->is_exact && !s.was_bounded &&
		 model == p->options.model)
		proved(r, AM_HOW_SEARCH);
	else
		is_decided = false;
	if (!is_decided)
		undecided(r, is_found ? only_commutes
			     : s.verdict == AM_SEARCH_BUDGET ? "the search ran out of its budget"
			     : s.was_bounded ? "no schedule within the context bound"
					     : "its segment is larger than the window");
	am_search_free(&s);
	return is_decided;
}

/* ---- solver ------------------------------------------------------------------------------------------ */

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
		undecided(r, "the window begins inside the region");
		return;
	}
	if (nothing_intrudes(engine, q.region, r)) {
		if (segment->is_exact)
			proved(r, AM_HOW_SOLVER);
		else
			undecided(r, "its segment is larger than the window");
		return;
	}
	dump(p, engine, &q, segment->region);
	am_engine_ask(engine, &q, &answer);
	r->rounds += answer.rounds;
	if (answer.verdict == AM_UNDECIDED) {
		undecided(r, answer.reason ? answer.reason : "the solver ran out of its budget");
	} else if (answer.verdict == AM_INFEASIBLE) {
		if (segment->is_exact)
			proved(r, AM_HOW_SOLVER);
		else
			undecided(r, "its segment is larger than the window");
	} else {
		uint32_t n, *witness = witness_of(program, &answer, &n);
		const uint32_t attempt = am_attempt_of(program->ctp, q.region);
		if (!am_validate(program->ctp, AM_MODEL_SC, &q, &answer, &v) ||
		    !runs(p, segment, p->options.model, witness, n))
			undecided(r, "internal: a witness failed its validation");
		else if (!breaks(p, segment->region, witness, n))
			undecided(r, only_commutes);
		else if (attempt != AM_CTP_NONE && !am_attempt_succeeds(program->ctp, &answer, attempt))
			undecided(r, "its exchange fails in the schedule that was found, and is tried again");
		else
			predicted(r, segment, p->options.model, AM_HOW_SOLVER, witness, n);
		if (r->outcome == AM_OUT_PREDICTED && p->options.model >= AM_PREDICT_VALUE)
			take_values(program, &v, r);
		else if (r->outcome == AM_OUT_PREDICTED)
			keep_values(p, segment, r);
		am_validation_clear(&v);
		free(witness);
	}
	am_answer_clear(&answer);
}

/* The search can do with segments that are too large for the solver. */
enum { SEARCH_FACTOR = 16 };

static void make_whole(struct am_predict *p)
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

static void solve(struct am_predict *p, struct am_segment *segment, struct am_region_result *r)
{
	const struct am_engine_options options = engine_options(p);
	struct am_program program;

	if (p->run->event.n <= p->options.max_segment) {
		make_whole(p);
		p->whole.region = r->region;
		if (p->no_whole)
			undecided(r, p->no_whole);
		else
			ask(p, &p->whole, &p->program, p->engine, r);
		return;
	}
	if (p->options.max_segment && segment->events > SEARCH_FACTOR * p->options.max_segment) {
		undecided(r, "it is larger than --max-segment");
		return;
	}
	const char *why = am_program_build(&program, &p->index, segment, p->options.model, true);
	if (why) {
		undecided(r, why);
		return;
	}
	/* What a thread does with its own data, as far as it comes out the same always, is no part of the program. */
	if (p->options.max_segment && program.ctp->event_count > p->options.max_segment) {
		am_program_free(&program);
		undecided(r, "it is larger than --max-segment");
		return;
	}
	struct am_engine *engine = am_engine_new(program.ctp, &options);
	ask(p, segment, &program, engine, r);
	am_engine_free(engine);
	am_program_free(&program);
}

/* ---- driver ------------------------------------------------------------------------------------------ */

static enum am_how how_proved(enum am_proof proof)
{
	return proof == AM_PROOF_EMPTY ? AM_HOW_EMPTY : proof == AM_PROOF_ORDER ? AM_HOW_ORDER
										 : AM_HOW_LOCKS;
}

/* Steps of the quick look before the solver is asked: some, and some per event. */
enum { QUICK = 2000, QUICK_PER_EVENT = 16 };

/* May the region have an exchange that can fail? Then the solver is asked, which knows values. */
static bool has_attempt(const struct am_predict *p, uint32_t region)
{
	const struct am_run_region *a = &p->run->region.at[region];
	bool is_update = false;

	for (uint32_t eid = a->first; eid <= a->last && p->options.model == AM_PREDICT_CTP; eid++) {
		const struct am_event *raw = am_run_raw(p->run, am_run_at(p->run, a->thread, eid));
		if (raw->kind == AM_BRANCH && is_update)
			return true;
		if (raw->kind != AM_EXPR)
			is_update = raw->kind == AM_UPDATE;
	}
	return false;
}

static void search_or_solve(struct am_predict *p, struct am_segment *segment, struct am_region_result *r)
{
	const enum am_predict_model model = p->options.model;
	const bool is_explicit = model == AM_PREDICT_SYNC || model == AM_PREDICT_AVP;

	if (p->options.engine == AM_ENGINE_DPOR || p->options.engine == AM_ENGINE_PLAIN) {
		search(p, segment, p->options.steps, is_explicit ? model : AM_PREDICT_AVP, r);
		return;
	}
	/* what avp finds is feasible in every stronger model; where the search can prove as well, it has
	 * half of the work to itself */
	uint64_t steps = QUICK + QUICK_PER_EVENT * (uint64_t)segment->events;
	if (is_explicit && steps < p->options.steps / 2)
		steps = p->options.steps / 2;
	if (p->options.engine == AM_ENGINE_AUTO && !p->run->at_lock_level && !has_attempt(p, r->region) &&
	    search(p, segment, steps, is_explicit ? model : AM_PREDICT_AVP, r))
		return;
	solve(p, segment, r);
	if (r->outcome == AM_OUT_UNDECIDED && p->options.engine == AM_ENGINE_AUTO && is_explicit)
		search(p, segment, p->options.steps, model, r);
}

/* Proofs that hold in every model, and those that rest on read couples. */
static bool prove(struct am_predict *p, uint32_t region, struct am_region_result *r)
{
	const enum am_proof proof = am_prover_ask(p->prover, &p->sync, region);

	if (proof != AM_PROOF_NONE)
		proved(r, how_proved(proof));
	else if (p->options.model == AM_PREDICT_AVP &&
		 am_prover_ask(p->prover, &p->coupled, region) != AM_PROOF_NONE)
		proved(r, AM_HOW_STATIC);
	else
		return false;
	return true;
}

static void decide(struct am_predict *p, uint32_t region, struct am_region_result *r)
{
	const struct am_order *order = p->options.model == AM_PREDICT_AVP ? &p->coupled : &p->sync;
	struct am_segment segment;

	if (!p->options.no_static && prove(p, region, r))
		return;
	if (p->options.no_segments)
		am_segment_whole(&segment, p->run, region);
	else
		am_segment_find_within(&segment, &p->index, order, region,
				       SEARCH_FACTOR * p->options.max_segment, p->options.max_segment);
	r->segment_events = segment.events;
	if (segment.is_empty)
		proved(r, AM_HOW_EMPTY);
	else if (!p->options.no_static && segment.is_exact &&
		 !am_segment_may_break(&segment, &p->index, order))
		proved(r, AM_HOW_STATIC);
	else
		search_or_solve(p, &segment, r);
	am_segment_free(&segment);
}

/* A window does not tell what others do beyond it. */
void am_predict_region(struct am_predict *p, uint32_t region, struct am_region_result *r)
{
	const bool is_cut = p->run->is_cut;

	*r = (struct am_region_result){.region = region};
	if (is_cut && p->run->region.at[region].is_open) {
		undecided(r, "it goes on beyond the window");
		return;
	}
	if (is_cut && !p->options.no_static && p->options.outline &&
	    am_prover_is_guarded(p->prover, p->options.outline, region)) {
		proved(r, AM_HOW_LOCKS);
		return;
	}
	decide(p, region, r);
	if (is_cut && r->outcome == AM_OUT_PROVED)
		undecided(r, "nothing breaks it within its window of the run (--window)");
}

/* ---- three-access candidates ---------------------------------------------------------------------- */

struct triplets {
	struct am_predict *p;
	struct am_predict_counts *counts;
	uint64_t left; /* work */
	bool asks;
};

/* Of the eight patterns five cannot be serialised (Wang et al. §3): R-W-R, W-W-R, W-R-W, R-W-W, W-W-W. */
static bool is_unserializable(const struct am_run_event *c, const struct am_run_event *r,
			      const struct am_run_event *d)
{
	return (r->writes && (c->reads || c->writes) && (d->reads || d->writes)) ||
	       (r->reads && c->writes && d->writes);
}

static void ask_three(struct triplets *t, uint32_t c, uint32_t x, uint32_t d)
{
	struct am_predict *p = t->p;
	const uint32_t low = p->program.low;
	const struct am_query q = {.property = AM_PROP_THREE,
				   .a = p->program.event[c - low],
				   .b = p->program.event[x - low],
				   .c = p->program.event[d - low],
				   .plain = p->options.model != AM_PREDICT_CTP};
	struct am_answer answer = {0};
	struct am_validation v = {0};

	if (q.a == AM_NONE || q.b == AM_NONE || q.c == AM_NONE) {
		t->counts->undecided++;
		return;
	}
	am_engine_ask(p->engine, &q, &answer);
	if (answer.verdict == AM_INFEASIBLE)
		t->counts->infeasible++;
	else if (answer.verdict == AM_FEASIBLE && am_validate(p->program.ctp, AM_MODEL_SC, &q, &answer, &v))
		t->counts->feasible++;
	else
		t->counts->undecided++;
	am_validation_clear(&v);
	am_answer_clear(&answer);
}

static void count_remote(struct triplets *t, uint32_t c, uint32_t d, uint32_t cell)
{
	struct am_predict *p = t->p;
	const struct am_run *run = p->run;
	const struct am_run_event *first = &run->event.at[c], *second = &run->event.at[d];

	for (uint32_t i = p->index.start[cell]; i < p->index.start[cell + 1] && t->left; i++) {
		const struct am_index_entry *e = &p->index.entry[i];
		const uint32_t x = am_run_at(run, e->thread, e->eid);
		if (e->thread == first->thread || !is_unserializable(first, &run->event.at[x], second))
			continue;
		t->left--;
		t->counts->candidates++;
		if (am_order_before(&p->sync, x, c) || am_order_before(&p->sync, d, x))
			continue;
		t->counts->after_order++;
		const bool may_meet = am_locksets_may_meet(&p->locks, c, d, x);
		t->counts->after_locks += may_meet;
		if (t->asks && may_meet)
			ask_three(t, c, x, d);
		else if (t->asks)
			t->counts->infeasible++;
	}
}

static void count_region(struct triplets *t, const struct am_run_region *a)
{
	const struct am_run *run = t->p->run;

	for (uint32_t x = a->first; x <= a->last; x++) {
		const uint32_t c = am_run_at(run, a->thread, x);
		const struct am_run_event *rc = &run->event.at[c];
		for (uint32_t y = x + 1; (rc->reads || rc->writes) && y <= a->last; y++) {
			const uint32_t d = am_run_at(run, a->thread, y);
			const struct am_run_event *rd = &run->event.at[d];
			if ((rd->reads || rd->writes) && rd->cell == rc->cell)
				count_remote(t, c, d, rc->cell);
		}
	}
}

void am_predict_triplets(struct am_predict *p, uint64_t limit, bool asks, struct am_predict_counts *counts)
{
	const struct am_run *run = p->run;
	struct triplets t = {.p = p, .counts = counts, .left = limit, .asks = asks};

	*counts = (struct am_predict_counts){.events = run->event.n, .threads = run->n_threads,
					     .cells = run->n_cells, .regions = run->region.n};
	if (asks) {
		make_whole(p);
		t.asks = p->engine != NULL;
		counts->program_events = t.asks ? p->program.ctp->event_count : 0;
	}
	for (uint32_t c = 0; c < run->n_cells; c++)
		counts->shared_cells += run->cell_shared[c];
	for (uint32_t i = 0; i < run->region.n && t.left; i++)
		count_region(&t, &run->region.at[i]);
}
