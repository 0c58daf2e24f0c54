/* SPDX-License-Identifier: MIT */
/*
 * A lane: the ring and the private memory of one thread. Lanes are reused, thread ids are not. The
 * thread is the only producer of its ring; whoever holds the drain's role is the only consumer.
 */
#ifndef ATOMMON_PRELOAD_LANE_H
#define ATOMMON_PRELOAD_LANE_H

#include "atommon/ringfile.h"
#include "preload/log.h"

#define AM_FUNCTION_NONE UINTPTR_MAX /* older than any frame */
enum { AM_LANES_MAX = 4096, AM_NAME_CACHE = 32, AM_FUNCTIONS_MAX = 64, AM_LOOKS = 16, AM_OWNED = 16, AM_MARGIN = 32, AM_NO_THREAD = 0xffffffff };

/* Where a thread looked last, while recording (view_record.c). */
struct am_looks {
	struct am_look {
		uintptr_t address, pc;
		uint64_t deeds;
		uint32_t times;
	} at[AM_LOOKS];
	uint64_t deeds; /* writes, kept or not */
};

/* What the thread left in a count of owners when it last added to it (owners.h). */
struct am_owned {
	uintptr_t count; /* its address; 0: none */
	int64_t left;
};

struct am_lane {
	struct am_caches caches; /* first: am_caches() in log.h */

	struct am_ringdir *dir;
	struct am_unit *units;
	uint64_t mask;
	uint32_t index;
	uint32_t os_tid;
	uintptr_t stack_top;
	uintptr_t tls; /* am_tls of its thread; 0: it has left. Read with care (holes.c) */

	/* Producer's. */
	uint64_t next_base;	/* position within the thread where this lane was taken */
	uint64_t pending[8];	/* dropped and not yet told in the stream, by enum am_lost */
	uint64_t n_pending;
	uint64_t room;	  /* head may go up to here without looking at the consumer */
	uint64_t torn_at; /* free_tail + 1 when a record was found in progress below a handler */
	struct am_site_deep *deep; /* site.c; kept with the lane */
	struct am_site_cached *wide;
	uint64_t site_misses, site_fills;
	uint32_t is_pc_only;	/* misses too often: sites without callers from now on */
	uint32_t depth;		/* open regions, for atommon_end without a begin */
	uint32_t open[64];	/* their names */
	struct {
		uintptr_t cfa;
		uint32_t number;
	} functions[AM_FUNCTIONS_MAX + 1]; /* entered functions that are regions, from 1 on (enter.h) */
	uint32_t n_functions, functions_beyond; /* how many; and how many calls deeper than that */
	uint32_t functions_told;		/* of them, the outer ones: logged, or wait */
	uint32_t functions_of;			/* am_tls.id of whom */
	struct am_sym *symbolic; /* symbolic.c: expressions of this thread */
	uint64_t *places;	 /* shadow.h: where it made accesses that are not logged */
	struct am_deferred *defer; /* defer.h: what it has not logged yet */
	uint64_t over; /* late.h: a stretch of another thread that does not matter, and never will, nor those before it; with all bits below */
	uint64_t synced;	   /* view_late.c: a stretch of another thread behind whose mark this one came last */
	struct am_lents *lents;	   /* view_lend.c: what it read in cells that are lent to others, too */
	struct am_looks looks;
	struct am_owned owned[AM_OWNED]; /* owners.h */
	uint32_t owned_of;		 /* am_tls.id of whom */

	/* Consumer's, on lines of their own. */
	uint64_t free_tail __attribute__((aligned(64))); /* the producer may write up to here + n_units */
	uint64_t wake_at;				 /* the producer's: until free_tail is there */
	uint32_t is_waiting;				 /* futex: the producer waits for space */
	uint64_t fed __attribute__((aligned(64)));	 /* ring index up to which the check sink went */
	uint64_t end;					 /* ring index at which a closing thread stopped */
	uint64_t stuck_at, stuck_ns;			 /* hole that does not fill, since when */

	struct {
		const char *text;
		uint32_t id;
	} names[AM_NAME_CACHE];
};

_Static_assert(offsetof(struct am_lane, caches) == 0, "found by the lane's address");

extern struct am_lane *am_lanes[AM_LANES_MAX];

/* Lanes ever made: all of am_lanes below this may be looked at. */
uint32_t am_lane_count(void);

/* Give this thread a lane, unless it has one, and log thread-begin. `id` AM_NO_THREAD: a thread nobody
 * announced, takes a new id. False when there is no memory. Signals are blocked meanwhile; errno
 * kept. */
bool am_lane_attach(uint32_t id);
/* thread-end was logged: the consumer may have the lane when it is empty. */
void am_lane_close(void);
/* Consumer: a closing lane was drained. */
void am_lane_recycle(struct am_lane *lane);
/* Consumer: close lanes of threads that vanished without an end. */
void am_lane_reap(void);

uint32_t am_thread_new_id(void);
uint32_t am_thread_self(void); /* own id; attaches */

/* Lock of lanes and area. Signals must be blocked by the caller. */
void am_lane_lock(void);
void am_lane_unlock(void);
/* After fork, in the child. */
void am_lane_forget(void);

#endif
