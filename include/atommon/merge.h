/* SPDX-License-Identifier: MIT */
/*
 * The merge: per-thread records in, one order that really happened out. Used by the drain thread on
 * rings and by the reader on trace chunks. See event.h for the rule.
 *
 * The caller feeds units of a thread in ring order, any number at a time, in any order among the
 * threads; the merge copies what it cannot pass on yet. am_merge_run passes on all that may go.
 */
#ifndef ATOMMON_MERGE_H
#define ATOMMON_MERGE_H

#include "event.h"

#include <stddef.h>

struct am_mem;
struct am_merge;

typedef void am_event_fn(void *ctx, const struct am_event *event);

struct am_merge *am_merge_new(struct am_mem *mem, am_event_fn *out, void *ctx);
void am_merge_free(struct am_merge *merge);

/* The next event is made here, for somebody who keeps many of them; NULL: in the merge's own place. May be
 * called by `out`. */
void am_merge_place(struct am_merge *merge, struct am_event *place);

/* Units of one thread; false at the memory ceiling (nothing was taken). Units must form whole
 * records. May be called by `out`, which may be refused then. */
bool am_merge_feed(struct am_merge *merge, uint32_t thread, const struct am_unit *units, size_t n);

/* What is fed from here on (false: no longer) was logged while threads ran and their rings were read one after the
 * other for the last time: an acquire may be here and the release before it not. am_merge_finish leaves
 * out those of it that wait for what is missing. All that was fed before rests on what is fed after, at the most. */
void am_merge_leaving(struct am_merge *merge, bool is_leaving);

/* Pass on what may go; returns how many events went. */
uint64_t am_merge_run(struct am_merge *merge);

/* Events taken in and not yet passed on. */
uint64_t am_merge_pending(const struct am_merge *merge);

/* No more will be fed: close holes (numbers that no pending record carries: a record in progress
 * at a kill) and pass on the rest. Returns the number of holes closed. */
uint64_t am_merge_finish(struct am_merge *merge);

/* A number has been missing for so long that it will not come: its thread was torn out of the record
 * (siglongjmp, cancellation). Close the holes that threads wait for now and pass on what may go; more
 * can be fed. Returns the number of holes. */
uint64_t am_merge_close_holes(struct am_merge *merge);

/* The same for single ones, by somebody who knows that they will not come. am_merge_holes is to be called
 * now and then: it gives the numbers that threads have waited for since the call before the last
 * and that no record fed so far carries. am_merge_close passes over those of them that are still
 * missing, and passes on what may go then. */
struct am_hole {
	uint32_t counter, number;
};
size_t am_merge_holes(struct am_merge *merge, struct am_hole *hole, size_t max);
uint64_t am_merge_close(struct am_merge *merge, const struct am_hole *hole, size_t n);

/* No more will be fed, and more than records in progress is missing (a file that was cut): what
 * still waits cannot be put into an order that happened. Forget it; each thread that had some gets
 * a lost event of this cause (enum am_lost) with their number. Returns how many were forgotten. */
uint64_t am_merge_abandon(struct am_merge *merge, unsigned cause);

#endif
