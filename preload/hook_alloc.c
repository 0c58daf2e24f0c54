/*
 * Hooks of memory: a block that is given back is written by that, and one that is used again is a new entity.
 * Runs in application threads, also before any of our constructors and inside the loader. Must never
 * allocate; whatever allocator the program uses does the work (libc's, jemalloc, tcmalloc), and we come before it.
 *
 * Checking: a free is an access like others (filter.h), that of a large block logged only if an access to it
 * was; an allocation is logged if accesses to its memory were. Recording: both, once the program has shown
 * that it has instrumented code or annotations. An allocation is as large as what its free will tell.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "atommon/checker.h"
#include "preload/blocks.h"
#include "preload/export.h"
#include "preload/last.h"
#include "preload/real.h"
#include "preload/shadow.h"

/* ---- before the real functions are known ------------------------------------------------------
 */

enum { EARLY_BYTES = 256 * 1024, ALIGN = 16 };

static char early[EARLY_BYTES] __attribute__((aligned(64)));
static size_t early_used;

static bool is_early(const void *p)
{
	return (const char *)p >= early && (const char *)p < early + EARLY_BYTES;
}

/* The size lies in front of the block. Never given back. */
static void *early_alloc(size_t align, size_t n)
{
	align = align < ALIGN ? ALIGN : align;
	if (n > EARLY_BYTES || align > EARLY_BYTES)
		return NULL;
	const size_t need = ((n + ALIGN - 1) & ~(size_t)(ALIGN - 1)) + align + ALIGN;
	const size_t at = __atomic_fetch_add(&early_used, need, __ATOMIC_RELAXED);
	if (at + need > EARLY_BYTES) {
		errno = ENOMEM;
		return NULL;
	}
	const uintptr_t block =
		((uintptr_t)early + at + ALIGN + align - 1) & ~(uintptr_t)(align - 1);
	((size_t *)block)[-1] = n;
	return (void *)block;
}

static size_t early_size(const void *p)
{
	return ((const size_t *)p)[-1];
}

/* ---- events -----------------------------------------------------------------------------------
 */

static size_t size_of(void *p)
{
	return am_real.malloc_usable_size ? am_real.malloc_usable_size(p) : 0;
}

static inline bool is_idle(void)
{
	return am_likely(am_view_mode <= AM_VIEW_NONE) || am_state() < AM_ON || am_tls.inside ||
	       am_tls.owned;
}

/* Are the cells of a block that is gone cleaned at once? */
static bool is_cleaned(size_t size)
{
	return am_view_mode != AM_VIEW_RECORD && size > AM_FREED_MAX;
}

static void gone(uintptr_t address, size_t size, struct am_here here)
{
	am_exact_gone(address, size);
	am_last_gone(address, size);
	if (am_view_mode != AM_VIEW_RECORD && !is_cleaned(size)) {
		am_view_range(AM_FREE, address, size, here);
		return;
	}
	if (!am_view_gone(address, size, here))
		return;
	am_log_block(AM_FREE, address, size, here);
	am_view_counted();
}

static void came(uintptr_t address, size_t size, struct am_here here)
{
	if (am_view_mode == AM_VIEW_RECORD)
		am_log_block(AM_ALLOC, address, size, here);
	else
		am_view_came(address, size, here);
	am_exact_gone(address, size);
}

static inline void came_from_heap(void *p, size_t n, struct am_here here)
{
	if (p && am_unlikely(am_blocks_wanted()))
		am_blocks_came((uintptr_t)p, n, here);
	if (p && !is_idle())
		came((uintptr_t)p, size_of(p), here);
}

/* Was a region ever in the upper part of this stack? The rest is not worth a system call. */
static bool was_used(uintptr_t frame, uintptr_t top)
{
	enum { NEAR = 1 << 16, STEP = 1 << AM_SHADOW_CHUNK };
	const uintptr_t from = frame < top && top - frame < 16 * NEAR ? frame - NEAR : top - NEAR;

	for (uintptr_t at = from; at < top; at += STEP)
		if (am_shadow_chunk(at))
			return true;
	return false;
}

void am_alloc_stack(uintptr_t top)
{
	pthread_attr_t attr;
	void *low = NULL;
	size_t size = 0;

	if (!was_used((uintptr_t)&attr, top))
		return;
	am_tls.inside++;
	if (pthread_getattr_np(pthread_self(), &attr) == 0) {
		pthread_attr_getstack(&attr, &low, &size);
		pthread_attr_destroy(&attr);
	}
	am_tls.inside--;
	if (low && (uintptr_t)low < top && am_shadow_clear((uintptr_t)low, top - (uintptr_t)low, AM_STRETCH_NONE, NULL, NULL))
		am_log_block(AM_FREE, (uintptr_t)low, top - (uintptr_t)low, AM_HERE);
}

/* ---- hooks ------------------------------------------------------------------------------------
 */

AM_EXPORT void *malloc(size_t n)
{
	if (am_unlikely(!am_real.malloc))
		return early_alloc(ALIGN, n);
	void *p = am_real.malloc(n);
	came_from_heap(p, n, AM_HERE);
	return p;
}

AM_EXPORT void free(void *p)
{
	if (!p || is_early(p) || !am_real.free)
		return;
	if (am_unlikely(am_blocks_wanted()))
		am_blocks_gone((uintptr_t)p);
	if (!is_idle())
		gone((uintptr_t)p, size_of(p), AM_HERE);
	am_real.free(p);
}

