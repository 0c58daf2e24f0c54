/* The trail of a search: chains per cell and object, clocks, races. Runs in the tool. */
/* SPDX-License-Identifier: MIT */
#include "trail.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t *clock_of(const struct am_trail *t, uint32_t depth)
{
	return &t->clock.at[(size_t)depth * t->n];
}

static void merge_clock(uint32_t *into, const uint32_t *from, uint32_t n)
{
	for (uint32_t p = 0; p < n; p++)
		if (from[p] > into[p])
			into[p] = from[p];
}

/* ---- chains ------------------------------------------------------------------------------------ */

/*
 * Two steps depend on each other only if they share a key: a cell, an object, the mutex of a wait
 * (or if one is the other's peer). The machine's `chain` has the latest link of each key.
 */
static uint32_t key_of_object(const struct am_trail *t, uint32_t object)
{
	return t->machine->run->n_cells + object;
}

static void add_link(struct am_trail *t, uint32_t key, bool is_total)
{
	uint32_t *head = &t->machine->chain[key];
	struct am_trail_link *l = vec_push(&t->link);

	*l = (struct am_trail_link){t->step.n - 1, key, *head, is_total};
	*head = t->link.n - 1;
}

static void add_cursor(struct am_trail *t, uint32_t key)
{
	if (t->machine->chain[key] != AM_NONE)
		*vec_push(&t->cursor) = t->machine->chain[key];
}

/* Cursors at the latest steps that share a key with event e. */
static void start_walk(struct am_trail *t, uint32_t e)
{
	const struct am_run_event *r = &t->machine->run->event.at[e];

	t->cursor.n = 0;
	if (r->reads || r->writes)
		for (uint32_t c = r->cell; c < r->cell + r->cells; c++)
			add_cursor(t, c);
	if (r->object != AM_NONE)
		add_cursor(t, key_of_object(t, r->object));
	if (r->mutex != AM_NONE)
		add_cursor(t, key_of_object(t, r->mutex));
}

/* The latest step under a cursor, AM_NONE at the end. */
static uint32_t latest(const struct am_trail *t)
{
	uint32_t depth = AM_NONE;

	for (uint32_t i = 0; i < t->cursor.n; i++) {
		const uint32_t at = t->link.at[t->cursor.at[i]].depth;
		if (depth == AM_NONE || at > depth)
			depth = at;
	}
	return depth;
}

/*
 * Go on below `depth`. If what is known includes that step, then all the rest of a chain that it is
 * total for is known with it.
 */
static void walk_on(struct am_trail *t, uint32_t depth, bool is_known)
{
	for (uint32_t i = 0; i < t->cursor.n;) {
		const struct am_trail_link *l = &t->link.at[t->cursor.at[i]];
		if (l->depth != depth) {
			i++;
		} else if (l->below == AM_NONE || (is_known && l->is_total)) {
			t->cursor.at[i] = t->cursor.at[--t->cursor.n];
		} else {
			t->cursor.at[i++] = l->below;
		}
	}
}

/* ---- clocks ------------------------------------------------------------------------------------ */

void am_trail_before(const struct am_trail *t, uint32_t p, uint32_t *clock)
{
	if (t->path[p].n)
		memcpy(clock, clock_of(t, t->path[p].at[t->path[p].n - 1]), t->n * sizeof *clock);
	else
		memset(clock, 0, t->n * sizeof *clock);
}

/* The depth of an event that has run in this segment, AM_NONE. */
static uint32_t depth_of(const struct am_trail *t, uint32_t event)
{
	const struct am_run_event *r = &t->machine->run->event.at[event];

	if (r->eid < t->machine->segment->from[r->thread])
		return AM_NONE;
	for (uint32_t p = 0; p < t->n; p++) {
		const uint32_t i = r->eid - t->machine->segment->from[r->thread];
		if (t->thread[p] == r->thread)
			return i < t->path[p].n ? t->path[p].at[i] : AM_NONE;
	}
	return AM_NONE;
}

void am_trail_follow(struct am_trail *t, uint32_t e, uint32_t *clock)
{
	const uint32_t peer = t->machine->run->event.at[e].peer;
	const uint32_t at = peer == AM_NONE ? AM_NONE : depth_of(t, peer);

	if (at != AM_NONE)
		merge_clock(clock, clock_of(t, at), t->n);
	start_walk(t, e);
	for (uint32_t i; (i = latest(t)) != AM_NONE;) {
		const struct am_trail_step *s = &t->step.at[i];
		if (clock[s->thread] < i + 1 && am_machine_dependent(t->machine, s->event, e))
			merge_clock(clock, clock_of(t, i), t->n);
		walk_on(t, i, clock[s->thread] >= i + 1);
	}
}

/* ---- the trail --------------------------------------------------------------------------------- */

void am_trail_push(struct am_trail *t, uint32_t e, uint32_t p, const uint32_t *clock)
{
	const struct am_run_event *r = &t->machine->run->event.at[e];
	const struct am_event *raw = am_run_raw(t->machine->run, e);
	const uint32_t depth = t->step.n;

	*vec_push(&t->step) = (struct am_trail_step){e, p, t->link.n};
	*vec_push(&t->path[p]) = depth;
	for (uint32_t q = 0; q < t->n; q++)
		*vec_push(&t->clock) = q == p ? depth + 1 : clock[q];
	if (r->reads || r->writes)
		for (uint32_t c = r->cell; c < r->cell + r->cells; c++)
			add_link(t, c, r->writes);
	const bool shares = (raw->kind == AM_ACQUIRE || raw->kind == AM_RELEASE) && raw->mode == AM_SHARED;
	if (r->object != AM_NONE)
		add_link(t, key_of_object(t, r->object), !shares);
	if (r->mutex != AM_NONE)
		add_link(t, key_of_object(t, r->mutex), !shares);
}

