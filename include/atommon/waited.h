/* SPDX-License-Identifier: MIT */
/*
 * Words that threads wait on: a stage behind the regions (regions.h) and before that of steps in vain (vain.h), live,
 * offline and for the predictor.
 *
 * A word that a program hands to futex(2) is by the program's own word something that threads wait on: a part of a lock, a
 * semaphore, an event, as much as the inside of a pthread_mutex_t. What its bits mean is between those who lock and those who wake ("somebody waits"
 * is left there by the one and found by the other, in the middle of both), so accesses to it order threads, but that they came in between
 * breaks no region. A cycle counts only if it is one without them: what the lock guards conflicts by its own accesses. So does a
 * word in which a program counts who waits (AM_OBJ_WAITERS; preload/futex.h tells which those are).
 *
 * Events AM_INIT of AM_OBJ_FUTEX and AM_OBJ_WAITERS tell the words. Accesses to them go on marked (am_is_waited_on), for
 * others to leave out: those within the word, and atomic ones that overlap it (a larger word of which the futex is a half). A block that is
 * allocated or freed has none any more.
 *
 * The same stage knows what the last owner of an object does (analyzer/core/last.h) and does not tell cycles that rest on that.
 *
 * The call may come behind the accesses: who finds the mark of a waiter wakes a moment later. So a cycle
 * that rests on an atomic access that may be to such a word waits until all its regions that are open now have ended. Why nothing
 * false can be told: leaving out an access only removes edges (doc/notes/checker.md).
 */
#ifndef ATOMMON_WAITED_H
#define ATOMMON_WAITED_H

#include "checker.h"
#include "merge.h"

struct am_waited_config {
	am_event_fn *out;
	void *ctx;
	am_cycle_fn *on_cycle; /* of am_waited_cycle */
	void *cycle_ctx;
	bool keeps; /* memory that comes and goes is still what it was: of a prediction's events the order is not known */
};

/* Is the event about such a word? */
static inline bool am_tells_waited(const struct am_event *e)
{
	return e->kind == AM_INIT && (e->mode == AM_OBJ_FUTEX || e->mode == AM_OBJ_WAITERS);
}

struct am_waited;

struct am_waited *am_waited_new(const struct am_waited_config *config, struct am_mem *mem);
void am_waited_event(struct am_waited *waited, const struct am_event *event);
/* The same, known beforehand: am_tells_waited. */
void am_waited_learn(struct am_waited *waited, const struct am_event *event);
/* A checker behind this stage found a cycle: to on_cycle now, later or never. */
void am_waited_cycle(struct am_waited *waited, const struct am_cycle *cycle);
/* How many cycles were ever held back, and are no longer; and how many are now. */
uint64_t am_waited_settled(const struct am_waited *waited);
uint32_t am_waited_holds(const struct am_waited *waited);
/* No more events, or too long a wait for some: what is held back goes on, unless it is known to be none. */
void am_waited_hurry(struct am_waited *waited);
void am_waited_free(struct am_waited *waited);

/* `mode` of a read, write or update of such a word, behind this stage. */
enum { AM_WAITED_ON = 2 };

static inline bool am_is_waited_on(const struct am_event *e)
{
	return e->mode == AM_WAITED_ON && (e->kind == AM_READ || e->kind == AM_WRITE || e->kind == AM_UPDATE);
}

#endif
