/*
 * Properties of the lazy engine that are settled by a few literals and the values of a run:
 * reachability, assertions, three-access violations with guarded independence (Wang et al., section
 * 3), strong and window atomicity (Yang et al., section 6). Tool side.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/goal.h"

#include <assert.h>

void am_goal_need(struct am_lazy *z, struct am_goal *goal, int32_t lit)
{
	am_lazy_clause(z, (int32_t[]){ -goal->q, lit }, 2);
}

void am_goal_need_event(struct am_lazy *z, struct am_goal *goal, uint32_t e)
{
	am_goal_need(z, goal, z->x[e]);
	am_goal_need(z, goal, am_lazy_node(z, z->ctp->events[e].guard));
}

void am_goal_mark(struct am_goal *goal, uint32_t e)
{
	if (goal->mark_count < sizeof goal->marks / sizeof goal->marks[0])
		goal->marks[goal->mark_count++] = e;
}

bool am_goal_claim(struct am_lazy *z, uint32_t node)
{
	if (am_lazy_truth(z, am_lazy_node(z, node)) == (bool)(am_exec_eval(&z->exec, node) & 1))
		return true;
	am_lazy_refute_claim(z, node);
	return false;
}

/* ---- reachability, assertion ----------------------------------------------------------------- */

static bool holds_reach(struct am_lazy *z, struct am_goal *goal)
{
	assert(z->exec.state[goal->query.a] == 1);
	(void)z;
	goal->mark_count = 0;
	am_goal_mark(goal, goal->query.a);
	return true;
}

static bool holds_assert(struct am_lazy *z, struct am_goal *goal)
{
	if (!z->exec.failed[goal->query.a])
		return am_goal_claim(z, z->ctp->events[goal->query.a].cond);
	return holds_reach(z, goal);
}

/* ---- three accesses -------------------------------------------------------------------------- */

/* Is the value that this access read used by its own condition only? */
static bool only_own_condition(const struct am_lazy *z, uint32_t e)
{
	const struct am_ctp *ctp = z->ctp;
	if (ctp->events[e].kind != AM_READ || !ctp->events[e].cond)
		return false;
	for (uint32_t i = 0; i < ctp->event_count; i++) {
		const struct am_ctp_event *v = &ctp->events[i];
		if (am_ctp_needs(ctp, v->guard, e) || am_ctp_needs(ctp, v->offset, e) ||
		    am_ctp_needs(ctp, v->value, e) || (i != e && am_ctp_needs(ctp, v->cond, e)))
			return false;
	}
	return true;
}

static uint64_t written(const struct am_lazy *z, uint32_t e)
{
	return am_exec_eval(&z->exec, z->ctp->events[e].value);
}

/* The value of e's place before it, and the value it writes: why they are what they are. */
static bool explain_values(struct am_lazy *z, uint32_t e, bool old, bool new, struct am_lits *why)
{
	bool fine = true;
	if (old)
		fine &= am_lazy_explain_old(z, e, why);
	if (new)
		fine &= am_lazy_explain(z, z->ctp->events[e].value, why);
	return fine;
}

/*
 * Guarded independence of x and y, x first in the run (rules 4a to 4c; 2 and 3 are the overlap
 * literals). What a read sees or would see on the other side of a write: if the write comes second,
 * the value written; if first, the value before it. Independent: adds why to `why`, *fine is false if
 * reads had to be activated for that.
 */
static bool independent(struct am_lazy *z, uint32_t x, uint32_t y, struct am_lits *why, bool *fine)
{
	const struct am_ctp *ctp = z->ctp;
	const struct am_ctp_event *a = &ctp->events[x], *b = &ctp->events[y];
	if (a->size != b->size || !(ctp->locs[a->loc].exact || ctp->locs[a->loc].same_size))
		return false;
	const bool ar = a->kind != AM_WRITE, aw = a->kind != AM_READ;
	const bool br = b->kind != AM_WRITE, bw = b->kind != AM_READ;

	if (aw && bw && written(z, x) != written(z, y))
		return false;
	if (ar && bw && z->exec.old[x] != written(z, y)) {
		if (aw || !only_own_condition(z, x))
			return false;
		const uint64_t seen = z->exec.reads[x];
		z->exec.reads[x] = written(z, y);
		const bool same = am_exec_eval(&z->exec, a->cond) & 1;
		z->exec.reads[x] = seen;
		if (!same)
			return false;
	}
	if (aw && br && z->exec.old[x] != written(z, x)) {
		if (bw || !only_own_condition(z, y))
			return false;
		const uint64_t seen = z->exec.reads[y];
		z->exec.reads[y] = z->exec.old[x];
		const bool same = am_exec_eval(&z->exec, b->cond) & 1;
		z->exec.reads[y] = seen;
		if (!same)
			return false;
	}
	*fine &= explain_values(z, x, ar || (aw && br), aw, why);
	*fine &= explain_values(z, y, false, bw, why);
	*fine &= am_lazy_explain(z, a->cond, why) && am_lazy_explain(z, b->cond, why);
	return true;
}

