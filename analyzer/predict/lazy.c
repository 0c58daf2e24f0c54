/*
 * The lazy engine's loop: solve, linearise, execute, refine. Tool side; never prints.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/lazy.h"

#include <assert.h>
#include <time.h>

static void list_stores(struct am_lazy *z)
{
	for (uint32_t e = 0; e < z->ctp->event_count; e++) {
		const struct am_ctp_event *v = &z->ctp->events[e];
		if (!am_ctp_is_store(v))
			continue;
		struct am_list *l = &z->stores[v->loc];
		AM_PUSH(l->list, l->count, l->room) = e;
	}
}

struct am_lazy *am_lazy_new(struct am_ctp *ctp, const struct am_engine_options *options,
			    struct am_engine_stats *stats)
{
	struct am_lazy *z = am_zalloc(1, sizeof *z);
	const uint32_t n = ctp->event_count;
	z->ctp = ctp;
	z->options = *options;
	z->stats = stats;
	z->smt = am_smt_new("QF_BV", options->budget.ms);
	am_must_init_with_values(&z->must, ctp, options->model);
	am_exec_init(&z->exec, ctp, options->model);
	z->lock_count = ctp->object_count * 2; /* a derived lock per data object at most */
	z->x = am_zalloc(n, sizeof *z->x);
	z->inside = am_zalloc(n, sizeof *z->inside);
	z->by_lock = am_zalloc(z->lock_count, sizeof *z->by_lock);
	z->irregular = am_zalloc(z->lock_count, sizeof *z->irregular);
	z->active = am_zalloc(n, sizeof *z->active);
	z->is_active = am_zalloc(n, sizeof *z->is_active);
	z->checks = am_zalloc(n, sizeof *z->checks);
	z->stores = am_zalloc(ctp->loc_count, sizeof *z->stores);
	z->between = am_zalloc((size_t)ctp->thread_count * ctp->thread_count, sizeof *z->between);
	z->goal = 1; /* 0: no goal */
	z->sem_on = am_zalloc(ctp->object_count, sizeof *z->sem_on);
	z->cond_on = am_zalloc(ctp->object_count, sizeof *z->cond_on);
	z->order = am_zalloc(n, sizeof *z->order);
	z->mark = am_zalloc(n, sizeof *z->mark);
	z->bound = am_zalloc(n, sizeof *z->bound);
	list_stores(z);
	am_lazy_find_sections(z);
	am_lazy_skeleton(z);
	if (!options->no_derived_locks)
		am_lazy_derive_locks(z);
	return z;
}

void am_lazy_free(struct am_lazy *z)
{
	const uint32_t n = z->ctp->event_count;
	for (uint32_t e = 0; e < n; e++) {
		free(z->inside[e].list);
		free(z->active[e].sources);
		free(z->checks[e].list);
	}
	for (uint32_t i = 0; i < z->lock_count; i++)
		free(z->by_lock[i].list);
	for (uint32_t i = 0; i < z->ctp->loc_count; i++)
		free(z->stores[i].list);
	for (uint32_t i = 0; i < z->ctp->thread_count * z->ctp->thread_count; i++)
		free(z->between[i].list);
	am_smt_free(z->smt);
	am_must_clear(&z->must);
	am_exec_clear(&z->exec);
	free(z->x);
	free(z->node_lit);
	free(z->atom_lemmas);
	free(z->bv);
	free(z->tied);
	free(z->sections);
	free(z->inside);
	free(z->by_lock);
	free(z->irregular);
	free(z->pairs);
	free(z->pair_hash);
	free(z->active);
	free(z->is_active);
	free(z->checks);
	free(z->stores);
	free(z->between);
	free(z->sem_on);
	free(z->cond_on);
	free(z->truth);
	free(z->vars);
	free(z->order);
	free(z->clause.list);
	free(z->mark);
	free(z->node_mark);
	free(z->bound);
	free(z);
}

/* ---- one round ------------------------------------------------------------------------------- */

static bool claim_holds(struct am_lazy *z, uint32_t node)
{
	if (!node || am_lazy_truth(z, am_lazy_node(z, node)) ==
			     (bool)(am_exec_eval(&z->exec, node) & 1))
		return true;
	am_lazy_refute_claim(z, node);
	return false;
}

