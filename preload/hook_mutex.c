/*
 * Hooks of mutexes. What libc keeps in the mutex tells type, owner and depth, and is stable while we
 * hold it: a recursive mutex yields one acquire and one release, the outermost, and an unlock that
 * will be refused (error-checking, recursive, robust or priority-inheriting, and not ours) is no
 * release. EOWNERDEAD means acquired. Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/defer_lock.h"
#include "preload/export.h"
#include "preload/hot.h"
#include "preload/lane.h"
#include "preload/log.h"
#include "preload/real.h"
#include "preload/runtime.h"
#include "preload/shadow.h"

enum { TYPE = 3, ROBUST = 16, PRIORITY = 32 };

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
			am_locked((uintptr_t)m, AM_EXCLUSIVE, true, here);
	} else if (r == EOWNERDEAD) {
		am_log_mutex(AM_ACQUIRE, 1 << 1, (uintptr_t)m, 0, here.pc, here.cfa);
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

/* ---- what is unusual in lock and unlock (hook_mutex_hot.S jumps here) ------------------------- */

int am_lock_slowly(pthread_mutex_t *m, int r, uintptr_t pc, uintptr_t cfa);
int am_lock_fully(pthread_mutex_t *m, uintptr_t pc, uintptr_t cfa);
int am_lock_first(pthread_mutex_t *m, uintptr_t pc, uintptr_t cfa);
int am_lock_and_wake(void);
int am_lock_deferring(pthread_mutex_t *m, uintptr_t pc, uintptr_t cfa);
int am_unlock_slowly(pthread_mutex_t *m, uintptr_t pc, uintptr_t cfa);
int am_unlock_deferring(pthread_mutex_t *m, uintptr_t pc, uintptr_t cfa);
int am_unlock_after(pthread_mutex_t *m);
void am_log_own_late(uint64_t mutex, uint64_t index, uint64_t w0, uint64_t site);

#define SAME(name, value) _Static_assert((name) == (value), #name)
SAME(HOT_T_BASE, offsetof(struct am_tls, base));
SAME(HOT_T_HEAD, offsetof(struct am_tls, head));
SAME(HOT_T_LIMIT, offsetof(struct am_tls, limit));
SAME(HOT_T_PHASE, offsetof(struct am_tls, phase));
SAME(HOT_T_EVENT, offsetof(struct am_tls, event));
SAME(HOT_T_LANE, offsetof(struct am_tls, lane));
SAME(HOT_SITE_MASK, (AM_SITE_CACHE - 1) << AM_SITE_LOW_BITS);
SAME(HOT_SITE_SCALE << AM_SITE_LOW_BITS, sizeof(struct am_site_cached));
SAME(HOT_SITE_HASH, AM_SITE_HASH);
SAME(HOT_S_SLOT, offsetof(struct am_site_cached, slot));
SAME(HOT_S_CALLERS, offsetof(struct am_site_cached, callers));
SAME(HOT_S_SITE, offsetof(struct am_site_cached, site));
SAME(HOT_PC_MASK, (AM_PC_CACHE - 1) << AM_SITE_LOW_BITS);
SAME(1 << AM_SITE_LOW_BITS, sizeof(struct am_pc_cached));
SAME(HOT_PC, offsetof(struct am_caches, pc));
SAME(HOT_P_SITE, offsetof(struct am_pc_cached, site));
SAME(1 << (32 - AM_SLOT_BITS - HOT_OWN_SHIFT), sizeof(struct am_own));
SAME(HOT_OWN_MASK, (AM_SLOTS - 1) * sizeof(struct am_own));
SAME(HOT_O_NEXT, offsetof(struct am_own, next));
SAME(1 << HOT_UNIT_SHIFT, sizeof(struct am_unit));
SAME(HOT_AHEAD, AM_AHEAD * sizeof(struct am_unit));
SAME(HOT_W0_ACQUIRE, AM_ACQUIRE | AM_R_SEQ | AM_R_OWN);
SAME(HOT_W0_RELEASE, AM_RELEASE | AM_R_SEQ | AM_R_OWN);
SAME(HOT_OBJECT_SHIFT, AM_R_OBJECT_SHIFT);
SAME(HOT_ON, AM_ON);
SAME(offsetof(struct am_wiped, is_checking), offsetof(struct am_wiped, state) + 4);
SAME(HOT_DEFER, AM_DEFER);
SAME(HOT_KIND, offsetof(pthread_mutex_t, __data.__kind));
SAME(HOT_UNUSUAL, TYPE | ROBUST | PRIORITY);
SAME(HOT_REAL_LOCK, offsetof(struct am_reals, pthread_mutex_lock));
SAME(HOT_REAL_UNLOCK, offsetof(struct am_reals, pthread_mutex_unlock));

