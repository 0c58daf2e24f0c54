/*
 * What watched code calls for a plain access that it cannot settle by itself, or has no room to (instrument/pass/access.c): as the
 * callbacks in tsan_access.c, but the caller finds its registers as they were, all but %r11 and those for floating-point
 * numbers and vectors; LLVM's preserve_most. So hot loops keep what they have in registers, though there is such a call in
 * them. Compiled without those other registers (-mgeneral-regs-only). Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/inlined.h"

#include "preload/hot.h"
#include "preload/late.h"
#include "preload/shadow.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* What ask_hot.S knows of it. */
_Static_assert(offsetof(struct am_view, fast) == HOT_V_FAST && offsetof(struct am_view, idle) == HOT_V_IDLE &&
		       offsetof(struct am_view, stretch) == HOT_V_STRETCH && offsetof(struct am_view, places) == HOT_V_PLACES &&
		       offsetof(struct am_view, whole) == HOT_V_WHOLE && offsetof(struct am_view, past_is_over) == HOT_V_PAST,
	       "hot.h");
_Static_assert(offsetof(struct am_view_open, word) == 0 && offsetof(struct am_view_open, only) == HOT_ONLY && AM_CELL_LENT == HOT_LENT, "hot.h");
_Static_assert(AM_SHADOW_GIANT == HOT_GIANT && AM_SHADOW_GIANTS == HOT_GIANTS && AM_SHADOW_CHUNK == HOT_CHUNK, "hot.h");
_Static_assert(AM_CELL_BYTES == HOT_BYTES && AM_CELL_MORE == HOT_MORE && AM_CELL_STAYS == HOT_STAYS && AM_CELL_EXACT == HOT_EXACT, "hot.h");
_Static_assert(AM_STRETCH_MASK == (uint64_t)HOT_STRETCH && (AM_STRETCH_MASK | AM_CELL_BYTES) == (uint64_t)HOT_KNOWN8, "hot.h");
_Static_assert(AM_NEWEST_MASK == (uint64_t)HOT_NEWEST && (AM_NEWEST_MASK | AM_CELL_BYTES) == (uint64_t)HOT_NEWEST8, "hot.h");
_Static_assert(AM_BLOCK_SHIFT == HOT_BLOCK && AM_MORE_SHIFT == 8 && AM_PLACES_MASK == HOT_PLACES_MASK, "hot.h");

_Static_assert(AM_CELL_EVER == HOT_EVER && AM_CELL_LAZY == HOT_LAZY, "hot.h");
_Static_assert(offsetof(struct am_lane, over) == HOT_L_OVER, "hot.h");

/* Most of what is asked in regions is the first access to memory that is nobody's: it was allocated, and filled outside; or to what came with
 * a lock. */
static inline __attribute__((always_inline)) bool takes(struct am_cell *c, uintptr_t at, uint64_t bytes, bool writes, uintptr_t pc)
{
	const struct am_view *v = &am_view;

	if (!c || v->fast == AM_STRETCH_NONE ||
	    (!am_late_take_free(v, c, bytes, writes) && !am_late_take_over(v, c, bytes, writes)))
		return false;
	am_view_put_place(am_view_place(v->places, c, writes), at, pc);
	return true;
}

/* The part of an access that is in one word: is it settled, by what its cell says? */
static inline __attribute__((always_inline)) bool settles(struct am_cell *c, uintptr_t at, uint64_t bytes, bool writes, uintptr_t pc)
{
	if (am_view.fast == AM_STRETCH_NONE)
		return am_view_is_idle() && (!c || am_view_is_alone() || am_view_is_ours(c));
	return c && (am_view_fast(c, at, bytes, writes, pc) || takes(c, at, bytes, writes, pc));
}

/* Of two words; by bytes programs read numbers that may not be aligned, hash functions do. */
static inline __attribute__((always_inline)) bool settles_both(uintptr_t at, unsigned size, bool writes, uintptr_t pc)
{
	const unsigned offset = at & 7;
	const uintptr_t next = (at | 7) + 1;

	return settles(am_shadow_find(at), at, AM_CELL_BYTES << offset & AM_CELL_BYTES, writes, pc) &&
	       settles(am_shadow_find(next), next, (UINT64_C(1) << (offset + size - 8)) - 1, writes, pc);
}

/* Jumped to by __atommon_NAME (ask_hot.S), which has done nothing: the access is in one word, or (am_cross) in two. */
#define WHAT(name, size, writes) (size | ((writes) ? AM_ASK_WRITES : 0) | (#name[0] == 'r' ? AM_ASK_READS : 0))
#define ACCESS(name, size, writes)                                                                         \
	__attribute__((no_caller_saved_registers)) void am_ask_##name##size(void *p)                       \
	{                                                                                                  \
		const uintptr_t at = (uintptr_t)p, pc = (uintptr_t)__builtin_return_address(0);            \
                                                                                                           \
		if (!am_view_is_done(at, size, writes, pc) &&                                              \
		    !takes(am_shadow_find(at), at, am_fast_bytes(at, size), writes, pc))                   \
			am_tsan_ask_kept(p, WHAT(name, size, writes), pc, (uintptr_t)__builtin_dwarf_cfa()); \
	}                                                                                                  \
	__attribute__((no_caller_saved_registers)) void am_cross_##name##size(void *p)                     \
	{                                                                                                  \
		const uintptr_t pc = (uintptr_t)__builtin_return_address(0);                               \
                                                                                                           \
		if (!settles_both((uintptr_t)p, size, writes, pc))                                         \
			am_tsan_ask_kept(p, WHAT(name, size, writes), pc, (uintptr_t)__builtin_dwarf_cfa()); \
	}
AM_FAST_ACCESSES(ACCESS)
