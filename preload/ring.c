/*
 * The consumer's side of a ring: which records are complete, and what to do with units that were
 * reserved and will never be written (a signal handler that left by longjmp, a thread that died).
 * Runs in the drain thread, or in a thread that drains for itself.
 */
/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "preload/runtime.h"

size_t am_ring_collect(const struct am_lane *lane, uint64_t from, struct am_unit *out, size_t max)
{
	size_t n = 0;

	while (am_ring_has(lane, from + n)) {
		const struct am_unit *u = &lane->units[(from + n) & lane->mask];
		const size_t units = 1 + (u->w0 >> AM_R_EXT_SHIFT & AM_R_EXT_MAX);
		if (n + units > max || n + units > lane->mask + 1)
			break;
		for (size_t k = 1; k < units; k++)
			if (!am_ring_has(lane, from + n + k))
				return n;
		for (size_t k = 0; k < units; k++)
			out[n + k] = lane->units[(from + n + k) & lane->mask];
		n += units;
	}
	return n;
}

size_t am_ring_repair(struct am_lane *lane, uint64_t from, uint64_t end)
{
	size_t repaired = 0;

	assert(end - from <= lane->mask + 1);
	for (uint64_t i = from; i < end;) {
		struct am_unit *u = &lane->units[i & lane->mask];
		size_t units = 1;
		if (am_ring_has(lane, i)) {
			units = 1 + (u->w0 >> AM_R_EXT_SHIFT & AM_R_EXT_MAX);
			bool is_whole = (u->w0 & AM_R_KIND_MASK) != AM_EXT;
			for (size_t k = 1; k < units; k++)
				is_whole &= i + k < end && am_ring_has(lane, i + k);
			if (is_whole) {
				i += units;
				continue;
			}
			units = 1; /* a piece of a torn record */
		}
		const uint64_t phase = i & (lane->mask + 1) ? 0 : AM_R_PHASE;
		u->w1 = 0;
		__atomic_store_n(&u->w0,
				 AM_LOST | phase | (uint64_t)AM_LOST_TORN << AM_R_DETAIL_SHIFT,
				 __ATOMIC_RELEASE); /* partner: am_ring_has */
		repaired++;
		i += units;
	}
	return repaired;
}
