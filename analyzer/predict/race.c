/*
 * Data race by happens-before (Yang et al., section 5): two conflicting accesses of a run that no
 * chain of program order and synchronisation connects. The run is searched for a chain; one that is
 * found becomes a lemma. Unlike the paper, synchronisation orders only events on the same object
 * (as the C and Java memory models have it). Tool side.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/goal.h"

#include <assert.h>

enum { RACE_ACQUIRE = 3, RACE_RELEASE = 4 };

struct chain {
	struct am_lazy *z;
	uint32_t *run, count; /* executed events */
	uint32_t *place;      /* by event: index in run */
	uint32_t *from;	      /* by index: index it was reached from, NONE */
	bool *by_sync;	      /* by index: by a synchronisation edge */
};

static bool closes_lock(const struct am_ctp_event *e, uint32_t *lock)
{
	*lock = e->kind == AM_RELEASE ? e->object : e->aux;
	return e->kind == AM_RELEASE || e->kind == AM_WAIT;
}

static bool opens_lock(const struct am_ctp_event *e, uint32_t *lock)
{
	*lock = e->kind == AM_ACQUIRE ? e->object : e->aux;
	return e->kind == AM_ACQUIRE || e->kind == AM_WAKE;
}

static bool both_shared(const struct am_ctp_event *a, const struct am_ctp_event *b)
{
	return a->kind == AM_RELEASE && b->kind == AM_ACQUIRE && a->mode == AM_SHARED &&
	       b->mode == AM_SHARED;
}

static bool releases(const struct am_ctp_event *e)
{
	return am_ctp_is_store(e) && e->order >= RACE_RELEASE;
}

static bool acquires(const struct am_ctp_event *e)
{
	return e->read && (e->order == RACE_ACQUIRE || e->order > RACE_RELEASE || e->order == 2);
}

/* Is b, later in the run, synchronised with a? */
static bool synchronises(const struct chain *c, uint32_t a, uint32_t b)
{
	const struct am_ctp *ctp = c->z->ctp;
	const struct am_ctp_event *x = &ctp->events[a], *y = &ctp->events[b];
	uint32_t l, m;
	if (closes_lock(x, &l) && opens_lock(y, &m) && l == m && !both_shared(x, y))
		return true;
	switch (x->kind) {
	case AM_POST:
		return y->kind == AM_TAKE && y->object == x->object;
	case AM_ARRIVE:
		return y->kind == AM_LEAVE && y->object == x->object;
	case AM_SIGNAL:
	case AM_BROADCAST:
		return y->kind == AM_WAKE && y->object == x->object && y->match != AM_CTP_NONE &&
		       c->place[y->match] < c->place[a];
	case AM_FORK:
		return y->thread == x->object;
	default:
		break;
	}
	if (y->kind == AM_JOIN && y->object == x->thread)
		return true;
	if (releases(x) && acquires(y)) {
		for (uint32_t k = 0; k < y->size; k++)
			if (c->z->exec.from[b][k] == a)
				return true;
	}
	return false;
}

static bool explicit_order(const struct am_ctp *ctp, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < ctp->order_count; i++)
		if (ctp->orders[i].before == a && ctp->orders[i].after == b)
			return true;
	return false;
}

static void reach(struct chain *c, uint32_t i, uint32_t j, bool by_sync, uint32_t *queue,
		  uint32_t *tail)
{
	if (c->from[j] != AM_CTP_NONE)
		return;
	c->from[j] = i;
	c->by_sync[j] = by_sync;
	queue[(*tail)++] = j;
}

