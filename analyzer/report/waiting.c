/* Cycles that wait for names: see waiting.h. Runs in the drain thread; no malloc. */
/* SPDX-License-Identifier: MIT */
#include "waiting.h"

#include <stddef.h>
#include <string.h>

#include "atommon/mem.h"

enum { CHUNK_BYTES = 4000 }; /* mostly one for each */

struct am_waiting *am_waiting_new(struct am_waitings *q, const struct am_cycle *cycle, struct am_raw_key key)
{
	struct am_waiting *w = q->n < AM_WAITING_MAX ? am_mem_alloc(q->mem, sizeof *w) : NULL;

	if (!w)
		return NULL;
	/* Only the edges that are there: the rest of the array is never looked at. */
	const size_t bytes = offsetof(struct am_cycle, edge) + cycle->n_edges * sizeof cycle->edge[0];
	am_arena_init(&w->arena, q->mem);
	w->arena.chunk_bytes = CHUNK_BYTES;
	w->cycle = am_arena_get(&w->arena, bytes);
	if (!w->cycle) {
		am_waiting_free(q, w);
		return NULL;
	}
	memcpy(w->cycle, cycle, bytes);
	w->evidence.arena = &w->arena;
	w->key = key;
	return w;
}

void am_waiting_free(struct am_waitings *q, struct am_waiting *w)
{
	if (!w)
		return;
	am_arena_destroy(&w->arena);
	am_mem_free(q->mem, w, sizeof *w);
}

void am_waiting_add(struct am_waitings *q, struct am_waiting *w)
{
	w->next = NULL;
	if (q->last)
		q->last->next = w;
	else
		q->first = w;
	q->last = w;
	q->n++;
}

struct am_waiting *am_waiting_take(struct am_waitings *q)
{
	struct am_waiting *w = q->first;

	if (!w)
		return NULL;
	q->first = w->next;
	if (!q->first)
		q->last = NULL;
	q->n--;
	return w;
}
