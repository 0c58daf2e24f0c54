/*
 * Open regions of the summarised conflict graph: rules 1 and 2, and the bits that stand for them in sets.
 * Runs wherever the checker runs; no I/O, no globals.
 *
 * A region has a bit while it is open. When it ends, its bit stays in the sets of those that it
 * reached, where it means nothing any more, since every use of a set leaves out what is not open. So
 * the end of a region costs the same whatever it reached. The bit is given to another region only
 * after all sets were cleared of such bits at once (am_open_reclaim), some dozens at a time; one
 * that never got into a set, at once.
 */
/* SPDX-License-Identifier: MIT */
#include "scg_turn.h"

#include <assert.h>

/* A test uses only every so many bits: few regions then need many words, and bits are reclaimed often. */
#ifndef AM_SCG_REGION_STEP
#define AM_SCG_REGION_STEP 1
#endif

enum { WORDS_MAX = (1 << 16) / 64 };

/* ---- bits ---------------------------------------------------------------------------------- */

static uint64_t *copy_rows(struct am_checker *c, const uint64_t *from, uint32_t rows, uint32_t words)
{
	uint64_t *to = am_mem_alloc(c->mem, sizeof *to * rows * words);

	for (uint32_t i = 0; to && i < rows && c->stride; i++)
		memcpy(to + (size_t)i * words, from + (size_t)i * c->stride, sizeof *to * c->stride);
	return to;
}

static void free_sets(struct am_checker *c)
{
	am_mem_free(c->mem, c->open, sizeof *c->open * c->stride);
	am_mem_free(c->mem, c->reaching, sizeof *c->reaching * c->stride);
	am_mem_free(c->mem, c->scratch, sizeof *c->scratch * c->stride * 2);
	am_mem_free(c->mem, c->anc, sizeof *c->anc * c->cap * c->stride);
	am_mem_free(c->mem, c->reach_set, sizeof *c->reach_set * c->cap_reach * c->stride);
	am_mem_free(c->mem, c->free, sizeof *c->free * c->stride);
}

/* Sets of so many words. */
static bool widen(struct am_checker *c, uint32_t words)
{
	struct am_checker old = *c, wide = *c;

	if (words > WORDS_MAX)
		return false;
	wide.open = copy_rows(c, c->open, 1, words);
	wide.reaching = copy_rows(c, c->reaching, 1, words);
	wide.scratch = am_mem_alloc(c->mem, sizeof *c->scratch * words * 2);
	wide.anc = copy_rows(c, c->anc, c->cap, words);
	wide.reach_set = copy_rows(c, c->reach_set, c->cap_reach, words);
	wide.free = am_mem_alloc(c->mem, sizeof *c->free * words);
	wide.stride = words;
	if (!wide.open || !wide.reaching || !wide.scratch || (!wide.anc && c->cap) ||
	    (!wide.reach_set && c->cap_reach) || !wide.free) {
		free_sets(&wide);
		return false;
	}
	c->open = wide.open;
	c->reaching = wide.reaching;
	c->scratch = wide.scratch;
	c->anc = wide.anc;
	c->reach_set = wide.reach_set;
	c->free = wide.free;
	c->stride = words;
	c->version++;
	free_sets(&old);
	return true;
}

/* The bits of this word that are in use at all. */
static uint64_t usable(uint32_t word)
{
	uint64_t bits = 0;

	for (uint32_t r = 0; r < 64; r++)
		bits |= (uint64_t)((word * 64 + r) % AM_SCG_REGION_STEP == 0) << r;
	return bits;
}

static void collect(struct am_checker *c)
{
	for (uint32_t w = 0; w < c->stride; w++) {
		c->reaching[w] &= c->open[w];
		c->free[w] = ~c->open[w] & usable(w);
	}
	c->free_at = 0;
}