void am_trail_pop(struct am_trail *t)
{
	assert(t->step.n);
	const struct am_trail_step *s = &t->step.at[--t->step.n];

	while (t->link.n > s->links) {
		const struct am_trail_link *l = &t->link.at[--t->link.n];
		assert(t->machine->chain[l->key] == t->link.n);
		t->machine->chain[l->key] = l->below;
	}
	assert(t->path[s->thread].at[t->path[s->thread].n - 1] == t->step.n);
	t->path[s->thread].n--;
	t->clock.n -= t->n;
}

/* ---- races ------------------------------------------------------------------------------------- */

static bool gives_up_lock(uint8_t kind)
{
	return kind == AM_RELEASE || kind == AM_WAIT;
}

static bool takes_lock(uint8_t kind)
{
	return kind == AM_ACQUIRE || kind == AM_WAKE;
}

/*
 * Could two dependent events ever be enabled together? A release never with an acquire of the same
 * lock by another thread, a wait never with what needs its mutex; an event never with one that it
 * waits for.
 */
static bool co_enabled(const struct am_run *run, uint32_t a, uint32_t b)
{
	const struct am_run_event *ra = &run->event.at[a], *rb = &run->event.at[b];
	const uint8_t ka = am_run_raw(run, a)->kind, kb = am_run_raw(run, b)->kind;

	if (rb->peer == a || ra->peer == b)
		return false;
	return !(gives_up_lock(ka) && takes_lock(kb)) && !(gives_up_lock(kb) && takes_lock(ka));
}

void am_trail_races(struct am_trail *t, uint32_t e, const uint32_t *before, bool is_stuck)
{
	uint32_t seen[AM_TRAIL_THREADS];

	t->race.n = 0;
	memcpy(seen, before, t->n * sizeof *seen);
	start_walk(t, e);
	for (uint32_t i; (i = latest(t)) != AM_NONE;) {
		const struct am_trail_step *s = &t->step.at[i];
		/* a release hides no race: that is with the acquire before it */
		if (seen[s->thread] < i + 1 && am_machine_dependent(t->machine, s->event, e) &&
		    co_enabled(t->machine->run, s->event, e)) {
			*vec_push(&t->race) = i;
			if (!is_stuck)
				merge_clock(seen, clock_of(t, i), t->n);
		}
		walk_on(t, i, seen[s->thread] >= i + 1);
	}
}

/* The first step of thread q after step i, AM_NONE. */
static uint32_t first_after(const struct am_trail *t, uint32_t q, uint32_t i)
{
	uint32_t lo = 0, hi = t->path[q].n;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;
		if (t->path[q].at[mid] > i)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo < t->path[q].n ? t->path[q].at[lo] : AM_NONE;
}

/*
 * What follows from step i is closed under program order, so the part of v that belongs to a thread
 * is a run of its steps from the first one after i on; and v's first step of q can begin v unless the
 * first step of another thread in v comes before it.
 */
uint64_t am_trail_initial(const struct am_trail *t, uint32_t i, uint32_t p, const uint32_t *full,
			  uint64_t rather, uint64_t among)
{
	const uint32_t by = t->step.at[i].thread, end = t->step.n;
	uint32_t first[AM_TRAIL_THREADS] = {0};

	for (uint32_t q = 0; q < t->n; q++) {
		first[q] = first_after(t, q, i);
		if (first[q] != AM_NONE && clock_of(t, first[q])[by] >= i + 1)
			first[q] = AM_NONE;
	}
	if (first[p] == AM_NONE)
		first[p] = end;
	for (uint64_t left = rather ? rather : among; left; left = rather ? among : 0, rather = 0)
		for (uint32_t q = 0; q < t->n; q++) {
			if (first[q] == AM_NONE || !(left >> q & 1))
				continue;
			const uint32_t *clock = first[q] == end ? full : clock_of(t, first[q]);
			bool is_initial = true;
			for (uint32_t r = 0; r < t->n && is_initial; r++)
				is_initial = r == q || first[r] == AM_NONE || clock[r] < first[r] + 1;
			if (is_initial)
				return UINT64_C(1) << q;
		}
	return 0;
}

/* ---- life -------------------------------------------------------------------------------------- */

bool am_trail_init(struct am_trail *t, struct am_machine *machine)
{
	const struct am_segment *segment = machine->segment;

	memset(t, 0, sizeof *t);
	t->machine = machine;
	for (uint32_t thread = 0; thread < segment->n_threads; thread++) {
		if (segment->from[thread] >= segment->to[thread])
			continue;
		if (t->n == AM_TRAIL_THREADS)
			return false;
		t->thread[t->n++] = thread;
	}
	return true;
}

void am_trail_free(struct am_trail *t)
{
	while (t->step.n)
		am_trail_pop(t);
	for (uint32_t p = 0; p < t->n; p++)
		free(t->path[p].at);
	free(t->step.at);
	free(t->clock.at);
	free(t->race.at);
	free(t->link.at);
	free(t->cursor.at);
}
