/* SPDX-License-Identifier: MIT */
/*
 * The trace atomicity segment of a region (Sinha et al. §III): the part of the run that can take
 * part in breaking it. Per thread the events with from[t] <= eid < to[t]; what lies before `from`
 * runs first, in the recorded order, what lies from `to` on never runs.
 *
 * The paper takes `from` just behind the upper frontier. That the events above it may run first in
 * the recorded order is not without loss: an event that is concurrent with one above the frontier
 * and conflicts with it (data or lock) may have to come before it. am_segment_find therefore lifts
 * the frontier until no such pair is left (is_exact). If that makes the segment larger than allowed,
 * a window of the recorded order around the region is taken instead: searching it is still sound,
 * but finding nothing proves nothing.
 */
#ifndef ATOMMON_PREDICT_SEGMENT_H
#define ATOMMON_PREDICT_SEGMENT_H

#include "index.h"
#include "order.h"

struct am_segment {
	uint32_t region;
	uint32_t *from, *to;	   /* by thread */
	uint32_t *upper, *lower;   /* the paper's frontiers, for the static check and statistics */
	uint32_t n_threads;
	uint32_t events;	   /* between from and to */
	uint32_t accesses;	   /* shared ones among them */
	uint32_t paper_events;	   /* between the paper's frontiers */
	bool is_exact;
	bool is_empty; /* the region has no shared access: nothing can break it */
};

/* `order` must be AM_ORDER_COUPLED for the model avp, AM_ORDER_SYNC for a model that ignores data.
 * At most max_events are put into the segment (0: no bound); if they do not do, a window of about
 * window_events is taken, or of as many. */
void am_segment_find(struct am_segment *segment, const struct am_index *index,
		     const struct am_order *order, uint32_t region, uint32_t max_events);
void am_segment_find_within(struct am_segment *segment, const struct am_index *index,
			    const struct am_order *order, uint32_t region, uint32_t max_events,
			    uint32_t window_events);
void am_segment_whole(struct am_segment *segment, const struct am_run *run, uint32_t region);
void am_segment_free(struct am_segment *segment);

/* Static check (§III.C): false if no schedule of the segment can break the region, because it has no
 * two accesses of which the first can conflict with something after it and the second with
 * something before it, outside the region. */
bool am_segment_may_break(const struct am_segment *segment, const struct am_index *index,
			  const struct am_order *order);

static inline bool am_segment_has(const struct am_segment *s, const struct am_run_event *r)
{
	return r->eid >= s->from[r->thread] && r->eid < s->to[r->thread];
}

#endif
