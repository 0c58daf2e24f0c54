/* SPDX-License-Identifier: MIT */
/* Accesses that are told late: between view_access.c, which decides, and view_late.c, which tells. */
#ifndef ATOMMON_PRELOAD_LATE_H
#define ATOMMON_PRELOAD_LATE_H

#include "preload/kept.h"
#include "preload/lane.h"
#include "preload/shadow.h"

/* This thread has a new block of numbers, the one in v->stretch. */
void am_late_block(const struct am_view *v);
/* A mark of the stretch that this thread is in. */
void am_late_mark_now(struct am_view *v, struct am_here here);
/* Before the first lazy access of a stretch is remembered that does not wait: a mark, if need be. */
void am_late_mark_stretch(struct am_view *v, struct am_here here);
/* From here on this thread comes behind the marks of that one. */
void am_late_follow_thread(struct am_view *v, uint32_t thread, struct am_here here);
/* This thread logs an access, or begins a region that is told: from this stretch on what it does
 * matters in this generation (filter.h, 6). */
void am_late_matter(struct am_view *v);

/* Of a stretch of another thread: is it a region that is still open? */
bool am_late_is_open(uint64_t stretch);
/* Or does it matter in this generation all the same? */
bool am_late_matters_of(uint64_t stretch);

/* Who has a block of numbers, or had it last: the lane outlives its thread. */
struct am_lane *am_late_lane(uint64_t stretch);

/* May something of that stretch of this thread still have to be told late? If not, then never. */
bool am_late_may_tell(const struct am_view *v, uint64_t stretch);

/* view_place.c. This stretch accesses all of that, from there: to be said before the cells are changed. */
void am_place_range(uintptr_t start, uintptr_t end, bool writes, uintptr_t pc);
/* Where that lazy access to a word was made, 0 if it is not remembered any more. */
uintptr_t am_place_find(uint64_t *places, uintptr_t word, uint64_t stretch, bool writes);

static inline uint32_t am_late_number(uint64_t stretch)
{
	return (uint32_t)(stretch >> AM_STRETCH_SHIFT);
}

/* Tell accesses to an 8-byte word that its owner did not log. False: there is nothing to tell. `pc`: where they were made; 0: not known. */
#define AM_LATE_FIND UINTPTR_MAX /* where it was remembered: the newest of its kind here */
bool am_late_tell(struct am_view *v, uintptr_t word, struct am_late late, bool writes, uintptr_t pc, struct am_here here);
static inline bool am_late_tell_kept(struct am_view *v, uintptr_t word, struct am_kept kept, struct am_here here)
{
	return am_late_tell(v, word, am_filter_rest(kept.what), kept.what & AM_KEPT_WRITE, kept.pc, here);
}
/* This thread takes a cell from another, in one step, and tells what that one left there. False: somebody else came. */
bool am_late_seize(struct am_view *v, uintptr_t word, struct am_cell *cell, struct am_cell old, struct am_cell next,
		   struct am_here here);

/* An exact access of an exposed region, which is logged, under the lock of the slot: the cell says so, if nothing that it held has to be told; else
 * false, and nothing is done. */
bool am_late_take_logged(const struct am_view *v, struct am_cell *cell, uint64_t bytes, bool writes);

/* Outside regions, in a thread that no edge has reached: is there nothing to do for an access to this cell (filter.h, 2
 * and 3)? */
static inline bool am_late_is_idle(const struct am_view *v, struct am_cell c, bool writes)
{
	return (!writes && am_filter_is_only_read(c.w)) || !am_late_matters(v, c);
}

/* The same. What is over is nobody's from then on, so that the next access here ends after one look: buffers that regions filled are read and written again and
 * again outside them. In one step, and the second word is left alone: whoever takes the cell meanwhile keeps it. */
