/*
 * Edges of the summarised conflict graph: which open region reaches which moment of which thread (see
 * scg.h for the meaning and the invariants). Regions that come to reach a thread by the same edge do so
 * at once, as a set, so an edge costs the same whatever their number. Runs wherever the checker runs; no
 * I/O, no globals.
 */
/* SPDX-License-Identifier: MIT */
#include "scg.h"

#include <assert.h>

/* A test begins with few, so that there are never enough. */
#ifndef AM_SCG_FIRST_REACH
#define AM_SCG_FIRST_REACH 32
#endif

#define INLINE __attribute__((always_inline)) inline

/* ---- who reaches a thread ------------------------------------------------------------------ */

const struct am_reach *am_reach_of(const struct am_checker *c, uint32_t region, uint32_t x)
{
	uint32_t r = c->front[x].reach;

	assert(am_has(c->open, region) && am_has(am_anc(c, x), region));
	while (!am_has(am_reach_set(c, r), region))
		r = c->reach[r].next;
	assert(r);
	return &c->reach[r];
}

static bool reach_grow(struct am_checker *c)
{
	const uint32_t cap = c->cap_reach ? c->cap_reach * 2 : AM_SCG_FIRST_REACH;
	const size_t row = sizeof(uint64_t) * c->stride;
	struct am_reach *reach = am_mem_alloc(c->mem, sizeof *reach * cap);
	uint64_t *set = am_mem_alloc(c->mem, row * cap);

	if (!reach || !set) {
		am_mem_free(c->mem, reach, sizeof *reach * cap);
		am_mem_free(c->mem, set, row * cap);
		return false;
	}
	if (c->cap_reach) {
		memcpy(reach, c->reach, sizeof *reach * c->cap_reach);
		memcpy(set, c->reach_set, row * c->cap_reach);
	}
	am_mem_free(c->mem, c->reach, sizeof *reach * c->cap_reach);
	am_mem_free(c->mem, c->reach_set, row * c->cap_reach);
	for (uint32_t r = cap - 1; r >= c->cap_reach && r > 0; r--) {
		reach[r].next = c->free_reach;
		c->free_reach = r;
	}
	c->reach = reach;
	c->reach_set = set;
	c->cap_reach = cap;
	return true;
}

/* Leave out regions that ended; how many are left? */
static uint32_t trim(struct am_checker *c, uint32_t x)
{
	struct am_front *f = &c->front[x];
	uint32_t *at = &f->reach, n = 0;

	f->reach_last = 0;
	for (uint32_t r = *at; r; r = *at) {
		uint64_t any = 0;
		for (uint32_t w = 0; w < c->stride; w++)
			any |= am_reach_set(c, r)[w] &= c->open[w];
		if (any) {
			f->reach_last = r;
			at = &c->reach[r].next;
			n++;
		} else {
			*at = c->reach[r].next;
			c->reach[r].next = c->free_reach;
			c->free_reach = r;
		}
	}
	return n;
}

/* None is free. */
static __attribute__((noinline)) bool reach_reserve(struct am_checker *c)
{
	uint32_t n = 0;

	for (uint32_t x = 0; x < c->high; x++)
		n += trim(c, x);
	if (n > c->cap_reach / 2 || !c->free_reach)
		reach_grow(c);
	return c->free_reach;
}

bool am_reach_init(struct am_checker *c)
{
	return reach_grow(c);
}

/* The regions of this set reach x from `first` on. Its edge is to be filled in; NULL at the memory ceiling. */
static INLINE struct am_reach *reach_add(struct am_checker *c, uint32_t x, const uint64_t *set, uint64_t first,
					 uint32_t words)
{
	struct am_front *f = &c->front[x];

	if (__builtin_expect(!c->free_reach, 0) && !reach_reserve(c)) {
		c->stats.forgotten++;
		return NULL;
	}
	const uint32_t r = c->free_reach;
	struct am_reach *reach = &c->reach[r];
	uint64_t *reach_set = c->reach_set + (size_t)r * words, *anc = c->anc + (size_t)x * words;
	const uint64_t has_none = am_all_if(!f->reach);
	c->free_reach = reach->next;
	c->high_reach = r >= c->high_reach ? r + 1 : c->high_reach;
	reach->next = f->reach;
	reach->first = first;
	reach->is_vague = false;
	f->reach_last = (uint32_t)am_either(has_none, r, f->reach_last);
	f->reach = r;
	f->newest_first = first > f->newest_first ? first : f->newest_first;
	f->horizon = first < f->horizon ? (first ? first : 1) : f->horizon; /* 1: a moment that is not "never" */
	for (uint32_t w = 0; w < words; w++) {
		reach_set[w] = set[w];
		anc[w] |= set[w];
		c->reaching[w] |= set[w];
	}
	return reach;
}

