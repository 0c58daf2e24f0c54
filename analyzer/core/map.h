/*
 * A map from non-zero 64-bit keys to 64-bit values: open addressing, linear probing, memory from
 * am_mem. Used by the checkers for threads, edges and words. One owner, no locks.
 */
/* SPDX-License-Identifier: MIT */
#ifndef ATOMMON_CORE_MAP_H
#define ATOMMON_CORE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct am_mem;

struct am_map_entry {
	uint64_t key, value;
};

struct am_map {
	struct am_map_entry *at;
	uint32_t log; /* 2^log entries; at is NULL before the first insertion */
	uint32_t n;
};

/* The value's place, or NULL. Good until the next insertion or removal. */
uint64_t *am_map_find(const struct am_map *map, uint64_t key);

/* Find or insert (value 0); NULL at the memory ceiling. */
uint64_t *am_map_put(struct am_map *map, struct am_mem *mem, uint64_t key);

void am_map_remove(struct am_map *map, uint64_t key);
void am_map_clear(struct am_map *map);
void am_map_free(struct am_map *map, struct am_mem *mem);

#endif
