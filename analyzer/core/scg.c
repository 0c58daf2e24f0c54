/*
 * The live checker: events in, cycles out, by the summarised conflict graph (Farzan & Madhusudan,
 * CAV'08, section 3.1, rules 1 to 5; scg.h says how we represent it, doc/notes/checker.md why that
 * is exact). Runs in the drain thread and in tools. This file decides what an event means:
 * transactions, conflicts, entities, holes. No I/O, no globals, memory only from am_mem.
 */
/* SPDX-License-Identifier: MIT */
#include "scg.h"

#include <string.h>

struct am_checker *am_checker_new(const struct am_checker_config *config, struct am_mem *mem)
{
	struct am_checker *c = am_mem_alloc(mem, sizeof *c);

	if (!c)
		return NULL;
	c->config = *config;
	c->mem = mem;
	c->data = config->conflicts == AM_CONFLICTS_DATA || config->conflicts == AM_CONFLICTS_BOTH;
	c->locks = config->conflicts != AM_CONFLICTS_DATA;
	memset(c->recent, 0xff, sizeof c->recent);
	if (!am_table_init(c)) {
		am_mem_free(mem, c, sizeof *c);
		return NULL;
	}
	return c;
}

void am_checker_free(struct am_checker *c)
{
	am_table_free(c);
	am_reach_free(c);
	am_context_free(c);
	am_mem_free(c->mem, c, sizeof *c);
}

void am_checker_stats(const struct am_checker *c, struct am_checker_stats *stats)
{
	*stats = c->stats;
	stats->nodes_live = c->n_open;
	stats->entities_live = c->n_entities;
	stats->bytes_peak = c->mem->peak;
}

/* What was seen so far shall matter no more. */
static void forget(struct am_checker *c)
{
	am_table_clear(c);
	am_reach_forget(c);
}

static void region_begin(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	struct am_vertex *v = &c->vertex[slot];

	if (v->depth++) {
		if (v->depth - 2 < 8)
			v->inner[v->depth - 2] = (uint32_t)ev->object;
		return;
	}
	c->stats.regions++;
	if (!v->blind)
		am_region_open(c, slot, ev);
}

static void region_end(struct am_checker *c, uint32_t slot)
{
	struct am_vertex *v = &c->vertex[slot];

	if (v->depth && !--v->depth)
		am_region_close(c, slot);
}

static inline void now_init(const struct am_checker *c, struct am_now *now, uint32_t slot,
			    const struct am_event *ev, uint64_t object, uint64_t size, bool writes)
{
	now->event = ev;
	now->moment = AM_MOMENT(ev->index, slot);
	now->begin = c->vertex[slot].begin;
	now->object = object;
	now->size = size;
	now->tag = 0;
	now->slot = slot;
	now->writes = writes;
}

static inline void report(struct am_checker *c)
{
	if (__builtin_expect(!c->found, 1))
		return;
	c->found = false;
	c->stats.cycles++;
	if (c->config.on_cycle)
		c->config.on_cycle(c->config.ctx, &c->best);
}

static void touch_words(struct am_checker *c, struct am_now *now, uint64_t space)
{
	const uint64_t end = now->object + now->size;

	for (uint64_t at = now->object; at < end;) {
		const uint64_t next = ((at >> 3) + 1) << 3, stop = next < end ? next : end;
		am_table_touch(c, now, (space | at >> 3) + 1, (uint8_t)(((1u << (stop - at)) - 1) << (at & 7)));
		at = stop;
	}
}

static inline void access_bytes(struct am_checker *c, uint32_t slot, const struct am_event *ev, uint64_t space,
				uint64_t from, uint64_t bytes, bool writes)
{
	struct am_vertex *v = &c->vertex[slot];

	c->stats.accesses++;
	c->stats.unary += v->begin == AM_NEVER;
	if (!c->n_open || !bytes || v->blind) /* without an open region no order matters */
		return;
	struct am_now now;
	now_init(c, &now, slot, ev, from, bytes, writes);
	v->newest = now.moment;
	const uint64_t low = from & 7;
	if (__builtin_expect(low + bytes <= 8, 1)) {
		am_table_touch(c, &now, (space | from >> 3) + 1, (uint8_t)(((1u << bytes) - 1) << low));
	} else {
		const bool mattered = am_matters(c, slot);
		touch_words(c, &now, space);
		if (!mattered && am_matters(c, slot)) /* the first words were not remembered */
			touch_words(c, &now, space);
	}
	report(c);
}

