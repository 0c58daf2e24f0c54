/*
 * Barriers. Owns the hooks of pthread_barrier_*; runs in application threads. After the real wait
 * returned, another thread may have destroyed and freed the barrier: its memory is not touched.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/hook.h"

AM_EXPORT int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attr,
				   unsigned count)
{
	const bool on = am_on();
	const int r = am_real.pthread_barrier_init(barrier, attr, count);

	if (on && r == 0)
		am_log_object(AM_INIT, AM_OBJ_BARRIER, (uintptr_t)barrier, count, AM_HERE);
	return r;
}

AM_EXPORT int pthread_barrier_destroy(pthread_barrier_t *barrier)
{
	const bool on = am_on();
	const int r = am_real.pthread_barrier_destroy(barrier);

	if (on && r == 0)
		am_log_object(AM_DESTROY, AM_OBJ_BARRIER, (uintptr_t)barrier, 0, AM_HERE);
	return r;
}

AM_EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	if (!am_on())
		return am_real.pthread_barrier_wait(barrier);
	am_log_note(AM_ARRIVE, 0, (uintptr_t)barrier, AM_HERE);
	const int r = am_real.pthread_barrier_wait(barrier);
	if (r == 0 || r == PTHREAD_BARRIER_SERIAL_THREAD)
		am_log_note(AM_LEAVE, r == PTHREAD_BARRIER_SERIAL_THREAD, (uintptr_t)barrier, AM_HERE);
	return r;
}
