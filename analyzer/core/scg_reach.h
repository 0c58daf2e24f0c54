/*
 * Inside the summarised conflict graph: who reaches whom. Sets of open regions, and the questions that
 * accesses ask of them, in line; threads (scg_vertex.c), regions (scg_region.c), edges (scg_reach.c),
 * threads that ended (scg_ended.c). Part of scg.h.
 */
/* SPDX-License-Identifier: MIT */
#ifndef ATOMMON_CORE_SCG_REACH_H
#define ATOMMON_CORE_SCG_REACH_H

#include "scg.h"

/* ---- choices without a branch, where the processor cannot guess ---- */

/* All bits, or none. */
static inline uint64_t am_all_if(bool is_so)
{
	uint64_t bits = -(uint64_t)is_so;

	__asm__("" : "+r"(bits)); /* or the compiler makes it a branch all the same */
	return bits;
}

static inline uint64_t am_either(uint64_t bits, uint64_t a, uint64_t b)
{
	return (a & bits) | (b & ~bits);
}

/* ---- sets of open regions ---- */

static inline uint64_t *am_anc(const struct am_checker *c, uint32_t slot)
{
	return c->anc + (size_t)slot * c->stride;
}

static inline uint64_t *am_reach_set(const struct am_checker *c, uint32_t reach)
{
	return c->reach_set + (size_t)reach * c->stride;
}

static inline bool am_has(const uint64_t *set, uint32_t region)
{
	return set[region >> 6] >> (region & 63) & 1;
}

static inline bool am_is_open(const struct am_checker *c, uint32_t slot)
{
	return c->front[slot].begin != AM_NEVER;
}

static inline uint32_t am_n_open(const struct am_checker *c)
{
	return (uint32_t)(c->n_begun - c->n_closed);
}

/* Does an open region of another thread reach the present of this one? For sets of so many words. */
static inline bool am_is_reached_by(const struct am_checker *c, uint32_t slot, uint32_t words)
{
	const uint64_t *anc = c->anc + (size_t)slot * words;
	uint64_t any = 0;

	for (uint32_t w = 0; w < words; w++)
		any |= anc[w] & c->open[w];
	return any;
}

static inline bool am_is_reached(const struct am_checker *c, uint32_t slot)
{
	return am_is_reached_by(c, slot, c->stride);
}

/* Does any open region reach the thread's present? If not, its accesses need not be remembered. */
static inline bool am_matters(const struct am_checker *c, uint32_t slot)
{
	return am_is_open(c, slot) || am_is_reached(c, slot);
}

/* No (false), or perhaps: may an open region reach this access? For moment 0: no. */
static inline bool am_is_live(const struct am_checker *c, uint64_t moment)
{
	return moment >= c->front[AM_SLOT_OF(moment)].horizon;
}

/*
 * Does every open region that reaches this access of another thread also reach the thread of `slot`,
 * and is its own open region not among them? Then an edge between them tells nothing new and closes
 * nothing, and a newer read may stand for an older one: nobody learns less from the newer one, now or
 * later (a region that comes to reach the older access does so through one that reaches both). False
 * may also mean: perhaps (am_stamp_dominated is exact).
 */
static inline bool am_is_covered(const struct am_checker *c, uint64_t moment, uint32_t slot)
{
	const struct am_front *u = &c->front[AM_SLOT_OF(moment)];
	const uint64_t *anc_u = am_anc(c, AM_SLOT_OF(moment)), *anc_t = am_anc(c, slot);
	/* In the open region of its thread: that one reaches it, too. */
	uint64_t rest = (moment >= u->begin) & ~(anc_t[u->region >> 6] >> (u->region & 63));

	for (uint32_t w = 0; w < c->stride; w++)
		rest |= anc_u[w] & ~anc_t[w] & c->open[w];
	return !rest;
}

/* ---- scg_vertex.c ---- */

bool am_vertex_init(struct am_checker *c);