bool am_reach_add(struct am_checker *c, uint32_t x, const uint64_t *set, uint64_t first, const struct am_end *from,
		  const struct am_end *to)
{
	struct am_reach *reach = reach_add(c, x, set, first, c->stride);

	if (!reach)
		return false;
	reach->from = *from;
	reach->to = *to;
	return true;
}

void am_reach_drop(struct am_checker *c, uint32_t x)
{
	memset(am_anc(c, x), 0, sizeof(uint64_t) * c->stride);
	am_reach_expire(c, x, c->stride);
}

static INLINE bool whose(const struct am_checker *c, uint64_t moment, uint64_t *set, uint32_t words)
{
	const uint32_t u = AM_SLOT_OF(moment);
	const struct am_front *f = &c->front[u];
	uint64_t any = 0;

	if (__builtin_expect(moment >= f->newest_first, 1)) {
		for (uint32_t w = 0; w < words; w++)
			set[w] = c->anc[(size_t)u * words + w];
	} else {
		for (uint32_t w = 0; w < words; w++)
			set[w] = 0;
		for (uint32_t r = f->reach; r; r = c->reach[r].next)
			for (uint32_t w = 0; w < words && c->reach[r].first <= moment; w++)
				set[w] |= am_reach_set(c, r)[w];
	}
	/* In the open region of its thread: that one is the first to reach it. */
	set[f->region >> 6] |= (uint64_t)(moment >= f->begin) << (f->region & 63);
	for (uint32_t w = 0; w < words; w++)
		any |= set[w] &= c->open[w];
	return any;
}

bool am_reach_whose(const struct am_checker *c, uint64_t moment, uint64_t *set)
{
	return whose(c, moment, set, c->stride);
}

bool am_stamp_dominated(const struct am_checker *c, const struct am_stamp *stamp, uint32_t slot)
{
	uint64_t *set = c->scratch, rest = 0;

	whose(c, stamp->moment, set, c->stride);
	for (uint32_t w = 0; w < c->stride; w++)
		rest |= set[w] & ~am_anc(c, slot)[w];
	return !rest;
}

void am_horizon(struct am_checker *c, uint32_t slot)
{
	struct am_front *f = &c->front[slot];
	uint64_t low = f->begin;

	trim(c, slot);
	for (uint32_t r = f->reach; r; r = c->reach[r].next)
		low = c->reach[r].first < low ? c->reach[r].first : low;
	assert(f->horizon <= (low ? low : 1));
	f->horizon = low ? low : 1;
	f->exact_at = (uint32_t)c->n_closed;
}

uint32_t am_reach_count(const struct am_checker *c)
{
	uint32_t n = 0;

	for (uint32_t x = 0; x < c->high; x++)
		for (uint32_t r = c->front[x].reach; r; r = c->reach[r].next) {
			uint64_t any = 0;
			for (uint32_t w = 0; w < c->stride; w++)
				any |= am_reach_set(c, r)[w] & c->open[w];
			n += any != 0;
		}
	return n;
}

/* ---- edges --------------------------------------------------------------------------------- */

/* The regions of the set reach x from `first` on; some may have done so before. */
static void join(struct am_checker *c, uint32_t x, const uint64_t *set, struct am_reach by)
{
	const struct am_front *f = &c->front[x];
	uint64_t *fresh = c->scratch + c->stride, any = 0;

	memcpy(fresh, set, sizeof *fresh * c->stride);
	if (am_is_open(c, x)) /* only after something was forgotten: otherwise the cycle was told before (R3) */
		fresh[f->region >> 6] &= ~(UINT64_C(1) << (f->region & 63));
	for (uint32_t r = c->front[x].reach; r; r = c->reach[r].next)
		for (uint32_t w = 0; w < c->stride && c->reach[r].first <= by.first; w++)
			fresh[w] &= ~am_reach_set(c, r)[w];
	for (uint32_t w = 0; w < c->stride; w++)
		any |= fresh[w];
	if (!any || !am_reach_add(c, x, fresh, by.first, &by.from, &by.to))
		return;
	for (uint32_t r = c->reach[c->front[x].reach].next; r; r = c->reach[r].next)
		for (uint32_t w = 0; w < c->stride; w++)
			am_reach_set(c, r)[w] &= ~fresh[w];
}

