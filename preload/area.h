/* SPDX-License-Identifier: MIT */
/*
 * The library's memory: the mapped ring file (ringfile.h), or the same layout in anonymous memory
 * when nothing is recorded or no file can be had; and the ceiling ATOMMON_MEM_MAX on all of it.
 */
#ifndef ATOMMON_PRELOAD_AREA_H
#define ATOMMON_PRELOAD_AREA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "atommon/ringfile.h"

struct am_area {
	struct am_ringfile *file;
	struct am_ringdir *rings;
	struct am_ringthread *threads;
	struct am_ringmodule *modules;
	uint64_t *sites; /* site_words each */
	struct am_ringstring *strings;
	char *bytes;
	uint32_t site_words;
	bool is_in_file; /* survives a kill */
	uint64_t limit, used; /* bytes of ATOMMON_MEM_MAX */
};
extern struct am_area am_area;

/* Make it. `path` is that of the trace; NULL: in memory. Falls back to memory with one message.
 * False: not even that (no memory). */
bool am_area_open(const char *path, uint64_t mem_max, uint32_t frames, size_t ring_bytes);

/* Space for a ring, zeroed; `offset` in the file, 0 if not there. NULL at the ceiling. The caller
 * holds the lane lock. */
void *am_area_ring(size_t bytes, uint64_t *offset);

/* Other memory, zeroed, page granularity; NULL at the ceiling. Never given back before the end. */
void *am_area_map(size_t bytes);

/* Take bytes from (give back to) the ceiling. */
bool am_area_take(uint64_t bytes);
void am_area_give(uint64_t bytes);

/* The process ends by itself and all rings are in the trace: the file is not needed any more. */
void am_area_delete(void);

/* Zeros, without touching the pages in between. For static memory. */
void am_area_wipe(void *p, size_t bytes);

/* After fork, in the child: forget the parent's. */
void am_area_forget(void);

static inline uint32_t am_ringtable_used(const struct am_ringtable *t)
{
	const uint32_t n = __atomic_load_n(&t->count, __ATOMIC_ACQUIRE);
	return n < t->capacity ? n : t->capacity;
}

/* Claim the next entry; UINT32_MAX when the table is full. */
static inline uint32_t am_ringtable_claim(struct am_ringtable *t, uint32_t n)
{
	if (__atomic_load_n(&t->count, __ATOMIC_RELAXED) + n > t->capacity)
		return UINT32_MAX;
	const uint32_t i = __atomic_fetch_add(&t->count, n, __ATOMIC_ACQ_REL);
	return i + n <= t->capacity ? i : UINT32_MAX;
}

#endif