/* Breadth first from run[start]; true if run[goal] is reached. */
static bool search(struct chain *c, uint32_t start, uint32_t goal)
{
	const struct am_ctp *ctp = c->z->ctp;
	uint32_t *queue = am_zalloc(c->count, sizeof *queue), head = 0, tail = 0;
	memset(c->from, 0xff, c->count * sizeof *c->from);
	c->from[start] = start;
	queue[tail++] = start;
	while (head < tail && c->from[goal] == AM_CTP_NONE) {
		const uint32_t i = queue[head++], a = c->run[i];
		const struct am_ctp_event *x = &ctp->events[a];
		for (uint32_t j = 0; j < c->count; j++) {
			const uint32_t b = c->run[j];
			const struct am_ctp_event *y = &ctp->events[b];
			if (y->thread == x->thread) {
				if (y->pos > x->pos)
					reach(c, i, j, false, queue, &tail);
			} else if (j > i && (synchronises(c, a, b) || explicit_order(ctp, a, b))) {
				reach(c, i, j, true, queue, &tail);
			}
		}
	}
	free(queue);
	return c->from[goal] != AM_CTP_NONE;
}

/* The literals that make this synchronisation; false: a read had to be activated first. */
static bool edge_lits(struct am_lazy *z, uint32_t a, uint32_t b, struct am_lits *out)
{
	const struct am_ctp_event x = z->ctp->events[a], y = z->ctp->events[b];
	am_lazy_not_executed(z, out, a);
	am_lazy_not_executed(z, out, b);
	if (releases(&x) && acquires(&y)) {
		const bool fine = z->is_active[b];
		am_lazy_activate(z, b);
		for (uint32_t i = 0; i < z->active[b].count; i++)
			if (z->active[b].sources[i].writer == a) {
				const uint32_t piece = z->active[b].sources[i].piece;
				if (z->exec.from[b][piece] == a)
					am_lits_add(out, -z->active[b].sources[i].lit);
			}
		return fine;
	}
	am_lits_add(out, -am_lazy_before(z, a, b));
	if (y.kind == AM_WAKE && (x.kind == AM_SIGNAL || x.kind == AM_BROADCAST))
		am_lits_add(out, -am_lazy_before(z, y.match, a));
	return true;
}

static void block_chain(struct chain *c, struct am_goal *goal, uint32_t start, uint32_t end)
{
	struct am_lits lemma = { 0 };
	bool fine = true;
	am_lits_add(&lemma, -goal->q);
	for (uint32_t j = end; j != start; j = c->from[j])
		if (c->by_sync[j])
			fine &= edge_lits(c->z, c->run[c->from[j]], c->run[j], &lemma);
	/* which of the two comes first is part of the reason */
	am_lits_add(&lemma, -am_lazy_before(c->z, c->run[start], c->run[end]));
	if (fine)
		am_lazy_clause(c->z, lemma.list, lemma.count);
	free(lemma.list);
}

bool am_goal_holds_race(struct am_lazy *z, struct am_goal *goal)
{
	const uint32_t a = goal->query.a, b = goal->query.b;
	if (!am_goal_claim(z, am_ctp_overlap(z->ctp, a, b)))
		return false;
	struct chain c = { .z = z };
	c.run = am_zalloc(z->order_count, sizeof *c.run);
	c.place = am_zalloc(z->ctp->event_count, sizeof *c.place);
	memset(c.place, 0xff, z->ctp->event_count * sizeof *c.place);
	for (uint32_t i = 0; i < z->order_count; i++)
		if (z->exec.state[z->order[i]] == 1) {
			c.place[z->order[i]] = c.count;
			c.run[c.count++] = z->order[i];
		}
	c.from = am_zalloc(c.count, sizeof *c.from);
	c.by_sync = am_zalloc(c.count, sizeof *c.by_sync);
	const bool a_first = c.place[a] < c.place[b];
	const uint32_t first = a_first ? a : b, second = a_first ? b : a;
	const bool ordered = search(&c, c.place[first], c.place[second]);
	if (ordered)
		block_chain(&c, goal, c.place[first], c.place[second]);
	free(c.run);
	free(c.place);
	free(c.from);
	free(c.by_sync);
	goal->mark_count = 0;
	am_goal_mark(goal, first);
	am_goal_mark(goal, second);
	return !ordered;
}
