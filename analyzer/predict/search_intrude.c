/*
 * The straight way to a violation: put one access of another thread between two accesses of the
 * region to the same memory (the five unserializable patterns, Sinha et al. §II.B), and see whether
 * the rest can be arranged around them.
 *
 * A try has three legs on the step machine, each in the recorded order as far as that is possible:
 * up to the first access of the region, the intruder held back; up to the intruder, the region held
 * back and let on only to give up a lock; up to the second access. It finds most violations of long
 * segments in time linear in the segment. Finding nothing proves nothing.
 */
/* SPDX-License-Identifier: MIT */
#include "search.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 400, TRIES_PER_PLACE = 2, PLACES = 1024 };

struct intrusion {
	struct am_search *s;
	struct am_machine *m;
	const struct am_run *run;
	uint32_t region_thread;
	VEC(uint32_t) order; /* events of the segment as recorded */
	uint8_t *is_waiting; /* by thread, within a pass */
	struct {
		uint64_t key;
		uint32_t tries;
	} place[PLACES];
	uint32_t tries;
};

/* ---- one try ------------------------------------------------------------------------------------ */

static void step(struct intrusion *n, uint32_t e)
{
	am_machine_step(n->m, e);
	*vec_push(&n->s->witness) = e;
	n->s->steps++;
}

static bool is_done(const struct intrusion *n, uint32_t e)
{
	const struct am_run_event *r = &n->run->event.at[e];
	return n->m->pos[r->thread] >= r->eid;
}

/* What a leg may do: run until `goal` has run; `held` does not go to or beyond event `barrier`; a read
 * may only break its couple if it is the goal. */
struct leg {
	uint32_t goal, held, barrier;
};

static bool may_run(const struct intrusion *n, const struct leg *leg, uint32_t e)
{
	const struct am_run_event *r = &n->run->event.at[e];

	if (r->thread == leg->held && r->eid >= n->run->event.at[leg->barrier].eid)
		return false;
	return am_machine_enabled(n->m, e) && (e == leg->goal || am_machine_keeps(n->m, e));
}

/* Passes over what has not run yet, in recorded order; a thread that cannot go on waits for the next
 * pass. Events beyond the goal are run only where the goal needs help. */
static bool run_leg(struct intrusion *n, const struct leg *leg)
{
	bool has_moved = true;

	while (has_moved && !is_done(n, leg->goal)) {
		has_moved = false;
		memset(n->is_waiting, 0, n->run->n_threads);
		for (uint32_t i = 0; i < n->order.n; i++) {
			const uint32_t e = n->order.at[i], t = n->run->event.at[e].thread;
			if (n->is_waiting[t] || is_done(n, e))
				continue;
			if (am_machine_next(n->m, t) != e || !may_run(n, leg, e)) {
				n->is_waiting[t] = 1;
				continue;
			}
			step(n, e);
			has_moved = true;
			if (n->m->broken || is_done(n, leg->goal))
				return true;
		}
		n->s->steps += n->order.n / 8;
	}
	return is_done(n, leg->goal);
}

/* Let the region's thread run until it gives up a lock, but not to the second access. */
static bool let_go(struct intrusion *n, const struct leg *leg, uint32_t second)
{
	for (;;) {
		const uint32_t e = am_machine_next(n->m, n->region_thread);
		if (e == AM_NONE || n->run->event.at[e].eid >= n->run->event.at[second].eid ||
		    e == leg->goal || !am_machine_enabled(n->m, e) || !am_machine_keeps(n->m, e))
			return false;
		const uint8_t kind = am_run_raw(n->run, e)->kind;
		step(n, e);
		if (kind == AM_RELEASE || kind == AM_WAIT || kind == AM_POST)
			return true;
	}
}

/* Where to hold the intruder back: before the outermost section that it is in. */
static uint32_t outermost_of(const struct intrusion *n, uint32_t e)
{
	const struct am_run_event *r = &n->run->event.at[e];
	uint32_t held = 0, start = e;

	for (uint32_t eid = n->m->segment->from[r->thread]; eid < r->eid; eid++) {
		const uint32_t x = am_run_at(n->run, r->thread, eid);
		const uint8_t kind = am_run_raw(n->run, x)->kind;
		if (kind == AM_ACQUIRE || kind == AM_WAKE) {
			if (!held++)
				start = x;
		} else if ((kind == AM_RELEASE || kind == AM_WAIT) && held && !--held) {
			start = e;
		}
	}
	return start;
}

