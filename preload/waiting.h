/* SPDX-License-Identifier: MIT */
/*
 * One wait on a condition, from the release of the mutex to holding it again. Shared by the pthread
 * and the C11 hooks; runs in application threads.
 *
 * libc releases and takes the mutex inside the wait where no hook sees it, so wait stands for the
 * release and wake for the acquire. When the thread is cancelled, libc takes the mutex again before
 * it unwinds and the application's own cleanup handlers run with it held: the wake is then logged
 * while our frame is unwound.
 *
 * Not logged: a wait that libc refuses, because the mutex is not this thread's or the time or clock
 * makes no sense. A recursive mutex that is held more than once stays held during the wait: wait
 * and wake then name no mutex (0).
 */
#ifndef ATOMMON_PRELOAD_WAITING_H
#define ATOMMON_PRELOAD_WAITING_H

#include <time.h>

#include "preload/glibc.h"
#include "preload/log.h"

/* How a wait ended; the values are the detail bits of wake in event.h. */
enum am_woken { AM_WOKEN = 0, AM_WOKEN_LATE = 1, AM_WOKEN_BY_CANCEL = 2 };

struct am_waiting {
	uintptr_t cond, mutex;
	struct am_here here;
	bool is_waiting;
};

static inline void am_wait_end(struct am_waiting *w, enum am_woken how)
{
	w->is_waiting = false;
	am_log_wait(AM_WAKE, how, w->cond, w->mutex, w->here);
}

/* Leaves the hook's frame, by return or by unwinding. */
static inline void am_wait_leave(struct am_waiting *w)
{
	if (am_unlikely(w->is_waiting))
		am_wait_end(w, AM_WOKEN_BY_CANCEL);
}

/* To be written in the hook itself: it names the hook's caller. */
#define AM_WAITING(w)                                                                              \
	struct am_waiting w __attribute__((cleanup(am_wait_leave))) = {.here = AM_HERE}

/* Will libc refuse this time? Then nothing is released. */
static inline bool am_wait_is_absurd(const struct timespec *until)
{
	return until->tv_nsec < 0 || until->tv_nsec >= 1000000000;
}

/* About to wait: true if that is to be logged, and then it is. */
static inline bool am_wait_begin(struct am_waiting *w, const void *cond,
				 const pthread_mutex_t *mutex)
{
	if (am_glibc_mutex_is_checked(mutex) && !am_glibc_mutex_is_mine(mutex))
		return false;
	w->cond = (uintptr_t)cond;
	w->mutex = (uintptr_t)mutex;
	if (am_glibc_mutex_is_recursive(mutex) && am_glibc_mutex_depth(mutex) > 1)
		w->mutex = 0;
	am_log_wait(AM_WAIT, 0, w->cond, w->mutex, w->here);
	w->is_waiting = true;
	return true;
}

#endif
