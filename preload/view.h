/* SPDX-License-Identifier: MIT */
/* Where a thread stands among stretches and regions (shadow.h). Known to log.h, because a lock operation
 * that is logged may change it. */
#ifndef ATOMMON_PRELOAD_VIEW_H
#define ATOMMON_PRELOAD_VIEW_H

#include "preload/fast.h"

struct am_deferred; /* defer.h */

/* Thread-local, initial-exec. The first line is what an access looks at. */
struct am_view {
	union {
		struct am_fast shown; /* to compiled code, as AM_FAST_VIEW */
		struct {
			AM_FAST_FIELDS
		};
	};
	uint64_t whole; /* fast | AM_CELL_BYTES */
	struct am_deferred *defer;
	uint64_t limit;	    /* am_tls.limit while something waits */
	/* am_tls.head if nothing stands in the way of letting things wait, and nothing was logged since: the newest
	 * record is this thread's mark, and sections are followed up to it; else ~0 */
	uint64_t calm;
	uint64_t mark_head; /* ring head behind this thread's newest mark */
	uint64_t own_units; /* of this thread's ring, written here */
	uint64_t others; /* am_view_others() when last looked */
	uint64_t marked;      /* stretch that has a mark, or is covered by one */
	uint32_t n_forgotten; /* regions that left no record */
	uint32_t reached;     /* generation */
	uint32_t counted;     /* generation in which this thread last logged anything that matters, since its block is new */
	uint32_t depth;	      /* of regions */
	uint32_t waiting;     /* regions that a condition wait ended, to begin again */
	uint32_t held;	      /* locks, as far as sections are followed */
	uint32_t parked;      /* locks held while a thread was started: no section (regions.h) */
	uint8_t has_memory : 1; /* of its own, with the lane */
	uint8_t has_stack : 1;	/* what others did on its stack before was forgotten */
	uint8_t is_looking : 1; /* an atomic or volatile load was logged, or waits, or an attempt failed (atommon/vain.h) */
	uint8_t is_waiting;   /* the outermost region is open and not told */
	uint8_t is_telling;   /* what waits is being told */
	uint8_t past_is_over; /* no stretch of this thread before this one matters (filter.h, 6) */
};
extern __thread struct am_view am_view
	__attribute__((visibility("hidden"), tls_model("initial-exec"), aligned(64)));

static inline void am_view_set_fast(struct am_view *v, uint64_t fast)
{
	v->fast = fast;
	v->whole = fast | AM_CELL_BYTES;
}

/* Ask again at the next access. */
static inline void am_view_doubt(void)
{
	am_view_set_fast(&am_view, AM_STRETCH_NONE);
	am_view.idle = ~UINT64_C(0);
}

#endif
