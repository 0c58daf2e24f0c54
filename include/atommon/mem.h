/* SPDX-License-Identifier: MIT */
/*
 * Memory of the analysis code, also when it lives inside somebody else's process: never the
 * application's malloc. Blocks come from mmap'd chunks with size classes; a ceiling can be set, at
 * which allocation returns NULL and the caller degrades. Not thread-safe: one owner each.
 */
#ifndef ATOMMON_MEM_H
#define ATOMMON_MEM_H

#include <stddef.h>
#include <stdint.h>

struct am_mem {
	uint64_t limit; /* bytes mapped at most; 0: none */
	uint64_t mapped, peak;
	void *state; /* owned by mem.c */
};

void am_mem_init(struct am_mem *mem, uint64_t limit);
void *am_mem_alloc(struct am_mem *mem, size_t bytes);	/* zeroed; NULL at the ceiling */
void *am_mem_resize(struct am_mem *mem, void *old, size_t old_bytes, size_t bytes);
void am_mem_free(struct am_mem *mem, void *block, size_t bytes);
/* The bytes [from, to) of a block will not be used any more, before it is freed: a large one's pages may serve
 * somebody else by then. What they hold is lost. */
void am_mem_drop(void *block, size_t bytes, size_t from, size_t to);
void am_mem_destroy(struct am_mem *mem); /* unmaps everything */

#endif
