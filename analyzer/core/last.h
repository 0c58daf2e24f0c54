/* SPDX-License-Identifier: MIT */
/*
 * What the last owner of an object does. Threads share an object by a count in it; who lowers the count to nothing (AM_ORDER_LAST) takes the
 * object apart and frees it. Which thread that falls to is nobody's business: with a collector of garbage in the place of the count, the program
 * would be the same, and the collector would do it. So what a thread does from there to the free of that block, the *parting*, counts as done
 * by such a collector: behind all that its region did, but not before the rest of it.
 *
 * The graph of the checkers knows nothing of that. It joins the parting to the region, and a cycle that enters a transaction in a
 * parting and leaves it elsewhere has a link that is none; it is not told (am_last_joins). One that enters
 * a region and leaves by its parting is told: who still uses what was freed has made a mistake.
 *
 * Whether the free comes is known later; until then, or the end of the region, a cycle that rests on it is open. Why
 * nothing false can be told: a transaction is split, which only removes edges (doc/notes/checker.md).
 */
#ifndef ATOMMON_CORE_LAST_H
#define ATOMMON_CORE_LAST_H

#include "atommon/checker.h"

enum { AM_LAST_COUNTS = 16, AM_LAST_PARTINGS = 256 };

struct am_parting {
	uint64_t first, last; /* indices of events */
	uint64_t end;	      /* of what was freed so far: live, a free is told in pieces, one behind the other; UINT64_MAX: all of it was */
	uint32_t thread, site;
};

struct am_last {
	/* Counts that reached nothing in regions that are open, and whose blocks were not freed yet; the oldest first. */
	struct {
		uint64_t address, index;
		uint32_t thread;
	} count[AM_LAST_COUNTS];
	uint32_t n_counts;
	/* By number modulo their room. */
	struct am_parting parting[AM_LAST_PARTINGS];
	uint64_t n_partings;
};

enum am_last_fate { AM_LAST_JOINED, AM_LAST_APART, AM_LAST_OPEN };

/* In a region. */
void am_last_reached(struct am_last *last, const struct am_event *update);
void am_last_freed(struct am_last *last, const struct am_event *event);
/* The thread's region ended, or the thread did. */
void am_last_over(struct am_last *last, uint32_t thread);
/* Two accesses of one thread: does what came into it by the one leave it by the other? */
enum am_last_fate am_last_joins(const struct am_last *last, const struct am_access *in, const struct am_access *out);

#endif
