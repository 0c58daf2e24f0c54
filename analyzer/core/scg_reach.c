/*
 * Vertices and edges of the summarised conflict graph: which open region reaches which moment of
 * which thread (see scg.h for the meaning and the invariants). Runs wherever the checker runs; no
 * I/O, no globals.
 */
/* SPDX-License-Identifier: MIT */
#include "scg.h"

#include <assert.h>
#include <string.h>

/* A test uses only every so many slots, so that few threads need many words. */
#ifndef AM_SCG_SLOT_STEP
#define AM_SCG_SLOT_STEP 1
#endif

enum { FIRST_CAP = 64, FIRST_REACH = 4 };

#define FOR_EACH_BIT(bit, word)                                                                    \
	for (uint64_t rest_ = (word), bit; rest_ && ((bit = (uint64_t)__builtin_ctzll(rest_)), 1); \
	     rest_ &= rest_ - 1)

/* One more open region reaches this thread, from `first` on (R5). */
static inline void front_add(struct am_front *f, uint64_t first)
{
	f->n_anc++;
	f->horizon = first < f->horizon ? first : f->horizon;
}

static inline void front_remove(struct am_front *f)
{
	assert(f->n_anc > 0);
	f->n_anc--;
	f->is_low = f->n_anc != 0;
	f->horizon = f->n_anc ? f->horizon : AM_NEVER;
}

/* `a` reaches x from `first` on: R1. */
static inline void anc_add(struct am_checker *c, uint32_t x, uint32_t a, uint64_t first)
{
	assert(a != x && !am_has(am_anc(c, x), a));
	am_anc(c, x)[a >> 6] |= UINT64_C(1) << (a & 63);
	front_add(&c->front[x], first);
}

static inline void anc_remove(struct am_checker *c, uint32_t x, uint32_t a)
{
	assert(am_has(am_anc(c, x), a));
	am_anc(c, x)[a >> 6] &= ~(UINT64_C(1) << (a & 63));
	front_remove(&c->front[x]);
}

/* ---- slots --------------------------------------------------------------------------------- */

static bool grow(struct am_checker *c)
{
	const uint32_t cap = c->cap ? c->cap * 2 : FIRST_CAP, stride = cap / 64;
	uint64_t *anc = am_mem_alloc(c->mem, sizeof *anc * cap * stride);
	struct am_front *front = am_mem_alloc(c->mem, sizeof *front * cap);
	struct am_vertex *vertex = am_mem_alloc(c->mem, sizeof *vertex * cap);

	if (!anc || !front || !vertex) {
		am_mem_free(c->mem, anc, sizeof *anc * cap * stride);
		am_mem_free(c->mem, front, sizeof *front * cap);
		am_mem_free(c->mem, vertex, sizeof *vertex * cap);
		return false;
	}
	for (uint32_t s = 0; s < c->cap; s++)
		memcpy(anc + (size_t)s * stride, am_anc(c, s), sizeof *anc * c->stride);
	if (c->cap) {
		memcpy(vertex, c->vertex, sizeof *vertex * c->cap);
		memcpy(front, c->front, sizeof *front * c->cap);
	}
	for (uint32_t s = c->cap; s < cap; s++)
		front[s].horizon = front[s].begin = AM_NEVER;
	am_mem_free(c->mem, c->anc, sizeof *anc * c->cap * c->stride);
	am_mem_free(c->mem, c->front, sizeof *front * c->cap);
	am_mem_free(c->mem, c->vertex, sizeof *vertex * c->cap);
	c->anc = anc;
	c->front = front;
	c->vertex = vertex;
	c->cap = cap;
	c->stride = stride;
	c->version++;
	return true;
}

static void set_high(struct am_checker *c, uint32_t high)
{
	c->high = high;
	c->words = (high + 63) / 64;
}

/*
 * Slots are reused at once, although entities still name them: a thread's slot is given up only when
 * no open region reaches the thread (R4), and every first(a, slot) made later is later than what the
 * old owner did.
 */
