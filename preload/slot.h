/* SPDX-License-Identifier: MIT */
/*
 * Performing an access and taking its number in one step, under the tiny lock of the object's slot:
 * so even accesses that race are ordered as they happened. A signal handler that finds the lock
 * held by the very thread it interrupted goes on without it. A holder may never come back (the access
 * faulted, and the handler jumped out of it; or the thread was cancelled there): after half a second
 * the lock is taken over.
 */
#ifndef ATOMMON_PRELOAD_SLOT_H
#define ATOMMON_PRELOAD_SLOT_H

#include "preload/backoff.h"
#include "preload/log.h"

/* The lock holds the id of its owner + 1. False: ours already, below a signal handler. */
static inline bool am_slot_lock(struct am_slot *slot)
{
	enum { SPINS = 200, PATIENCE = 5000 };
	const uint32_t me = am_tls.id;

	for (unsigned spins = 0;; spins++) {
		uint32_t seen = 0;
		/* partner: am_slot_unlock */
		if (__atomic_compare_exchange_n(&slot->lock, &seen, me, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
		if (seen == me)
			return false;
		if (spins < SPINS)
			__builtin_ia32_pause();
		else if (spins < SPINS + PATIENCE)
			am_backoff(spins - SPINS);
		else if (__atomic_compare_exchange_n(&slot->lock, &seen, me, false, __ATOMIC_ACQUIRE,
						     __ATOMIC_RELAXED))
			return true;
		else
			spins = 0;
	}
}

/* False: somebody has it, or we do. */
static inline bool am_slot_try(struct am_slot *slot)
{
	uint32_t free = 0;

	/* partner: am_slot_unlock */
	return __atomic_compare_exchange_n(&slot->lock, &free, am_tls.id, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void am_slot_unlock(struct am_slot *slot)
{
	__atomic_store_n(&slot->lock, 0, __ATOMIC_RELEASE);
}

#endif
