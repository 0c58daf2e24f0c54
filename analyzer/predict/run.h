/* SPDX-License-Identifier: MIT */
/*
 * A recorded run in memory: what every stage of the predictor works on.
 *
 * Events are numbered 0..n-1 in the recorded order. Threads are dense; an event's `eid` is its
 * position within its thread, from 1 (Sinha et al. §II.A). Memory is cut into *cells*: the finest
 * byte ranges that no access splits, per lifetime of the memory, so that two accesses conflict
 * exactly when they share a cell and one writes. An access covers the cells [cell, cell + cells).
 */
#ifndef ATOMMON_PREDICT_RUN_H
#define ATOMMON_PREDICT_RUN_H

#include "atommon/event.h"

#include "vec.h"

#define AM_NONE UINT32_MAX

struct am_run_event {
	uint32_t trace; /* position of the event in the trace it came from */
	uint32_t thread, eid;
	uint32_t cell, cells;	/* accesses; free covers its block */
	uint32_t object, mutex; /* dense ids of synchronisation objects; AM_NONE */
	uint32_t couple;	/* reads: first of `cells` entries in am_run.writer */
	uint32_t peer;		/* an event that must come before, other than by program order:
				   fork of a begin, end of a join, executor's once-end; AM_NONE */
	uint32_t region;	/* index of its outermost region, AM_NONE */
	bool reads, writes;	/* after removal of unshared cells */
};

struct am_run_region {
	uint32_t thread;
	uint32_t first, last; /* eids of its first and last event, markers excluded */
	uint32_t name, site;
	uint64_t begin_index; /* in the trace */
	bool is_open;	      /* the run ended inside */
};

/* An expression node of a thread: what it evaluated to in the recorded run. */
struct am_run_node {
	uint64_t value;
	uint8_t width;
};

struct am_run_thread {
	uint32_t id;	 /* in the trace */
	uint32_t *event; /* event[eid - 1] */
	uint32_t n;
	uint32_t settled; /* events up to this eid ran before: the window's prologue */
	VEC(struct am_run_node) node; /* [0] is not used */
};

struct am_run_object {
	uint64_t address;
	uint8_t kind;	  /* enum am_object, 0 unknown */
	uint32_t initial; /* semaphore count, barrier size (derived if the trace does not say) */
};

struct am_run {
	VEC(struct am_event) raw; /* as recorded */
	VEC(struct am_run_event) event;
	VEC(struct am_run_region) region;
	VEC(struct am_run_object) object;
	struct am_run_thread *thread;
	uint32_t n_threads;
	uint32_t n_cells;
	uint64_t *cell_address; /* for reports */
	uint8_t *cell_shared;	/* touched by two threads, one of them writing */
	VEC(uint32_t) writer;	/* couples: the event last written to each cell read, AM_NONE */
	uint64_t lost;		/* events the trace says are lost; the run stops before the first */
	uint64_t regions_lost;	/* regions that begin behind that hole */
	bool shows_accesses;	/* elsewhere, if not here: locks are no entities then */
	bool is_cut;		/* a window of a longer run: other events may come before and after */
	bool at_lock_level;	/* no accesses shown: locks are the entities */
};

/* Events in recorded order; then am_run_finish once. */
void am_run_init(struct am_run *run);
void am_run_add(struct am_run *run, const struct am_event *event);
/* All events at once, none of them lost, in memory that the run may keep. */
void am_run_take(struct am_run *run, struct am_event *events, uint32_t n);
void am_run_finish(struct am_run *run);
void am_run_free(struct am_run *run);

static inline const struct am_event *am_run_raw(const struct am_run *run, uint32_t e)
{
	return &run->raw.at[e];
}

static inline uint32_t am_run_at(const struct am_run *run, uint32_t thread, uint32_t eid)
{
	return run->thread[thread].event[eid - 1];
}

/* A read whose thread may look again if it sees something else: an atomic one. What it does then is
 * not known, and that it was in vain is likely (vain.h). Volatile variables are shared without any order, too, by mistake: a
 * pointer that is tested and then read again. */
static inline bool am_run_may_repeat(const struct am_event *raw)
{
	return raw->kind == AM_READ && raw->order;
}

/* Do two accesses conflict (a common cell, one writes)? */
static inline bool am_run_conflict(const struct am_run_event *a, const struct am_run_event *b)
{
	return (a->writes || b->writes) && (a->reads || a->writes) && (b->reads || b->writes) &&
	       a->cell < b->cell + b->cells && b->cell < a->cell + a->cells;
}

#endif