/* Slot of the event's thread; made if unknown. UINT32_MAX at the memory ceiling. */
uint32_t am_vertex_get(struct am_checker *c, const struct am_event *event);
void am_vertex_end(struct am_checker *c, uint32_t thread);
/* From now on its regions are not known, or its data accesses not trusted: off the fast path. */
void am_vertex_blind(struct am_checker *c, uint32_t slot);
void am_vertex_mute(struct am_checker *c, uint32_t slot);
void am_slot_release(struct am_checker *c, uint32_t slot);
void am_vertex_free(struct am_checker *c);

/* ---- scg_region.c ---- */

bool am_open_init(struct am_checker *c);
/* Of nested regions only the outermost counts. */
void am_region_begin(struct am_checker *c, uint32_t slot, const struct am_event *event);
void am_region_end(struct am_checker *c, uint32_t slot);
/* Whatever is open ends here. */
void am_region_close(struct am_checker *c, uint32_t slot);
/* What regions that ended reached is given back. */
void am_open_reclaim(struct am_checker *c);
/* Every open region loses what it reaches, save itself. */
void am_open_forget(struct am_checker *c);
void am_open_free(struct am_checker *c);

/* ---- scg_reach.c ---- */

bool am_reach_init(struct am_checker *c);
/* first(a, x) and its edge for the region a, which reaches x. */
const struct am_reach *am_reach_of(const struct am_checker *c, uint32_t region, uint32_t x);
/* The regions of this set, which did not before, reach x from `first` on. False at the memory ceiling. */
bool am_reach_add(struct am_checker *c, uint32_t x, const uint64_t *set, uint64_t first, const struct am_end *from,
		  const struct am_end *to);
/* Nobody reaches x. */
void am_reach_drop(struct am_checker *c, uint32_t x);

/* The same if that is so, and the horizon. Without a branch: it cannot be guessed. */
static inline void am_reach_expire(struct am_checker *c, uint32_t x, uint32_t words)
{
	struct am_front *f = &c->front[x];
	const uint64_t stays = am_all_if(am_is_reached_by(c, x, words));
	const uint32_t kept = (uint32_t)stays, list = f->reach & ~kept, last = f->reach_last & ~kept;

	f->horizon = am_either(stays, f->horizon, f->begin);
	f->reach &= kept;
	f->reach_last &= kept;
	c->reach[last].next = c->free_reach; /* reach[0] is nobody's */
	c->free_reach = list ? list : c->free_reach;
}
/* The open regions that reach this access; false: none. */
bool am_reach_whose(const struct am_checker *c, uint64_t moment, uint64_t *set);
/*
 * The access at hand comes after `stamp` (of another thread, on the bytes `mask` of `key`). False if
 * it does not: a cycle would be closed, which is told, or there is no memory.
 */
bool am_edge_add(struct am_checker *c, struct am_now *now, const struct am_stamp *stamp, uint64_t key, uint8_t mask);
/* As am_is_covered, exactly. */
bool am_stamp_dominated(const struct am_checker *c, const struct am_stamp *stamp, uint32_t slot);
/* Make the horizon of this slot exact. */
void am_horizon(struct am_checker *c, uint32_t slot);
/* Edges that tell of a region that is open. */
uint32_t am_reach_count(const struct am_checker *c);

/* Earlier moments of this thread are reached by no open region; AM_NEVER: none is. */
static inline uint64_t am_horizon_of(struct am_checker *c, uint32_t slot)
{
	if (c->front[slot].exact_at != (uint32_t)c->n_closed)
		am_horizon(c, slot);
	return c->front[slot].horizon;
}

/* As !am_is_live, exactly. */
static inline bool am_is_stale(struct am_checker *c, uint64_t moment)
{
	return !am_is_live(c, moment) || moment < am_horizon_of(c, AM_SLOT_OF(moment));
}

/* ---- scg_ended.c ---- */

/* Too many threads ended while open regions reach them: merge those that are alike. */
void am_ended_merge(struct am_checker *c);

#endif
