/*
 * The live checker: events in, cycles out, by the summarised conflict graph (Farzan & Madhusudan,
 * CAV'08, section 3.1, rules 1 to 5; scg.h says how we represent it, doc/notes/checker.md why that
 * is exact). Runs in the drain thread and in tools. This file decides what an event means:
 * transactions, conflicts, entities, holes. No I/O, no globals, memory only from am_mem.
 */
/* SPDX-License-Identifier: MIT */
#include "scg.h"

#include <string.h>

/* Threads that ended and are still reached, before they are merged; a test makes it small. */
#ifndef AM_SCG_ENDED
#define AM_SCG_ENDED 64
#endif

#define BIT(kind) (UINT64_C(1) << (kind))
#define LOCK_KINDS (BIT(AM_ACQUIRE) | BIT(AM_RELEASE) | BIT(AM_WAIT) | BIT(AM_WAKE))
_Static_assert(AM_KINDS <= 64, "one bit each");

static void set_level(struct am_checker *c, bool data, bool locks)
{
	c->data = data;
	c->locks = locks;
	c->kinds = BIT(AM_THREAD_BEGIN) | BIT(AM_THREAD_END) | BIT(AM_JOIN) | BIT(AM_BEGIN) | BIT(AM_END) |
		   BIT(AM_READ) | BIT(AM_WRITE) | BIT(AM_UPDATE) | BIT(AM_ALLOC) | BIT(AM_FREE) | BIT(AM_LOST) |
		   BIT(AM_INIT) | BIT(AM_DESTROY) | BIT(AM_MARK) | BIT(AM_LATE) | (locks ? LOCK_KINDS : 0);
	for (unsigned k = 0; k < 256; k++)
		c->way[k] = c->kinds >> (k & 63) & 1 ? AM_WAY_STEP : 0;
	for (unsigned k = AM_READ; data && k <= AM_UPDATE; k++)
		c->way[k] = AM_WAY_STEP | AM_WAY_ACCESS; /* those that commute have another number, and go one by one */
	for (unsigned more = 0; more < 256; more += 64) {
		c->way[more + AM_BEGIN] = AM_WAY_TURN;
		c->way[more + AM_END] = AM_WAY_TURN | AM_WAY_END;
	}
}

struct am_checker *am_checker_new(const struct am_checker_config *config, struct am_mem *mem)
{
	struct am_checker *c = am_mem_alloc(mem, sizeof *c);

	if (!c)
		return NULL;
	c->config = *config;
	c->mem = mem;
	set_level(c, config->conflicts == AM_CONFLICTS_DATA || config->conflicts == AM_CONFLICTS_BOTH,
		  config->conflicts != AM_CONFLICTS_DATA);
	for (uint32_t i = 0; i < AM_RECENT; i++)
		am_recent_clear(c, i);
	c->ended_limit = AM_SCG_ENDED;
	if (!am_open_init(c) || !am_vertex_init(c) || !am_reach_init(c) || !am_table_init(c)) {
		am_open_free(c);
		am_vertex_free(c);
		am_mem_free(mem, c, sizeof *c);
		return NULL;
	}
	return c;
}

void am_checker_free(struct am_checker *c)
{
	am_table_free(c);
	am_vertex_free(c);
	am_open_free(c);
	am_context_free(c);
	am_mem_free(c->mem, c, sizeof *c);
}

void am_checker_stats(const struct am_checker *c, struct am_checker_stats *stats)
{
	*stats = c->stats;
	stats->regions = c->n_begun;
	stats->nodes_live = am_n_open(c);
	stats->edges_live = am_reach_count(c);
	stats->edges_peak = c->high_reach ? c->high_reach - 1 : 0;
	stats->entities_live = c->n_entities;
	if (c->n_entities > stats->entities_peak)
		stats->entities_peak = c->n_entities;
	stats->bytes_peak = c->mem->peak;
}

/* What was seen so far shall matter no more. */
static void forget(struct am_checker *c)
{
	am_table_clear(c);
	am_open_forget(c);
}

/* The program shows its accesses after all: what was seen of locks is forgotten. */
static __attribute__((noinline)) bool wants_data(struct am_checker *c)
{
	if (c->config.conflicts != AM_CONFLICTS_AUTO)
		return false;
	set_level(c, true, false);
	forget(c);
	return true;
}