static bool holds_three(struct am_lazy *z, struct am_goal *goal)
{
	const struct am_query *q = &goal->query;
	const uint32_t ab = am_ctp_overlap(z->ctp, q->a, q->b);
	const uint32_t bc = am_ctp_overlap(z->ctp, q->b, q->c);
	if (!am_goal_claim(z, ab) || !am_goal_claim(z, bc))
		return false;
	struct am_lits why = { 0 };
	bool fine = true;
	am_lazy_explain_begin(z);
	const bool bad = !q->plain && (independent(z, q->a, q->b, &why, &fine) ||
				       independent(z, q->b, q->c, &why, &fine));
	if (bad && fine) {
		for (uint32_t i = 0; i < why.count; i++)
			why.list[i] = -why.list[i];
		am_lits_add(&why, -goal->q);
		am_lazy_clause(z, why.list, why.count);
		z->stats->data_lemmas++;
	}
	free(why.list);
	goal->mark_count = 0;
	am_goal_mark(goal, q->a);
	am_goal_mark(goal, q->b);
	am_goal_mark(goal, q->c);
	return !bad;
}

static void make_three(struct am_lazy *z, struct am_goal *goal)
{
	const struct am_query *q = &goal->query;
	am_goal_need_event(z, goal, q->a);
	am_goal_need_event(z, goal, q->b);
	am_goal_need_event(z, goal, q->c);
	am_goal_need(z, goal, am_lazy_before(z, q->a, q->b));
	am_goal_need(z, goal, am_lazy_before(z, q->b, q->c));
	am_goal_need(z, goal, am_lazy_node(z, am_ctp_overlap(z->ctp, q->a, q->b)));
	am_goal_need(z, goal, am_lazy_node(z, am_ctp_overlap(z->ctp, q->b, q->c)));
}

/* ---- strong and window form ------------------------------------------------------------------ */

static bool is_operation(const struct am_ctp_event *e)
{
	return am_ctp_is_access(e) || (e->kind >= AM_FORK && e->kind <= AM_ONCE_END);
}

bool am_goal_in_region(const struct am_ctp *ctp, uint32_t region, uint32_t e)
{
	const struct am_ctp_region *r = &ctp->regions[region];
	const struct am_ctp_event *v = &ctp->events[e];
	return r->begin != AM_CTP_NONE && v->thread == r->thread &&
	       v->pos > ctp->events[r->begin].pos &&
	       (r->end == AM_CTP_NONE || v->pos < ctp->events[r->end].pos);
}

/* lit -> e is executed, on this side of k. */
static int32_t beside(struct am_lazy *z, uint32_t e, uint32_t k, bool before)
{
	const int32_t order = before ? am_lazy_before(z, e, k) : am_lazy_before(z, k, e);
	if (order == AM_SMT_FALSE)
		return AM_SMT_FALSE;
	const int32_t v = am_lazy_hidden(z, "w");
	am_lazy_clause(z, (int32_t[]){ -v, z->x[e] }, 2);
	am_lazy_clause(z, (int32_t[]){ -v, am_lazy_node(z, z->ctp->events[e].guard) }, 2);
	am_lazy_clause(z, (int32_t[]){ -v, order }, 2);
	return v;
}

/* lit -> k touches bytes of an executed access of the region. */
static int32_t touches(struct am_lazy *z, const struct am_list *block, uint32_t k)
{
	struct am_lits any = { 0 };
	for (uint32_t i = 0; i < block->count; i++) {
		const uint32_t m = block->list[i];
		if (!am_ctp_is_access(&z->ctp->events[m]))
			continue;
		const int32_t same = am_lazy_node(z, am_ctp_overlap(z->ctp, m, k));
		if (same == AM_SMT_FALSE)
			continue;
		const int32_t v = am_lazy_hidden(z, "t");
		am_lazy_clause(z, (int32_t[]){ -v, z->x[m] }, 2);
		am_lazy_clause(z, (int32_t[]){ -v, am_lazy_node(z, z->ctp->events[m].guard) }, 2);
		am_lazy_clause(z, (int32_t[]){ -v, same }, 2);
		am_lits_add(&any, v);
	}
	const int32_t v = am_lazy_hidden(z, "t");
	am_lits_add(&any, -v);
	am_lazy_clause(z, any.list, any.count);
	free(any.list);
	return v;
}

