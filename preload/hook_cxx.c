/*
 * Static locals of C++: __cxa_guard_acquire, _release, _abort (Itanium C++ ABI, section 3.3.3). The
 * compiler calls them only until the object is made; whoever finds it made reads one byte inline,
 * unseen. Runs in application threads.
 *
 * libstdc++ may come late, by dlopen and out of the global scope, and then the search order behind
 * us does not hold it. Before such a process could be left without its guards, they are looked up
 * where the library was loaded, and at last done here by libstdc++'s own protocol (bits and futex),
 * so that callers of both agree.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/hook.h"

AM_EXPORT int __cxa_guard_acquire(void *guard);
AM_EXPORT void __cxa_guard_release(void *guard);
AM_EXPORT void __cxa_guard_abort(void *guard);

/* ---- libstdc++'s protocol, when there is no one else to ask -----------------------------------
 */

enum { MADE = 1, PENDING = 1 << 8, WAITERS = 1 << 16 };

static int own_acquire(void *guard)
{
	int *word = guard;

	for (;;) {
		int seen = 0;
		/* Acquire: partner is the exchange in own_leave by the thread that made the object.
		 */
		if (__atomic_compare_exchange_n(word, &seen, PENDING, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return 1;
		if (seen == MADE)
			return 0;
		if (seen == PENDING) {
			const int next = seen | WAITERS;
			if (!__atomic_compare_exchange_n(word, &seen, next, false, __ATOMIC_ACQ_REL,
							 __ATOMIC_ACQUIRE)) {
				if (seen == MADE)
					return 0;
				if (seen == 0)
					continue;
			}
			seen = next;
		}
		const int saved = errno;
		am_real_syscall()(SYS_futex, word, FUTEX_WAIT, seen, NULL);
		errno = saved;
	}
}

static void own_leave(void *guard, int state)
{
	/* Release: partner is the acquire in own_acquire, or the compiler's inline check. */
	const int old = __atomic_exchange_n((int *)guard, state, __ATOMIC_ACQ_REL);

	if (old & WAITERS) {
		const int saved = errno;
		am_real_syscall()(SYS_futex, guard, FUTEX_WAKE, INT_MAX);
		errno = saved;
	}
}

static void own_release(void *guard)
{
	own_leave(guard, MADE);
}

static void own_abort(void *guard)
{
	own_leave(guard, 0);
}

/* ---- hooks ------------------------------------------------------------------------------------
 */

static struct guards {
	int (*acquire)(void *);
	void (*release)(void *);
	void (*abort)(void *);
} real, own = {own_acquire, own_release, own_abort};

/* All three from one place; the last word is published last. */
static const struct guards *guards(void)
{
	/* Acquire: partner is the release store below. */
	if (am_likely(__atomic_load_n(&real.acquire, __ATOMIC_ACQUIRE) != NULL))
		return &real;
	const int saved = errno;
	int (*acquire)(void *) = am_real_of_cxx("__cxa_guard_acquire");
	void (*release)(void *) = am_real_of_cxx("__cxa_guard_release");
	void (*leave)(void *) = am_real_of_cxx("__cxa_guard_abort");
	errno = saved;
	if (!acquire || !release || !leave)
		return &own; /* asked again next time: libstdc++ may have come by then */
	__atomic_store_n(&real.release, release, __ATOMIC_RELAXED);
	__atomic_store_n(&real.abort, leave, __ATOMIC_RELAXED);
	__atomic_store_n(&real.acquire, acquire, __ATOMIC_RELEASE); /* partner: the load above */
	return &real;
}

int __cxa_guard_acquire(void *guard)
{
	const bool on = am_on();
	const int r = guards()->acquire(guard);

	if (on)
		am_log_note(r ? AM_ONCE_BEGIN : AM_ONCE_END, 0, (uintptr_t)guard, AM_HERE);
	return r;
}

void __cxa_guard_release(void *guard)
{
	if (am_on())
		am_log_note(AM_ONCE_END, 0, (uintptr_t)guard, AM_HERE);
	guards()->release(guard);
}

void __cxa_guard_abort(void *guard)
{
	if (am_on())
		am_log_note(AM_ONCE_END, AM_ONCE_ABANDONED, (uintptr_t)guard, AM_HERE);
	guards()->abort(guard);
}
