/*
 * Answers of the symbolic core: the program becomes a concurrent trace program, each question a query.
 * Every positive answer passes the validator before anybody sees it. A negative answer counts only if
 * no loop can go beyond its bound, which is asked as well.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/validate.h"
#include "ask.h"
#include "to_ctp.h"

#include <stdlib.h>
#include <string.h>

struct session {
	const struct am_lit *lit;
	const struct am_lit_options *options;
	struct am_lit_report *report;
	struct am_lit_ctp *lc;
	struct am_engine *engine;
	bool bound_asked, bound_hit, bound_undecided;
	uint32_t bound_line;
};

static void open_session(struct session *s, const struct am_lit *lit,
			 const struct am_lit_options *options, struct am_lit_report *report,
			 bool observe)
{
	const struct am_lit_ctp_options how = { .unroll = options->unroll,
						.observe = observe,
						.negate = lit->quantifier == AM_LIT_FORALL };
	struct am_engine_options engine = am_engine_defaults();

	*s = (struct session){ .lit = lit, .options = options, .report = report };
	s->lc = am_lit_to_ctp(lit, &how);
	if (s->lc->unsupported)
		return;
	engine.model = options->model;
	engine.encoding = options->encoding;
	if (options->budget)
		engine.budget.rounds = options->budget;
	s->engine = am_engine_new(s->lc->ctp, &engine);
}

static void close_session(struct session *s)
{
	am_engine_free(s->engine);
	am_lit_ctp_free(s->lc);
}

static void show(const struct session *s, const struct am_answer *answer,
		 const struct am_validation *v, struct am_lit_verdict *verdict)
{
	const struct am_lit *lit = s->lit;

	for (uint32_t i = 0; i < answer->length; i++) {
		const uint32_t id = answer->run[i];
		const struct am_ctp_event *e = &s->lc->ctp->events[id];
		const uint8_t origin = s->lc->events[id].origin;
		const bool is_failure = e->kind == AM_ASSERT && v->failed[id];
		if (e->thread >= lit->n_threads || e->kind == AM_BEGIN || e->kind == AM_END ||
		    e->kind == AM_FENCE || e->kind == AM_BRANCH ||
		    (e->kind == AM_ASSERT && !is_failure) || origin == AM_LIT_O_CONTROL)
			continue;
		struct am_lit_line *line = am_lit_verdict_line(verdict);
		line->thread = e->thread;
		line->line = s->lc->events[id].pos.line;
		for (uint32_t k = 0; k < answer->mark_count; k++)
			line->is_mark |= answer->marks[k] == id;
		am_lit_ctp_event_text(lit, s->lc, id, v, line->text, sizeof(line->text));
	}
}

/* The places the file names, at the end: memory from the run, locals through their final nodes. */
static void show_final(const struct session *s, const struct am_validation *v,
		       struct am_lit_verdict *verdict)
{
	const struct am_lit *lit = s->lit;
	uint64_t *cells = calloc(lit->n_cells + 1, sizeof(*cells));
	uint64_t **locals = calloc(lit->n_threads, sizeof(*locals));

	if (!cells || !locals)
		abort();
	for (uint32_t t = 0; t < lit->n_threads; t++) {
		locals[t] = calloc(lit->threads[t].n_locals + 1, sizeof(**locals));
		if (!locals[t])
			abort();
		for (uint32_t i = 0; i < lit->threads[t].n_locals; i++)
			locals[t][i] = am_ctp_eval(s->lc->ctp, s->lc->finals[t][i], v->reads);
	}
	for (uint32_t c = 0; c < lit->n_cells; c++)
		cells[c] = lit->cells[c].init;
	for (uint32_t id = 0; id < s->lc->ctp->event_count; id++)
		if (s->lc->events[id].origin == AM_LIT_O_OBSERVER &&
		    s->lc->ctp->events[id].kind == AM_READ)
			cells[s->lc->events[id].cell] = v->reads[id];
	am_lit_final_text(lit, cells, (const uint64_t *const *)locals, verdict->final,
			  sizeof(verdict->final));
	for (uint32_t t = 0; t < lit->n_threads; t++)
		free(locals[t]);
	free(locals);
	free(cells);
}

