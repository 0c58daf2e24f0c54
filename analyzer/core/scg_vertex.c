/*
 * Vertices of the summarised conflict graph: threads that are alive, or that ended and are still
 * reached by an open region, and their slots. Runs wherever the checker runs; no I/O, no globals.
 */
/* SPDX-License-Identifier: MIT */
#include "scg.h"

#include <assert.h>

enum { FIRST_CAP = 64 };

static bool grow(struct am_checker *c)
{
	const uint32_t cap = c->cap ? c->cap * 2 : FIRST_CAP;
	const size_t row = sizeof(uint64_t) * c->stride;
	uint64_t *anc = am_mem_alloc(c->mem, row * cap);
	struct am_front *front = am_mem_alloc(c->mem, sizeof *front * cap);
	struct am_vertex *vertex = am_mem_alloc(c->mem, sizeof *vertex * cap);

	if (!anc || !front || !vertex) {
		am_mem_free(c->mem, anc, row * cap);
		am_mem_free(c->mem, front, sizeof *front * cap);
		am_mem_free(c->mem, vertex, sizeof *vertex * cap);
		return false;
	}
	if (c->cap) {
		memcpy(anc, c->anc, row * c->cap);
		memcpy(vertex, c->vertex, sizeof *vertex * c->cap);
		memcpy(front, c->front, sizeof *front * c->cap);
	}
	for (uint32_t s = c->cap; s < cap; s++)
		front[s].horizon = front[s].begin = AM_NEVER;
	am_mem_free(c->mem, c->anc, row * c->cap);
	am_mem_free(c->mem, c->front, sizeof *front * c->cap);
	am_mem_free(c->mem, c->vertex, sizeof *vertex * c->cap);
	c->anc = anc;
	c->front = front;
	c->vertex = vertex;
	c->cap = cap;
	return true;
}

/*
 * Slots are reused at once, although entities still name them: a thread's slot is given up only when
 * no open region reaches the thread (R4), and every first(a, slot) made later is later than what the
 * old owner did.
 */
void am_slot_release(struct am_checker *c, uint32_t slot)
{
	struct am_vertex *v = &c->vertex[slot];

	assert(!am_matters(c, slot));
	am_reach_drop(c, slot);
	c->n_ended -= v->ended;
	v->used = v->ended = v->ghost = false;
	while (c->high && !c->vertex[c->high - 1].used)
		c->high--;
}

bool am_vertex_init(struct am_checker *c)
{
	return grow(c);
}

static bool vertex_init(struct am_checker *c, uint32_t slot, const struct am_event *event)
{
	struct am_vertex *v = &c->vertex[slot];

	uint64_t *place = am_map_put(&c->slot_of, c->mem, (uint64_t)event->thread + 1);
	if (!place)
		return false;
	*place = slot + 1;
	const struct am_vertex fresh = {.mark = v->mark,
					.cap_marks = v->cap_marks,
					.id = event->thread,
					.used = true,
					.blind = c->starved && event->kind != AM_THREAD_BEGIN};
	assert(!c->front[slot].reach);
	*v = fresh;
	c->front[slot].known = c->front[slot].depth = c->front[slot].place = 0;
	if (slot >= c->high)
		c->high = slot + 1;
	return true;
}

uint32_t am_vertex_get(struct am_checker *c, const struct am_event *event)
{
	const uint64_t *known = am_map_find(&c->slot_of, (uint64_t)event->thread + 1);
	uint32_t slot = 0;

	if (known)
		return (uint32_t)*known - 1;
	if (c->n_ended)
		am_open_reclaim(c);
	while (slot < c->high && c->vertex[slot].used)
		slot++;
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
	c->front[slot].depth = 0;
	am_map_remove(&c->slot_of, (uint64_t)thread + 1);
	v->ended = true;
	c->n_ended++;
	if (!am_matters(c, slot))
		am_slot_release(c, slot);
	else if (c->n_ended > c->ended_limit)
		am_ended_merge(c);
}

void am_vertex_free(struct am_checker *c)
{
	for (uint32_t s = 0; s < c->cap; s++)
		am_mem_free(c->mem, c->vertex[s].mark, sizeof *c->vertex[s].mark * c->vertex[s].cap_marks);
	am_mem_free(c->mem, c->front, sizeof *c->front * c->cap);
	am_mem_free(c->mem, c->vertex, sizeof *c->vertex * c->cap);
	am_map_free(&c->slot_of, c->mem);
}