AM_EXPORT void *calloc(size_t n, size_t size)
{
	if (am_unlikely(!am_real.calloc)) {
		size_t bytes;
		return __builtin_mul_overflow(n, size, &bytes) ? NULL : early_alloc(ALIGN, bytes);
	}
	void *p = am_real.calloc(n, size);
	came_from_heap(p, n * size, AM_HERE);
	return p;
}

/* What the old block held becomes the new one's, as far as it fits. */
static void *leave_early(void *old, size_t n)
{
	const size_t before = early_size(old);
	void *p = am_real.malloc ? am_real.malloc(n) : early_alloc(ALIGN, n);

	return p ? memcpy(p, old, before < n ? before : n) : NULL;
}

/* A large block that concerns nobody else, and of which nothing was logged. */
static bool is_own(void *p, size_t size)
{
	return am_view_mode == AM_VIEW_REGIONS && is_cleaned(size) && !am_view_sleeps() &&
	       am_shadow_is_own((uintptr_t)p, size, am_view.stretch);
}

/* Such a one is the same as before if it stays where it is. What it was, and is no more, is cleaned when that is known; another
 * thread may be there by then, and has cells of its own. */
static void *move_own(void *old, size_t before, size_t n, struct am_here here)
{
	void *p = am_real.realloc(old, n);
	const size_t after = p ? size_of(p) : 0, kept = p == old ? after : !p && n != 0 ? before : 0;

	if (kept < before) {
		am_shadow_leave((uintptr_t)old + kept, before - kept, am_view.stretch);
		am_exact_gone((uintptr_t)old + kept, before - kept);
	}
	if (p && p != old)
		came((uintptr_t)p, after, here);
	else if (p && after > before)
		came((uintptr_t)p + before, after - before, here);
	return p;
}

/* The event side of it. */
static void *move_block(void *old, size_t n, struct am_here here)
{
	const size_t before = old ? size_of(old) : 0;
	if (old && is_own(old, before))
		return move_own(old, before, n, here);
	if (old)
		gone((uintptr_t)old, before, here);
	void *p = am_real.realloc(old, n);
	/* What was there is clean already, unless it is small or a trace is wanted. */
	const size_t clean = p == old && is_cleaned(before) ? before : 0, after = p ? size_of(p) : 0;
	if (p && after > clean)
		came((uintptr_t)p + clean, after - clean, here);
	else if (!p && n != 0)
		came((uintptr_t)old, before, here);
	return p;
}

AM_EXPORT void *realloc(void *old, size_t n)
{
	if (am_unlikely(is_early(old)))
		return leave_early(old, n);
	if (am_unlikely(!am_real.realloc))
		return early_alloc(ALIGN, n);
	const bool is_noted = am_unlikely(am_blocks_wanted());
	if (is_noted && old)
		am_blocks_gone((uintptr_t)old); /* before another thread can have it */
	void *p = is_idle() ? am_real.realloc(old, n) : move_block(old, n, AM_HERE);
	if (is_noted && p)
		am_blocks_came((uintptr_t)p, n, AM_HERE);
	return p;
}

AM_EXPORT void *reallocarray(void *old, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, bytes);
}

AM_EXPORT void *aligned_alloc(size_t align, size_t n)
{
	if (am_unlikely(!am_real.aligned_alloc))
		return early_alloc(align, n);
	void *p = am_real.aligned_alloc(align, n);
	came_from_heap(p, n, AM_HERE);
	return p;
}

AM_EXPORT void *memalign(size_t align, size_t n)
{
	if (am_unlikely(!am_real.memalign))
		return early_alloc(align, n);
	void *p = am_real.memalign(align, n);
	came_from_heap(p, n, AM_HERE);
	return p;
}

AM_EXPORT int posix_memalign(void **p, size_t align, size_t n)
{
	if (am_unlikely(!am_real.posix_memalign)) {
		*p = early_alloc(align, n);
		return *p ? 0 : ENOMEM;
	}
	const int r = am_real.posix_memalign(p, align, n);
	if (r == 0)
		came_from_heap(*p, n, AM_HERE);
	return r;
}

AM_EXPORT size_t malloc_usable_size(void *p)
{
	return p && is_early(p) ? early_size(p) : p ? size_of(p) : 0;
}

AM_EXPORT void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
	void *p = am_real.mmap ? am_real.mmap(at, n, protection, flags, fd, offset)
			       : (void *)syscall(SYS_mmap, at, n, protection, flags, fd, offset);

	if (p != MAP_FAILED && !is_idle() && !am_real_is_own(__builtin_return_address(0))) {
		if (flags & MAP_FIXED)
			gone((uintptr_t)p, n, AM_HERE);
		came((uintptr_t)p, n, AM_HERE);
	}
	return p;
}

AM_EXPORT void *mmap64(void *at, size_t n, int protection, int flags, int fd, off_t offset)
	__attribute__((alias("mmap")));

AM_EXPORT int munmap(void *p, size_t n)
{
	if (!is_idle() && !am_real_is_own(__builtin_return_address(0)))
		gone((uintptr_t)p, n, AM_HERE);
	return am_real.munmap ? am_real.munmap(p, n) : (int)syscall(SYS_munmap, p, n);
}