void am_slot_release(struct am_checker *c, uint32_t slot)
{
	struct am_vertex *v = &c->vertex[slot];

	assert(!am_matters(c, slot) && c->front[slot].begin == AM_NEVER && v->n_reach == 0);
	c->n_ended -= v->ended;
	v->used = v->ended = v->ghost = false;
	uint32_t high = c->high;
	while (high && !c->vertex[high - 1].used)
		high--;
	set_high(c, high);
}

static bool vertex_init(struct am_checker *c, uint32_t slot, const struct am_event *event)
{
	struct am_vertex *v = &c->vertex[slot];

	uint64_t *place = am_map_put(&c->slot_of, c->mem, (uint64_t)event->thread + 1);
	if (!place)
		return false;
	*place = slot + 1;
	const struct am_vertex fresh = {.reach = v->reach,
					.reach_at = v->reach_at,
					.cap_reach = v->cap_reach,
					.cap_reach_at = v->cap_reach_at,
					.mark = v->mark,
					.cap_marks = v->cap_marks,
					.id = event->thread,
					.used = true,
					.blind = c->starved && event->kind != AM_THREAD_BEGIN};
	*v = fresh;
	if (slot >= c->high)
		set_high(c, slot + 1);
	return true;
}

uint32_t am_vertex_get(struct am_checker *c, const struct am_event *event)
{
	const uint64_t *known = am_map_find(&c->slot_of, (uint64_t)event->thread + 1);
	uint32_t slot = 0;

	if (known)
		return (uint32_t)*known - 1;
	while (slot < c->high && c->vertex[slot].used)
		slot += AM_SCG_SLOT_STEP;
	if (slot >= AM_VERTICES_MAX || (slot >= c->cap && !grow(c)) || !vertex_init(c, slot, event)) {
		c->starved = true;
		return UINT32_MAX;
	}
	return slot;
}

static void leave_fast_path(struct am_checker *c, uint32_t slot)
{
	const uint32_t id = c->vertex[slot].id;

	if (c->recent[id % AM_RECENT].id == id)
		am_recent_clear(c, id % AM_RECENT);
}

void am_vertex_blind(struct am_checker *c, uint32_t slot)
{
	c->vertex[slot].blind = true;
	leave_fast_path(c, slot);
}

void am_vertex_mute(struct am_checker *c, uint32_t slot)
{
	c->vertex[slot].muted = true;
	leave_fast_path(c, slot);
}

void am_vertex_end(struct am_checker *c, uint32_t thread)
{
	const uint64_t *known = am_map_find(&c->slot_of, (uint64_t)thread + 1);

	if (!known)
		return;
	const uint32_t slot = (uint32_t)*known - 1;
	struct am_vertex *v = &c->vertex[slot];
	am_region_close(c, slot);
	v->depth = 0;
	am_map_remove(&c->slot_of, (uint64_t)thread + 1);
	v->ended = true;
	c->n_ended++;
	if (!am_matters(c, slot))
		am_slot_release(c, slot);
	else if (c->n_ended > c->ended_limit)
		am_ended_merge(c);
}

/* ---- reach --------------------------------------------------------------------------------- */

struct am_reach *am_reach_new(struct am_checker *c, uint32_t a, uint32_t x, uint64_t first)
{
	struct am_vertex *v = &c->vertex[a];

	assert(x != a && v->n_reach > 0);
	if (v->n_reach >= v->cap_reach) {
		const uint32_t cap = v->cap_reach ? v->cap_reach * 2 : FIRST_REACH;
		void *p = am_mem_resize(c->mem, v->reach, sizeof *v->reach * v->cap_reach,
					sizeof *v->reach * cap);
		if (!p)
			return NULL;
		v->reach = p;
		v->cap_reach = cap;
	}
	if (x >= v->cap_reach_at) {
		void *p = am_mem_resize(c->mem, v->reach_at, sizeof *v->reach_at * v->cap_reach_at,
					sizeof *v->reach_at * c->cap);
		if (!p)
			return NULL;
		v->reach_at = p;
		v->cap_reach_at = c->cap;
	}
	v->reach_at[x] = (uint16_t)v->n_reach;
	struct am_reach *r = &v->reach[v->n_reach++];
	r->x = x;
	r->first = first;
	anc_add(c, x, a, first ? first : 1); /* 1: a moment that is not "never" */
	return r;
}

