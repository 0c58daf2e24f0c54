/*
 * Spin locks. Owns the hooks of pthread_spin_*; runs in application threads. Must never wait, and
 * log nothing between the acquire and its record that could lengthen the critical section.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/defer_lock.h"
#include "preload/hook.h"

AM_EXPORT int pthread_spin_init(pthread_spinlock_t *lock, int pshared)
{
	const bool on = am_on();
	const int r = am_real.pthread_spin_init(lock, pshared);

	if (on && r == 0)
		am_log_object(AM_INIT, AM_OBJ_SPIN, (uintptr_t)lock, 0, AM_HERE);
	return r;
}

AM_EXPORT int pthread_spin_destroy(pthread_spinlock_t *lock)
{
	const bool on = am_on();
	const int r = am_real.pthread_spin_destroy(lock);

	if (on && r == 0)
		am_log_object(AM_DESTROY, AM_OBJ_SPIN, (uintptr_t)lock, 0, AM_HERE);
	return r;
}

AM_EXPORT int pthread_spin_lock(pthread_spinlock_t *lock)
{
	const bool on = am_on();
	const int r = am_real.pthread_spin_lock(lock);

	if (on && r == 0)
		am_locked((uintptr_t)lock, AM_EXCLUSIVE, false, AM_HERE);
	return r;
}

AM_EXPORT int pthread_spin_trylock(pthread_spinlock_t *lock)
{
	const bool on = am_on();
	const int r = am_real.pthread_spin_trylock(lock);

	if (on && r == 0)
		am_locked((uintptr_t)lock, AM_EXCLUSIVE, false, AM_HERE);
	return r;
}

AM_EXPORT int pthread_spin_unlock(pthread_spinlock_t *lock)
{
	if (am_on())
		am_unlocks((uintptr_t)lock, AM_EXCLUSIVE, false, AM_HERE);
	return am_real.pthread_spin_unlock(lock);
}
