/* SPDX-License-Identifier: MIT */
/* An atomic operation, or any access whose value matters: performed between begin and end, numbered
 * in the same step. */
#ifndef ATOMMON_PRELOAD_STEP_H
#define ATOMMON_PRELOAD_STEP_H

#include "preload/log.h"

struct am_step {
	struct am_slot *slot;
	bool is_logged, is_locked;
	/* It waits in the list of its region, see view_exact.c; there is nothing to do, or an item like it is already there. */
	bool waits, is_known;
	uint32_t site;
	struct am_cell *cell, old, next;
};

struct am_step am_step_begin(enum am_kind kind, const volatile void *p, unsigned size,
			     struct am_here here);
/* `value`: what was read, of more than 8 bytes the lower half. `kind` may be weaker than announced: a failed exchange is a read. `is_vain`: an attempt that failed,
 * or that left the memory as it was, like a try-lock that did not get its lock; no access for the checkers. */
void am_step_end(struct am_step *s, enum am_kind kind, const volatile void *p, unsigned size,
		 int mo, uint64_t value, bool is_vain, struct am_here here);

/* In a region, the usual cases of a step that has just been started: true if there is nothing more to do before it is performed. */
bool am_exact_start(struct am_step *s, enum am_kind kind, uintptr_t address, unsigned size, unsigned commutes, struct am_here here);
/* In a region that waits: true if the access may wait, too; then it is performed, and am_exact_end or _leave follows. If not, is_known: the
 * region made it before. `commutes`: of the event's order; with AM_ORDER_LAST it may turn out not to. */
bool am_exact_begin(struct am_step *s, enum am_kind kind, uintptr_t address, unsigned size, unsigned commutes, struct am_here here);
/* `flags`, `order`: of the event. */
void am_exact_end(struct am_step *s, enum am_kind kind, uintptr_t address, unsigned size, unsigned flags, uint8_t order,
		  struct am_here here);
/* All that waits is told, its region was exposed meanwhile. Inside a record, which is none any more then. */
void am_exact_tell(struct am_here here) __attribute__((cold));
/* It does not count after all: the cell is as before. */
void am_exact_undo(struct am_step *s);
void am_exact_leave(struct am_step *s);

#endif