static void on_data(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	if (__builtin_expect(!c->data, 0)) {
		if (c->config.conflicts != AM_CONFLICTS_AUTO)
			return;
		c->data = true;
		c->locks = false;
		forget(c);
	}
	if (!c->vertex[slot].muted)
		access_bytes(c, slot, ev, 0, ev->object, ev->size, ev->kind != AM_READ);
}

/* At lock level both ends of a section are accesses of the lock; a wait ends one, a wake begins one. */
static void on_lock(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	const bool waits = ev->kind == AM_WAIT || ev->kind == AM_WAKE;

	if (c->locks && !(ev->kind == AM_RELEASE && (ev->flags & AM_FREED_LOCK)))
		access_bytes(c, slot, ev, AM_LOCK_SPACE, waits ? ev->aux : ev->object, 1,
			     waits || ev->mode != AM_SHARED);
}

static void on_block(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	if (ev->kind == AM_FREE && c->data && !c->vertex[slot].muted && !c->vertex[slot].blind) {
		struct am_now now;
		now_init(c, &now, slot, ev, ev->object, ev->aux, true);
		c->vertex[slot].newest = now.moment;
		c->stats.accesses++;
		c->stats.unary += c->vertex[slot].begin == AM_NEVER;
		am_table_erase(c, &now, 0, ev->object, ev->aux);
		report(c);
	} else if (c->data) {
		am_table_erase(c, NULL, 0, ev->object, ev->aux);
	}
	if (c->locks)
		am_table_erase(c, NULL, AM_LOCK_SPACE, ev->object, ev->aux);
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
	c->vertex[slot].depth = 0;
	c->vertex[slot].muted = true;
	forget(c);
}

static void thread_end(struct am_checker *c, uint32_t thread)
{
	c->recent[thread & 255].id = c->recent[thread & 255].slot = UINT32_MAX;
	am_vertex_end(c, thread);
}

static inline uint32_t slot_of(struct am_checker *c, const struct am_event *ev)
{
	const uint32_t thread = ev->thread;

	if (__builtin_expect(c->recent[thread & 255].id == thread, 1))
		return c->recent[thread & 255].slot;
	const uint32_t slot = am_vertex_get(c, ev);
	if (slot != UINT32_MAX) {
		c->recent[thread & 255].id = thread;
		c->recent[thread & 255].slot = slot;
	}
	return slot;
}

static void rare(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	switch (ev->kind) {
	case AM_ALLOC:
	case AM_FREE:
		on_block(c, slot, ev);
		break;
	case AM_INIT:
	case AM_DESTROY:
		am_table_erase(c, NULL, AM_LOCK_SPACE, ev->object, 1);
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
		am_table_erase(c, NULL, 0, ev->object, ev->aux);
		am_table_erase(c, NULL, AM_LOCK_SPACE, ev->object, ev->aux);
		break;
	case AM_INIT:
	case AM_DESTROY:
		am_table_erase(c, NULL, AM_LOCK_SPACE, ev->object, 1);
		break;
	case AM_LOST:
		c->stats.lost += ev->aux ? ev->aux : 1;
		forget(c);
		break;
	default:
		break;
	}
}

void am_checker_event(struct am_checker *c, const struct am_event *ev)
{
	c->stats.events++;
	const uint32_t slot = slot_of(c, ev);
	if (__builtin_expect(slot == UINT32_MAX || ev->index > AM_INDEX_MAX, 0)) {
		stranger(c, ev);
		return;
	}
	switch (ev->kind) {
	case AM_READ:
	case AM_WRITE:
	case AM_UPDATE:
		on_data(c, slot, ev);
		break;
	case AM_ACQUIRE:
	case AM_RELEASE:
	case AM_WAIT:
	case AM_WAKE:
		on_lock(c, slot, ev);
		break;
	case AM_BEGIN:
		region_begin(c, slot, ev);
		break;
	case AM_END:
		region_end(c, slot);
		break;
	default:
		rare(c, slot, ev);
		break;
	}
}