/* One query. A positive answer that does not validate is our own error. */
static enum am_lit_answer ask(struct session *s, const struct am_query *query,
			      struct am_lit_verdict *verdict, bool is_final)
{
	struct am_answer answer;
	enum am_lit_answer result = AM_LIT_CANNOT;

	if (s->options->smt2)
		am_engine_dump_smt2(s->engine, query, s->options->smt2);
	am_engine_ask(s->engine, query, &answer);
	if (verdict)
		verdict->work += answer.rounds;
	if (answer.verdict == AM_UNDECIDED) {
		result = AM_LIT_UNDECIDED;
		if (verdict)
			snprintf(verdict->reason, sizeof(verdict->reason), "%s",
				 answer.reason ? answer.reason : "the solver gave up");
	} else if (answer.verdict == AM_FEASIBLE) {
		struct am_validation v;
		result = AM_LIT_CAN;
		if (!am_validate(s->lc->ctp, s->options->model, query, &answer, &v)) {
			s->report->internal_error = v.wrong;
			result = AM_LIT_UNDECIDED;
			if (verdict)
				snprintf(verdict->reason, sizeof(verdict->reason),
					 "internal error: the witness is none (%s)", v.wrong);
		} else if (verdict && !verdict->n_lines) {
			verdict->reason[0] = 0;
			show(s, &answer, &v, verdict);
			if (is_final)
				show_final(s, &v, verdict);
		}
		am_validation_clear(&v);
	}
	am_answer_clear(&answer);
	return result;
}

/* Can a loop go beyond its bound? Asked once; makes an absence undecided. */
static enum am_lit_answer absent(struct session *s, struct am_lit_verdict *verdict)
{
	if (!s->lc->has_bound)
		return AM_LIT_CANNOT;
	for (uint32_t id = 0; !s->bound_asked && id < s->lc->ctp->event_count; id++) {
		if (s->lc->events[id].origin != AM_LIT_O_BOUND)
			continue;
		const struct am_query query = { .property = AM_PROP_ASSERT, .a = id };
		const enum am_lit_answer answer = ask(s, &query, NULL, false);
		s->bound_hit |= answer == AM_LIT_CAN;
		s->bound_undecided |= answer == AM_LIT_UNDECIDED;
		if (answer != AM_LIT_CANNOT && !s->bound_line)
			s->bound_line = s->lc->events[id].pos.line;
	}
	s->bound_asked = true;
	if (!s->bound_hit && !s->bound_undecided)
		return AM_LIT_CANNOT;
	snprintf(verdict->reason, sizeof(verdict->reason),
		 "the loop at line %u %s into the bound (--unroll %u)", s->bound_line,
		 s->bound_hit ? "can run" : "may run", s->options->unroll);
	return AM_LIT_UNDECIDED;
}

static void unsupported(struct session *s, enum am_lit_property property)
{
	struct am_lit_verdict *v = am_lit_report_add(s->report, property, AM_LIT_UNDECIDED);

	snprintf(v->reason, sizeof(v->reason), "not supported by the solver: %s (line %u)",
		 s->lc->unsupported, s->lc->unsupported_pos.line);
}

static void settle(struct session *s, struct am_lit_verdict *verdict, enum am_lit_answer answer)
{
	verdict->answer = answer == AM_LIT_CANNOT ? absent(s, verdict) : answer;
}

static void outcome(struct session *s)
{
	const struct am_query query = { .property = AM_PROP_REACH, .a = s->lc->observer };
	struct am_lit_verdict *v = am_lit_report_add(s->report, AM_LIT_PROP_OUTCOME, AM_LIT_CANNOT);

	settle(s, v, ask(s, &query, v, true));
}

static enum am_lit_answer worst(enum am_lit_answer a, enum am_lit_answer b)
{
	return a == AM_LIT_CAN || b == AM_LIT_CAN		? AM_LIT_CAN :
	       a == AM_LIT_UNDECIDED || b == AM_LIT_UNDECIDED ? AM_LIT_UNDECIDED :
								AM_LIT_CANNOT;
}

