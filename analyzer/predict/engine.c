/*
 * The engine's front: options, statistics, candidates, and queries that stand for several. Tool side;
 * never prints.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/engine_priv.h"

#include <assert.h>

struct am_engine_options am_engine_defaults(void)
{
	return (struct am_engine_options){
		.model = AM_MODEL_SC,
		.encoding = AM_ENCODE_LAZY,
		.eager_writes = 32,
		.budget = { .rounds = 5000, .units = 2000000 },
	};
}

struct am_engine *am_engine_new(struct am_ctp *ctp, const struct am_engine_options *options)
{
	assert(ctp->finished);
	struct am_engine *e = am_zalloc(1, sizeof *e);
	e->ctp = ctp;
	e->options = *options;
	e->stats.events = ctp->event_count;
	am_must_init(&e->must, ctp, options->model);
	return e;
}

void am_engine_free(struct am_engine *engine)
{
	if (!engine)
		return;
	if (engine->lazy)
		am_lazy_free(engine->lazy);
	am_direct_free(engine->direct);
	am_must_clear(&engine->must);
	free(engine);
}

static void ask_one(struct am_engine *engine, const struct am_query *query,
		    struct am_answer *answer)
{
	if (engine->options.encoding == AM_ENCODE_DIRECT) {
		am_direct_ask(engine, query, answer);
		return;
	}
	if (!engine->lazy)
		engine->lazy = am_lazy_new(engine->ctp, &engine->options, &engine->stats);
	am_lazy_ask(engine->lazy, query, answer);
}

/* Do two accesses race at all, leaving order aside? */
bool am_engine_may_race(struct am_engine *engine, uint32_t a, uint32_t b)
{
	const struct am_ctp_event *x = &engine->ctp->events[a], *y = &engine->ctp->events[b];
	uint64_t same = 1;
	if (!am_ctp_is_access(x) || !am_ctp_is_access(y) || x->thread == y->thread ||
	    x->loc != y->loc || (!am_ctp_is_store(x) && !am_ctp_is_store(y)))
		return false;
	if ((x->order || x->kind == AM_UPDATE) && (y->order || y->kind == AM_UPDATE))
		return false;
	if (am_must_before(&engine->must, a, b) || am_must_before(&engine->must, b, a))
		return false;
	am_ctp_is_const(engine->ctp, am_ctp_overlap(engine->ctp, a, b), &same);
	return same;
}

/* Asks each candidate until one is feasible; undecided if one was and none was feasible. */
static void ask_any(struct am_engine *engine, const struct am_query *query,
		    struct am_answer *answer)
{
	const struct am_ctp *ctp = engine->ctp;
	const char *undecided = NULL;
	const bool race = query->property == AM_PROP_RACE;
	for (uint32_t a = 0; a < ctp->event_count; a++) {
		if (!race && ctp->events[a].kind != AM_ASSERT)
			continue;
		for (uint32_t b = a + 1; b < (race ? ctp->event_count : a + 2); b++) {
			struct am_query q = *query;
			if (race && !am_engine_may_race(engine, a, b))
				continue;
			q.a = a;
			q.b = race ? b : AM_CTP_NONE;
			const uint64_t rounds = answer->rounds;
			ask_one(engine, &q, answer);
			answer->rounds += rounds;
			if (answer->verdict == AM_FEASIBLE)
				return;
			if (answer->verdict == AM_UNDECIDED)
				undecided = answer->reason;
		}
	}
	answer->verdict = undecided ? AM_UNDECIDED : AM_INFEASIBLE;
	answer->reason = undecided;
}

void am_engine_ask(struct am_engine *engine, const struct am_query *query,
		   struct am_answer *answer)
{
	*answer = (struct am_answer){ .verdict = AM_INFEASIBLE };
	engine->stats.queries++;
	if ((query->property == AM_PROP_RACE || query->property == AM_PROP_ASSERT) &&
	    query->a == AM_CTP_NONE)
		ask_any(engine, query, answer);
	else if (query->property != AM_PROP_RACE || am_engine_may_race(engine, query->a, query->b))
		ask_one(engine, query, answer);
	engine->stats.feasible += answer->verdict == AM_FEASIBLE;
	engine->stats.infeasible += answer->verdict == AM_INFEASIBLE;
	engine->stats.undecided += answer->verdict == AM_UNDECIDED;
}

