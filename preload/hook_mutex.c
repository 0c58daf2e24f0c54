/*
 * Hooks of mutexes. What libc keeps in the mutex tells type, owner and depth, and is stable while we
 * hold it: a recursive mutex yields one acquire and one release, the outermost, and an unlock that
 * will be refused (error-checking, recursive, robust or priority-inheriting, and not ours) is no
 * release. EOWNERDEAD means acquired. Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/export.h"
#include "preload/lane.h"
#include "preload/log.h"
#include "preload/real.h"
#include "preload/shadow.h"

enum { TYPE = 3, ROBUST = 16, PRIORITY = 32 };

/* The two that count start a cache line, whatever else the file holds: 2 % of recording. */
#define AM_HOT __attribute__((aligned(64)))

/* Called while holding it, after the lock or before the unlock. */
static inline bool is_outermost(const pthread_mutex_t *m)
{
	const int kind = __atomic_load_n(&m->__data.__kind, __ATOMIC_RELAXED);
	return am_likely((kind & TYPE) != PTHREAD_MUTEX_RECURSIVE_NP) || m->__data.__count == 1;
}

static __attribute__((noinline)) void locked(const pthread_mutex_t *m, int r, struct am_here here)
{
	if (am_likely(r == 0)) {
		if (am_likely(is_outermost(m)))
			am_log(AM_ACQUIRE, AM_EXCLUSIVE, (uintptr_t)m, here);
	} else if (r == EOWNERDEAD) {
		am_log(AM_ACQUIRE, 1 << 1, (uintptr_t)m, here);
	}
}

static uint32_t own_tid(void)
{
	return am_tls.lane ? am_tls.lane->os_tid : (uint32_t)syscall(SYS_gettid);
}

/* Will the real unlock release it? */
static inline bool will_release(const pthread_mutex_t *m)
{
	const int kind = __atomic_load_n(&m->__data.__kind, __ATOMIC_RELAXED);

	if (am_likely((kind & (ROBUST | PRIORITY)) == 0 &&
		      ((kind & TYPE) == PTHREAD_MUTEX_TIMED_NP ||
		       (kind & TYPE) == PTHREAD_MUTEX_ADAPTIVE_NP)))
		return true;
	/* A robust mutex taken over and not made consistent has another owner word, and is ours. */
	const uint32_t owner = (uint32_t)__atomic_load_n(&m->__data.__owner, __ATOMIC_RELAXED);
	if (kind & ROBUST && owner == INT32_MAX)
		return ((uint32_t)m->__data.__lock & 0x3fffffff) == own_tid();
	return owner == own_tid() && is_outermost(m);
}

/* What a lock does besides the usual, when libc's part is done: out of line, so that the usual has
 * little to save. */
static __attribute__((noinline, cold)) int lock_slowly(pthread_mutex_t *m, int r, uintptr_t pc,
						       uintptr_t cfa)
{
	locked(m, r, (struct am_here){pc, cfa});
	return r;
}

static __attribute__((noinline, cold)) int lock_first(pthread_mutex_t *m, uintptr_t pc,
						      uintptr_t cfa)
{
	const bool is_on = am_rouse();
	const int r = am_real.pthread_mutex_lock(m);
	if (is_on)
		locked(m, r, (struct am_here){pc, cfa});
	return r;
}

static __attribute__((noinline, cold)) int lock_rest(const pthread_mutex_t *m, uint64_t index,
						     uint32_t number, uintptr_t pc, uintptr_t cfa)
{
	am_log_rest(am_log_w0(AM_ACQUIRE, AM_EXCLUSIVE, (uintptr_t)m), index, number, pc, cfa);
	return 0;
}

static __attribute__((noinline, cold)) int lock_and_wake(void)
{
	am_drain_wake();
	return 0;
}

AM_EXPORT AM_HOT int pthread_mutex_lock(pthread_mutex_t *m)
{
	const uint32_t state = am_state();
	if (am_unlikely(state != AM_ON)) {
		if (am_unlikely(state == AM_COLD))
			return lock_first(m, AM_HERE.pc, AM_HERE.cfa);
		return am_real.pthread_mutex_lock(m);
	}
	const int r = am_real.pthread_mutex_lock(m);
	const struct am_here here = AM_HERE; /* not before: it would have to be saved */
	uint64_t index;
	uint32_t number;
	if (am_unlikely(r != 0 || !is_outermost(m) || !am_log_is_ready()))
		return lock_slowly(m, r, here.pc, here.cfa);
	if (am_unlikely(!am_log_now(AM_ACQUIRE, AM_EXCLUSIVE, (uintptr_t)m, here, &index, &number)))
		return lock_rest(m, index, number, here.pc, here.cfa);
	if (am_drain_is_asleep())
		return lock_and_wake();
	return 0;
}