/* Rule 1. */
static void region_open(struct am_checker *c, uint32_t slot, const struct am_event *event)
{
	struct am_vertex *v = &c->vertex[slot];
	struct am_front *f = &c->front[slot];

	assert(f->begin == AM_NEVER && v->n_reach == 0);
	if (!v->region_place || v->region.region != event->object || v->region.site != event->site) {
		v->region = (struct am_region_place){(uint32_t)event->object, event->site};
		v->region_place = am_place_number(c, v->region);
		if (!v->region_place) {
			c->stats.forgotten++;
			am_vertex_blind(c, slot);
			return;
		}
	}
	v->n_reach = 1;
	/* A begin made from the same event as the access before it still comes after it. */
	const uint64_t moment = AM_MOMENT(event->index, 0), after = (c->newest | 0xffff) + 1;
	f->begin = c->newest && moment < after ? after : moment;
	f->place = v->region_place << AM_CONTEXT_PLACE;
	if (!++c->next_transaction)
		c->next_transaction = 1;
	f->transaction = c->next_transaction;
	front_add(f, f->begin);
	v->begin_index = event->index;
	c->n_open++;
	if (c->n_open > c->stats.nodes_peak)
		c->stats.nodes_peak = c->n_open;
}

/*
 * Rule 2. The completed transaction stays where others reach it: first(a, slot) of every a that
 * reaches it is untouched, and so is what the entities remember. Only what it reached itself goes,
 * since a completed transaction gets no incoming edge any more.
 */
void am_region_close(struct am_checker *c, uint32_t slot)
{
	struct am_vertex *v = &c->vertex[slot];
	struct am_front *f = &c->front[slot];

	if (f->begin == AM_NEVER)
		return;
#ifdef AM_SCG_DELETE_COMPLETED
	/* The error that section 3 of the paper warns of; a test builds it and must notice. */
	for (uint32_t w = 0; w < c->words; w++)
		FOR_EACH_BIT (bit, am_anc(c, slot)[w])
			c->vertex[w * 64 + bit].reach[c->vertex[w * 64 + bit].reach_at[slot]].first =
				(c->newest | 0xffff) + 1;
#endif
	const uint32_t n = v->n_reach;
	v->n_reach = 0;
	f->begin = AM_NEVER;
	f->transaction = f->place = 0;
	front_remove(f);
	c->n_open--;
	c->stats.edges_live -= n - 1;
	for (uint32_t i = 1; i < n; i++) {
		const uint32_t x = v->reach[i].x;
		anc_remove(c, x, slot);
		if (c->vertex[x].ended && !am_matters(c, x))
			am_slot_release(c, x);
	}
}

void am_region_begin(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	struct am_vertex *v = &c->vertex[slot];

	if (v->depth++) {
		if (v->depth - 2 < 8)
			v->inner[v->depth - 2] = (uint32_t)ev->object;
		return;
	}
	c->stats.regions++;
	if (!v->blind)
		region_open(c, slot, ev);
}

void am_region_end(struct am_checker *c, uint32_t slot)
{
	struct am_vertex *v = &c->vertex[slot];

	if (v->depth && !--v->depth)
		am_region_close(c, slot);
}

