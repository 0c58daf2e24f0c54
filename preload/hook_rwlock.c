/*
 * Reader-writer locks. Owns the hooks of pthread_rwlock_* and the list of the locks that this
 * thread holds shared; runs in application threads.
 *
 * A thread may hold one lock shared several times over. As with a recursive mutex, only the
 * outermost acquire and release are events, so the depth is counted per thread: four locks in
 * thread-local storage, any number more in pages that are given back once empty. On unlock glibc
 * decides by the lock's writer field whether a writer or a reader leaves; so do we.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/mman.h>

#include "preload/defer_lock.h"
#include "preload/glibc.h"
#include "preload/hook.h"

struct held {
	uintptr_t lock; /* 0: free */
	uint32_t depth;
};
enum { HELD_NEAR = 4, HELD_PER_PAGE = 254 };
struct held_page {
	struct held_page *next;
	uint32_t used;
	struct held cell[HELD_PER_PAGE];
};
static __thread struct held near[HELD_NEAR];
static __thread struct held_page *far;

/* The cell of this lock, or of lock 0: a free one. */
static struct held *find(uintptr_t lock)
{
	for (unsigned i = 0; i < HELD_NEAR; i++)
		if (near[i].lock == lock)
			return &near[i];
	for (struct held_page *p = far; p; p = p->next)
		for (unsigned i = 0; i < HELD_PER_PAGE; i++)
			if (p->cell[i].lock == lock)
				return &p->cell[i];
	return NULL;
}

static struct held_page **page_of(const struct held *h)
{
	for (struct held_page **p = &far; *p; p = &(*p)->next)
		if (h >= (*p)->cell && h < (*p)->cell + HELD_PER_PAGE)
			return p;
	return NULL;
}

static void insert(uintptr_t lock)
{
	struct held *h = find(0);

	if (!h) {
		const int saved = errno;
		struct held_page *fresh = mmap(NULL, sizeof *fresh, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		errno = saved;
		if (fresh == MAP_FAILED)
			return; /* its nested acquires will be logged; nothing worse */
		fresh->next = far;
		far = fresh;
		h = fresh->cell;
	}
	*h = (struct held){lock, 1};
	struct held_page **p = far ? page_of(h) : NULL;
	if (p)
		(*p)->used++;
}

static void forget(struct held *h)
{
	struct held_page **at = far ? page_of(h) : NULL;

	h->lock = 0;
	if (at && --(*at)->used == 0) {
		struct held_page *empty = *at;
		*at = empty->next;
		const int saved = errno;
		munmap(empty, sizeof *empty);
		errno = saved;
	}
}

/* This thread just got the lock shared: is that its outermost hold? A cell that claims more holds
 * than the lock has readers is stale (another thread unlocked for us). */
static bool outermost_read(pthread_rwlock_t *lock)
{
	struct held *h = find((uintptr_t)lock);

	if (!h) {
		insert((uintptr_t)lock);
		return true;
	}
	if (am_glibc_rwlock_readers(lock) <= h->depth) {
		h->depth = 1;
		return true;
	}
	h->depth++;
	return false;
}

/* The lock is new, gone or ours alone: we cannot hold it shared. */
static void not_reading(pthread_rwlock_t *lock)
{
	struct held *h = find((uintptr_t)lock);

	if (am_unlikely(h != NULL))
		forget(h);
}

static void read_locked(pthread_rwlock_t *lock, struct am_here here)
{
	if (outermost_read(lock))
		am_locked((uintptr_t)lock, AM_SHARED, false, here);
}

static void write_locked(pthread_rwlock_t *lock, struct am_here here)
{
	not_reading(lock);
	am_locked((uintptr_t)lock, AM_EXCLUSIVE, false, here);
}

AM_EXPORT int pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attr)
{
	const bool on = am_on();
	const int r = am_real.pthread_rwlock_init(lock, attr);

	if (on && r == 0) {
		not_reading(lock);
		am_log_object(AM_INIT, AM_OBJ_RWLOCK, (uintptr_t)lock, 0, AM_HERE);
	}
	return r;
}

AM_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t *lock)
{
	const bool on = am_on();
	const int r = am_real.pthread_rwlock_destroy(lock);

	if (on && r == 0) {
		not_reading(lock);
		am_log_object(AM_DESTROY, AM_OBJ_RWLOCK, (uintptr_t)lock, 0, AM_HERE);
	}
	return r;
}

AM_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	const bool on = am_on();
	const int r = am_real.pthread_rwlock_rdlock(lock);

	if (on && r == 0)
		read_locked(lock, AM_HERE);
	return r;
}

AM_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock)
{
	const bool on = am_on();
	const int r = am_real.pthread_rwlock_tryrdlock(lock);

	if (on && r == 0)
		read_locked(lock, AM_HERE);
	return r;
}

AM_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *until)
{
	const bool on = am_on();
	const int r = am_real.pthread_rwlock_timedrdlock(lock, until);

	if (on && r == 0)
		read_locked(lock, AM_HERE);
	return r;
}

AM_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock,
					 const struct timespec *until)
{
	const bool on = am_on();

	if (!am_real.pthread_rwlock_clockrdlock)
		return ENOSYS;
	const int r = am_real.pthread_rwlock_clockrdlock(lock, clock, until);
	if (on && r == 0)
		read_locked(lock, AM_HERE);
	return r;
}

AM_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
	const bool on = am_on();
	const int r = am_real.pthread_rwlock_wrlock(lock);

	if (on && r == 0)
		write_locked(lock, AM_HERE);
	return r;
}

AM_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
	const bool on = am_on();
	const int r = am_real.pthread_rwlock_trywrlock(lock);

	if (on && r == 0)
		write_locked(lock, AM_HERE);
	return r;
}

AM_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *until)
{
	const bool on = am_on();
	const int r = am_real.pthread_rwlock_timedwrlock(lock, until);

	if (on && r == 0)
		write_locked(lock, AM_HERE);
	return r;
}

AM_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock,
					 const struct timespec *until)
{
	const bool on = am_on();

	if (!am_real.pthread_rwlock_clockwrlock)
		return ENOSYS;
	const int r = am_real.pthread_rwlock_clockwrlock(lock, clock, until);
	if (on && r == 0)
		write_locked(lock, AM_HERE);
	return r;
}

AM_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	if (!am_on())
		return am_real.pthread_rwlock_unlock(lock);
	if (am_glibc_rwlock_is_written(lock)) {
		am_unlocks((uintptr_t)lock, AM_EXCLUSIVE, false, AM_HERE);
	} else {
		struct held *h = find((uintptr_t)lock);
		if (!h || --h->depth == 0) {
			am_unlocks((uintptr_t)lock, AM_SHARED, false, AM_HERE);
			if (h)
				forget(h);
		}
	}
	return am_real.pthread_rwlock_unlock(lock);
}
