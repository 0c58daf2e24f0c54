/*
 * Semaphores. Owns the hooks of sem_*; runs in application threads and, for sem_post and
 * sem_trywait, in signal handlers. After a real sem_wait returned, the semaphore may be gone: its
 * memory is not touched.
 *
 * post is logged before the real call and take after it, so that in the merged order a semaphore
 * never falls below zero. A wait that fails, times out or is cancelled took nothing and logs
 * nothing.
 *
 * A named semaphore opened twice is one object. Which ones are open is kept in a list that only
 * grows, without a lock, so that a fork in the middle does no harm. Other processes may post and
 * take a shared semaphore unseen (doc/limits.md).
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "preload/hook.h"

AM_EXPORT int sem_init(sem_t *sem, int pshared, unsigned value)
{
	const bool on = am_on();
	const int r = am_real.sem_init(sem, pshared, value);

	if (on && r == 0)
		am_log_object(AM_INIT, AM_OBJ_SEM, (uintptr_t)sem, value, AM_HERE);
	return r;
}

AM_EXPORT int sem_destroy(sem_t *sem)
{
	const bool on = am_on();
	const int r = am_real.sem_destroy(sem);

	if (on && r == 0)
		am_log_object(AM_DESTROY, AM_OBJ_SEM, (uintptr_t)sem, 0, AM_HERE);
	return r;
}

AM_EXPORT int sem_wait(sem_t *sem)
{
	const bool on = am_on();
	const int r = am_real.sem_wait(sem);

	if (on && r == 0)
		am_log_note(AM_TAKE, 0, (uintptr_t)sem, AM_HERE);
	return r;
}

AM_EXPORT int sem_trywait(sem_t *sem)
{
	const bool on = am_on();
	const int r = am_real.sem_trywait(sem);

	if (on && r == 0)
		am_log_note(AM_TAKE, 0, (uintptr_t)sem, AM_HERE);
	return r;
}

AM_EXPORT int sem_timedwait(sem_t *sem, const struct timespec *until)
{
	const bool on = am_on();
	const int r = am_real.sem_timedwait(sem, until);

	if (on && r == 0)
		am_log_note(AM_TAKE, 0, (uintptr_t)sem, AM_HERE);
	return r;
}

AM_EXPORT int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
	const bool on = am_on();

	if (!am_real.sem_clockwait) {
		errno = ENOSYS;
		return -1;
	}
	const int r = am_real.sem_clockwait(sem, clock, until);
	if (on && r == 0)
		am_log_note(AM_TAKE, 0, (uintptr_t)sem, AM_HERE);
	return r;
}

AM_EXPORT int sem_post(sem_t *sem)
{
	if (am_on())
		am_log_note(AM_POST, 0, (uintptr_t)sem, AM_HERE);
	return am_real.sem_post(sem);
}

/* ---- named ----------------------------------------------------------------------------------- */

/* Pages of cells. A cell belongs to an address for ever; `opened` counts its handles. */
struct named {
	uintptr_t address;
	uint32_t opened;
};
enum { NAMED_PER_PAGE = 255 };
struct named_page {
	struct named_page *next;
	struct named cell[NAMED_PER_PAGE];
};
static struct named_page first_page;

/* The cell of an address, taking a free one if need be; NULL when memory is out. */
static struct named *named_of(uintptr_t address)
{
	for (struct named_page *p = &first_page;;) {
		for (unsigned i = 0; i < NAMED_PER_PAGE; i++) {
			uintptr_t seen = 0;
			/* Relaxed: the cell's address is all there is to see. */
			if (__atomic_compare_exchange_n(&p->cell[i].address, &seen, address, false,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
			    seen == address)
				return &p->cell[i];
		}
		/* Acquire: partner is the exchange below, by which another thread adds a page. */
		struct named_page *next = __atomic_load_n(&p->next, __ATOMIC_ACQUIRE);
		if (!next) {
			void *fresh = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (fresh == MAP_FAILED)
				return NULL;
			/* Release: partner is the load above. */
			if (__atomic_compare_exchange_n(&p->next, &next, fresh, false,
							__ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
				next = fresh;
			else
				munmap(fresh, sizeof *p);
		}
		p = next;
	}
}

static void opened(sem_t *sem, struct am_here here)
{
	const int saved = errno;
	struct named *cell = named_of((uintptr_t)sem);
	int value = 0;

	if (!cell || __atomic_fetch_add(&cell->opened, 1, __ATOMIC_RELAXED) == 0) {
		am_real.sem_getvalue(sem, &value);
		am_log_object(AM_INIT, AM_OBJ_SEM, (uintptr_t)sem, (uint64_t)value, here);
	}
	errno = saved;
}

AM_EXPORT sem_t *sem_open(const char *name, int flags, ...)
{
	const bool on = am_on();
	sem_t *sem;

	if (flags & O_CREAT) {
		va_list ap;
		va_start(ap, flags);
		const mode_t mode = va_arg(ap, mode_t);
		const unsigned value = va_arg(ap, unsigned);
		va_end(ap);
		sem = am_real.sem_open(name, flags, mode, value);
	} else {
		sem = am_real.sem_open(name, flags);
	}
	if (on && sem != SEM_FAILED)
		opened(sem, AM_HERE);
	return sem;
}

AM_EXPORT int sem_close(sem_t *sem)
{
	if (am_on()) {
		const int saved = errno;
		struct named *cell = named_of((uintptr_t)sem);
		uint32_t n = cell ? __atomic_load_n(&cell->opened, __ATOMIC_RELAXED) : 0;
		while (n && !__atomic_compare_exchange_n(&cell->opened, &n, n - 1, false,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
		if (n == 1)
			am_log_object(AM_DESTROY, AM_OBJ_SEM, (uintptr_t)sem, 0, AM_HERE);
		errno = saved;
	}
	return am_real.sem_close(sem);
}
