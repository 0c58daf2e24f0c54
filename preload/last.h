/* SPDX-License-Identifier: MIT */
/*
 * Counts that this thread took the last off (AM_ORDER_LAST): if the block goes in which they lie, its free is told with
 * them, so that the checker knows what belongs together (analyzer/core/last.h). Live, the filter would leave the count out of the free, as its
 * thread had it last. Runs in hooks, and may be interrupted by itself anywhere; keeps the newest few.
 */
#ifndef ATOMMON_PRELOAD_LAST_H
#define ATOMMON_PRELOAD_LAST_H

#include "preload/defer.h"
#include "preload/log.h"
#include "preload/view.h"

#include <stddef.h>

void am_last_note(uintptr_t count);
void am_last_forget(uintptr_t address, size_t size);

/* A block goes; its free is not told yet. */
static inline void am_last_gone(uintptr_t address, size_t size)
{
	const struct am_deferred *d = am_view.defer;

	if (d && am_unlikely(d->last.has_some))
		am_last_forget(address, size);
}

#endif
