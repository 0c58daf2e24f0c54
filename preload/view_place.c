/*
 * Where lazy accesses were made, for the one who may have to tell them late. Of single ones each has a place, found by
 * the cell's address (am_view_place). A long range would overwrite all places: it is remembered as a whole, in a
 * short ring beside them. Runs in application threads, in compiler callbacks; no lock, no malloc.
 *
 * A range is kept with its stretch. If one of the stretch that is told covers the word, the stretch did access it
 * there. Otherwise the word's place is that stretch's: whatever changed the cell last was a single access, or a range
 * that the ring has no longer; and before a range leaves the ring, its words that may still be told have their places
 * written. A range that leaves because a newer one of its kind covers it has no such words.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/late.h"

enum { KIND_WRITES = 1, KEY_SEQUENCE = 2 }; /* below the stretch in a key; the rest counts how often it was used */

/* What the stretch of this range left in its cells and nobody changed since. */
static void write_places(uint64_t *places, const struct am_range *r)
{
	const bool writes = r->key & KIND_WRITES;

	for (uintptr_t word = r->start & ~(uintptr_t)7; word < r->end; word += 8) {
		const struct am_cell *c = am_shadow_find(word);
		if (c && am_filter_same_stretch(writes ? am_cell_load(c).w : am_cell_load(c).r, r->key))
			am_view_put_place(am_view_place(places, c, writes), word, r->pc);
	}
}

/* Below this very thread, in a signal handler: half written. */
static bool is_busy(const struct am_range *r)
{
	return r->key != 0 && (r->key & AM_STRETCH_MASK) == 0;
}

/* One of its kind that [start, end) covers, or else the one that is there longest. */
static struct am_range *choose(struct am_ranges *all, uintptr_t start, uintptr_t end, bool writes)
{
	for (unsigned i = 0; i < AM_RANGES; i++) {
		struct am_range *r = &all->at[i];
		if (r->start >= start && r->end <= end && (r->key & KIND_WRITES) == writes && !is_busy(r))
			return r;
	}
	struct am_range *r = &all->at[all->next++ % AM_RANGES];
	for (unsigned i = 1; i < AM_RANGES && is_busy(r); i++)
		r = &all->at[all->next++ % AM_RANGES];
	if (am_late_may_tell(&am_view, r->key & AM_STRETCH_MASK))
		write_places(am_view.places, r);
	return r;
}

void am_place_range(uintptr_t start, uintptr_t end, bool writes, uintptr_t pc)
{
	struct am_range *r = choose(am_view_ranges(am_view.places), start, end, writes);
	const uint64_t next = (r->key + KEY_SEQUENCE) & ~AM_STRETCH_MASK & ~(uint64_t)KIND_WRITES;
	const uint64_t count = next ? next : KEY_SEQUENCE;

	/* Another thread may read it now: then it finds another key behind the rest than before. */
	__atomic_store_n(&r->key, count, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE); /* partner: the fence in covers */
	__atomic_store_n(&r->start, start, __ATOMIC_RELAXED);
	__atomic_store_n(&r->end, end, __ATOMIC_RELAXED);
	__atomic_store_n(&r->pc, pc, __ATOMIC_RELAXED);
	__atomic_store_n(&r->key, am_view.stretch | count | writes, __ATOMIC_RELEASE); /* partner: covers */
}

static uintptr_t covers(const struct am_range *r, uintptr_t word, uint64_t stretch, bool writes)
{
	const uint64_t key = __atomic_load_n(&r->key, __ATOMIC_ACQUIRE); /* partner: am_place_range */

	if (!am_filter_same_stretch(key, stretch) || (key & KIND_WRITES) != writes)
		return 0;
	const uintptr_t start = __atomic_load_n(&r->start, __ATOMIC_RELAXED);
	const uintptr_t end = __atomic_load_n(&r->end, __ATOMIC_RELAXED);
	const uintptr_t pc = __atomic_load_n(&r->pc, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* partner: the fence in am_place_range */
	return __atomic_load_n(&r->key, __ATOMIC_RELAXED) == key && start < word + 8 && word < end ? pc : 0;
}

uintptr_t am_place_find(uint64_t *places, uintptr_t word, uint64_t stretch, bool writes)
{
	const struct am_ranges *all = am_view_ranges(places);
	const struct am_cell *c = am_shadow_find(word);

	for (unsigned i = 0; i < AM_RANGES; i++) {
		const uintptr_t pc = covers(&all->at[i], word, stretch, writes);
		if (pc)
			return pc;
	}
	return c ? am_view_read_place(am_view_place(places, c, writes), word) : 0;
}