/* A handler came between the look at head and the addition to it, or just behind. What it logged is
 * complete, so our place is the only one from `index` on that is not. It may lie in the margin, or in
 * the next lap. */
void am_log_own_late(uint64_t mutex, uint64_t index, uint64_t w0, uint64_t site)
{
	const struct am_tls *t = &am_tls;

	if (t->head - index > t->mask + 1) /* it logged more than a lap, and then we took our place */
		index = t->head - t->mask - 1;
	while (am_ring_has(t->lane, index))
		index++;
	assert(index < t->head);
	struct am_unit *u = &am_caches(t)->units[index & t->mask];
	__atomic_store_n(&u->w1, am_own_number(&am_owns[am_own_slot_of(mutex)]) | site,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&u->w0, w0 | mutex << AM_R_OBJECT_SHIFT | am_phase(t, index),
			 __ATOMIC_RELEASE); /* partner: am_ring_has */
}

int am_lock_slowly(pthread_mutex_t *m, int r, uintptr_t pc, uintptr_t cfa)
{
	locked(m, r, (struct am_here){pc, cfa});
	return r;
}

/* The call site is not known yet. */
int am_lock_fully(pthread_mutex_t *m, uintptr_t pc, uintptr_t cfa)
{
	return am_lock_slowly(m, am_real.pthread_mutex_lock(m), pc, cfa);
}

int am_lock_first(pthread_mutex_t *m, uintptr_t pc, uintptr_t cfa)
{
	const bool is_on = am_rouse();
	const int r = am_real.pthread_mutex_lock(m);
	if (is_on)
		locked(m, r, (struct am_here){pc, cfa});
	return r;
}

int am_lock_and_wake(void)
{
	am_drain_wake();
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

int am_unlock_slowly(pthread_mutex_t *m, uintptr_t pc, uintptr_t cfa)
{
	if (am_on() && will_release(m))
		am_log_held(AM_RELEASE, (uintptr_t)m, ((struct am_here){pc, cfa}));
	return am_real.pthread_mutex_unlock(m);
}

/* ---- in a program that shows its accesses (defer.h) -------------------------------------------- */

int am_lock_deferring(pthread_mutex_t *m, uintptr_t pc, uintptr_t cfa)
{
	const int r = am_real.pthread_mutex_lock(m);
	const struct am_here here = {pc, cfa};

	if (am_unlikely(r != 0))
		locked(m, r, here);
	else if (am_likely(is_outermost(m)) && !am_defer_acquire((uintptr_t)m, AM_EXCLUSIVE, here))
		am_log_held(AM_ACQUIRE, (uintptr_t)m, here);
	return r;
}

int am_unlock_deferring(pthread_mutex_t *m, uintptr_t pc, uintptr_t cfa)
{
	const struct am_here here = {pc, cfa};

	if (will_release(m) && am_unlikely(!am_defer_release((uintptr_t)m, AM_EXCLUSIVE, here))) {
		am_log_held(AM_RELEASE, (uintptr_t)m, here);
		if (am_view.held) /* its region ends here, not at the next access */
			am_view_follow(&am_view);
	}
	return am_real.pthread_mutex_unlock(m);
}

int am_unlock_after(pthread_mutex_t *m)
{
	if (am_view.held) /* a section with instrumented accesses */
		am_view_follow(&am_view);
	if (am_drain_is_asleep())
		am_drain_wake();
	return am_real.pthread_mutex_unlock(m);
}

AM_EXPORT int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr)
{
	if (!am_on())
		return am_real.pthread_mutex_init(m, attr);
	const int r = am_real.pthread_mutex_init(m, attr);
	if (r == 0)
		am_log_mutex(AM_INIT, AM_OBJ_MUTEX, (uintptr_t)m,
			     (uint64_t)(m->__data.__kind & TYPE), AM_HERE.pc, AM_HERE.cfa);
	return r;
}

AM_EXPORT int pthread_mutex_destroy(pthread_mutex_t *m)
{
	/* Before the call: afterwards the memory may be another's. A refused destroy (it is held) is
	 * none. */
	if (am_on() && __atomic_load_n(&m->__data.__nusers, __ATOMIC_RELAXED) == 0)
		am_log_mutex(AM_DESTROY, AM_OBJ_MUTEX, (uintptr_t)m, 0, AM_HERE.pc, AM_HERE.cfa);
	return am_real.pthread_mutex_destroy(m);
}
