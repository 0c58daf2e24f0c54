/* SPDX-License-Identifier: MIT */
/* Accesses that are told late: between view.c, which decides, and view_late.c, which tells. */
#ifndef ATOMMON_PRELOAD_LATE_H
#define ATOMMON_PRELOAD_LATE_H

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
/* Does what this cell holds matter to a thread that comes to it? */
bool am_late_matters(const struct am_view *v, struct am_cell c);

static inline uint32_t am_late_number(uint64_t stretch)
{
	return (uint32_t)(stretch >> AM_STRETCH_SHIFT);
}

/* Tell accesses to an 8-byte word that its owner did not log. False: there is nothing to tell. */
bool am_late_tell(struct am_view *v, uintptr_t word, struct am_late late, bool writes,
		  struct am_here here);
/* All of a cell, which another thread takes. */
void am_late_tell_both(struct am_view *v, uintptr_t word, struct am_cell c, struct am_here here);

/* Units since `head` are not those of hooks. */
static inline void am_late_count(struct am_view *v, uint64_t head)
{
	v->own_units += am_tls.head - head;
}

#endif
