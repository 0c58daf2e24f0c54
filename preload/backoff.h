/* SPDX-License-Identifier: MIT */
/*
 * Waiting for one of our own short locks. First by giving way; then by sleeping, because a thread of real-time
 * priority gives way only to its like, and the holder may wait for this very core.
 */
#ifndef ATOMMON_PRELOAD_BACKOFF_H
#define ATOMMON_PRELOAD_BACKOFF_H

#include <errno.h>
#include <sched.h>
#include <time.h>

static inline void am_backoff(unsigned round)
{
	enum { YIELDS = 50, SLEEP_NS = 50000 };
	const struct timespec moment = {0, SLEEP_NS};
	const int saved = errno;

	if (round < YIELDS)
		sched_yield();
	else
		nanosleep(&moment, NULL);
	errno = saved;
}

#endif
