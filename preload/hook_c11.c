/*
 * C11 mutexes and condition variables. glibc's mtx_ and cnd_ functions reach the pthread ones
 * inside libc, past every hook, so they have hooks of their own; the objects are pthread objects in
 * disguise and the events are the same. Runs in application threads. (thrd_: hook_c11_thread.c,
 * call_once: hook_once.c.)
 */
/* SPDX-License-Identifier: MIT */
#include "preload/defer_lock.h"
#include "preload/glibc.h"
#include "preload/hook.h"
#include "preload/waiting.h"

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "mtx_t is a pthread_mutex_t");
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "cnd_t is a pthread_cond_t");

static const pthread_mutex_t *inside(const mtx_t *m)
{
	return (const void *)m;
}

/* Asked while this thread holds it: is this its only hold? */
static bool is_outermost(const mtx_t *m)
{
	return !am_glibc_mutex_is_recursive(inside(m)) || am_glibc_mutex_depth(inside(m)) == 1;
}

AM_EXPORT int mtx_init(mtx_t *m, int type)
{
	const bool on = am_on();
	const int r = am_real.mtx_init(m, type);

	if (on && r == thrd_success)
		am_log_mutex(AM_INIT, AM_OBJ_MUTEX, (uintptr_t)m,
			     type & mtx_recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL,
			     AM_HERE.pc, AM_HERE.cfa);
	return r;
}

AM_EXPORT void mtx_destroy(mtx_t *m)
{
	if (am_on())
		am_log_mutex(AM_DESTROY, AM_OBJ_MUTEX, (uintptr_t)m, 0, AM_HERE.pc, AM_HERE.cfa);
	am_real.mtx_destroy(m);
}

AM_EXPORT int mtx_lock(mtx_t *m)
{
	const bool on = am_on();
	const int r = am_real.mtx_lock(m);

	if (on && r == thrd_success && is_outermost(m))
		am_locked((uintptr_t)m, AM_EXCLUSIVE, true, AM_HERE);
	return r;
}

AM_EXPORT int mtx_trylock(mtx_t *m)
{
	const bool on = am_on();
	const int r = am_real.mtx_trylock(m);

	if (on && r == thrd_success && is_outermost(m))
		am_locked((uintptr_t)m, AM_EXCLUSIVE, true, AM_HERE);
	return r;
}

AM_EXPORT int mtx_timedlock(mtx_t *restrict m, const struct timespec *restrict until)
{
	const bool on = am_on();
	const int r = am_real.mtx_timedlock(m, until);

	if (on && r == thrd_success && is_outermost(m))
		am_locked((uintptr_t)m, AM_EXCLUSIVE, true, AM_HERE);
	return r;
}

AM_EXPORT int mtx_unlock(mtx_t *m)
{
	if (am_on() && is_outermost(m) &&
	    !(am_glibc_mutex_is_checked(inside(m)) && !am_glibc_mutex_is_mine(inside(m))))
		am_unlocks((uintptr_t)m, AM_EXCLUSIVE, true, AM_HERE);
	return am_real.mtx_unlock(m);
}

AM_EXPORT int cnd_init(cnd_t *c)
{
	const bool on = am_on();
	const int r = am_real.cnd_init(c);

	if (on && r == thrd_success)
		am_log_object(AM_INIT, AM_OBJ_COND, (uintptr_t)c, 0, AM_HERE);
	return r;
}

AM_EXPORT void cnd_destroy(cnd_t *c)
{
	const bool on = am_on();

	am_real.cnd_destroy(c);
	if (on)
		am_log_object(AM_DESTROY, AM_OBJ_COND, (uintptr_t)c, 0, AM_HERE);
}

AM_EXPORT int cnd_signal(cnd_t *c)
{
	if (am_on())
		am_log_note(AM_SIGNAL, 0, (uintptr_t)c, AM_HERE);
	return am_real.cnd_signal(c);
}

AM_EXPORT int cnd_broadcast(cnd_t *c)
{
	if (am_on())
		am_log_note(AM_BROADCAST, 0, (uintptr_t)c, AM_HERE);
	return am_real.cnd_broadcast(c);
}

AM_EXPORT int cnd_wait(cnd_t *c, mtx_t *m)
{
	AM_WAITING(w);

	if (!am_on() || !am_wait_begin(&w, c, inside(m)))
		return am_real.cnd_wait(c, m);
	const int r = am_real.cnd_wait(c, m);
	am_wait_end(&w, AM_WOKEN);
	return r;
}

AM_EXPORT int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m,
			    const struct timespec *restrict until)
{
	AM_WAITING(w);

	if (!am_on() || am_wait_is_absurd(until) || !am_wait_begin(&w, c, inside(m)))
		return am_real.cnd_timedwait(c, m, until);
	const int r = am_real.cnd_timedwait(c, m, until);
	am_wait_end(&w, r == thrd_timedout ? AM_WOKEN_LATE : AM_WOKEN);
	return r;
}
