/* Open addressing over full rows: equal means equal, not "same hash". Ends the tool without memory. */
/* SPDX-License-Identifier: MIT */
#include "stateset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void am_stateset_init(struct am_stateset *set, uint32_t words, uint32_t key_words)
{
	assert(key_words <= words && words);
	*set = (struct am_stateset){ .words = words, .key_words = key_words, .n_slots = 1024 };
	set->slots = calloc(set->n_slots, sizeof(*set->slots));
	if (!set->slots)
		abort();
}

void am_stateset_free(struct am_stateset *set)
{
	free(set->rows);
	free(set->slots);
}

static uint64_t hash(const uint64_t *row, uint32_t words)
{
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15);

	for (uint32_t i = 0; i < words; i++) {
		h ^= row[i];
		h *= UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	return h;
}

static void grow(struct am_stateset *set)
{
	const uint64_t n_slots = set->n_slots * 2;
	uint64_t *slots = calloc(n_slots, sizeof(*slots));

	if (!slots)
		abort();
	for (uint64_t i = 0; i < set->n; i++) {
		uint64_t at = hash(am_stateset_row(set, i), set->key_words) & (n_slots - 1);
		while (slots[at])
			at = (at + 1) & (n_slots - 1);
		slots[at] = i + 1;
	}
	free(set->slots);
	set->slots = slots;
	set->n_slots = n_slots;
}

bool am_stateset_add(struct am_stateset *set, const uint64_t *row, uint64_t *index)
{
	const size_t key_bytes = set->key_words * sizeof(*row);
	uint64_t at = hash(row, set->key_words) & (set->n_slots - 1);

	for (; set->slots[at]; at = (at + 1) & (set->n_slots - 1)) {
		*index = set->slots[at] - 1;
		if (!memcmp(am_stateset_row(set, *index), row, key_bytes))
			return false;
	}
	if (set->n == set->room) {
		set->room = set->room ? set->room * 2 : 256;
		uint64_t *rows = realloc(set->rows, set->room * set->words * sizeof(*rows));
		if (!rows)
			abort();
		set->rows = rows;
	}
	memcpy(set->rows + set->n * set->words, row, set->words * sizeof(*row));
	*index = set->n++;
	set->slots[at] = set->n;
	if (set->n * 2 > set->n_slots)
		grow(set);
	return true;
}