static inline bool am_late_is_left(const struct am_view *v, struct am_cell *c, bool writes)
{
	struct am_cell old = am_cell_load(c);

	if (am_late_matters(v, old))
		return !writes && am_filter_is_only_read(old.w);
	__atomic_compare_exchange_n(&c->w, &old.w, am_filter_vacant(old.w), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return true;
}

/* If the cell is nobody's: it is ours now. That needs no locked instruction, for the same reason as what is ours: am_view_fast.
 * Without its place. */
static inline __attribute__((always_inline)) bool am_late_take_free(const struct am_view *v, struct am_cell *c, uint64_t bytes,
								    bool writes)
{
	const uint64_t w = __atomic_load_n(&c->w, __ATOMIC_RELAXED);

	if (w >> AM_BLOCK_SHIFT != 0)
		return false;
	const struct am_cell next =
		am_filter_lazy((struct am_cell){w & AM_CELL_EVER, 0}, v->stretch, bytes, writes);
	__atomic_store_n(&c->w, next.w, __ATOMIC_RELAXED);
	__atomic_store_n(&c->r, next.r, __ATOMIC_RELAXED);
	return true;
}

/* Is it known that the newest stretch in a cell does not matter, nor any before it? What goes from thread to thread under a lock has many cells of one
 * stretch, and to ask whether it is open takes a line that its thread writes. */
static inline bool am_late_is_over(uint64_t w, uint64_t newest)
{
	const uint64_t over = am_tls.lane->over; /* there is one: `fast` is set */

	return !(w & AM_CELL_LENT) && am_filter_same_block(newest, over) && newest <= over;
}

/* What the cell holds is over: it is of this stretch now, with nothing else in it. */
static inline __attribute__((always_inline)) bool am_late_replace(struct am_cell *c, struct am_cell old, uint64_t stretch, uint64_t bytes,
								  bool writes)
{
	const struct am_cell next = am_filter_lazy((struct am_cell){old.w & AM_CELL_EVER, 0}, stretch, bytes, writes);

	/* From another in one step: of two who come at once the second sees the first. */
	if (am_filter_same_block(old.w, stretch) && !(old.w & AM_CELL_LENT))
		__atomic_store_n(&c->w, next.w, __ATOMIC_RELAXED);
	else if (!__atomic_compare_exchange_n(&c->w, &old.w, next.w, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&c->r, next.r, __ATOMIC_RELAXED);
	return true;
}

/* If it is another's and known to be over: the cells that come with a lock, but for the first. Without its place. */
static inline __attribute__((always_inline)) bool am_late_take_over(const struct am_view *v, struct am_cell *c, uint64_t bytes, bool writes)
{
	const struct am_cell old = am_cell_load(c);
	const uint64_t stretch = v->stretch;

	return !am_filter_same_block(old.w, stretch) && am_late_is_over(old.w, am_filter_newest(old)) &&
	       am_late_replace(c, old, stretch, bytes, writes);
}

/*
 * For an access that am_filter_short() does not answer while `fast` is set, so that lazy ones need no questions: if its
 * cell is nobody's, or what it holds does not matter (filter.h, 6), it is ours now, with nothing else in it. That it does not
 * matter stays true: stretches that matter in a generation are newer than what is in cells when it begins. Without its place.
 */
static inline bool am_late_take_cell(const struct am_view *v, struct am_cell *c, uint64_t bytes, bool writes)
{
	struct am_cell old = am_cell_load(c);
	const uint64_t stretch = v->stretch;

	if (am_late_take_free(v, c, bytes, writes))
		return true;
	const bool is_ours = am_filter_same_block(old.w, stretch) && !(old.w & AM_CELL_LENT);
	const uint64_t newest = am_filter_newest(old);
	if (is_ours && newest == stretch)
		return false;
	if (!am_late_is_over(old.w, newest)) {
		if (am_late_matters(v, old))
			return false;
		/* What is always another's may matter again. */
		if (!is_ours && !(old.w & AM_CELL_LENT) && old.w >> AM_BLOCK_SHIFT != AM_BLOCK_OTHER)
			am_tls.lane->over = newest | ~AM_STRETCH_MASK;
	}
	return am_late_replace(c, old, stretch, bytes, writes);
}

static inline bool am_late_take(const struct am_view *v, struct am_cell *c, uintptr_t address, uint64_t bytes,
				bool writes, uintptr_t pc)
{
	if (!am_late_take_cell(v, c, bytes, writes))
		return false;
	am_view_put_place(am_view_place(v->places, c, writes), address, pc);
	return true;
}

#endif
