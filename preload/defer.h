/* SPDX-License-Identifier: MIT */
/*
 * What waits until it is known to matter: the begin of a region, and the lock operations around and in
 * it. As long as nothing in a region has to be logged (filter.h) it leaves no record; when it ends so, it
 * is forgotten. Before anything else of the thread is logged all that waits is told, in its order:
 * limit in am_tls is 0 meanwhile, so that every record goes through log.c, which asks here.
 *
 * The list lies in memory that outlives its thread, for others read it: the thread that comes to a cell
 * of an open region tells the region's begin itself, before its own access. Both may do so at once;
 * analyzer/core/told.c takes the first.
 *
 * Changed by its own thread only, with am_tls.event set, so that signal handlers keep out. Runs in
 * application threads; no lock, no system call, no malloc.
 */
#ifndef ATOMMON_PRELOAD_DEFER_H
#define ATOMMON_PRELOAD_DEFER_H

#include "preload/shadow.h"

enum { AM_DEFER_MAX = 16 };

struct am_item {
	uint64_t what;	/* kind, object << 16 */
	uint64_t where; /* site << 32 | aux */
};

struct am_deferred {
	/* The stretch of the outermost region while it is open, | AM_EXPOSED; else 0. Changed in one
	 * step, by its thread and by those who come to its cells. */
	uint64_t open;
	uint64_t told; /* stretch whose begin and mark others may rely on */
	uint32_t n;    /* items */
	uint32_t begin; /* which of them began the region */
	struct am_item item[AM_DEFER_MAX];
};
#define AM_EXPOSED UINT64_C(1)

/* The thread has none yet, or something else is unusual: false if it cannot be helped. */
bool am_defer_make(struct am_view *v);

/* Each returns false if it cannot wait: the caller logs it, and what waits is told first. */
bool am_defer_acquire(uintptr_t mutex, struct am_here here);
bool am_defer_release(uintptr_t mutex, struct am_here here);
bool am_defer_begin(enum am_kind kind, uintptr_t object, uint32_t aux, struct am_here here);
bool am_defer_end(enum am_kind kind, uintptr_t object, uint32_t aux, struct am_here here);

/* Tell what waits. Outside any record. */
void am_defer_tell(struct am_here here);

/* The region `stretch` of another thread, if it is still open: count it and tell its begin. False: it
 * has ended. */
bool am_defer_expose(struct am_view *v, struct am_deferred *d, uint32_t thread, uint64_t stretch,
		     struct am_here here);

#endif
