/*
 * Cells: two tables and chunks behind them, made on demand, never given back. Runs in application
 * threads inside compiler callbacks; memory from mmap, counted against ATOMMON_MEM_MAX. At the
 * ceiling there is no cell, then or ever: such accesses are all logged.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/shadow.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/area.h"
#include "preload/lend.h"

uintptr_t am_shadow_giants[1u << (AM_SHADOW_USER - AM_SHADOW_GIANT)];

/* Chunks are cut from slabs, so that a mapping each is not needed; every second one is for addresses with bit 45 set
 * (am_view_place). What is used of a slab counts. */
enum {
	CHUNK_SPAN = 1 << AM_SHADOW_CHUNK, /* of the application */
	CHUNK_BYTES = CHUNK_SPAN / 8 * sizeof(struct am_cell),
	SLAB_BYTES = 256 * CHUNK_BYTES,
	GIANT_CHUNKS = 1 << (AM_SHADOW_GIANT - AM_SHADOW_CHUNK),
	PAGE = 4096,
};
_Static_assert(CHUNK_BYTES == 1 << AM_PLACES_BIT, "chunks are told apart by this bit");

static struct {
	struct {
		char *slab;
		uint32_t used; /* bytes of it, or of what lies between */
	} half[2];
	uint32_t lock;
	bool is_full; /* the ceiling was met */
} pool;

/* Not mmap(): that may be a hook. */
static char *map(size_t bytes)
{
	const long p = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);

	return p == -1 ? NULL : (char *)p;
}

/* `used` of the bytes are counted. */
static void *map_counted(size_t bytes, size_t used)
{
	if (!am_area_take(used))
		return NULL;
	void *p = map(bytes);
	if (!p)
		am_area_give(used);
	return p;
}

void *am_shadow_memory(size_t bytes)
{
	const int saved = errno;
	void *p = map_counted(bytes, bytes);

	errno = saved;
	return p;
}