/* May k touch bytes of some access of the region? */
static bool may_touch(struct am_lazy *z, const struct am_list *block, uint32_t k)
{
	for (uint32_t i = 0; i < block->count; i++)
		if (am_ctp_is_access(&z->ctp->events[block->list[i]]) &&
		    am_lazy_node(z, am_ctp_overlap(z->ctp, block->list[i], k)) != AM_SMT_FALSE)
			return true;
	return false;
}

/* Is the region's i-th operation on the same side of k as an earlier one that happens whenever it does?
 * In sc, the first one sure to happen is before k if any is; and of those that share their order with
 * k, the first is executed if any is. */
static bool is_spoken_for(struct am_lazy *z, const struct am_list *block, uint32_t i, uint32_t k,
			  bool before)
{
	if (!i || z->options.model != AM_MODEL_SC)
		return false;
	for (uint32_t j = 0; j < i && before; j++)
		if (!z->ctp->events[block->list[j]].guard)
			return true;
	const uint32_t last = block->list[i - 1];
	return !before && !z->ctp->events[last].guard &&
	       am_lazy_before(z, k, last) == am_lazy_before(z, k, block->list[i]);
}

static void make_intruder(struct am_lazy *z, struct am_goal *goal, const struct am_list *block,
			  uint32_t k, struct am_lits *any)
{
	struct am_lits c = { 0 };
	if (goal->query.property == AM_PROP_WINDOW && !may_touch(z, block, k))
		return;
	const int32_t in = am_lazy_hidden(z, "k");
	am_lazy_clause(z, (int32_t[]){ -in, z->x[k] }, 2);
	am_lazy_clause(z, (int32_t[]){ -in, am_lazy_node(z, z->ctp->events[k].guard) }, 2);
	for (int side = 0; side < 2; side++) {
		c.count = 0;
		am_lits_add(&c, -in);
		for (uint32_t i = 0; i < block->count; i++)
			if (!is_spoken_for(z, block, i, k, side == 0))
				am_lits_add(&c, beside(z, block->list[i], k, side == 0));
		am_lazy_clause(z, c.list, c.count);
	}
	if (goal->query.property == AM_PROP_WINDOW)
		am_lazy_clause(z, (int32_t[]){ -in, touches(z, block, k) }, 2);
	free(c.list);
	am_lits_add(any, in);
	am_lits_add(&goal->uses, in);
	AM_PUSH(goal->events.list, goal->events.count, goal->events.room) = k;
}

static bool touches_now(struct am_lazy *z, uint32_t region, uint32_t k, bool *fine)
{
	const struct am_ctp *ctp = z->ctp;
	for (uint32_t m = 0; m < ctp->event_count; m++) {
		if (!am_goal_in_region(ctp, region, m) || z->exec.state[m] != 1 ||
		    !am_ctp_is_access(&ctp->events[m]))
			continue;
		const uint32_t same = am_ctp_overlap(z->ctp, m, k);
		*fine &= am_goal_claim(z, same);
		if (am_exec_eval(&z->exec, same) & 1)
			return true;
	}
	return false;
}

/* Operations of the region around k in the run. */
static bool surrounded(struct am_lazy *z, uint32_t region, uint32_t k, uint32_t *first,
		       uint32_t *last)
{
	bool after_k = false;
	*first = *last = AM_CTP_NONE;
	for (uint32_t i = 0; i < z->order_count; i++) {
		const uint32_t e = z->order[i];
		after_k |= e == k;
		if (z->exec.state[e] != 1 || !am_goal_in_region(z->ctp, region, e) ||
		    !is_operation(&z->ctp->events[e]))
			continue;
		if (!after_k && *first == AM_CTP_NONE)
			*first = e;
		if (after_k)
			*last = e;
	}
	return *first != AM_CTP_NONE && *last != AM_CTP_NONE;
}

static bool holds_intruder(struct am_lazy *z, struct am_goal *goal)
{
	const struct am_query *q = &goal->query;
	bool fine = true;
	for (uint32_t i = 0; i < goal->uses.count; i++) {
		const uint32_t k = goal->events.list[i];
		uint32_t first, last;
		if (z->exec.state[k] != 1 || !surrounded(z, q->region, k, &first, &last) ||
		    (q->property == AM_PROP_WINDOW && !touches_now(z, q->region, k, &fine)))
			continue;
		goal->mark_count = 0;
		am_goal_mark(goal, first);
		am_goal_mark(goal, k);
		am_goal_mark(goal, last);
		return true;
	}
	assert(!fine);
	return false;
}