static bool try_one(struct intrusion *n, uint32_t first, uint32_t intruder, uint32_t second)
{
	const uint32_t mark = am_machine_mark(n->m);
	const uint32_t by = n->run->event.at[intruder].thread;
	const struct leg to_first = {first, by, outermost_of(n, intruder)};
	const struct leg to_intruder = {intruder, n->region_thread, AM_NONE};
	const struct leg to_second = {second, by, AM_NONE};
	bool ok = false;

	n->s->witness.n = 0;
	n->s->interleavings++;
	if (run_leg(n, &to_first) && !n->m->broken && !is_done(n, intruder)) {
		struct leg leg = to_intruder;
		do {
			leg.barrier = am_machine_next(n->m, n->region_thread);
			if (leg.barrier == AM_NONE)
				break;
			ok = run_leg(n, &leg);
		} while (!ok && !n->m->broken && let_go(n, &leg, second));
		/* the intruder may break its couple, and runs no further then; the others go on */
		if (ok && !n->m->broken) {
			leg = to_second;
			leg.barrier = am_machine_next(n->m, by);
			if (leg.barrier == AM_NONE)
				leg.held = AM_NONE;
			run_leg(n, &leg);
			if (!n->m->broken && leg.held != AM_NONE && !is_done(n, second)) {
				leg.held = AM_NONE; /* it holds a lock the region needs */
				run_leg(n, &leg);
			}
		}
	}
	ok = n->m->broken;
	am_machine_undo(n->m, mark);
	return ok;
}

/* ---- which to try ------------------------------------------------------------------------------- */

/* A few tries for each triple of places in the program. */
static bool is_worth_it(struct intrusion *n, uint32_t a, uint32_t o, uint32_t z)
{
	const uint64_t key = (((uint64_t)am_run_raw(n->run, a)->site * 0x9e3779b1u +
			       am_run_raw(n->run, o)->site) * 0x85ebca77u +
			      am_run_raw(n->run, z)->site) | 1;

	for (uint32_t i = 0; i < PLACES; i++) {
		const uint32_t at = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) + i;
		if (n->place[at % PLACES].key && n->place[at % PLACES].key != key)
			continue;
		n->place[at % PLACES].key = key;
		return n->place[at % PLACES].tries++ < TRIES_PER_PLACE;
	}
	return false;
}

static bool is_out_of_budget(const struct intrusion *n)
{
	return n->tries >= TRIES || (n->s->max_steps && n->s->steps >= n->s->max_steps);
}

/* Intruders between two accesses of the region to a cell; reads only if both write. */
static bool try_between(struct intrusion *n, uint32_t cell, uint32_t first, uint32_t second, bool reads)
{
	const struct am_index *index = n->m->index;

	for (uint32_t i = index->start[cell]; i < index->start[cell + 1]; i++) {
		const struct am_index_entry *x = &index->entry[i];
		if (x->thread == n->region_thread || x->eid < n->m->segment->from[x->thread] ||
		    x->eid >= n->m->segment->to[x->thread])
			continue;
		const uint32_t o = am_run_at(n->run, x->thread, x->eid);
		if (n->run->event.at[o].writes == reads)
			continue;
		if (is_out_of_budget(n))
			return false;
		if (!is_worth_it(n, first, o, second))
			continue;
		n->tries++;
		if (try_one(n, first, o, second))
			return true;
	}
	return false;
}

/* The region's last access to a cell before `eid` (only writes if `writes`), AM_NONE. */
static uint32_t region_last(const struct intrusion *n, uint32_t cell, uint32_t eid, bool writes)
{
	const struct am_index *index = n->m->index;
	const struct am_index_entry *x = am_index_last(index, cell, n->region_thread, eid);

	if (x && writes)
		x = x->last_write == AM_NONE ? NULL : &index->entry[x->last_write];
	if (!x || x->eid < n->m->region->first || x->eid < n->m->segment->from[n->region_thread])
		return AM_NONE;
	return am_run_at(n->run, n->region_thread, x->eid);
}

static bool try_all(struct intrusion *n)
{
	const struct am_run_region *a = n->m->region;

	for (uint32_t eid = a->first; eid <= a->last && !is_out_of_budget(n); eid++) {
		const uint32_t e = am_run_at(n->run, a->thread, eid);
		const struct am_run_event *r = &n->run->event.at[e];
		if (!am_segment_has(n->m->segment, r) || (!r->reads && !r->writes))
			continue;
		for (uint32_t c = r->cell; c < r->cell + r->cells; c++) {
			const uint32_t last = region_last(n, c, eid, false);
			const uint32_t write = r->writes ? region_last(n, c, eid, true) : AM_NONE;
			if ((last != AM_NONE && try_between(n, c, last, e, false)) ||
			    (write != AM_NONE && try_between(n, c, write, e, true)))
				return true;
		}
	}
	return false;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

void am_search_intrude(struct am_search *s, struct am_machine *machine)
{
	const struct am_segment *segment = machine->segment;
	struct intrusion *n = am_xalloc(1, sizeof *n);

	n->s = s;
	n->m = machine;
	n->run = machine->run;
	n->region_thread = machine->region->thread;
	n->is_waiting = am_xalloc(machine->run->n_threads, 1);
	for (uint32_t t = 0; t < segment->n_threads; t++)
		for (uint32_t eid = segment->from[t]; eid < segment->to[t]; eid++)
			*vec_push(&n->order) = am_run_at(n->run, t, eid);
	if (n->order.n)
		qsort(n->order.at, n->order.n, sizeof *n->order.at, by_number);
	s->verdict = try_all(n) ? AM_SEARCH_FOUND : AM_SEARCH_BUDGET;
	free(n->order.at);
	free(n->is_waiting);
	free(n);
}
