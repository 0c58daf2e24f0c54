/* SPDX-License-Identifier: MIT */
/* An atomic operation, or any access whose value matters: performed between begin and end, numbered
 * in the same step. */
#ifndef ATOMMON_PRELOAD_STEP_H
#define ATOMMON_PRELOAD_STEP_H

#include "preload/log.h"

struct am_step {
	struct am_slot *slot;
	bool is_logged, is_locked;
};

struct am_step am_step_begin(enum am_kind kind, const volatile void *p, unsigned size,
			     struct am_here here);
/* `value`: what was read, of more than 8 bytes the lower half. `kind` may be weaker than announced: a failed exchange is a read. `is_vain`: an attempt that failed,
 * or that left the memory as it was, like a try-lock that did not get its lock; no access for the checkers. */
void am_step_end(struct am_step *s, enum am_kind kind, const volatile void *p, unsigned size,
		 int mo, uint64_t value, bool is_vain, struct am_here here);

#endif
