/* SPDX-License-Identifier: MIT */
/*
 * What does not fit into cells. Of those that several threads read (filter.h, 9) the first reader's accesses are in the cell itself; those of the
 * others, and what earlier stretches of the same thread read of other bytes, are in a table of each thread, found by the word. So is what earlier
 * stretches of a cell's owner did to other bytes (10). Whoever takes the cell with anything but a read that is lent tells them all late.
 * A table lies in memory that outlives its thread, and what a thread left there is told like anything else. Runs in
 * application threads, in compiler callbacks; no lock, no malloc.
 */
#ifndef ATOMMON_PRELOAD_LEND_H
#define ATOMMON_PRELOAD_LEND_H

#include "preload/late.h"

/* So many threads have a table; who has none logs. */
enum { AM_LEND_TABLES = 64, AM_LEND_READS = AM_LEND_TABLES * AM_FILTER_KEPT };

enum am_lend {
	AM_LEND_NOT,   /* it needs a record, or takes the cell */
	AM_LEND_DONE,  /* remembered, or known */
	AM_LEND_SAME,  /* the same, and its place, too */
	AM_LEND_AGAIN, /* somebody came: look again */
};

/* A plain read in a region of a cell that matters and is another's, or lent: may it be left there? Without its place. */
enum am_lend am_lend_read(struct am_view *v, uintptr_t word, struct am_cell *cell, struct am_cell old, uint64_t bytes,
			  struct am_here here);
/* This thread logs a plain access to what a cell held, which has been told: an edge leads here from there. */
void am_lend_link(struct am_view *v, struct am_cell old, uint64_t bytes);

/* In replacing a cell of this thread that is not lent: what it will not hold, of an earlier stretch, is kept. `next`: its w. */
enum am_keep {
	AM_KEEP_NOT,  /* it has to be told */
	AM_KEEP_DONE, /* w is stored, r may be */
	AM_KEEP_AGAIN, /* somebody came: look again */
};
enum am_keep am_lend_keep(struct am_view *v, uintptr_t word, struct am_cell *cell, uint64_t old, uint64_t next, struct am_late late,
			  bool writes, struct am_here here);

/* The usual case of that, where lazy accesses need no questions (`fast` is set) and the cell was not free to be taken: a lazy access to a word of which
 * an earlier stretch of this thread accessed other bytes. With its place. */
bool am_lend_beside(struct am_view *v, struct am_cell *cell, uintptr_t address, uint64_t bytes, bool writes, struct am_here here);

/* What tables have of a word, whose w that is; how many. They stay there. */
unsigned am_lend_collect(uintptr_t word, uint64_t w, struct am_kept kept[AM_LEND_READS]);
/* They are told, or over. */
void am_lend_purge(uintptr_t word, uint64_t w);
/* After fork, in the child. */
void am_lend_forget(void);

/* The usual case of am_lend_read, in a region that waits or has its mark. With its place. */
static inline bool am_lend_again(const struct am_view *v, struct am_cell *cell, uintptr_t address, uint64_t bytes, uintptr_t pc)
{
	const struct am_cell old = am_cell_load(cell);
	uint64_t r;

	if (!am_filter_borrows_again(old, v->stretch, bytes, &r))
		return false;
	if (r != old.r) { /* who takes the cell meanwhile races with this read */
		__atomic_store_n(&cell->r, r, __ATOMIC_RELAXED);
		am_view_put_place(am_view_place(v->places, cell, false), address, pc);
	}
	return true;
}

/* The same where lazy accesses need no questions (`fast` is set) and the cell was not free to be taken: what am_view_access would do.
 * With its place. */
static inline bool am_lend_borrow(struct am_view *v, struct am_cell *cell, uintptr_t address, uint64_t bytes, struct am_here here)
{
	const struct am_cell old = am_cell_load(cell);

	if (v->depth == 0 || am_lend_read(v, address & ~(uintptr_t)7, cell, old, bytes, here) != AM_LEND_DONE)
		return false;
	am_view_put_place(am_view_place(v->places, cell, false), address, here.pc);
	return true;
}

/* Has this stretch read all that, in a cell that is lent, by what the cell says? */
static inline bool am_lend_is_known(const struct am_view *v, struct am_cell c, uint64_t bytes)
{
	return c.w & AM_CELL_LENT && am_filter_borrowed(c, v->stretch, bytes);
}

#endif