/* Buffered writes that a read may see: their claims are due now, not when they reach memory. */
static bool check_buffer(struct am_lazy *z, uint32_t e)
{
	const struct am_ctp_event *v = &z->ctp->events[e];
	const struct am_ctp_thread *t = &z->ctp->threads[v->thread];
	if (v->kind != AM_READ ||
	    (z->options.model != AM_MODEL_TSO && z->options.model != AM_MODEL_PSO))
		return true;
	for (uint32_t i = 0; i < v->pos; i++) {
		const uint32_t w = t->events[i];
		if (z->ctp->events[w].kind == AM_WRITE && z->ctp->events[w].loc == v->loc &&
		    !z->exec.state[w] && !claim_holds(z, z->ctp->events[w].guard))
			return false;
	}
	return true;
}

/* Claims about shared bytes between e and accesses executed before it (or in its own buffer). */
static bool check_places(struct am_lazy *z, uint32_t e)
{
	const struct am_list *c = &z->checks[e];
	for (uint32_t i = 0; i < c->count; i += 2) {
		const uint32_t o = c->list[i + 1];
		const struct am_ctp_event *v = &z->ctp->events[e], *u = &z->ctp->events[o];
		const bool buffered = u->thread == v->thread && u->pos < v->pos;
		if ((z->exec.state[o] == 1 || (buffered && z->exec.state[o] == 0)) &&
		    !claim_holds(z, c->list[i]))
			return false;
	}
	return true;
}

/* A join relies on the last assertion of the joined thread, and it failed. */
static bool refute_joined(struct am_lazy *z, const struct am_ctp_event *join)
{
	if (join->kind != AM_JOIN || !z->exec.stopped[join->object])
		return false;
	const struct am_ctp_thread *t = &z->ctp->threads[join->object];
	const uint32_t last = t->events[t->length - 1];
	if (!z->exec.failed[last])
		return false;
	am_lazy_refute_claim(z, z->ctp->events[last].cond);
	return true;
}

static bool execute_event(struct am_lazy *z, uint32_t e)
{
	const struct am_ctp_event *v = &z->ctp->events[e];
	if (!claim_holds(z, v->guard))
		return false;
	const bool skipped = v->guard && !am_exec_eval(&z->exec, v->guard);
	if (!skipped && z->bound[e] && !claim_holds(z, z->bound[e]))
		return false;
	if (!skipped && (!check_buffer(z, e) || !check_places(z, e)))
		return false;
	switch (am_exec_step(&z->exec, e)) {
	case AM_STEP_OK:
		break;
	case AM_STEP_SKIPPED:
		return true;
	case AM_STEP_COND:
		am_lazy_refute_claim(z, v->cond);
		return false;
	case AM_STEP_LOCK:
	case AM_STEP_SYNC:
		am_lazy_sync_lemma(z, e);
		return false;
	case AM_STEP_NOT_YET:
		if (!refute_joined(z, v))
			z->give_up = "internal: a step came before what it needs";
		return false;
	}
	/* an assertion on which the rest of the thread relies */
	const struct am_ctp_thread *t = &z->ctp->threads[v->thread];
	if (z->exec.failed[e] && v->pos + 1 < t->length &&
	    am_lazy_truth(z, z->x[t->events[v->pos + 1]])) {
		am_lazy_refute_claim(z, v->cond);
		return false;
	}
	return true;
}

static bool execute(struct am_lazy *z)
{
	am_exec_reset(&z->exec);
	for (uint32_t i = 0; i < z->order_count; i++)
		if (!execute_event(z, z->order[i]))
			return false;
	return true;
}

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void read_truths(struct am_lazy *z, const int32_t *vars, uint32_t count)
{
	int8_t *values = am_zalloc(count, 1);
	am_smt_truths(z->smt, vars, count, values);
	for (uint32_t i = 0; i < count; i++)
		z->truth[vars[i]] = values[i];
	free(values);
}

/* Orders that do not matter keep an old value; nobody looks at it. */
static void read_model(struct am_lazy *z, const struct am_goal *goal)
{
	struct am_lits vars = { 0 };
	for (uint32_t i = 0; i < z->var_count; i++)
		am_lits_add(&vars, z->vars[i]);
	for (uint32_t i = 0; i < z->pair_count; i++)
		if (am_lazy_pair_matters(z, &z->pairs[i]))
			am_lits_add(&vars, z->pairs[i].lit);
	for (uint32_t i = 0; i < goal->uses.count; i++)
		am_lits_add(&vars, goal->uses.list[i]);
	read_truths(z, vars.list, vars.count);
	free(vars.list);
}

static bool is_marker(const struct am_ctp_event *e)
{
	return e->kind == AM_BEGIN || e->kind == AM_END;
}

