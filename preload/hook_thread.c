/*
 * Hooks of thread life. Detaching, cancelling and pthread_exit need none: they are no events, and a
 * thread's end is seen by its destructor whatever the way. Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "preload/export.h"
#include "preload/log.h"
#include "preload/real.h"
#include "preload/thread.h"

AM_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			     void *arg)
{
	if (!am_watching())
		return am_real.pthread_create(thread, attr, run, arg);
	struct am_start *s = am_start_new(run, arg, AM_HERE);
	if (!s)
		return am_real.pthread_create(thread, attr, run, arg);
	const uint32_t id = am_start_id(s);
	sigset_t old;
	am_start_block(s, attr, &old);
	const int r = am_real.pthread_create(thread, attr, am_start_run, s);
	am_start_unblock(&old);
	am_start_done(s, id, r ? (pthread_t)0 : *thread, r);
	return r;
}

/* The four joins: look the handle up before, log after success. */
#define JOIN(thread, call)                                                                         \
	do {                                                                                       \
		if (!am_watching())                                                                \
			return call;                                                               \
		const uint32_t id = am_thread_of(thread);                                          \
		const int r = call;                                                                \
		if (r == 0)                                                                        \
			am_thread_joined(thread, id, AM_HERE);                                     \
		return r;                                                                          \
	} while (0)

AM_EXPORT int pthread_join(pthread_t thread, void **result)
{
	JOIN(thread, am_real.pthread_join(thread, result));
}

AM_EXPORT int pthread_tryjoin_np(pthread_t thread, void **result)
{
	JOIN(thread, am_real.pthread_tryjoin_np(thread, result));
}

AM_EXPORT int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until)
{
	JOIN(thread, am_real.pthread_timedjoin_np(thread, result, until));
}

AM_EXPORT int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
				   const struct timespec *until)
{
	if (!am_watching() && !am_real.pthread_clockjoin_np)
		return ENOSYS;
	JOIN(thread, am_real.pthread_clockjoin_np(thread, result, clock, until));
}

AM_EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
	if (!am_watching())
		return am_real.pthread_setname_np(thread, name);
	const int r = am_real.pthread_setname_np(thread, name);
	if (r == 0)
		am_thread_named(thread, name);
	return r;
}
