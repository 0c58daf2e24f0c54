/*
 * Accesses of any number of bytes: memcpy and its kin, string functions, large structs. Words that need no question are
 * passed over in a tight loop; what is left goes line by line. Long ones are remembered as a whole. Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/late.h"
#include "preload/shadow.h"

/* Bytes: the unit of numbering; what one chunk of cells is for; from so many on a range spares the places. */
enum { LINE = 64, CHUNK = 1 << AM_SHADOW_CHUNK, SHORT = 32, LONG = 256 };

/* Outside regions: up to the first word that is another's, and matters. */
static uintptr_t skip_idle(uintptr_t at, uintptr_t end, bool writes)
{
	const uintptr_t chunk = am_view_is_alone() ? 0 : am_shadow_chunk(at);

	if (!chunk)
		return end;
	const struct am_cell *c = am_shadow_cell(chunk, at & ~(uintptr_t)7);
	for (uintptr_t word = at & ~(uintptr_t)7; word < end; word += 8, c++)
		if (am_unlikely(!am_view_is_ours(c)) && !am_late_is_idle(&am_view, am_cell_load(c), writes))
			return word > at ? word : at;
	return end;
}

/* In regions: up to the first word that does not take the fast path, and is not free to be taken. */
static inline __attribute__((always_inline)) uintptr_t pass(uintptr_t at, uintptr_t end, bool writes, uintptr_t pc)
{
	const uintptr_t chunk = am_shadow_chunk(at);
	const struct am_view *v = &am_view;

	if (!chunk)
		return at;
	struct am_cell *c = am_shadow_cell(chunk, at & ~(uintptr_t)7);
	for (; at < end; c++) {
		const uintptr_t next = (at | 7) + 1;
		if (am_likely((at & 7) == 0 && next <= end)) {
			if (!am_view_fast(c, at, AM_CELL_BYTES, writes, pc) &&
			    !am_late_take(v, c, at, AM_CELL_BYTES, writes, pc))
				break;
			at = next;
		} else {
			const uintptr_t stop = next < end ? next : end;
			const uint64_t bytes = am_filter_bytes(at & 7, (unsigned)(stop - at));
			if (!am_view_fast(c, at, bytes, writes, pc) && !am_late_take(v, c, at, bytes, writes, pc))
				break;
			at = stop;
		}
	}
	return at;
}

/* In regions, a few words of one chunk, such as a short string: is that all? If not, what is done is known when it is done again. */
static inline __attribute__((always_inline)) bool is_short(uintptr_t at, size_t size, bool writes, uintptr_t pc)
{
	const struct am_view *v = &am_view;
	const uintptr_t end = at + size, chunk = am_shadow_chunk(at);

	if (size - 1 >= SHORT || v->fast == AM_STRETCH_NONE || !chunk || (at ^ (end - 1)) >> AM_SHADOW_CHUNK != 0)
		return false;
	struct am_cell *c = am_shadow_cell(chunk, at & ~(uintptr_t)7);
	uint64_t bytes = ((UINT64_C(1) << size) - 1) << (at & 7); /* of all words */
	for (;; c++, bytes >>= 8, at = (at | 7) + 1) {
		if (!am_view_fast(c, at, bytes & AM_CELL_BYTES, writes, pc) &&
		    !am_late_take(v, c, at, bytes & AM_CELL_BYTES, writes, pc))
			return false;
		if (bytes <= AM_CELL_BYTES)
			return true;
	}
}

/* What became of a cell becomes of all behind it that are the same as it was: the cells of a range mostly are. Up to the first other. */
static inline struct am_cell *repeat(struct am_cell *c, const struct am_cell *stop, struct am_cell old, struct am_cell next)
{
	if (old.w == next.w && old.r == next.r) {
		while (c < stop && am_cell_is(c, old))
			c++;
	} else if (old.r == next.r) {
		for (; c < stop && am_cell_is(c, old); c++)
			__atomic_store_n(&c->w, next.w, __ATOMIC_RELAXED);
	} else if (old.w == next.w) {
		for (; c < stop && am_cell_is(c, old); c++)
			__atomic_store_n(&c->r, next.r, __ATOMIC_RELAXED);
	} else {
		for (; c < stop && am_cell_is(c, old); c++) {
			__atomic_store_n(&c->w, next.w, __ATOMIC_RELAXED);
			__atomic_store_n(&c->r, next.r, __ATOMIC_RELAXED);
		}
	}
	return c;
}

/* Likewise of a write that takes the fast path, which does not depend on the reads. */
static inline struct am_cell *repeat_write(struct am_cell *c, const struct am_cell *stop, uint64_t old, uint64_t next)
{
	for (; stop - c >= 4 && am_cell_are_four(c, old); c += 4) {
		__atomic_store_n(&c[0].w, next, __ATOMIC_RELAXED);
		__atomic_store_n(&c[1].w, next, __ATOMIC_RELAXED);
		__atomic_store_n(&c[2].w, next, __ATOMIC_RELAXED);
		__atomic_store_n(&c[3].w, next, __ATOMIC_RELAXED);
	}
	for (; c < stop && __atomic_load_n(&c->w, __ATOMIC_RELAXED) == old; c++)
		__atomic_store_n(&c->w, next, __ATOMIC_RELAXED);
	return c;
}