void am_reach_forget(struct am_checker *c)
{
	for (uint32_t s = 0; s < c->high; s++) {
		struct am_front *f = &c->front[s];
		memset(am_anc(c, s), 0, sizeof(uint64_t) * c->stride);
		f->n_anc = 0;
		f->is_low = false;
		f->horizon = AM_NEVER;
		if (f->begin == AM_NEVER)
			continue;
		c->vertex[s].n_reach = 1;
		front_add(f, f->begin);
	}
	c->stats.edges_live = 0;
	for (uint32_t s = c->high; s-- > 0;)
		if (s < c->high && c->vertex[s].used && c->vertex[s].ended)
			am_slot_release(c, s);
}

/* a reaches x from `first` on, by a path whose last edge is from -> to. */
static void reach_set(struct am_checker *c, uint32_t a, uint32_t x, uint64_t first,
		      const struct am_end *from, const struct am_end *to)
{
	struct am_reach *r;

	if (x == a) /* only after something was forgotten: otherwise the cycle was told before (R3) */
		return;
	if (am_has(am_anc(c, x), a)) {
		r = &c->vertex[a].reach[c->vertex[a].reach_at[x]];
		if (r->first <= first)
			return;
		r->first = first;
		if (first < c->front[x].horizon)
			c->front[x].horizon = first;
	} else {
		r = am_reach_new(c, a, x, first);
		if (!r) {
			c->stats.forgotten++;
			return;
		}
		if (++c->stats.edges_live > c->stats.edges_peak)
			c->stats.edges_peak = c->stats.edges_live;
	}
	r->from = *from;
	r->to = *to;
}

/* a reaches the access at hand through `from`: a now reaches all that the present transaction does. */
static void join(struct am_checker *c, uint32_t a, const struct am_now *now, const struct am_end *from,
		 const struct am_end *to)
{
	const struct am_vertex *t = &c->vertex[now->slot];

	assert(a != now->slot && c->front[a].begin != AM_NEVER);
	if (now->begin == AM_NEVER) {
		reach_set(c, a, now->slot, now->moment & ~UINT64_C(0xffff), from, to);
		return;
	}
	reach_set(c, a, now->slot, now->begin, from, to);
	for (uint32_t i = 1; i < t->n_reach; i++) {
		const struct am_reach r = t->reach[i];
		reach_set(c, a, r.x, r.first, &r.from, &r.to);
	}
}

/* As join, for a transaction that reaches nothing yet and is new to `a`. False: no room. */
static inline bool join_alone(struct am_checker *c, uint32_t a, uint32_t t, uint64_t first, const struct am_end *from,
			      const struct am_end *to)
{
	struct am_vertex *v = &c->vertex[a];

	if (v->n_reach >= v->cap_reach || t >= v->cap_reach_at)
		return false;
	struct am_reach *r = &v->reach[v->n_reach];
	v->reach_at[t] = (uint16_t)v->n_reach++;
	r->first = first;
	r->x = t;
	r->from = *from;
	r->to = *to;
	return true;
}

struct edge {
	struct am_end from, to;
	bool is_known;
};

/* Both ends, as they will be told; false at the memory ceiling. */
static inline bool edge_ends(struct am_checker *c, struct am_now *now, const struct am_stamp *stamp, uint64_t key,
			     uint8_t mask, struct edge *edge)
{
	if (edge->is_known)
		return true;
	if (!am_now_tag(c, now)) {
		c->stats.forgotten++;
		return false;
	}
	edge->from = am_end_of(c, stamp, key, mask);
	edge->to = am_now_end(now);
	return edge->is_known = true;
}

/* `a` reaches the access at hand, and did not before. */
static inline void follow(struct am_checker *c, uint32_t a, const struct am_now *now, uint64_t first, bool is_alone,
			  const struct edge *edge)
{
	if (is_alone && join_alone(c, a, now->slot, first, &edge->from, &edge->to)) {
		anc_add(c, now->slot, a, first);
		c->stats.edges_live++;
	} else {
		join(c, a, now, &edge->from, &edge->to);
	}
}