AM_EXPORT int pthread_mutex_trylock(pthread_mutex_t *m)
{
	if (!am_on())
		return am_real.pthread_mutex_trylock(m);
	const int r = am_real.pthread_mutex_trylock(m);
	locked(m, r, AM_HERE);
	return r;
}

AM_EXPORT int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
	if (!am_on())
		return am_real.pthread_mutex_timedlock(m, until);
	const int r = am_real.pthread_mutex_timedlock(m, until);
	locked(m, r, AM_HERE);
	return r;
}

AM_EXPORT int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock,
				      const struct timespec *until)
{
	if (!am_on())
		return am_real.pthread_mutex_clocklock ?
			       am_real.pthread_mutex_clocklock(m, clock, until) :
			       ENOSYS;
	if (!am_real.pthread_mutex_clocklock)
		return ENOSYS;
	const int r = am_real.pthread_mutex_clocklock(m, clock, until);
	locked(m, r, AM_HERE);
	return r;
}

static __attribute__((noinline, cold)) int unlock_slowly(pthread_mutex_t *m, uintptr_t pc,
							 uintptr_t cfa)
{
	if (am_on() && will_release(m))
		am_log(AM_RELEASE, AM_EXCLUSIVE, (uintptr_t)m, ((struct am_here){pc, cfa}));
	return am_real.pthread_mutex_unlock(m);
}

static __attribute__((noinline, cold)) int unlock_rest(pthread_mutex_t *m, uint64_t index,
						       uint32_t number, uintptr_t pc, uintptr_t cfa)
{
	am_log_rest(am_log_w0(AM_RELEASE, AM_EXCLUSIVE, (uintptr_t)m), index, number, pc, cfa);
	return am_real.pthread_mutex_unlock(m);
}

static __attribute__((noinline, cold)) int unlock_after(pthread_mutex_t *m)
{
	if (am_view.held) /* a section with instrumented accesses */
		am_view_follow(&am_view);
	if (am_drain_is_asleep())
		am_drain_wake();
	return am_real.pthread_mutex_unlock(m);
}

AM_EXPORT AM_HOT int pthread_mutex_unlock(pthread_mutex_t *m)
{
	const struct am_here here = AM_HERE;
	const uint32_t state = am_state();
	if (am_unlikely(state != AM_ON)) {
		if (am_unlikely(state == AM_COLD))
			return unlock_slowly(m, here.pc, here.cfa);
		return am_real.pthread_mutex_unlock(m);
	}
	uint64_t index;
	uint32_t number;
	const int kind = __atomic_load_n(&m->__data.__kind, __ATOMIC_RELAXED);
	if (am_unlikely(kind & (TYPE | ROBUST | PRIORITY) || !am_log_is_ready()))
		return unlock_slowly(m, here.pc, here.cfa);
	if (am_unlikely(!am_log_now(AM_RELEASE, AM_EXCLUSIVE, (uintptr_t)m, here, &index, &number)))
		return unlock_rest(m, index, number, here.pc, here.cfa);
	if (am_unlikely(am_after_has_work()))
		return unlock_after(m);
	return am_real.pthread_mutex_unlock(m);
}

AM_EXPORT int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr)
{
	if (!am_on())
		return am_real.pthread_mutex_init(m, attr);
	const int r = am_real.pthread_mutex_init(m, attr);
	if (r == 0)
		am_log_object(AM_INIT, AM_OBJ_MUTEX, (uintptr_t)m,
			      (uint64_t)(m->__data.__kind & TYPE), AM_HERE);
	return r;
}

AM_EXPORT int pthread_mutex_destroy(pthread_mutex_t *m)
{
	/* Before the call: afterwards the memory may be another's. A refused destroy (it is held) is
	 * none. */
	if (am_on() && __atomic_load_n(&m->__data.__nusers, __ATOMIC_RELAXED) == 0)
		am_log_object(AM_DESTROY, AM_OBJ_MUTEX, (uintptr_t)m, 0, AM_HERE);
	return am_real.pthread_mutex_destroy(m);
}
