/* Trace atomicity segments: frontiers, the lift that makes them exact, the static check. */
/* SPDX-License-Identifier: MIT */
#include "segment.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void allocate(struct am_segment *s, const struct am_run *run, uint32_t region)
{
	memset(s, 0, sizeof *s);
	s->region = region;
	s->n_threads = run->n_threads;
	s->from = am_xalloc(run->n_threads, sizeof *s->from);
	s->to = am_xalloc(run->n_threads, sizeof *s->to);
	s->upper = am_xalloc(run->n_threads, sizeof *s->upper);
	s->lower = am_xalloc(run->n_threads, sizeof *s->lower);
}

void am_segment_free(struct am_segment *s)
{
	free(s->from);
	free(s->to);
	free(s->upper);
	free(s->lower);
	memset(s, 0, sizeof *s);
}

static void count(struct am_segment *s, const struct am_run *run)
{
	s->events = s->accesses = s->paper_events = 0;
	for (uint32_t t = 0; t < s->n_threads; t++) {
		if (s->lower[t] > s->upper[t] + 1)
			s->paper_events += s->lower[t] - s->upper[t] - 1;
		for (uint32_t eid = s->from[t]; eid < s->to[t]; eid++) {
			const struct am_run_event *r = &run->event.at[am_run_at(run, t, eid)];
			s->events++;
			s->accesses += r->reads || r->writes;
		}
	}
}

void am_segment_whole(struct am_segment *s, const struct am_run *run, uint32_t region)
{
	allocate(s, run, region);
	for (uint32_t t = 0; t < run->n_threads; t++) {
		s->from[t] = run->thread[t].settled + 1;
		s->to[t] = s->lower[t] = run->thread[t].n + 1;
	}
	s->is_exact = true;
	count(s, run);
}

/* First and last shared access of the region, u0 and u-infinity; false if it has none. */
static bool ends(const struct am_run *run, uint32_t region, uint32_t *first, uint32_t *last)
{
	const struct am_run_region *a = &run->region.at[region];

	*first = AM_NONE;
	for (uint32_t eid = a->first; eid <= a->last; eid++) {
		const uint32_t e = am_run_at(run, a->thread, eid);
		const struct am_run_event *r = &run->event.at[e];
		if (!r->reads && !r->writes)
			continue;
		if (*first == AM_NONE)
			*first = e;
		*last = e;
	}
	return *first != AM_NONE;
}

static bool is_coupled_below(const struct am_run *run, const struct am_segment *s, uint32_t e)
{
	const struct am_run_event *r = &run->event.at[e];

	for (uint32_t i = 0; r->reads && i < r->cells; i++) {
		const uint32_t w = run->writer.at[r->couple + i];
		if (w != AM_NONE && run->event.at[w].eid > s->upper[run->event.at[w].thread])
			return true;
	}
	return false;
}

/* §III.A. */
static void frontiers(struct am_segment *s, const struct am_order *order, uint32_t u0, uint32_t u1)
{
	const struct am_run *run = order->run;
	const struct am_run_event *first = &run->event.at[u0], *last = &run->event.at[u1];

	for (uint32_t t = 0; t < s->n_threads; t++)
		s->upper[t] = am_order_get(order, u0, t);
	for (uint32_t t = 0; t < s->n_threads; t++) {
		uint32_t eid = last->eid + 1;
		if (t != first->thread) {
			eid = am_order_first_after(order, t, last->thread, last->eid);
			while (eid <= run->thread[t].n && is_coupled_below(run, s, am_run_at(run, t, eid)))
				eid++;
		}
		s->lower[t] = eid;
	}
}

/* ---- the lift ----------------------------------------------------------------------------------- */

struct lift {
	struct am_segment *s;
	const struct am_index *index;
	const struct am_order *order;
	uint32_t *done; /* per thread: events from here on have been looked at */
	uint32_t event; /* being looked at */
	uint32_t size, max;
};

/* Event (t, eid) must not run before the segment: neither may what follows from it. */
static void lower_from(struct lift *l, uint32_t t, uint32_t eid)
{
	struct am_segment *s = l->s;

	if (eid >= s->from[t])
		return;
	for (uint32_t u = 0; u < s->n_threads; u++) {
		const uint32_t first = u == t ? eid : am_order_first_after(l->order, u, t, eid);
		if (first < s->from[u]) {
			l->size += s->from[u] - first;
			s->from[u] = first;
		}
	}
}

static void lift_key(void *ctx, uint32_t key, bool writes)
{
	struct lift *l = ctx;
	const struct am_run_event *r = &l->index->run->event.at[l->event];

	for (uint32_t t = 0; t < l->s->n_threads; t++) {
		if (t == r->thread)
			continue;
		const uint32_t after = am_order_get(l->order, l->event, t) + 1;
		if (after >= l->s->from[t])
			continue;
		const uint32_t eid = am_index_first(l->index, key, t, after, !writes);
		if (eid != AM_NONE)
			lower_from(l, t, eid);
	}
}