void am_answer_clear(struct am_answer *answer)
{
	free(answer->run);
	free(answer->marks);
	*answer = (struct am_answer){ 0 };
}

const struct am_engine_stats *am_engine_stats(const struct am_engine *engine)
{
	struct am_engine *e = (struct am_engine *)engine;
	if (e->lazy) {
		struct am_smt_stats s;
		am_smt_get_stats(e->lazy->smt, &s);
		e->stats.conflicts = s.conflicts;
		e->stats.decisions = s.decisions;
		e->stats.propagations = s.propagations;
	}
	return &e->stats;
}

bool am_engine_must_before(const struct am_engine *engine, uint32_t a, uint32_t b)
{
	return am_must_before(&engine->must, a, b);
}

/* ---- candidates ------------------------------------------------------------------------------ */

/* R-R-R, R-R-W and W-R-R are serializable, the other five are not (section 3). */
static bool is_pattern(const struct am_ctp_event *a, const struct am_ctp_event *b,
		       const struct am_ctp_event *c)
{
	if (am_ctp_is_store(b))
		return true;
	return am_ctp_is_store(a) && am_ctp_is_store(c);
}

static bool may_overlap(struct am_ctp *ctp, uint32_t a, uint32_t b)
{
	uint64_t same = 1;
	if (ctp->events[a].loc != ctp->events[b].loc)
		return false;
	am_ctp_is_const(ctp, am_ctp_overlap(ctp, a, b), &same);
	return same;
}

void am_engine_triplets(struct am_engine *engine, uint32_t region,
			void (*each)(void *arg, const struct am_query *query), void *arg,
			uint64_t *all)
{
	struct am_ctp *ctp = engine->ctp;
	const struct am_ctp_region *r = &ctp->regions[region];
	if (r->begin == AM_CTP_NONE)
		return;
	const struct am_ctp_thread *t = &ctp->threads[r->thread];
	const uint32_t first = ctp->events[r->begin].pos;
	const uint32_t last = r->end == AM_CTP_NONE ? t->length : ctp->events[r->end].pos;
	for (uint32_t i = first; i < last; i++) {
		const uint32_t a = t->events[i];
		if (!am_ctp_is_access(&ctp->events[a]))
			continue;
		for (uint32_t j = i + 1; j < last; j++) {
			const uint32_t c = t->events[j];
			if (!am_ctp_is_access(&ctp->events[c]) || !may_overlap(ctp, a, c))
				continue;
			for (uint32_t b = 0; b < ctp->event_count; b++) {
				const struct am_ctp_event *v = &ctp->events[b];
				if (v->thread == r->thread || !am_ctp_is_access(v) ||
				    !is_pattern(&ctp->events[a], v, &ctp->events[c]) ||
				    !may_overlap(ctp, a, b) || !may_overlap(ctp, b, c))
					continue;
				if (all)
					++*all;
				if (am_must_before(&engine->must, b, a) ||
				    am_must_before(&engine->must, c, b))
					continue;
				const struct am_query q = { .property = AM_PROP_THREE,
							    .a = a, .b = b, .c = c,
							    .region = region };
				each(arg, &q);
			}
		}
	}
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *const models[] = { "sc", "tso", "pso", "coherence" };
static const char *const properties[] = { "reach",  "assert", "three", "serial",
					  "strong", "window", "race" };

const char *am_model_name(enum am_model model)
{
	return models[model];
}

bool am_model_from_name(const char *text, enum am_model *model)
{
	for (int i = 0; i < 4; i++)
		if (!strcmp(text, models[i])) {
			*model = (enum am_model)i;
			return true;
		}
	return false;
}

const char *am_property_name(enum am_property property)
{
	return properties[property];
}
