/*
 * Cycles that rest on reads of which it is not known yet whether they were in vain: they wait. Part of the stage of vain.c; runs
 * wherever that does.
 */
/* SPDX-License-Identifier: MIT */
#include "vain_state.h"

#include "atommon/mem.h"

static bool is_void(const struct am_vain *v, uint64_t index)
{
	const uint64_t n = v->n_voids < AM_VAIN_VOIDS ? v->n_voids : AM_VAIN_VOIDS;

	for (uint64_t i = 0; i < n; i++)
		if (v->voids[i] == index)
			return true;
	return false;
}

/* By an edge to `other`. */
static enum am_vain_fate fate_of(struct am_vain *v, const struct am_access *a, const struct am_access *other)
{
	const uint64_t *place = am_map_find(&v->threads, (uint64_t)a->thread + 1);
	struct am_vain_thread *t = place ? (struct am_vain_thread *)(uintptr_t)*place : NULL;
	const uint64_t index = a->told ? a->told : a->index;

	if (a->kind != AM_READ)
		return AM_VAIN_COUNTS;
	if (is_void(v, index))
		return AM_VAIN_IN_VAIN;
	for (uint32_t i = 0; t && i < t->look.n; i++)
		if (am_look_at(&t->look, i)->index == index)
			return AM_VAIN_OPEN;
	/* An attempt that is still to come may undo it. */
	return t && other->kind == AM_UPDATE && other->flags & AM_ATOMIC && am_plain_has(&t->plain, a, index) ? AM_VAIN_OPEN : AM_VAIN_COUNTS;
}

static enum am_vain_fate judge(struct am_vain *v, const struct am_cycle *cycle)
{
	enum am_vain_fate fate = AM_VAIN_COUNTS;

	for (uint32_t i = 0; i < cycle->n_edges; i++) {
		const struct am_edge *e = &cycle->edge[i];
		if (e->why != AM_EDGE_CONFLICT)
			continue;
		const enum am_vain_fate from = fate_of(v, &e->from, &e->to), to = fate_of(v, &e->to, &e->from);
		if (from == AM_VAIN_IN_VAIN || to == AM_VAIN_IN_VAIN)
			return AM_VAIN_IN_VAIN;
		if (from == AM_VAIN_OPEN || to == AM_VAIN_OPEN)
			fate = AM_VAIN_OPEN;
	}
	return fate;
}

void am_vain_cycle(struct am_vain *v, const struct am_cycle *cycle)
{
	const enum am_vain_fate fate = judge(v, cycle);

	if (fate == AM_VAIN_OPEN && !v->held)
		v->held = am_mem_alloc(v->mem, sizeof *v->held * AM_VAIN_HELD);
	if (fate == AM_VAIN_COUNTS)
		v->config.on_cycle(v->config.cycle_ctx, cycle);
	else if (fate == AM_VAIN_IN_VAIN)
		v->stats.voided++;
	else if (v->held && v->n_held < AM_VAIN_HELD)
		am_cycle_copy(&v->held[v->n_held++], cycle);
	else
		v->stats.unjudged++;
}

void am_vain_judge_again(struct am_vain *v)
{
	uint32_t n = v->n_held;

	v->is_news = false;
	v->n_held = 0;
	for (uint32_t i = 0; i < n; i++) {
		const enum am_vain_fate fate = judge(v, &v->held[i]);
		if (fate == AM_VAIN_COUNTS)
			v->config.on_cycle(v->config.cycle_ctx, &v->held[i]);
		else if (fate == AM_VAIN_IN_VAIN)
			v->stats.voided++;
		else if (v->n_held++ != i)
			am_cycle_copy(&v->held[v->n_held - 1], &v->held[i]);
	}
}
