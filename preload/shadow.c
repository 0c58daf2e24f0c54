/*
 * Shadow words: two tables and chunks behind them, made on demand, never given back. Runs in
 * application threads inside compiler callbacks; lock-free, memory from mmap, counted against
 * ATOMMON_MEM_MAX. At the ceiling there is simply no word: its accesses are all logged.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/shadow.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/area.h"

struct am_shadow_giant *am_shadow_giants[1u << (AM_SHADOW_USER - AM_SHADOW_GIANT)];

/* Chunks are cut from slabs, so that a mapping each is not needed. */
enum { CHUNK_BYTES = 1 << AM_SHADOW_CHUNK, SLAB_BYTES = 16 * CHUNK_BYTES };

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

/* A try-lock: whoever finds it taken goes without a word this time, which is always allowed. */
static bool try_lock(void)
{
	return !__atomic_exchange_n(&pool.lock, 1, __ATOMIC_ACQUIRE); /* partner: unlock */
}

static void unlock(void)
{
	__atomic_store_n(&pool.lock, 0, __ATOMIC_RELEASE);
}

static uint64_t *new_chunk(void)
{
	if (!pool.slab || pool.used + CHUNK_BYTES > SLAB_BYTES) {
		pool.slab = map(SLAB_BYTES);
		pool.used = 0;
		if (!pool.slab) {
			pool.is_full = true;
			return NULL;
		}
	}
	uint64_t *c = (uint64_t *)(pool.slab + pool.used);
	pool.used += CHUNK_BYTES;
	return c;
}

uint64_t *am_shadow_make(uintptr_t address)
{
	uint64_t *s = am_shadow_find(address);

	if (s || address >> AM_SHADOW_USER || pool.is_full || !try_lock())
		return s;
	const int saved = errno;
	struct am_shadow_giant **g = &am_shadow_giants[address >> AM_SHADOW_GIANT];
	if (!*g)
		__atomic_store_n(g, map(sizeof **g),
				 __ATOMIC_RELEASE); /* partner: am_shadow_find */
	if (*g) {
		const uintptr_t in = address & ((UINT64_C(1) << AM_SHADOW_GIANT) - 1);
		uint64_t **c = &(*g)->chunk[in >> AM_SHADOW_CHUNK];
		if (!*c)
			__atomic_store_n(c, new_chunk(),
					 __ATOMIC_RELEASE); /* partner: am_shadow_find */
	}
	unlock();
	errno = saved;
	return am_shadow_find(address);
}

bool am_shadow_clear(uintptr_t address, size_t size)
{
	const uintptr_t end = address + size;
	bool was_logged = false;

	for (uintptr_t at = address & ~(uintptr_t)7; at < end;) {
		const uintptr_t chunk_end = (at | (CHUNK_BYTES - 1)) + 1;
		const uintptr_t stop = chunk_end < end ? chunk_end : end;
		uint64_t *s = am_shadow_find(at);
		if (!s) {
			/* Nothing in a whole giant: step over it. */
			const uintptr_t giant = (at | ((UINT64_C(1) << AM_SHADOW_GIANT) - 1)) + 1;
			at = at >> AM_SHADOW_USER || !am_shadow_giants[at >> AM_SHADOW_GIANT]
				     ? giant
				     : chunk_end;
			continue;
		}
		for (; at < stop; at += 8, s++)
			if (__atomic_load_n(s, __ATOMIC_RELAXED)) {
				__atomic_store_n(s, 0, __ATOMIC_RELAXED);
				was_logged = true;
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
	am_view_mode = AM_VIEW_UNSET;
}