static void assertions(struct session *s)
{
	struct am_lit_verdict *v = am_lit_report_add(s->report, AM_LIT_PROP_ASSERT, AM_LIT_CANNOT);
	enum am_lit_answer all = AM_LIT_CANNOT;

	for (uint32_t id = 0; id < s->lc->ctp->event_count && all != AM_LIT_CAN; id++) {
		const uint8_t origin = s->lc->events[id].origin;
		if (origin != AM_LIT_O_ASSERT && origin != AM_LIT_O_FAULT)
			continue;
		const struct am_query query = { .property = AM_PROP_ASSERT, .a = id };
		all = worst(all, ask(s, &query, v, false));
		if (all == AM_LIT_CAN)
			snprintf(v->reason, sizeof(v->reason), "%s in P%u, line %u",
				 origin == AM_LIT_O_FAULT ? "an address that is none of a variable" :
							    "the assertion",
				 s->lit->threads[s->lc->ctp->events[id].thread].number,
				 s->lc->events[id].pos.line);
	}
	settle(s, v, all);
}

static void race(struct session *s)
{
	const struct am_query query = { .property = AM_PROP_RACE, .a = AM_CTP_NONE,
					.b = AM_CTP_NONE };
	struct am_lit_verdict *v = am_lit_report_add(s->report, AM_LIT_PROP_RACE, AM_LIT_CANNOT);

	settle(s, v, ask(s, &query, v, false));
}

struct triplets {
	struct session *s;
	struct am_lit_verdict *verdict;
	enum am_lit_answer all;
};

static void triplet(void *arg, const struct am_query *query)
{
	struct triplets *t = arg;

	if (t->all != AM_LIT_CAN)
		t->all = worst(t->all, ask(t->s, query, t->verdict, false));
}

static void blocks(struct session *s, enum am_lit_property property)
{
	static const enum am_property asked[] = { [AM_LIT_PROP_SERIAL] = AM_PROP_SERIAL,
						  [AM_LIT_PROP_STRONG] = AM_PROP_STRONG,
						  [AM_LIT_PROP_WINDOW] = AM_PROP_WINDOW };

	if (!s->lit->n_blocks)
		am_lit_report_add(s->report, property, AM_LIT_CANNOT);
	for (uint32_t block = 0; block < s->lit->n_blocks; block++) {
		struct am_lit_verdict *v = am_lit_report_add(s->report, property, AM_LIT_CANNOT);
		struct triplets t = { s, v, AM_LIT_CANNOT };
		v->block = block;
		for (uint32_t r = 0; r < s->lc->ctp->region_count && t.all != AM_LIT_CAN; r++) {
			if (s->lc->blocks[r] != block)
				continue;
			if (property == AM_LIT_PROP_THREE) {
				am_engine_triplets(s->engine, r, triplet, &t, NULL);
			} else {
				const struct am_query query = { .property = asked[property],
								.region = r };
				t.all = worst(t.all, ask(s, &query, v, false));
			}
		}
		settle(s, v, t.all);
	}
}

void am_lit_ask_solver(const struct am_lit *lit, const struct am_lit_options *options,
		       struct am_lit_report *report)
{
	const uint32_t wanted = options->properties;
	struct session s;

	if ((wanted & 1u << AM_LIT_PROP_OUTCOME) && lit->condition) {
		open_session(&s, lit, options, report, true);
		if (s.lc->unsupported)
			unsupported(&s, AM_LIT_PROP_OUTCOME);
		else
			outcome(&s);
		close_session(&s);
	}
	if (!(wanted & ~(1u << AM_LIT_PROP_OUTCOME)))
		return;
	open_session(&s, lit, options, report, false);
	for (unsigned p = AM_LIT_PROP_OUTCOME + 1; p < AM_LIT_PROP_COUNT; p++) {
		if (!(wanted & 1u << p))
			continue;
		if (!s.lc->unsupported && s.lc->lock_data && p != AM_LIT_PROP_ASSERT) {
			struct am_lit_verdict *v = am_lit_report_add(
				report, (enum am_lit_property)p, AM_LIT_UNDECIDED);
			snprintf(v->reason, sizeof(v->reason),
				 "the program asks whether a lock is taken; try --engine enumerate");
		} else if (s.lc->unsupported) {
			unsupported(&s, (enum am_lit_property)p);
		} else if (p == AM_LIT_PROP_ASSERT) {
			assertions(&s);
		} else if (p == AM_LIT_PROP_RACE) {
			race(&s);
		} else {
			blocks(&s, (enum am_lit_property)p);
		}
	}
	close_session(&s);
}
