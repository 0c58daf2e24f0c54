/*
 * Inside the summarised conflict graph: what is told of an access, and cycles (scg_cycle.c). Part of scg.h.
 */
/* SPDX-License-Identifier: MIT */
#ifndef ATOMMON_CORE_SCG_CYCLE_H
#define ATOMMON_CORE_SCG_CYCLE_H

#include "scg.h"

/* ---- scg_cycle.c ---- */

/* Number of the context, from 1, kept at place `at` of the recent ones; 0 at the ceiling. */
uint32_t am_context_keep(struct am_checker *c, uint32_t at, uint32_t site, uint32_t place, uint32_t what, uint64_t context);
/* Number of the place of the vertex' newest region, from 1; 0 at the ceiling. */
uint32_t am_place_number(struct am_checker *c, struct am_region_place place);
void am_context_free(struct am_checker *c);
/* The region at hand reaches `from`, and the access at hand conflicts with it: keep the shortest
 * such cycle of this event. */
void am_cycle_close(struct am_checker *c, struct am_now *now, const struct am_end *from);
void am_cycle_tell(struct am_checker *c);

/* The event is done: one report, if it closed a cycle. */
static inline void am_cycle_report(struct am_checker *c)
{
	if (__builtin_expect(c->found, 0))
		am_cycle_tell(c);
}

/* kind, mode, order and flags of an event at once. */
static inline uint32_t am_what(const struct am_event *e)
{
	uint32_t what;

	_Static_assert(offsetof(struct am_event, kind) % 4 == 0 && offsetof(struct am_event, flags) % 4 == 3, "a word");
	memcpy(&what, &e->kind, sizeof what);
	return what;
}

/* Where this thread is now: the place of its open region << AM_CONTEXT_PLACE, 0 outside. */
static inline uint32_t am_place_now(const struct am_front *f)
{
	return f->transaction ? f->place : 0;
}

uint32_t am_context_learn(struct am_checker *c, uint32_t place, const struct am_event *e, uint32_t at);

static inline uint32_t am_context_home(uint32_t site)
{
	return site % 1024;
}

static inline bool am_context_is_at(const struct am_checker *c, uint32_t at, uint32_t site, uint32_t place, uint32_t what)
{
	return !((c->recent_context[at].site ^ site) | (c->recent_context[at].place ^ place) |
		 (c->recent_context[at].what ^ what));
}

/* Number of the context of an access at this place; 0 at the memory ceiling. */
static inline uint32_t am_context_now(struct am_checker *c, uint32_t place, const struct am_event *e)
{
	const uint32_t h = am_context_home(e->site);

	if (__builtin_expect(!am_context_is_at(c, h, e->site, place, am_what(e)), 0))
		return am_context_learn(c, place, e, h);
	return c->recent_context[h].number;
}

static inline uint64_t am_tag(struct am_checker *c, const struct am_front *f, const struct am_event *e)
{
	return (uint64_t)am_context_now(c, am_place_now(f), e) << 32 | f->transaction;
}

/* Find out now->tag; false at the memory ceiling. */
static inline bool am_now_tag(struct am_checker *c, struct am_now *now)
{
	if (!AM_CONTEXT_OF(now->tag))
		now->tag = am_tag(c, &c->front[now->slot], now->event);
	return AM_CONTEXT_OF(now->tag);
}

static inline struct am_end am_now_end(const struct am_now *now)
{
	return (struct am_end){{now->moment, now->event->value, now->tag},
			       now->object,
			       (uint32_t)now->size,
			       now->event->thread};
}

static inline struct am_end am_end_of(const struct am_checker *c, const struct am_stamp *stamp, uint64_t key,
				      uint8_t mask)
{
	const uint64_t word = (key - 1) & ~AM_LOCK_SPACE;
	const unsigned low = (unsigned)__builtin_ctz(mask);
	const struct am_vertex *v = &c->vertex[AM_SLOT_OF(stamp->moment)];
	return (struct am_end){*stamp, (word << 3) + low, 32 - (unsigned)__builtin_clz(mask) - low,
			       v->ghost ? AM_TRANSACTION_OF(stamp->tag) : v->id};
}

#endif
