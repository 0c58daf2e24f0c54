/*
 * Heap blocks for reports: see blocks.h. A hook makes one locked instruction and three stores, looks whether its
 * block is the largest near by, and calls nothing but the look-up of its call site. Must never allocate, lock or wait.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/blocks.h"

#include <string.h>

#include "preload/area.h"

/* Entries of 32 bytes: 2 MiB, touched as used. A block is looked for by trying the starts below an address, so
 * there is a limit to its size; larger ones are few, and all of theirs are tried. */
enum { LOG2_SMALL = 16, LOG2_LARGE = 8, SMALL_BYTES = 1 << 16, GRANULE = 8, LOG2_SPAN = 12, LOG2_SPANS = 14 };

#define BUSY UINT64_C(1) /* somebody is writing the entry; whoever else comes leaves it alone */
#define FREED UINT64_C(2)

struct entry {
	uint64_t start; /* and flags; 0: empty */
	uint64_t size;
	uint32_t site, thread;
	uint64_t rest;
};

static struct entry small[1 << LOG2_SMALL] __attribute__((aligned(4096))), large[1 << LOG2_LARGE];
/* Of the small blocks that start in a span of 4 KiB the size of the largest, as its logarithm rounded up, plus 1; 0: none ever
 * did. Several spans share one: then it is that of the largest of them. */
static uint8_t span_reach[1 << LOG2_SPANS];
/* All blocks lie between these, and no small one is larger. Approximate towards each other's changes. */
static uint64_t lowest = UINT64_MAX, highest, widest;

static struct entry *entry_of(uint64_t start, bool is_small)
{
	const uint64_t h = (start / GRANULE) * UINT64_C(0x9e3779b97f4a7c15);

	return is_small ? &small[h >> (64 - LOG2_SMALL)] : &large[h >> (64 - LOG2_LARGE)];
}

static void at_least(uint64_t *what, uint64_t value)
{
	if (__atomic_load_n(what, __ATOMIC_RELAXED) < value)
		__atomic_store_n(what, value, __ATOMIC_RELAXED);
}

static uint8_t *reach_of(uint64_t start)
{
	return &span_reach[(start >> LOG2_SPAN) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - LOG2_SPANS)];
}

/* Before the entry is there: who finds it later must find this. */
static void note_span(uint64_t start, uint64_t size)
{
	const uint8_t mine = size <= 1 ? 1 : (uint8_t)(65 - __builtin_clzll(size - 1));
	uint8_t *reach = reach_of(start), seen = __atomic_load_n(reach, __ATOMIC_RELAXED);

	while (am_unlikely(seen < mine) &&
	       !__atomic_compare_exchange_n(reach, &seen, mine, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Of the starts in this one's span, from there down, the lowest whose block may cover the address; above `start`: none may. */
static uint64_t lowest_start(uint64_t start, uint64_t address)
{
	const uint8_t reach = __atomic_load_n(reach_of(start), __ATOMIC_RELAXED);
	const uint64_t span = start >> LOG2_SPAN << LOG2_SPAN;

	if (reach == 0)
		return start + 1;
	const uint64_t far = (UINT64_C(1) << (reach - 1)) - 1, low = address > far ? address - far : 0;
	return low > span ? low : span;
}

void am_blocks_came(uintptr_t start, size_t size, struct am_here here)
{
	const bool is_small = size <= SMALL_BYTES;
	struct entry *e = entry_of(start, is_small);
	const uint32_t site = am_site(&am_tls, AM_ALLOC, here);

	if (is_small)
		note_span(start, size);
	/* Acquire and release: partner is the other writer's pair. */
	if (__atomic_exchange_n(&e->start, BUSY, __ATOMIC_ACQUIRE) == BUSY)
		return;
	__atomic_store_n(&e->size, size, __ATOMIC_RELAXED);
	__atomic_store_n(&e->site, site, __ATOMIC_RELAXED);
	__atomic_store_n(&e->thread, am_tls.id - 1, __ATOMIC_RELAXED);
	__atomic_store_n(&e->start, start, __ATOMIC_RELEASE); /* partner: read_entry */
	if (start < __atomic_load_n(&lowest, __ATOMIC_RELAXED))
		__atomic_store_n(&lowest, start, __ATOMIC_RELAXED);
	at_least(&highest, start + size);
	if (is_small)
		at_least(&widest, size);
}

void am_blocks_gone(uintptr_t start)
{
	for (int is_small = 0; is_small < 2; is_small++) {
		struct entry *e = entry_of(start, is_small);
		uint64_t expected = start;
		if (__atomic_load_n(&e->start, __ATOMIC_RELAXED) == start)
			__atomic_compare_exchange_n(&e->start, &expected, start | FREED, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

/* Does it cover the address? Not if it was written meanwhile. */
static bool read_entry(const struct entry *e, uint64_t address, struct am_block *out, bool *is_freed)
{
	const uint64_t start = __atomic_load_n(&e->start, __ATOMIC_ACQUIRE); /* partner: am_blocks_came */

	out->start = start & ~FREED;
	out->size = __atomic_load_n(&e->size, __ATOMIC_RELAXED);
	out->site = __atomic_load_n(&e->site, __ATOMIC_RELAXED);
	out->thread = __atomic_load_n(&e->thread, __ATOMIC_RELAXED);
	*is_freed = start & FREED;
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* before the second look */
	return start > FREED && __atomic_load_n(&e->start, __ATOMIC_RELAXED) == start && out->start <= address &&
	       address - out->start < out->size;
}

/* Takes a live block at once, and remembers the first freed one. */
static bool take(const struct entry *e, uint64_t address, struct am_block *out, bool *has_freed)
{
	struct am_block b;
	bool is_freed;

	if (!read_entry(e, address, &b, &is_freed) || (is_freed && *has_freed))
		return false;
	*out = b;
	*has_freed |= is_freed;
	return !is_freed;
}

/* Among the blocks that begin in the span of `start`, there or below. */
static bool find_in_span(uint64_t start, uint64_t address, struct am_block *out, bool *has_freed)
{
	const uint64_t low = lowest_start(start, address);

	for (; start >= low; start -= GRANULE) {
		const struct entry *e = entry_of(start, true);
		if ((__atomic_load_n(&e->start, __ATOMIC_RELAXED) & ~FREED) == start && take(e, address, out, has_freed))
			return true;
	}
	return false;
}

bool am_blocks_find(uint64_t address, struct am_block *out)
{
	const uint64_t reach = __atomic_load_n(&widest, __ATOMIC_RELAXED);
	bool has_freed = false;

	if (address < __atomic_load_n(&lowest, __ATOMIC_RELAXED) ||
	    address >= __atomic_load_n(&highest, __ATOMIC_RELAXED))
		return false;
	for (uint64_t start = address & ~(uint64_t)(GRANULE - 1); start >> LOG2_SPAN && address - start <= reach;
	     start = (start >> LOG2_SPAN << LOG2_SPAN) - GRANULE)
		if (find_in_span(start, address, out, &has_freed))
			return true;
	for (unsigned i = 0; i < 1 << LOG2_LARGE; i++)
		if (take(&large[i], address, out, &has_freed))
			return true;
	return has_freed;
}

void am_blocks_forget(void)
{
	if (!highest)
		return;
	am_area_wipe(small, sizeof small);
	memset(large, 0, sizeof large);
	memset(span_reach, 0, sizeof span_reach);
	lowest = UINT64_MAX;
	highest = widest = 0;
}