/* Region marks go where program order has them, also where the model does not order them. */
static void flush_markers(struct am_lazy *z, uint32_t thread, uint32_t *next, bool *out,
			  struct am_answer *answer)
{
	const struct am_ctp_thread *t = &z->ctp->threads[thread];
	for (; next[thread] < t->length; next[thread]++) {
		const uint32_t e = t->events[next[thread]];
		if (is_marker(&z->ctp->events[e]) && z->exec.state[e] == 1)
			answer->run[answer->length++] = e;
		else if (!out[e] && !(is_marker(&z->ctp->events[e]) && z->exec.state[e]))
			return;
	}
}

static void take_witness(struct am_lazy *z, const struct am_goal *goal, struct am_answer *answer)
{
	bool *out = am_zalloc(z->ctp->event_count, sizeof *out);
	uint32_t *next = am_zalloc(z->ctp->thread_count, sizeof *next);
	answer->run = am_zalloc(z->order_count, sizeof *answer->run);
	for (uint32_t i = 0; i < z->order_count; i++) {
		const uint32_t e = z->order[i];
		if (z->options.model != AM_MODEL_SC) {
			if (is_marker(&z->ctp->events[e]))
				continue;
			flush_markers(z, z->ctp->events[e].thread, next, out, answer);
		}
		out[e] = true;
		if (z->exec.state[e] == 1)
			answer->run[answer->length++] = e;
		if (z->options.model != AM_MODEL_SC)
			flush_markers(z, z->ctp->events[e].thread, next, out, answer);
	}
	for (uint32_t t = 0; t < z->ctp->thread_count && z->options.model != AM_MODEL_SC; t++)
		flush_markers(z, t, next, out, answer);
	free(out);
	free(next);
	answer->marks = am_zalloc(goal->mark_count, sizeof *answer->marks);
	memcpy(answer->marks, goal->marks, goal->mark_count * sizeof *answer->marks);
	answer->mark_count = goal->mark_count;
}

/* Resource units that the solver has used so far: counted work, so results repeat. */
static uint64_t units_used(struct am_lazy *z)
{
	struct am_smt_stats s;
	am_smt_get_stats(z->smt, &s);
	return s.units;
}

static void refine(struct am_lazy *z, struct am_goal *goal, struct am_answer *answer)
{
	const struct am_budget *b = &z->options.budget;
	const uint64_t start = now_ms(), before = b->units ? units_used(z) : 0;
	answer->verdict = AM_UNDECIDED;
	for (;; answer->rounds++) {
		if (b->rounds && answer->rounds >= b->rounds) {
			answer->reason = "budget of refinement rounds used up";
			return;
		}
		if (b->units && answer->rounds % 8 == 7 && units_used(z) - before > b->units) {
			answer->reason = "solver budget used up";
			return;
		}
		if (b->ms && now_ms() - start > b->ms) {
			answer->reason = "time budget used up";
			return;
		}
		z->stats->rounds++;
		z->stats->checks++;
		const enum am_smt_result r = am_smt_check(z->smt, &goal->q, 1, b->units);
		if (r == AM_SMT_UNKNOWN) {
			answer->reason = am_smt_error(z->smt) ? "the solver failed"
							      : "solver budget used up";
			return;
		}
		if (r == AM_SMT_UNSAT) {
			answer->verdict = AM_INFEASIBLE;
			return;
		}
		read_model(z, goal);
		if (am_lazy_linearise(z) && am_lazy_check_locks(z) && execute(z) &&
		    goal->holds(z, goal))
			break;
		if (z->give_up) {
			answer->reason = z->give_up;
			return;
		}
	}
	answer->verdict = AM_FEASIBLE;
	take_witness(z, goal, answer);
}

/* Most broken regions are broken by one other thread: a small question first. */
void am_lazy_ask(struct am_lazy *z, const struct am_query *query, struct am_answer *answer)
{
	bool partial;
	struct am_goal goal = { .narrow = query->property == AM_PROP_SERIAL };
	do {
		const bool narrow = goal.narrow;
		z->give_up = NULL;
		z->goal++;
		z->is_making = true;
		am_goal_make(z, query, &goal);
		z->is_making = false;
		if (z->give_up) {
			answer->verdict = AM_UNDECIDED;
			answer->reason = z->give_up;
		} else if (goal.q == AM_SMT_FALSE) {
			answer->verdict = AM_INFEASIBLE;
		} else {
			refine(z, &goal, answer);
		}
		partial = goal.partial && narrow;
		am_goal_clear(&goal);
		goal = (struct am_goal){ .narrow = false };
	} while (partial && answer->verdict == AM_INFEASIBLE);
}
