/* SPDX-License-Identifier: MIT */
/*
 * The step machine: executes the recorded events of a segment in another order, one at a time, with
 * undo. It knows the meaning of every synchronisation event and of read-couples: a thread may break
 * a couple (read from another write than recorded) and is cut off after it, because what it would
 * do next is not known (almost view-preserving interleavings, Sinha et al. §II.C). An update (atomic
 * read-modify-write) may not break its couple: what it would write is not known. It also follows
 * the violation path of one region (§II.D) and says when it closes.
 *
 * POSIX choices: a signal wakes one of the threads waiting at that moment, which one is left open
 * until it wakes; a signal with nobody waiting is lost; there are no spurious wake-ups; a wait that
 * timed out in the recording may time out at any moment.
 */
#ifndef ATOMMON_PREDICT_MACHINE_H
#define ATOMMON_PREDICT_MACHINE_H

#include "segment.h"

struct am_machine_change {
	uint32_t *at, old;
};

struct am_machine {
	const struct am_run *run;
	const struct am_index *index;
	const struct am_segment *segment;
	const struct am_run_region *region;
	bool ignores_data;  /* couples do not matter (model sync) */
	uint32_t *pos;	    /* eid of the last executed event of each thread */
	uint32_t *cut;	    /* 1: broke a couple, does nothing more */
	uint32_t broken;    /* 1: the violation path closed */
	uint32_t closing;   /* the event that closed it */
	/* below: owned by machine.c */
	uint32_t *owner, *readers, *count, *generation;
	uint32_t *arrived, *ticket, *waits_on, *tokens, *token_row, tickets;
	uint32_t *last_write;
	uint32_t *own, *taint, *taint_thread;
	uint32_t *loaded; /* keys whose state was loaded for this segment */
	uint32_t *chain;  /* of a search's trail, by key (cells, then objects); AM_NONE outside */
	VEC(struct am_machine_change) journal;
};

/*
 * A machine is made once per run and loaded with one segment after the other: loading costs as much
 * as the segment, not as the run. The state loaded is the one after the events before the segment
 * ran in recorded order. am_machine_replay gets there step by step; it is the twin, and false if
 * those events cannot run (a segment that is not consistent with the locks).
 */
void am_machine_new(struct am_machine *m, const struct am_index *index);
void am_machine_load(struct am_machine *m, const struct am_segment *segment, bool ignores_data);
bool am_machine_replay(struct am_machine *m, const struct am_segment *segment, bool ignores_data);
void am_machine_unload(struct am_machine *m);
void am_machine_free(struct am_machine *m);

/* The next event of a thread, AM_NONE if it has none or is cut. */
uint32_t am_machine_next(const struct am_machine *m, uint32_t thread);
bool am_machine_enabled(const struct am_machine *m, uint32_t event);
bool am_machine_keeps(const struct am_machine *m, uint32_t event); /* its couple, if it reads */

/* Execute an enabled next event; am_machine_mark before, am_machine_undo to go back there. */
void am_machine_step(struct am_machine *m, uint32_t event);
static inline uint32_t am_machine_mark(const struct am_machine *m)
{
	return m->journal.n;
}
void am_machine_undo(struct am_machine *m, uint32_t mark);

/* For machine_load.c: a change that undo takes back; the condition variable's half of an event. */
void am_machine_set(struct am_machine *m, uint32_t *at, uint32_t value);
void am_machine_notify(struct am_machine *m, uint32_t event);

/* Does the order of these two events matter to the machine? (Same thread: no question.) */
bool am_machine_dependent(const struct am_machine *m, uint32_t a, uint32_t b);

#endif