/* What the region of this thread reaches the regions of the set reach, too. */
static __attribute__((noinline)) void hand_on(struct am_checker *c, uint32_t slot, const uint64_t *set)
{
	const uint32_t region = c->front[slot].region;

	for (uint32_t x = 0; x < c->high; x++)
		if (am_has(am_anc(c, x), region))
			join(c, x, set, *am_reach_of(c, region, x));
}

static uint8_t kind_of(const struct am_checker *c, const struct am_stamp *stamp)
{
	return c->context[AM_CONTEXT_OF(stamp->tag) - 1] & ((1 << AM_CONTEXT_MODE) - 1);
}

/* Does it rest on a read that may turn out to be in vain (atommon/vain.h): before an update, since the reader might still attempt one? */
static bool is_vague(const struct am_checker *c, const struct am_stamp *from, const struct am_now *to)
{
	return to->event->kind == AM_UPDATE && kind_of(c, from) == AM_READ;
}

/*
 * The thread is reached already. If by an edge that may turn out to be none, into its open region, this one takes its place:
 * another cycle through it would not be told either. All who come by the old one must come by the new one, too.
 */
static __attribute__((noinline)) void prefer(struct am_checker *c, struct am_now *now, const struct am_stamp *stamp, uint64_t key,
					     uint8_t mask, uint64_t *set)
{
	if (is_vague(c, stamp, now) || !am_now_tag(c, now))
		return;
	whose(c, stamp->moment, set, c->stride);
	for (uint32_t r = c->front[now->slot].reach; r; r = c->reach[r].next) {
		struct am_reach *x = &c->reach[r];
		uint64_t rest = 0;
		for (uint32_t w = 0; w < c->stride; w++)
			rest |= am_reach_set(c, r)[w] & c->open[w] & ~set[w];
		if (rest || !x->is_vague || x->first != now->begin)
			continue;
		x->from = am_end_of(c, stamp, key, mask);
		x->to = am_now_end(now);
		x->is_vague = false;
	}
}

/* Rule 3. An edge that would close a cycle is told and not added: see doc/notes/checker.md. */
static INLINE bool edge_add(struct am_checker *c, struct am_now *now, const struct am_stamp *stamp, uint64_t key,
			    uint8_t mask, uint64_t *set, uint32_t words)
{
	const uint32_t u = AM_SLOT_OF(stamp->moment), t = now->slot;
	const bool is_open = now->begin != AM_NEVER;
	const uint32_t region = c->front[t].region;
	const uint64_t *anc = c->anc + (size_t)t * words;
	uint64_t any = 0;

	assert(u != t);
	whose(c, stamp->moment, set, words);
	if (is_open && am_has(set, region)) {
		const struct am_end from = am_end_of(c, stamp, key, mask);
		am_cycle_close(c, now, &from);
		return false;
	}
	for (uint32_t w = 0; w < words; w++)
		any |= set[w] &= ~anc[w];
	if (!any) {
		c->met++;
		if (__builtin_expect(is_open && c->vague == now->begin, 0))
			prefer(c, now, stamp, key, mask, set);
		if (c->front[u].exact_at != (uint32_t)c->n_closed) /* perhaps nobody reaches it: then say so the next time */
			am_horizon(c, u);
		return true;
	}
	if (!am_now_tag(c, now)) {
		c->stats.forgotten++;
		return false;
	}
	struct am_reach *reach = reach_add(c, t, set, is_open ? now->begin : now->moment & ~UINT64_C(0xffff), words);
	if (!reach)
		return false;
	reach->from = am_end_of(c, stamp, key, mask);
	reach->to = am_now_end(now);
	reach->is_vague = is_vague(c, stamp, now);
	if (is_open && reach->is_vague)
		c->vague = now->begin;
	if (is_open && am_has(c->reaching, region))
		hand_on(c, t, set);
	return true;
}

bool am_edge_add(struct am_checker *c, struct am_now *now, const struct am_stamp *stamp, uint64_t key, uint8_t mask)
{
	uint64_t set[4];

	switch (c->stride) {
	case 1:
		return edge_add(c, now, stamp, key, mask, set, 1);
	case 2:
		return edge_add(c, now, stamp, key, mask, set, 2);
	case 4:
		return edge_add(c, now, stamp, key, mask, set, 4);
	default:
		return edge_add(c, now, stamp, key, mask, c->scratch, c->stride);
	}
}
