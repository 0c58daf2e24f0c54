/* SPDX-License-Identifier: MIT */
/*
 * Lock operations that may wait (defer.h), for the hooks of locks that are not mutexes: reader-writer locks and spin locks.
 * A lock that is held shared is a lock like any other here; how it is held is told with it. Runs in application threads.
 */
#ifndef ATOMMON_PRELOAD_DEFER_LOCK_H
#define ATOMMON_PRELOAD_DEFER_LOCK_H

#include "preload/log.h"

/* As am_defer_acquire_slowly and its like: false if it cannot wait. */
bool am_defer_acquire_as(uintptr_t lock, enum am_mode mode, struct am_here here);
bool am_defer_release_as(uintptr_t lock, enum am_mode mode, struct am_here here);

/* The lock was taken. */
static inline void am_defer_locked(uintptr_t lock, enum am_mode mode, struct am_here here)
{
	if (am_state() != AM_DEFER || !am_defer_acquire_as(lock, mode, here))
		am_log(AM_ACQUIRE, mode, lock, here);
}

/* It is about to be released. */
static inline void am_defer_unlocks(uintptr_t lock, enum am_mode mode, struct am_here here)
{
	if (am_state() != AM_DEFER || !am_defer_release_as(lock, mode, here))
		am_log(AM_RELEASE, mode, lock, here);
}

#endif
