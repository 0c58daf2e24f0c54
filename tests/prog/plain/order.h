/* SPDX-License-Identifier: MIT */
/* An order of steps in different threads that is forced by a variable which the monitor does not see. */
#ifndef ATOMMON_TESTS_ORDER_H
#define ATOMMON_TESTS_ORDER_H

#include <sched.h>

#ifdef __clang__ /* --symbolic is told by the second */
#define UNSEEN __attribute__((noinline, no_sanitize("thread"), disable_sanitizer_instrumentation))
#else
#define UNSEEN __attribute__((noinline, no_sanitize("thread")))
#endif

static volatile int stage;

UNSEEN static void reach(int n)
{
	stage = n;
}

UNSEEN static void await(int n)
{
	while (stage < n)
		sched_yield();
}

#endif
