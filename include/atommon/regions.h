/* SPDX-License-Identifier: MIT */
/*
 * What a region is (ATOMMON_ATOMIC): a stage between the merge and the checkers that drops, passes on
 * or makes begin and end events. Used live, by atommon-check and by the predictor. A comma list of
 *   marked     regions that the program marked itself pass on
 *   sections   the outermost critical sections of each thread: from the first lock taken to the last
 *              one released. The start of a thread ends one, and locks held over it count no more
 *              until released; so does the wait for a thread's end, over which locks do count
 *   fn:GLOB    functions whose entry and exit are logged
 * A condition wait ends a region of any kind, and its return begins another: who waits asks others to
 * change what it has seen.
 * Without `marked` the program's own begin and end events are dropped. All other events pass on
 * unchanged. A made event has the index, the site and the thread of the event that it was made from: a
 * begin comes before it, an end after it, so that a section holds its own lock operations.
 *
 * After lost events nothing is known of locks held and functions entered: what is open ends before
 * the hole, and releases and exits that match nothing are not counted. Regions made later may then be
 * parts of larger ones, never more than those.
 */
#ifndef ATOMMON_REGIONS_H
#define ATOMMON_REGIONS_H

#include "event.h"
#include "merge.h"

struct am_regions_config {
	const char *atomic;
	am_event_fn *out;
	void *out_ctx;
	/* String id of the name of a section of this lock, first taken at this site. NULL: 0. */
	uint32_t (*section)(void *ctx, uint64_t lock, uint32_t site);
	/* String id of the name if the function entered is a region, else 0. NULL: event->aux, where
	 * the hooks put it for functions that a fn: glob named. */
	uint32_t (*function)(void *ctx, const struct am_event *enter);
	void *ctx;
};

struct am_regions;

/* First part of the list that is not one of the above, or NULL if all are. Ends at a comma or NUL. */
const char *am_regions_bad(const char *atomic);

struct am_regions *am_regions_new(const struct am_regions_config *config, struct am_mem *mem);
void am_regions_event(struct am_regions *regions, const struct am_event *event);
void am_regions_free(struct am_regions *regions);

#endif
