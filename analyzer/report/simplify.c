/*
 * A shorter way round. A checker tells the cycle as it found it; often an access of it conflicts
 * directly with one further on (the acquire of a critical section as well as its release; the first
 * of three writers as well as the second). Then what lies between is left out. Every edge that remains
 * is program order, or a pair of conflicting accesses that happened in this order. Pure.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "blame.h"
#include "story.h"

static bool writes(const struct am_access *a)
{
	return a->kind == AM_WRITE || a->kind == AM_UPDATE || a->kind == AM_FREE;
}

/* Would the pair be an edge of its own? */
static bool conflicts(const struct am_access *a, const struct am_access *b)
{
	if (a->thread == b->thread || a->index >= b->index)
		return false;
	if (am_kind_is_sync(a->kind) || am_kind_is_sync(b->kind))
		return am_kind_is_sync(a->kind) && am_kind_is_sync(b->kind) && a->object == b->object &&
		       !(a->mode == AM_SHARED && b->mode == AM_SHARED);
	const uint64_t a_end = a->object + (a->size ? a->size : 1);
	const uint64_t b_end = b->object + (b->size ? b->size : 1);
	return a->object < b_end && b->object < a_end && (writes(a) || writes(b));
}

/* Edges i to j become one; a hole between them is bridged. */
static void merge(struct am_cycle *c, uint32_t i, uint32_t j)
{
	c->edge[i].to = c->edge[j].to;
	c->edge[i].why = AM_EDGE_CONFLICT;
	memmove(&c->edge[i + 1], &c->edge[j + 1], (c->n_edges - j - 1) * sizeof c->edge[0]);
	c->n_edges -= j - i;
	if (!c->omitted)
		return;
	if (c->omit_at > i && c->omit_at <= j)
		c->omitted = c->omit_at = 0;
	else if (c->omit_at > j)
		c->omit_at -= j - i;
}

void am_cycle_simplify(struct am_cycle *c)
{
	/* Into each access from the earliest that conflicts with it, then the other way round. */
	for (uint32_t j = c->n_edges; j-- > 1;)
		for (uint32_t i = 0; i < j; i++)
			if (conflicts(&c->edge[i].from, &c->edge[j].to)) {
				merge(c, i, j);
				j = i;
				break;
			}
	for (uint32_t i = 0; i < c->n_edges; i++)
		for (uint32_t j = c->n_edges - 1; j > i; j--)
			if (conflicts(&c->edge[i].from, &c->edge[j].to)) {
				merge(c, i, j);
				break;
			}
	/* One access of a transaction instead of two, where one will do. */
	for (uint32_t i = 0; i + 1 < c->n_edges; i++) {
		const bool is_hole = c->omitted && c->omit_at == i + 1;
		if (!is_hole && c->edge[i + 1].why == AM_EDGE_CONFLICT &&
		    conflicts(&c->edge[i].to, &c->edge[i + 1].to))
			c->edge[i + 1].from = c->edge[i].to;
	}
}
