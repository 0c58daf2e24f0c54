/*
 * The consumer's side of a ring: which records are complete, and what to do with units that were
 * reserved and will never be written (a signal handler that left by longjmp, a thread that died).
 * Runs in the drain thread, or in a thread that drains for itself.
 */
/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <cpuid.h>

#include "preload/runtime.h"

size_t am_ring_collect(const struct am_lane *lane, uint64_t from, struct am_unit *out, size_t max)
{
	const uint64_t capacity = lane->mask + 1;
	size_t n = 0, whole = 0; /* units copied; of them in whole records */
	size_t left = 0;	 /* units of the last record that are still to come */

	if (max > capacity)
		max = capacity;
	while (n < max) {
		/* A stretch without wrap has one phase. */
		const uint64_t at = (from + n) & lane->mask;
		const uint64_t phase = (from + n) & capacity ? 0 : AM_R_PHASE;
		const struct am_unit *u = &lane->units[at];
		const size_t stretch = capacity - at < max - n ? capacity - at : max - n;
		for (size_t k = 0; k < stretch; k++, n++) {
			const uint64_t w0 = __atomic_load_n(&u[k].w0, __ATOMIC_ACQUIRE);
			if ((w0 & AM_R_PHASE) != phase)
				return whole;
			out[n].w0 = w0;
			out[n].w1 = u[k].w1;
			left = left ? left - 1 : w0 >> AM_R_EXT_SHIFT & AM_R_EXT_MAX;
			whole = left ? whole : n + 1;
		}
	}
	return whole;
}

size_t am_ring_whole(const struct am_lane *lane, uint64_t from, size_t max)
{
	const uint64_t capacity = lane->mask + 1, at = from & lane->mask;
	const uint64_t phase = from & capacity ? 0 : AM_R_PHASE;
	const uint64_t ext_mask = (uint64_t)AM_R_EXT_MAX << AM_R_EXT_SHIFT;
	const struct am_unit *u = &lane->units[at];
	size_t n = 0, whole = 0;

	if (max > capacity - at)
		max = capacity - at;
	while (n < max) {
		const uint64_t w0 = __atomic_load_n(&u[n].w0, __ATOMIC_ACQUIRE);
		if (am_unlikely((w0 ^ phase) & (AM_R_PHASE | ext_mask))) {
			if ((w0 ^ phase) & AM_R_PHASE)
				break;
			size_t left = w0 >> AM_R_EXT_SHIFT & AM_R_EXT_MAX;
			for (n++; left > 0 && n < max && am_ring_has(lane, from + n); left--)
				n++;
			if (left > 0)
				break;
			whole = n;
			continue;
		}
		whole = ++n;
	}
	return whole;
}

static bool has_clflushopt(void)
{
	static uint8_t known; /* 1: no, 2: yes. Only one thread at a time is the consumer */
	unsigned a, b, c, d;

	if (!known)
		known = __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_CLFLUSHOPT ? 2 : 1;
	return known == 2;
}

void am_ring_evict(const struct am_lane *lane, uint64_t from, size_t n)
{
	enum { PER_LINE = 64 / sizeof(struct am_unit) };

	if (!has_clflushopt())
		return;
	/* Not the line where the last units stand: the producer may be writing there. */
	for (size_t k = 0; k + PER_LINE <= n; k += PER_LINE)
		__asm__ volatile("clflushopt %0" : : "m"(lane->units[(from + k) & lane->mask]) : "memory");
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