/*
 * A hole in this thread's events. Ends, begins, frees and allocations may be missing: what the
 * entities remember may be of other regions or of other blocks than it seems, so all is forgotten.
 * And plain accesses behind the hole may have been merged before older ones of other threads, as
 * the lock operations that told their order are missing: this thread's accesses are not used any
 * more. Lock operations are numbered one by one, so they are.
 */
static void on_lost(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	c->stats.lost += ev->aux ? ev->aux : 1;
	am_region_close(c, slot);
	c->front[slot].depth = 0;
	am_vertex_mute(c, slot);
	forget(c);
}

static void thread_end(struct am_checker *c, uint32_t thread)
{
	am_recent_clear(c, thread % AM_RECENT);
	am_vertex_end(c, thread);
}

_Static_assert(AM_WRITE == AM_READ + 1 && AM_UPDATE == AM_READ + 2, "the accesses are neighbours");

static void rare(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	switch (ev->kind) {
	case AM_FREE:
		if (!c->data)
			wants_data(c);
		am_access_block(c, slot, ev);
		break;
	case AM_ALLOC:
		am_access_block(c, slot, ev);
		break;
	case AM_INIT:
	case AM_DESTROY:
		am_access_erase(c, AM_LOCK_SPACE, ev->object, 1);
		break;
	case AM_JOIN:
		thread_end(c, (uint32_t)ev->object);
		break;
	case AM_THREAD_END:
		thread_end(c, ev->thread);
		break;
	case AM_LOST:
		on_lost(c, slot, ev);
		break;
	case AM_LATE:
		if (c->data)
			am_late_access(c, ev);
		break;
	default:
		break;
	}
}

/* An event of a thread for which there is no memory: what it makes untrue must go all the same. */
static void stranger(struct am_checker *c, const struct am_event *ev)
{
	c->stats.forgotten++;
	switch (ev->kind) {
	case AM_ALLOC:
	case AM_FREE:
		am_access_erase(c, 0, ev->object, ev->aux);
		am_access_erase(c, AM_LOCK_SPACE, ev->object, ev->aux);
		break;
	case AM_INIT:
	case AM_DESTROY:
		am_access_erase(c, AM_LOCK_SPACE, ev->object, 1);
		break;
	case AM_LOST:
		c->stats.lost += ev->aux ? ev->aux : 1;
		forget(c);
		break;
	default:
		break;
	}
}

static void access_data(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	if ((c->data || wants_data(c)) && !c->vertex[slot].muted && !c->vertex[slot].blind)
		am_access_data(c, slot, ev);
}

static inline void by_kind(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	switch (ev->kind) {
	case AM_BEGIN:
		am_region_begin(c, slot, ev);
		break;
	case AM_END:
		am_region_end(c, slot);
		break;
	case AM_READ:
	case AM_WRITE:
	case AM_UPDATE:
		access_data(c, slot, ev);
		break;
	case AM_ACQUIRE:
	case AM_RELEASE:
	case AM_WAIT:
	case AM_WAKE:
		if (!(ev->kind == AM_RELEASE && (ev->flags & AM_FREED_LOCK)) && !c->vertex[slot].blind)
			am_access_lock(c, slot, ev);
		break;
	case AM_MARK: /* a program that shows its accesses, though this one is not shown */
		if (c->data || wants_data(c))
			am_late_mark(c, slot, ev);
		break;
	default:
		rare(c, slot, ev);
		break;
	}
}

/* A thread that is not among the recent ones, or off the fast path, or an index past all use. */
static __attribute__((noinline)) void find_thread(struct am_checker *c, const struct am_event *ev)
{
	const uint32_t slot = ev->index <= AM_INDEX_MAX ? am_vertex_get(c, ev) : UINT32_MAX;

	if (slot == UINT32_MAX) {
		stranger(c, ev);
		return;
	}
	if (!c->vertex[slot].muted && !c->vertex[slot].blind) {
		c->recent[ev->thread % AM_RECENT].id = ev->thread;
		c->recent[ev->thread % AM_RECENT].slot = slot;
	}
	by_kind(c, slot, ev);
}

void am_event_slowly(struct am_checker *c, const struct am_event *ev)
{
	const uint32_t at = ev->thread % AM_RECENT;

	if (!(c->kinds >> (ev->kind & 63) & 1))
		return;
	if (c->recent[at].id != ev->thread || ev->index > AM_INDEX_MAX)
		find_thread(c, ev);
	else
		by_kind(c, c->recent[at].slot, ev);
}

void am_checker_event(struct am_checker *c, const struct am_event *event)
{
	c->stats.events++;
	am_event_slowly(c, event);
}
