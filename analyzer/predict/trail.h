/* SPDX-License-Identifier: MIT */
/*
 * The trail of a search: the events executed so far, each with its happens-before clock, and the
 * races of the next one with them (Flanagan & Godefroid, POPL'05 §3; source sets: Abdulla et al.,
 * POPL'14).
 *
 * Threads are local numbers below AM_TRAIL_THREADS. A clock has one entry per thread: the depth + 1
 * of the last step of that thread which comes before. Steps that touch one cell or one object are
 * chained from the latest down, so that what an event depends on is found without looking at the
 * rest of the trail.
 */
#ifndef ATOMMON_PREDICT_TRAIL_H
#define ATOMMON_PREDICT_TRAIL_H

#include "machine.h"

enum { AM_TRAIL_THREADS = 64 };

struct am_trail_step {
	uint32_t event, thread;
	uint32_t links; /* how many there were before this step */
};

struct am_trail_link {
	uint32_t depth, key, below;
	bool is_total; /* depends on every other step of its chain */
};

struct am_trail {
	struct am_machine *machine;
	uint32_t n;			   /* threads */
	uint32_t thread[AM_TRAIL_THREADS]; /* run thread of each local one */
	VEC(struct am_trail_step) step;
	VEC(uint32_t) clock; /* n entries per step */
	VEC(uint32_t) race;  /* the last answer of am_trail_races */
	/* owned by trail.c */
	VEC(uint32_t) path[AM_TRAIL_THREADS]; /* depths of each thread's steps */
	VEC(struct am_trail_link) link;
	VEC(uint32_t) cursor;
};

/* False if the segment has too many threads. */
bool am_trail_init(struct am_trail *trail, struct am_machine *machine);
void am_trail_free(struct am_trail *trail);

/* The clock of all that thread p did; then, for its next event e, of all that e comes after. */
void am_trail_before(const struct am_trail *trail, uint32_t p, uint32_t *clock);
void am_trail_follow(struct am_trail *trail, uint32_t e, uint32_t *clock);

void am_trail_push(struct am_trail *trail, uint32_t e, uint32_t p, const uint32_t *clock);
void am_trail_pop(struct am_trail *trail);

/*
 * The steps that race with event e, from the latest: dependent, not ordered before e by a third one,
 * and able to run at the same time. before: the clock of am_trail_before. A thread that is stuck at
 * e may be blocked by what lies behind a race: then all of them count.
 */
void am_trail_races(struct am_trail *trail, uint32_t e, const uint32_t *before, bool is_stuck);

/*
 * For the race of step i with event e of thread p, e's clock being `full`: a thread that can begin v,
 * which is what ran after i without following from it, and then e. One of the set `rather` if there
 * is any, else one of `among`; as a set of one, or 0.
 */
uint64_t am_trail_initial(const struct am_trail *trail, uint32_t i, uint32_t p, const uint32_t *full,
			  uint64_t rather, uint64_t among);

#endif