/* The same for whole words of what is remembered as a range. */
static inline __attribute__((always_inline)) uintptr_t sweep(uintptr_t at, uintptr_t end, bool writes)
{
	const uintptr_t chunk = am_shadow_chunk(at);
	const struct am_view *v = &am_view;
	const uint64_t fast = v->fast;

	if (!chunk)
		return at;
	struct am_cell *const first = am_shadow_cell(chunk, at), *c = first, *const stop = first + (end - at) / 8;
	while (c < stop) {
		struct am_cell old = am_cell_load(c), next = old;
		uint64_t word;
		const enum am_filter_short answer = am_filter_short(&old, fast, AM_CELL_BYTES, writes, false, &word);
		if (am_likely(answer == AM_SHORT_LAZY)) {
			*(writes ? &next.w : &next.r) = word;
			__atomic_store_n(writes ? &c->w : &c->r, word, __ATOMIC_RELAXED);
		} else if (answer == AM_SHORT_ASK) {
			if (!am_late_take_cell(v, c, AM_CELL_BYTES, writes))
				break;
			next = am_cell_load(c);
			/* What was another's is taken in one step; nor may it have come to us and be gone again. */
			if (am_filter_foreign(old.w, fast) || old.w & AM_CELL_LENT || !am_filter_same_block(next.w, fast)) {
				c++;
				continue;
			}
		}
		c = writes && answer == AM_SHORT_LAZY ? repeat_write(c + 1, stop, old.w, next.w) : repeat(c + 1, stop, old, next);
	}
	return at + (uintptr_t)(c - first) * 8;
}

static uintptr_t pass_any(uintptr_t at, uintptr_t end, bool writes, bool is_long, uintptr_t pc)
{
	if (is_long && at & 7) { /* up to the first whole word */
		const uintptr_t word = (at | 7) + 1, near = word < end ? word : end;
		at = writes ? pass(at, near, true, pc) : pass(at, near, false, pc);
		if (at != near)
			return at;
	}
	if (is_long)
		at = writes ? sweep(at, end, true) : sweep(at, end, false);
	return writes ? pass(at, end, true, pc) : pass(at, end, false, pc);
}

/* What is also read in a range that is written. */
struct also {
	uintptr_t start, end;
};

/* Up to a line, of which something has to be asked. */
static void ask(enum am_kind kind, uintptr_t at, uintptr_t stop, struct also also, struct am_here here)
{
	const uintptr_t from = at > also.start ? at : also.start, to = stop < also.end ? stop : also.end;

	if (from < to)
		am_view_line(AM_READ, from, (unsigned)(to - from), here);
	am_view_line(kind, at, (unsigned)(stop - at), here);
	am_view_rest();
}

static inline __attribute__((always_inline)) void walk(enum am_kind kind, uintptr_t address, size_t size, struct also also,
						       struct am_here here)
{
	const struct am_view *v = &am_view;

	if (size == 0 || am_view_sleeps())
		return;
	const bool writes = kind != AM_READ, is_long = size >= LONG;
	uint64_t remembered = AM_STRETCH_NONE; /* in which stretch */
	for (uintptr_t at = address, end = address + size; at < end;) {
		const uintptr_t chunk_end = (at | (CHUNK - 1)) + 1, near = chunk_end < end ? chunk_end : end;
		if (am_view_is_idle()) {
			at = skip_idle(at, near, writes);
		} else if (v->fast != AM_STRETCH_NONE && (kind != AM_FREE || v->depth != 0)) { /* as in am_view_line */
			if (is_long && remembered != v->fast)
				am_place_range(at, end, writes, here.pc);
			remembered = v->fast;
			at = pass_any(at, near, writes, is_long, here.pc);
		}
		if (at == near)
			continue;
		const uintptr_t line = (at | (LINE - 1)) + 1, stop = line < end ? line : end;
		ask(kind, at, stop, also, here);
		at = stop;
	}
}

void am_view_range(enum am_kind kind, uintptr_t address, size_t size, struct am_here here)
{
	if (kind == AM_READ ? is_short(address, size, false, here.pc) : kind == AM_WRITE && is_short(address, size, true, here.pc))
		return;
	walk(kind, address, size, (struct also){0, 0}, here);
}

/* The part that is read and written is written in one step with that: as of x += 1 (tsan_access.c), the write stands for the read, as
 * long as nothing has to be logged. */
void am_view_move(uintptr_t to, uintptr_t from, size_t size, struct am_here here)
{
	const struct also both = {to > from ? to : from, (to > from ? from : to) + size};

	if (both.start >= both.end || am_view_mode != AM_VIEW_REGIONS) {
		am_view_range(AM_READ, from, size, here);
		am_view_range(AM_WRITE, to, size, here);
		return;
	}
	if (to > from)
		am_view_range(AM_READ, from, to - from, here);
	else
		am_view_range(AM_READ, to + size, from - to, here);
	walk(AM_WRITE, to, size, both, here);
}