/* Held for a few instructions and a mapping. False: ours already, below a signal handler. */
static bool lock(void)
{
	const uint32_t me = am_tls.id;

	for (;;) {
		uint32_t seen = 0;
		/* partner: unlock */
		if (__atomic_compare_exchange_n(&pool.lock, &seen, me, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
		if (seen == me)
			return false;
		sched_yield();
	}
}

static void unlock(void)
{
	__atomic_store_n(&pool.lock, 0, __ATOMIC_RELEASE);
}

/* From an address that is a multiple of 2 * CHUNK_BYTES on. */
static char *new_slab(void)
{
	enum { ALIGN = 2 * CHUNK_BYTES };
	char *p = map(SLAB_BYTES + ALIGN);

	if (!p)
		return NULL;
	const size_t before = -(uintptr_t)p & (ALIGN - 1);
	if (before)
		syscall(SYS_munmap, p, before);
	syscall(SYS_munmap, p + before + SLAB_BYTES, ALIGN - before);
	return p + before;
}

static char *new_chunk(unsigned half)
{
	if (!pool.half[half].slab || pool.half[half].used == SLAB_BYTES) {
		char *slab = new_slab();
		if (!slab)
			return NULL;
		for (unsigned i = 0; i < 2; i++)
			if (i == half || !pool.half[i].slab || pool.half[i].used == SLAB_BYTES) {
				pool.half[i].slab = slab;
				pool.half[i].used = 0;
			}
	}
	if (!am_area_take(CHUNK_BYTES))
		return NULL;
	char *chunk = pool.half[half].slab + pool.half[half].used + half * CHUNK_BYTES;
	/* Cells are read before they are written: that would map a page of zeros first, and the write replace it, in two faults
	 * and with an interrupt for every core that runs the program. */
	for (size_t at = 0; at < CHUNK_BYTES; at += PAGE)
		*(volatile char *)(chunk + at) = 0;
	pool.half[half].used += 2 * CHUNK_BYTES;
	return chunk;
}

/* Where the entry, or the cell, of address 0 would be; 0 means none, so that one is not taken. */
static uintptr_t new_giant(uintptr_t address)
{
	uintptr_t p = 0;

	for (unsigned i = 0; i < 2 && !p; i++) {
		/* Few of its pages will be touched. */
		void *giant = map_counted(GIANT_CHUNKS * sizeof p, GIANT_CHUNKS * sizeof p / 16);
		if (!giant)
			return 0;
		p = (uintptr_t)giant - (address >> AM_SHADOW_GIANT) * GIANT_CHUNKS * sizeof p;
	}
	return p;
}

static uintptr_t new_cells(uintptr_t address)
{
	uintptr_t p = 0;

	for (unsigned i = 0; i < 2 && !p; i++) {
		char *chunk = new_chunk(address >> 45 & 1);
		if (!chunk)
			return 0;
		p = (uintptr_t)chunk - (address & ~(uintptr_t)(CHUNK_SPAN - 1)) * 2;
	}
	return p;
}

struct am_cell *am_shadow_make(uintptr_t address)
{
	struct am_cell *s = am_shadow_find(address);

	if (s || address >> AM_SHADOW_USER || __atomic_load_n(&pool.is_full, __ATOMIC_RELAXED) ||
	    !lock())
		return s;
	const int saved = errno;
	uintptr_t *g = &am_shadow_giants[address >> AM_SHADOW_GIANT];
	if (!*g && !pool.is_full)
		__atomic_store_n(g, new_giant(address), __ATOMIC_RELEASE); /* partner: am_shadow_find */
	if (*g && !pool.is_full) {
		uintptr_t *c = (uintptr_t *)(*g + (address >> AM_SHADOW_CHUNK) * sizeof *c);
		if (!*c)
			__atomic_store_n(c, new_cells(address), __ATOMIC_RELEASE); /* partner: am_shadow_find */
	}
	unlock();
	errno = saved;
	s = am_shadow_find(address);
	if (!s)
		__atomic_store_n(&pool.is_full, true, __ATOMIC_RELAXED);
	return s;
}

bool am_shadow_clear(uintptr_t address, size_t size, uint64_t own, am_shadow_fn *fn, void *ctx)
{
	const uintptr_t top = UINT64_C(1) << AM_SHADOW_USER;
	const uintptr_t end = address < top && size <= top - address ? address + size : top;
	bool was_logged = false;

	for (uintptr_t at = address & ~(uintptr_t)7; at < end;) {
		const uintptr_t chunk_end = (at | (CHUNK_SPAN - 1)) + 1;
		const uintptr_t stop = chunk_end < end ? chunk_end : end;
		struct am_cell *c = am_shadow_find(at);
		if (!c) {
			/* Nothing in a whole giant: step over it. */
			const uintptr_t giant = (at | ((UINT64_C(1) << AM_SHADOW_GIANT) - 1)) + 1;
			at = am_shadow_giants[at >> AM_SHADOW_GIANT] ? chunk_end : giant;
			continue;
		}
		for (; at < stop; at += 8, c++) {
			const struct am_cell seen = am_cell_load(c);
			if ((seen.w | seen.r) == 0)
				continue;
			if (fn && (!am_filter_same_block(seen.w, own) || seen.w & AM_CELL_LENT))
				fn(ctx, at, seen);
			if (am_unlikely(seen.w & AM_CELL_MANY))
				am_lend_purge(at, seen.w);
			was_logged |= (seen.w & AM_CELL_EVER) != 0;
			__atomic_store_n(&c->w, 0, __ATOMIC_RELAXED);
			__atomic_store_n(&c->r, 0, __ATOMIC_RELAXED);
		}
		at = stop == end ? end : chunk_end;
	}
	return was_logged;
}

/* As far as the chunk of `at` has cells for [at, end): the first, where they end, and where to go on. */
struct cells {
	struct am_cell *c, *stop;
	uintptr_t next;
};

static struct cells cells_from(uintptr_t at, uintptr_t end)
{
	const uintptr_t chunk_end = (at | (CHUNK_SPAN - 1)) + 1, next = chunk_end < end ? chunk_end : end;
	struct am_cell *c = am_shadow_find(at);

	return (struct cells){c, c ? c + (next - (at & ~(uintptr_t)7) + 7) / 8 : c, next};
}

bool am_shadow_is_own(uintptr_t address, size_t size, uint64_t own)
{
	uint64_t last = 0;

	for (uintptr_t at = address, end = address + size; at < end;) {
		const struct cells here = cells_from(at, end);
		for (const struct am_cell *c = here.c; c < here.stop; c++) {
			while (here.stop - c >= 4 && am_cell_are_four(c, last)) /* mostly all of them are */
				c += 4;
			if (c == here.stop)
				break;
			const uint64_t w = __atomic_load_n(&c->w, __ATOMIC_RELAXED);
			if (w & (AM_CELL_LOGGED | AM_CELL_LENT) || !(am_filter_same_block(w, own) || w >> AM_BLOCK_SHIFT == 0))
				return false;
			last = w;
		}
		at = here.next;
	}
	return true;
}

void am_shadow_leave(uintptr_t address, size_t size, uint64_t own)
{
	for (uintptr_t at = (address + 7) & ~(uintptr_t)7, end = address + size; at < end;) {
		const struct cells here = cells_from(at, end);
		for (struct am_cell *c = here.c; c < here.stop; c++) {
			const uint64_t w = __atomic_load_n(&c->w, __ATOMIC_RELAXED);
			if (am_filter_same_block(w, own) && !(w & AM_CELL_LENT)) {
				if (am_unlikely(w & AM_CELL_MANY))
					am_lend_purge(at + (uintptr_t)(c - here.c) * 8, w);
				__atomic_store_n(&c->w, 0, __ATOMIC_RELAXED);
				__atomic_store_n(&c->r, 0, __ATOMIC_RELAXED);
			}
		}
		at = here.next;
	}
}

void am_shadow_forget(void)
{
	am_area_wipe(am_shadow_giants, sizeof am_shadow_giants);
	memset(&pool, 0, sizeof pool);
	memset(&am_view_open, 0, sizeof am_view_open);
	am_lend_forget();
	am_view = (struct am_view)AM_VIEW_NEW;
	am_view_mode = AM_VIEW_UNSET;
}

bool am_view_has(uintptr_t address, unsigned size, uint64_t owner)
{
	for (uintptr_t at = address & ~(uintptr_t)7; at < address + size; at += 8) {
		const struct am_cell *c = am_shadow_find(at);
		if (c && !am_filter_same_block(__atomic_load_n(&c->w, __ATOMIC_RELAXED), owner))
			return false;
	}
	return true;
}

void am_view_estrange(uintptr_t address, unsigned size)
{
	for (uintptr_t at = address & ~(uintptr_t)7; at < address + size; at += 8) {
		struct am_cell *c = am_shadow_find(at);
		const uint64_t w = c ? __atomic_load_n(&c->w, __ATOMIC_RELAXED) : 0;
		if (w & AM_CELL_MANY)
			am_lend_purge(at, w);
		if (c) /* before the access: partner is is_known_load, which asks behind it */
			__atomic_store_n(&c->w, AM_STRETCH_OTHER | AM_CELL_LOGGED, __ATOMIC_SEQ_CST);
	}
}