/* Rule 3. An edge that would close a cycle is told and not added: see doc/notes/checker.md. */
void am_edge_add(struct am_checker *c, struct am_now *now, const struct am_stamp *stamp, uint64_t key,
		 uint8_t mask)
{
	const uint32_t u = AM_SLOT_OF(stamp->moment), t = now->slot;
	const uint64_t *anc_u = am_anc(c, u), *anc_t = am_anc(c, t);
	const bool is_open = now->begin != AM_NEVER;
	/* In the open region of its thread: that one is the first to reach it. */
	const bool is_recent = stamp->moment >= c->front[u].begin && !am_has(anc_t, u);
	struct edge edge = {.is_known = false};

	assert(u != t);
	if (is_open && am_has(anc_u, t) && am_first(c, t, u) <= stamp->moment) {
		edge.from = am_end_of(c, stamp, key, mask);
		am_cycle_close(c, now, &edge.from);
		return;
	}
	const bool is_alone = !is_open || c->vertex[t].n_reach == 1;
	const uint64_t first = is_open ? now->begin : now->moment & ~UINT64_C(0xffff);
	if (is_recent) {
		if (!edge_ends(c, now, stamp, key, mask, &edge))
			return;
		follow(c, u, now, first, is_alone, &edge);
	}
	for (uint32_t w = 0; w < c->words; w++)
		FOR_EACH_BIT (bit, anc_u[w] & ~anc_t[w]) {
			const uint32_t a = w * 64 + (uint32_t)bit;
			if (a == t || am_first(c, a, u) > stamp->moment)
				continue;
			if (!edge_ends(c, now, stamp, key, mask, &edge))
				return;
			follow(c, a, now, first, is_alone, &edge);
		}
	if (c->stats.edges_live > c->stats.edges_peak)
		c->stats.edges_peak = c->stats.edges_live;
	if (!edge.is_known && c->front[u].is_low) /* perhaps nobody reaches it: then say so the next time */
		am_horizon(c, u);
}

bool am_stamp_dominated(const struct am_checker *c, const struct am_stamp *stamp, uint32_t slot)
{
	const uint32_t u = AM_SLOT_OF(stamp->moment);
	const uint64_t *anc_u = am_anc(c, u), *anc_t = am_anc(c, slot);

	if (stamp->moment >= c->front[u].begin && !am_has(anc_t, u))
		return false;
	for (uint32_t w = 0; w < c->words; w++)
		FOR_EACH_BIT (bit, anc_u[w] & ~anc_t[w])
			if (am_first(c, w * 64 + (uint32_t)bit, u) <= stamp->moment)
				return false;
	return true;
}

void am_horizon(struct am_checker *c, uint32_t slot)
{
	struct am_front *f = &c->front[slot];
	uint64_t low = f->begin;

	for (uint32_t w = 0; w < c->words; w++)
		FOR_EACH_BIT (bit, am_anc(c, slot)[w]) {
			const uint64_t first = am_first(c, w * 64 + (uint32_t)bit, slot);
			if (first < low)
				low = first;
		}
	assert(f->horizon <= (low ? low : 1));
	f->horizon = low ? low : 1;
	f->is_low = false;
}

void am_reach_free(struct am_checker *c)
{
	for (uint32_t s = 0; s < c->cap; s++) {
		struct am_vertex *v = &c->vertex[s];
		am_mem_free(c->mem, v->reach, sizeof *v->reach * v->cap_reach);
		am_mem_free(c->mem, v->reach_at, sizeof *v->reach_at * v->cap_reach_at);
		am_mem_free(c->mem, v->mark, sizeof *v->mark * v->cap_marks);
	}
	am_mem_free(c->mem, c->anc, sizeof *c->anc * c->cap * c->stride);
	am_mem_free(c->mem, c->front, sizeof *c->front * c->cap);
	am_mem_free(c->mem, c->vertex, sizeof *c->vertex * c->cap);
	am_map_free(&c->slot_of, c->mem);
}
