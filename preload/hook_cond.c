/*
 * Condition variables. Owns the hooks of pthread_cond_*, in both versions that glibc has: programs
 * linked before glibc 2.3.2 keep a pointer where newer ones keep the whole object, and only the
 * version of the symbol tells which. Each forwards to its own version. Runs in application threads.
 *
 * What a wait means for the mutex: waiting.h.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "preload/hook.h"
#include "preload/waiting.h"

static int woke(struct am_waiting *w, int r)
{
	if (r == ENOTRECOVERABLE)
		w->is_waiting = false; /* a robust mutex that nobody can take any more */
	else
		am_wait_end(w, r == ETIMEDOUT ? AM_WOKEN_LATE : AM_WOKEN);
	return r;
}

static int init(int r, bool on, const void *cond, struct am_here here)
{
	if (on && r == 0)
		am_log_object(AM_INIT, AM_OBJ_COND, (uintptr_t)cond, 0, here);
	return r;
}

static int destroy(int r, bool on, const void *cond, struct am_here here)
{
	if (on && r == 0)
		am_log_object(AM_DESTROY, AM_OBJ_COND, (uintptr_t)cond, 0, here);
	return r;
}

/* The hooks of one version: `v` is the suffix of the real functions, `sym` the version with its @.
 */
#define HOOK_VERSION(v, sym)                                                                       \
	AM_EXPORT int am_cond_init##v(pthread_cond_t *, const pthread_condattr_t *);               \
	AM_EXPORT int am_cond_destroy##v(pthread_cond_t *);                                        \
	AM_EXPORT int am_cond_wait##v(pthread_cond_t *, pthread_mutex_t *);                        \
	AM_EXPORT int am_cond_timedwait##v(pthread_cond_t *, pthread_mutex_t *,                    \
					   const struct timespec *);                               \
	AM_EXPORT int am_cond_signal##v(pthread_cond_t *);                                         \
	AM_EXPORT int am_cond_broadcast##v(pthread_cond_t *);                                      \
	__asm__(".symver am_cond_init" #v ",pthread_cond_init" sym ",remove\n"                     \
		".symver am_cond_destroy" #v ",pthread_cond_destroy" sym ",remove\n"               \
		".symver am_cond_wait" #v ",pthread_cond_wait" sym ",remove\n"                     \
		".symver am_cond_timedwait" #v ",pthread_cond_timedwait" sym ",remove\n"           \
		".symver am_cond_signal" #v ",pthread_cond_signal" sym ",remove\n"                 \
		".symver am_cond_broadcast" #v ",pthread_cond_broadcast" sym ",remove\n");         \
                                                                                                   \
	int am_cond_init##v(pthread_cond_t *c, const pthread_condattr_t *a)                        \
	{                                                                                          \
		const bool on = am_on();                                                           \
		return init(am_real.cond_init##v(c, a), on, c, AM_HERE);                           \
	}                                                                                          \
                                                                                                   \
	int am_cond_destroy##v(pthread_cond_t *c)                                                  \
	{                                                                                          \
		const bool on = am_on();                                                           \
		return destroy(am_real.cond_destroy##v(c), on, c, AM_HERE);                        \
	}                                                                                          \
                                                                                                   \
	int am_cond_wait##v(pthread_cond_t *c, pthread_mutex_t *m)                                 \
	{                                                                                          \
		AM_WAITING(w);                                                                     \
		if (!am_on() || !am_wait_begin(&w, c, m))                                          \
			return am_real.cond_wait##v(c, m);                                         \
		return woke(&w, am_real.cond_wait##v(c, m));                                       \
	}                                                                                          \
                                                                                                   \
	int am_cond_timedwait##v(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t)  \
	{                                                                                          \
		AM_WAITING(w);                                                                     \
		if (!am_on() || am_wait_is_absurd(t) || !am_wait_begin(&w, c, m))                  \
			return am_real.cond_timedwait##v(c, m, t);                                 \
		return woke(&w, am_real.cond_timedwait##v(c, m, t));                               \
	}                                                                                          \
                                                                                                   \
	int am_cond_signal##v(pthread_cond_t *c)                                                   \
	{                                                                                          \
		if (am_on())                                                                       \
			am_log_note(AM_SIGNAL, 0, (uintptr_t)c, AM_HERE);                               \
		return am_real.cond_signal##v(c);                                                  \
	}                                                                                          \
                                                                                                   \
	int am_cond_broadcast##v(pthread_cond_t *c)                                                \
	{                                                                                          \
		if (am_on())                                                                       \
			am_log_note(AM_BROADCAST, 0, (uintptr_t)c, AM_HERE);                            \
		return am_real.cond_broadcast##v(c);                                               \
	}

HOOK_VERSION(, "@@GLIBC_2.3.2")
HOOK_VERSION(_old, "@GLIBC_2.2.5")

AM_EXPORT int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
				     const struct timespec *until)
{
	AM_WAITING(w);

	const bool on = am_on();
	if (!am_real.pthread_cond_clockwait)
		return ENOSYS;
	if (!on || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) ||
	    am_wait_is_absurd(until) || !am_wait_begin(&w, c, m))
		return am_real.pthread_cond_clockwait(c, m, clock, until);
	return woke(&w, am_real.pthread_cond_clockwait(c, m, clock, until));
}