static void make_intruders(struct am_lazy *z, struct am_goal *goal)
{
	const struct am_ctp *ctp = z->ctp;
	const uint32_t region = goal->query.region;
	struct am_list block = { 0 };
	struct am_lits any = { 0 };
	for (uint32_t e = 0; e < ctp->event_count; e++)
		if (am_goal_in_region(ctp, region, e) && is_operation(&ctp->events[e]))
			AM_PUSH(block.list, block.count, block.room) = e;
	am_lits_add(&any, -goal->q);
	for (uint32_t k = 0; k < ctp->event_count && block.count; k++) {
		const struct am_ctp_event *v = &ctp->events[k];
		if (v->thread == ctp->regions[region].thread || !is_operation(v) ||
		    (goal->query.property == AM_PROP_WINDOW && !am_ctp_is_access(v)) ||
		    am_must_before(&z->must, k, block.list[0]) ||
		    am_must_before(&z->must, block.list[block.count - 1], k))
			continue;
		make_intruder(z, goal, &block, k, &any);
	}
	am_lazy_clause(z, any.list, any.count);
	free(any.list);
	free(block.list);
}

/* ---- entry ----------------------------------------------------------------------------------- */

static void need_all_ends(struct am_lazy *z, struct am_goal *goal)
{
	for (uint32_t t = 0; t < z->ctp->thread_count; t++) {
		const struct am_ctp_thread *th = &z->ctp->threads[t];
		if (!th->length)
			continue;
		const uint32_t last = th->events[th->length - 1];
		const struct am_ctp_event v = z->ctp->events[last];
		am_goal_need(z, goal, z->x[last]);
		if (v.kind == AM_ASSERT)
			am_lazy_clause(z,
				       (int32_t[]){ -goal->q, -am_lazy_node(z, v.guard),
						    am_lazy_node(z, v.cond) },
				       3);
	}
}

/* The last event of a thread is an assertion that must hold, and did not. */
static bool ends_hold(struct am_lazy *z)
{
	for (uint32_t t = 0; t < z->ctp->thread_count; t++) {
		const struct am_ctp_thread *th = &z->ctp->threads[t];
		const uint32_t last = th->length ? th->events[th->length - 1] : AM_CTP_NONE;
		if (last != AM_CTP_NONE && z->exec.failed[last])
			return am_goal_claim(z, z->ctp->events[last].cond);
	}
	return true;
}

static bool holds(struct am_lazy *z, struct am_goal *goal)
{
	if (goal->query.complete && !ends_hold(z))
		return false;
	switch (goal->query.property) {
	case AM_PROP_REACH:
		return holds_reach(z, goal);
	case AM_PROP_ASSERT:
		return holds_assert(z, goal);
	case AM_PROP_THREE:
		return holds_three(z, goal);
	case AM_PROP_SERIAL:
		return am_goal_holds_serial(z, goal);
	case AM_PROP_STRONG:
	case AM_PROP_WINDOW:
		return holds_intruder(z, goal);
	case AM_PROP_RACE:
		return am_goal_holds_race(z, goal);
	}
	return false;
}

void am_goal_make(struct am_lazy *z, const struct am_query *query, struct am_goal *goal)
{
	goal->query = *query;
	goal->holds = holds;
	goal->q = am_lazy_hidden(z, "q");
	switch (query->property) {
	case AM_PROP_REACH:
		am_goal_need_event(z, goal, query->a);
		break;
	case AM_PROP_ASSERT:
		am_goal_need_event(z, goal, query->a);
		am_goal_need(z, goal, -am_lazy_node(z, z->ctp->events[query->a].cond));
		break;
	case AM_PROP_THREE:
		make_three(z, goal);
		break;
	case AM_PROP_SERIAL:
		am_goal_make_serial(z, goal);
		break;
	case AM_PROP_STRONG:
	case AM_PROP_WINDOW:
		make_intruders(z, goal);
		break;
	case AM_PROP_RACE:
		am_goal_need_event(z, goal, query->a);
		am_goal_need_event(z, goal, query->b);
		am_goal_need(z, goal, am_lazy_node(z, am_ctp_overlap(z->ctp, query->a, query->b)));
		break;
	}
	if (query->complete)
		need_all_ends(z, goal);
}

void am_goal_clear(struct am_goal *goal)
{
	free(goal->uses.list);
	free(goal->events.list);
}
