/* SPDX-License-Identifier: MIT */
/* A set of states, each an array of the same number of words, numbered in the order of their coming. */
#ifndef ATOMMON_LITMUS_STATESET_H
#define ATOMMON_LITMUS_STATESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct am_stateset {
	uint32_t words;	   /* kept per state */
	uint32_t key_words; /* of them, compared: the first ones */
	uint64_t *rows;
	uint64_t n, room;
	uint64_t *slots; /* index + 1 */
	uint64_t n_slots;
};

void am_stateset_init(struct am_stateset *set, uint32_t words, uint32_t key_words);
void am_stateset_free(struct am_stateset *set);
/* True: it is new. *index either way. */
bool am_stateset_add(struct am_stateset *set, const uint64_t *row, uint64_t *index);

static inline const uint64_t *am_stateset_row(const struct am_stateset *set, uint64_t index)
{
	return set->rows + index * set->words;
}

#endif