void am_open_reclaim(struct am_checker *c)
{
	const uint32_t stride = c->stride;

	for (uint32_t s = 0; s < c->high; s++)
		for (uint32_t w = 0; w < stride; w++)
			c->anc[(size_t)s * stride + w] &= c->open[w];
	for (uint32_t r = 0; r < c->high_reach; r++)
		for (uint32_t w = 0; w < stride; w++)
			c->reach_set[(size_t)r * stride + w] &= c->open[w];
	for (uint32_t s = c->n_ended ? c->high : 0; s-- > 0;)
		if (c->vertex[s].ended && !am_matters(c, s))
			am_slot_release(c, s);
	collect(c);
}

/* A bit for a region that begins. False at the memory ceiling. */
static bool find_bit(struct am_checker *c)
{
	while (c->free_at < c->stride - 1 && !c->free[c->free_at])
		c->free_at++;
	if (c->free[c->free_at])
		return true;
	const uint32_t bits = (c->stride * 64 + AM_SCG_REGION_STEP - 1) / AM_SCG_REGION_STEP;
	am_open_reclaim(c);
	if (bits - am_n_open(c) < bits / 8 + 1 && widen(c, c->stride * 2))
		collect(c);
	while (c->free_at < c->stride - 1 && !c->free[c->free_at])
		c->free_at++;
	return c->free[c->free_at];
}

bool am_open_init(struct am_checker *c)
{
	if (!widen(c, 1))
		return false;
	collect(c);
	return true;
}

/* ---- begin and end ------------------------------------------------------------------------- */

static void region_open(struct am_checker *c, uint32_t slot, const struct am_event *event)
{
	struct am_front *f = &c->front[slot];

	assert(f->begin == AM_NEVER);
	if (!am_turn_is_known(c, f, event))
		f->place = am_place_number(c, (struct am_region_place){(uint32_t)event->object, event->site})
			   << AM_CONTEXT_PLACE;
	if (!f->place || !find_bit(c)) {
		c->stats.forgotten++;
		am_vertex_blind(c, slot);
		return;
	}
	if ((uint32_t)c->n_begun == UINT32_MAX) { /* number 0 is for what is outside */
		c->n_begun++;
		c->n_closed++;
	}
	am_turn(c, slot, event->index, false, c->stride);
}

void am_region_close(struct am_checker *c, uint32_t slot)
{
	if (!am_is_open(c, slot))
		return;
#ifdef AM_SCG_DELETE_COMPLETED
	/* The error that section 3 of the paper warns of; a test builds it and must notice. */
	for (uint32_t r = c->front[slot].reach; r; r = c->reach[r].next)
		c->reach[r].first = c->front[slot].newest_first = (c->newest | 0xffff) + 1;
#endif
	am_turn(c, slot, c->front[slot].begin_index, true, c->stride);
}

void am_region_begin(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	struct am_front *f = &c->front[slot];

	if (!f->depth++) {
		if (!c->vertex[slot].blind)
			region_open(c, slot, ev);
	} else if (!f->depth) { /* too deep to count */
		c->stats.forgotten++;
		am_region_close(c, slot);
		am_vertex_blind(c, slot);
	} else if (f->depth < 2 + 8) {
		c->vertex[slot].inner[f->depth - 2] = (uint32_t)ev->object;
	}
}

void am_region_end(struct am_checker *c, uint32_t slot)
{
	struct am_front *f = &c->front[slot];

	if (f->depth && !--f->depth)
		am_region_close(c, slot);
}

void am_open_forget(struct am_checker *c)
{
	for (uint32_t s = 0; s < c->high; s++) {
		am_reach_drop(c, s);
		c->front[s].known = 0;
	}
	memset(c->reaching, 0, sizeof *c->reaching * c->stride);
	am_open_reclaim(c);
}

void am_open_free(struct am_checker *c)
{
	am_mem_free(c->mem, c->reach, sizeof *c->reach * c->cap_reach);
	free_sets(c);
}
