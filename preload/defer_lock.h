/* SPDX-License-Identifier: MIT */
/*
 * Locks of any kind: their acquires and releases wait if they can (defer.h), or are logged. A
 * lock that is held shared is a lock like any other here; how it is held is told with it. Runs in application threads.
 */
#ifndef ATOMMON_PRELOAD_DEFER_LOCK_H
#define ATOMMON_PRELOAD_DEFER_LOCK_H

#include "preload/defer.h"

/* The lock was taken. `is_mutex`: nobody else can hold it, so that it may have a counter of its own. */
static inline __attribute__((always_inline)) void am_locked(uintptr_t lock, enum am_mode mode, bool is_mutex, struct am_here here)
{
	if (am_state() == AM_DEFER && am_defer_acquire(lock, mode, here))
		return;
	if (is_mutex)
		am_log_held(AM_ACQUIRE, lock, here);
	else
		am_log(AM_ACQUIRE, mode, lock, here);
}

/* It is about to be released. */
static inline __attribute__((always_inline)) void am_unlocks(uintptr_t lock, enum am_mode mode, bool is_mutex, struct am_here here)
{
	const bool is_deferring = am_state() == AM_DEFER;

	if (is_deferring && am_defer_release(lock, mode, here))
		return;
	if (is_mutex)
		am_log_held(AM_RELEASE, lock, here);
	else
		am_log(AM_RELEASE, mode, lock, here);
	if (is_deferring && am_view.held) /* its region ends here, not at the next access */
		am_view_follow(&am_view);
}

#endif
