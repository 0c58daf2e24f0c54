/*
 * A region begins or ends (rules 1 and 2), in line: for scg_many.c both are one way without a branch, for
 * which of the two comes next cannot be guessed. Shared with scg_region.c. Runs wherever the checker
 * runs; no I/O, no globals.
 */
/* SPDX-License-Identifier: MIT */
#ifndef ATOMMON_CORE_SCG_TURN_H
#define ATOMMON_CORE_SCG_TURN_H

#include "scg.h"

/* Is this place that of the thread's newest region? */
static inline bool am_turn_is_known(const struct am_checker *c, const struct am_front *f, const struct am_event *ev)
{
	if (!f->place)
		return false;
	const struct am_region_place place = c->place[(f->place >> AM_CONTEXT_PLACE) - 1];
	return place.region == (uint32_t)ev->object && place.site == ev->site;
}

/*
 * The region's place is known and there is a bit for it; or it ends. Sets have so many words.
 *
 * Rule 2: the completed transaction stays where others reach it: first(a, slot) of every a that reaches
 * it is untouched, and so is what the entities remember. Only what it reached itself goes, since a
 * completed transaction gets no incoming edge any more: its bit means nothing when it is not open.
 */
static __attribute__((always_inline)) inline void am_turn(struct am_checker *c, uint32_t slot, uint64_t index,
							   bool is_end, uint32_t words)
{
	struct am_front *f = &c->front[slot];
	const uint64_t end = am_all_if(is_end);
	const uint64_t moment = AM_MOMENT(index, 0), after = (c->newest | 0xffff) + 1;
	const uint32_t next = c->free_at * 64 + (uint32_t)__builtin_ctzll(c->free[c->free_at] | UINT64_C(1) << 63);
	const uint32_t region = (uint32_t)am_either(end, f->region, next);
	const uint64_t bit = UINT64_C(1) << (region & 63);

	c->open[region >> 6] ^= bit;
	c->free[region >> 6] ^= bit & ~c->reaching[region >> 6];
	c->n_closed += is_end;
	c->n_begun += !is_end;
	if (__builtin_expect(c->n_begun - c->n_closed > c->stats.nodes_peak, 0))
		c->stats.nodes_peak = c->n_begun - c->n_closed;
	f->begin_index = index;
	f->region = (uint16_t)region;
	f->depth = !is_end;
	f->transaction = (uint32_t)(c->n_begun & ~end);
	/* A begin made from the same event as the access before it still comes after it. */
	f->begin = am_either(end, AM_NEVER, moment < after ? after : moment);
	am_reach_expire(c, slot, words);
}

#endif
