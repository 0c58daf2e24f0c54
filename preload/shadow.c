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

struct am_shadow_giant *am_shadow_giants[1u << (AM_SHADOW_USER - AM_SHADOW_GIANT)];

/* Chunks are cut from slabs, so that a mapping each is not needed. */
enum {
	CHUNK_SPAN = 1 << AM_SHADOW_CHUNK, /* of the application */
	CHUNK_BYTES = CHUNK_SPAN / 8 * sizeof(struct am_cell),
	SLAB_BYTES = 8 * CHUNK_BYTES,
};

static struct {
	char *slab;
	uint32_t used; /* bytes of it */
	uint32_t lock;
	bool is_full; /* the ceiling was met */
} pool;

/* Not mmap(): that may be a hook. */
static void *map(size_t bytes)
{
	if (!am_area_take(bytes))
		return NULL;
	const long p = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
	if (p == -1) {
		am_area_give(bytes);
		return NULL;
	}
	return (void *)p;
}

void *am_shadow_memory(size_t bytes)
{
	const int saved = errno;
	void *p = map(bytes);

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

static struct am_cell *new_chunk(void)
{
	if (!pool.slab || pool.used + CHUNK_BYTES > SLAB_BYTES) {
		pool.slab = map(SLAB_BYTES);
		pool.used = 0;
		if (!pool.slab) {
			__atomic_store_n(&pool.is_full, true, __ATOMIC_RELAXED);
			return NULL;
		}
	}
	struct am_cell *c = (struct am_cell *)(pool.slab + pool.used);
	pool.used += CHUNK_BYTES;
	return c;
}

struct am_cell *am_shadow_make(uintptr_t address)
{
	struct am_cell *s = address >> AM_SHADOW_USER ? NULL : am_shadow_find(address);

	if (s || address >> AM_SHADOW_USER || __atomic_load_n(&pool.is_full, __ATOMIC_RELAXED) ||
	    !lock())
		return s;
	const int saved = errno;
	struct am_shadow_giant **g = &am_shadow_giants[address >> AM_SHADOW_GIANT];
	if (!*g && !pool.is_full)
		__atomic_store_n(g, map(sizeof **g),
				 __ATOMIC_RELEASE); /* partner: am_shadow_find */
	if (!*g)
		__atomic_store_n(&pool.is_full, true, __ATOMIC_RELAXED);
	if (*g && !pool.is_full) {
		const uintptr_t in = address & ((UINT64_C(1) << AM_SHADOW_GIANT) - 1);
		struct am_cell **c = &(*g)->chunk[in >> AM_SHADOW_CHUNK];
		if (!*c)
			__atomic_store_n(c, new_chunk(),
					 __ATOMIC_RELEASE); /* partner: am_shadow_find */
	}
	unlock();
	errno = saved;
	return am_shadow_find(address);
}

bool am_shadow_clear(uintptr_t address, size_t size, am_shadow_fn *fn, void *ctx)
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
			if (fn)
				fn(ctx, at, seen);
			was_logged |= (seen.w & AM_CELL_LOGGED) != 0;
			__atomic_store_n(&c->w, 0, __ATOMIC_RELAXED);
			__atomic_store_n(&c->r, 0, __ATOMIC_RELAXED);
		}
		at = stop == end ? end : chunk_end;
	}
	return was_logged;
}

void am_shadow_forget(void)
{
	memset(am_shadow_giants, 0, sizeof am_shadow_giants);
	memset(&pool, 0, sizeof pool);
	memset(&am_view_open, 0, sizeof am_view_open);
	memset(&am_view, 0, sizeof am_view);
	am_view_doubt();
	am_view_mode = AM_VIEW_UNSET;
}
