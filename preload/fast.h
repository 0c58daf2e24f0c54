/* SPDX-License-Identifier: MIT */
/*
 * The fast path of an access, and what it looks at. Shared by the callbacks (tsan_access.c) and by watched code, into
 * which the pass puts the same lines (instrument/pass/access.c). So what is laid out here is part of compiled
 * programs: who changes the layout or what it means changes AM_FAST_VIEW too, and gives the old name, with contents
 * that make it ask, to the stub library (instrument/stub_view.c). Programs of before are then watched by calls.
 *
 * No state of its own; nothing is called.
 */
#ifndef ATOMMON_PRELOAD_FAST_H
#define ATOMMON_PRELOAD_FAST_H

#include "preload/filter.h"

/* The name, and with it the version, of the thread's struct am_fast. */
#define AM_FAST_VIEW __atommon_view3

/* What an access looks at: a line of the thread. */
#define AM_FAST_FIELDS                                                                                     \
	/* the stretch | AM_CELL_LAZY while lazy accesses need no questions, else AM_STRETCH_NONE */       \
	uint64_t fast;                                                                                     \
	/* *open while accesses to what is nobody's or this thread's concern nobody; or ~0 */              \
	uint64_t idle;                                                                                     \
	uint64_t stretch; /* in place (filter.h); 0: no block of numbers yet */                            \
	uint64_t *places; /* where they were made, newest by address: see am_view_place */                 \
	/* the three that follow are the same for all threads: the first table, its entries, am_view_open */ \
	const uintptr_t *giants;                                                                           \
	uintptr_t n_giants;                                                                                \
	const uint64_t *open;
struct am_fast {
	AM_FAST_FIELDS
};

/* ---- cells ----------------------------------------------------------------------------------- */

enum {
	AM_SHADOW_GIANT = 28, /* log2 of the bytes behind one entry of the first table */
	/* and of the second: a chunk of cells is twice as big. Small, so that the entry itself tells of most memory that
	 * no region was there, and a program's accesses outside regions do not touch cells. */
	AM_SHADOW_CHUNK = 12,
	AM_SHADOW_USER = 47,
};
/* Both tables hold addresses from which the place of address 0 would be found, so that a whole address of the
 * application is the index into the second table, and twice it the way to its cell. 0: nothing there yet. */

/* Where the cell of address 0 would be, if it were in the chunk of this address; 0: there is none (yet). */
static inline __attribute__((always_inline)) uintptr_t am_fast_chunk(const uintptr_t *giants, uintptr_t n,
								     uintptr_t address)
{
	const uintptr_t giant = address >> AM_SHADOW_GIANT;

	if (__builtin_expect(giant >= n, 0))
		return 0;
	const uintptr_t g = __atomic_load_n(&giants[giant], __ATOMIC_ACQUIRE);
	if (__builtin_expect(!g, 0))
		return 0;
	/* partner: am_shadow_make */
	return __atomic_load_n((uintptr_t *)(g + (address >> AM_SHADOW_CHUNK) * sizeof g), __ATOMIC_ACQUIRE);
}

/* The cell of the 8 bytes from `word` on, which is a multiple of 8. */
static inline struct am_cell *am_shadow_cell(uintptr_t chunk, uintptr_t word)
{
	_Static_assert(sizeof(struct am_cell) == 16, "twice the 8 bytes that it stands for");
	return (struct am_cell *)(chunk + word * 2);
}

/* Nobody's, or of the thread whose stretch that is, and of nobody else? */
static inline bool am_fast_is_ours(const struct am_cell *c, uint64_t stretch)
{
	const uint64_t w = __atomic_load_n(&c->w, __ATOMIC_RELAXED);

	return w >> AM_BLOCK_SHIFT == 0 || ((w ^ stretch) & (~UINT64_C(0) << AM_BLOCK_SHIFT | AM_CELL_LENT)) == 0;
}

/* The thread to which a cell belongs: the upper bits of its stretches; 0: nobody; something else if it is lent. */
static inline __attribute__((always_inline)) uint64_t am_fast_block(const struct am_cell *c)
{
	const uint64_t w = __atomic_load_n(&c->w, __ATOMIC_RELAXED);

	return w >> AM_BLOCK_SHIFT | (w & AM_CELL_LENT);
}

/* Does an access outside regions, to what belongs to that one, concern nobody? */
static inline __attribute__((always_inline)) bool am_fast_is_idle(const struct am_fast *v, uint64_t block)
{
	return __atomic_load_n(v->open, __ATOMIC_RELAXED) == v->idle && (block == 0 || block == v->stretch >> AM_BLOCK_SHIFT);
}

/* Does an access of `size` bytes stay within its shadow word? */
static inline __attribute__((always_inline)) bool am_fast_is_in_word(uintptr_t address, unsigned size)
{
	return size == 8 ? (address & 7) == 0 : size < 8 && (address & 7) + size <= 8;
}

/* The bytes of an access that does. */
static inline __attribute__((always_inline)) uint64_t am_fast_bytes(uintptr_t address, unsigned size)
{
	return size == 8 ? AM_CELL_BYTES : ((UINT64_C(1) << size) - 1) << (address & 7);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Where a lazy access was made, for the one who may have to tell it late: the return address, above it 16 bits that
 * tell addresses of one place apart; 0 there: it is just being written. Found by the cell's own address, reads and writes side by side. Half of the
 * places are for mappings and stacks, half for the program's own data, which large arrays spare: chunks lie so that
 * one bit of their address is bit 45 of the application's (shadow.c). */
enum {
	AM_PLACES_HALF = 512 * 16,
	AM_PLACES_BIT = AM_SHADOW_CHUNK + 1,
	AM_PLACES_MASK = 2 * AM_PLACES_HALF - 16,
	AM_PLACES_OWNER = 2 * AM_PLACES_HALF / 8, /* behind them: whose they are */
};
_Static_assert(AM_PLACES_HALF == 1 << AM_PLACES_BIT, "the half is told by the lowest bit of a chunk's number");

static inline uint64_t *am_view_place(uint64_t *places, const struct am_cell *c, bool writes)
{
	return places + ((uintptr_t)c & AM_PLACES_MASK) / 8 + writes;
}

static inline uint16_t am_view_place_tag(uintptr_t address)
{
	return (uint16_t)(address >> AM_SHADOW_CHUNK);
}

/* In two stores, which takes fewer instructions than to put the two together. */
static inline __attribute__((always_inline)) void am_view_put_place(uint64_t *place, uintptr_t address, uintptr_t pc)
{
	const uint16_t tag = am_view_place_tag(address);

	__atomic_store_n(place, pc, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__builtin_memcpy((char *)place + 6, &tag, sizeof tag);
}

/*
 * What AM_SHORT_LAZY asks for. The cell is not changed in one step: an access of another thread in the same few
 * nanoseconds would be a race, whose order the callbacks, which come before the accesses, cannot tell either.
 */
static inline __attribute__((always_inline)) void am_fast_keep(struct am_cell *c, uint64_t next, bool writes,
							       uint64_t *places, uintptr_t address, uintptr_t pc)
{
	__atomic_store_n(writes ? &c->w : &c->r, next, __ATOMIC_RELAXED);
	am_view_put_place(am_view_place(places, c, writes), address, pc);
}

#endif
