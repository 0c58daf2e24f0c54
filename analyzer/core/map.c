/*
 * Open addressing with linear probing and backward-shift removal (no tombstones, so a map that
 * lives long does not decay). At most three quarters full.
 */
/* SPDX-License-Identifier: MIT */
#include "map.h"

#include "atommon/mem.h"

#include <assert.h>
#include <string.h>

enum { FIRST_LOG = 4 };

static uint32_t home_of(const struct am_map *map, uint64_t key)
{
	return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - map->log));
}

static uint32_t mask_of(const struct am_map *map)
{
	return (1u << map->log) - 1;
}

/* Position of the key, or of the hole where it belongs. */
static uint32_t probe(const struct am_map *map, uint64_t key)
{
	const uint32_t mask = mask_of(map);
	uint32_t i = home_of(map, key);

	while (map->at[i].key && map->at[i].key != key)
		i = (i + 1) & mask;
	return i;
}

uint64_t *am_map_find(const struct am_map *map, uint64_t key)
{
	assert(key);
	if (!map->at)
		return NULL;
	struct am_map_entry *e = &map->at[probe(map, key)];
	return e->key ? &e->value : NULL;
}

static bool grow(struct am_map *map, struct am_mem *mem)
{
	struct am_map wider = {.log = map->at ? map->log + 1 : FIRST_LOG, .n = map->n};

	wider.at = am_mem_alloc(mem, sizeof *wider.at << wider.log);
	if (!wider.at)
		return false;
	if (map->at) {
		for (uint32_t i = 0; i <= mask_of(map); i++)
			if (map->at[i].key)
				wider.at[probe(&wider, map->at[i].key)] = map->at[i];
		am_mem_free(mem, map->at, sizeof *map->at << map->log);
	}
	*map = wider;
	return true;
}

uint64_t *am_map_put(struct am_map *map, struct am_mem *mem, uint64_t key)
{
	uint64_t *known = am_map_find(map, key);

	if (known)
		return known;
	if ((!map->at || (map->n + 1) * UINT64_C(4) > (UINT64_C(3) << map->log)) && !grow(map, mem))
		return NULL;
	struct am_map_entry *e = &map->at[probe(map, key)];
	assert(!e->key);
	e->key = key;
	e->value = 0;
	map->n++;
	return &e->value;
}

void am_map_remove(struct am_map *map, uint64_t key)
{
	if (!map->at)
		return;
	const uint32_t mask = mask_of(map);
	uint32_t hole = probe(map, key);

	if (!map->at[hole].key)
		return;
	for (uint32_t i = (hole + 1) & mask; map->at[i].key; i = (i + 1) & mask) {
		const uint32_t home = home_of(map, map->at[i].key);
		/* May it move back to the hole? Only if its home is not behind the hole. */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			map->at[hole] = map->at[i];
			hole = i;
		}
	}
	map->at[hole] = (struct am_map_entry){0};
	map->n--;
}

void am_map_clear(struct am_map *map)
{
	if (map->at)
		memset(map->at, 0, sizeof *map->at << map->log);
	map->n = 0;
}

void am_map_free(struct am_map *map, struct am_mem *mem)
{
	if (map->at)
		am_mem_free(mem, map->at, sizeof *map->at << map->log);
	*map = (struct am_map){0};
}
