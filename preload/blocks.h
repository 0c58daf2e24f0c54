/* SPDX-License-Identifier: MIT */
/*
 * Which heap block an address lies in, and where that was allocated: for reports only. Most allocations of a
 * watched program leave no event (filter.h), and those before the first region none at all; a report that
 * calls an object by a bare address is worth little.
 *
 * A table without chains: a block may push an older one out, and is then called by its address. Written
 * by application threads while checking, read by the drain thread when it tells a violation.
 */
#ifndef ATOMMON_PRELOAD_BLOCKS_H
#define ATOMMON_PRELOAD_BLOCKS_H

#include "atommon/report.h"
#include "preload/log.h"

/* Are blocks noted in this process, now, in this thread? */
static inline bool am_blocks_wanted(void)
{
	return __atomic_load_n(&am_wiped.is_checking, __ATOMIC_RELAXED) && am_state() >= AM_IDLE && am_tls.lane &&
	       !am_tls.inside && !am_tls.owned && !am_tls.muted;
}

void am_blocks_came(uintptr_t start, size_t size, struct am_here here);
void am_blocks_gone(uintptr_t start);
/* The block around the address; one that was freed only if no other is there. */
bool am_blocks_find(uint64_t address, struct am_block *out);
/* After fork, in the child: sites and threads have other numbers. */
void am_blocks_forget(void);

#endif
