/* SPDX-License-Identifier: MIT */
/*
 * Critical sections of a recorded run: which locks each event holds, and what that excludes.
 */
#ifndef ATOMMON_PREDICT_LOCKSET_H
#define ATOMMON_PREDICT_LOCKSET_H

#include "index.h"

struct am_section {
	uint32_t thread, object;
	uint32_t first, last; /* eids of acquire and release; last is n + 1 if never released */
	bool shared;
};

struct am_locksets {
	const struct am_index *index;
	VEC(struct am_section) section;
	VEC(uint32_t) pool; /* lists: count, then section numbers */
	uint32_t *held;	    /* of each event: its list */
};

void am_locksets_build(struct am_locksets *locks, const struct am_index *index);
void am_locksets_free(struct am_locksets *locks);

static inline const uint32_t *am_locksets_of(const struct am_locksets *locks, uint32_t e)
{
	return &locks->pool.at[locks->held[e]]; /* [0]: how many */
}

/* Does a lock that the thread of s and t holds from s through t keep event e out of between? */
bool am_locksets_exclude(const struct am_locksets *locks, uint32_t s, uint32_t t, uint32_t e);

/*
 * Could e run between c and d (same thread, c before d) as far as nested locks can tell? There must
 * be a moment at which the locks held by both are disjoint and their acquisition histories are
 * consistent (Kahlon et al. 2005; the "without data" column of Wang et al., Table 1).
 */
bool am_locksets_may_meet(const struct am_locksets *locks, uint32_t c, uint32_t d, uint32_t e);

#endif