/*
 * Until no event of the segment has a conflicting, concurrent event before the segment. False when
 * the bound is reached.
 */
static bool lift(struct lift *l)
{
	struct am_segment *s = l->s;
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t t = 0; t < s->n_threads; t++) {
			while (l->done[t] > s->from[t]) {
				l->event = am_run_at(l->index->run, t, --l->done[t]);
				am_index_keys(l->index->run, l->event, lift_key, l);
				changed = true;
				if (l->max && l->size > l->max)
					return false;
			}
		}
	}
	return true;
}

/* The first eid of a thread whose event is number `e` of the run, or a later one. */
static uint32_t first_from(const struct am_run_thread *thread, uint32_t e)
{
	uint32_t low = 1, high = thread->n + 1;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		if (thread->event[mid - 1] < e)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Events of the recorded order around the region, about max of them (a long region with some). */
static void window(struct am_segment *s, const struct am_run *run, uint32_t u0, uint32_t u1,
		   uint32_t max)
{
	const uint32_t inner = u1 - u0 + 1, side = max / 2 > inner ? (max - inner) / 2 : max / 4;
	const uint32_t low = u0 > side ? u0 - side : 0;
	const uint32_t high = run->event.n - u1 > side ? u1 + side + 1 : run->event.n;

	s->is_exact = false;
	for (uint32_t t = 0; t < s->n_threads; t++) {
		s->from[t] = first_from(&run->thread[t], low);
		s->to[t] = first_from(&run->thread[t], high);
		if (s->to[t] > s->lower[t])
			s->to[t] = s->lower[t];
		if (s->to[t] < s->from[t])
			s->to[t] = s->from[t];
	}
}

void am_segment_find(struct am_segment *s, const struct am_index *index,
		     const struct am_order *order, uint32_t region, uint32_t max_events)
{
	am_segment_find_within(s, index, order, region, max_events, max_events);
}

void am_segment_find_within(struct am_segment *s, const struct am_index *index,
			    const struct am_order *order, uint32_t region, uint32_t max_events,
			    uint32_t window_events)
{
	const struct am_run *run = index->run;
	uint32_t u0, u1;

	allocate(s, run, region);
	s->is_exact = true;
	if (!ends(run, region, &u0, &u1)) {
		s->is_empty = true;
		return;
	}
	frontiers(s, order, u0, u1);
	struct lift l = {.s = s, .index = index, .order = order, .max = max_events};
	l.done = am_xalloc(s->n_threads, sizeof *l.done);
	for (uint32_t t = 0; t < s->n_threads; t++) {
		s->from[t] = s->upper[t] + 1;
		s->to[t] = s->lower[t];
		if (s->to[t] < s->from[t]) /* ended, or not begun, around the region */
			s->to[t] = s->from[t];
		l.done[t] = s->to[t];
		l.size += s->to[t] - s->from[t];
	}
	if ((max_events && l.size > max_events) || !lift(&l))
		window(s, run, u0, u1, window_events);
	free(l.done);
	for (uint32_t t = 0; t < s->n_threads; t++) {
		if (s->from[t] <= run->thread[t].settled)
			s->from[t] = run->thread[t].settled + 1;
		if (s->to[t] < s->from[t])
			s->to[t] = s->from[t];
	}
	count(s, run);
}

/* ---- static check ------------------------------------------------------------------------------- */

struct probe {
	const struct am_segment *s;
	const struct am_index *index;
	const struct am_order *order;
	uint32_t event;
	bool leaves, returns; /* can the path leave the region here, return here? */
};

static void probe_key(void *ctx, uint32_t key, bool writes)
{
	struct probe *p = ctx;
	const struct am_run *run = p->index->run;
	const struct am_run_event *r = &run->event.at[p->event];

	if (key >= run->n_cells)
		return;
	for (uint32_t t = 0; t < p->s->n_threads; t++) {
		if (t == r->thread)
			continue;
		const uint32_t low = p->s->from[t], after = am_order_get(p->order, p->event, t) + 1;
		uint32_t eid = am_index_first(p->index, key, t, low > after ? low : after, !writes);
		p->leaves |= eid != AM_NONE && eid < p->s->to[t];
		eid = am_index_first(p->index, key, t, low, !writes);
		p->returns |= eid != AM_NONE && eid < p->s->to[t] &&
			      !am_order_before_loosely(p->order, p->event, am_run_at(run, t, eid));
	}
}

bool am_segment_may_break(const struct am_segment *s, const struct am_index *index,
			  const struct am_order *order)
{
	const struct am_run *run = index->run;
	const struct am_run_region *a = &run->region.at[s->region];
	bool can_leave = false;

	for (uint32_t eid = a->first; !s->is_empty && eid <= a->last; eid++) {
		struct probe p = {.s = s, .index = index, .order = order};
		p.event = am_run_at(run, a->thread, eid);
		am_index_keys(run, p.event, probe_key, &p);
		if (can_leave && p.returns)
			return true;
		can_leave |= p.leaves;
	}
	return false;
}
