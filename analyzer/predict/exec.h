/* SPDX-License-Identifier: MIT */
/*
 * The engine's interpreter of trace programs: executes events one by one in memory order, says whether
 * each step is possible, and remembers which write each byte came from. Meaning: ctp.h.
 */
#ifndef ATOMMON_PREDICT_EXEC_H
#define ATOMMON_PREDICT_EXEC_H

#include "analyzer/predict/engine.h"

enum am_step {
	AM_STEP_OK,
	AM_STEP_SKIPPED,   /* the guard is false */
	AM_STEP_COND,	   /* the condition does not hold (branch, read, update) */
	AM_STEP_LOCK,	   /* the lock, or the mutex of a wake, is held by another */
	AM_STEP_SYNC,	   /* not notified, semaphore zero, barrier not full, release of a lock not held */
	AM_STEP_NOT_YET,   /* fork, join or an explicit order not satisfied; thread stopped */
};

struct am_exec {
	const struct am_ctp *ctp;
	enum am_model model;
	uint8_t *state;	  /* by event: 0 not yet, 1 executed, 2 skipped */
	uint64_t *reads;  /* by event: value read (0 if not executed) */
	uint64_t *old;	  /* by event: accesses: bytes there just before */
	uint32_t (*from)[8]; /* by event: accesses: writer of each byte of `old`, AM_CTP_NONE: initial */
	bool *failed;	  /* by event: assertion that failed */
	uint32_t executed;
	uint32_t blocker; /* after AM_STEP_LOCK: event that holds the lock */
	/* private */
	uint8_t *memory;
	uint32_t *writer, *base; /* by byte; base: first byte of an object */
	uint32_t bytes;
	uint32_t *holder;	/* by lock: event that holds it exclusively */
	uint32_t *shared;	/* by lock and thread: event that holds it shared */
	int64_t *count;		/* by object: semaphore value, arrivals */
	uint32_t *done;		/* by thread: events done */
	uint64_t *waited;	/* by thread: time of the last wait */
	uint32_t *rank;		/* by thread: rank of its last arrival */
	bool *stopped;		/* by thread: an assertion failed */
	uint32_t *notes;	/* signals and broadcasts so far, events */
	uint64_t *note_time;
	bool *note_used;
	uint32_t note_count;
	uint64_t clock;
	uint32_t *demands, *first_demand; /* explicit orders by the later event */
};

void am_exec_init(struct am_exec *x, const struct am_ctp *ctp, enum am_model model);
void am_exec_reset(struct am_exec *x);
void am_exec_clear(struct am_exec *x);
/* A step that is not possible leaves the state as it was, except that a cond read or update has
 * filled `old`, `from` and `reads` of the event. */
enum am_step am_exec_step(struct am_exec *x, uint32_t event);
static inline uint64_t am_exec_eval(const struct am_exec *x, uint32_t node)
{
	return node ? am_ctp_eval(x->ctp, node, x->reads) : 1;
}

#endif
