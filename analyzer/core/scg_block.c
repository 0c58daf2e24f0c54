/*
 * Blocks of memory in the summarised conflict graph: a free is a write of its block; what is allocated or
 * destroyed becomes another entity, and so does a large block that is freed (AM_FREED_MAX). Runs wherever the checker runs; no I/O, no
 * globals.
 */
/* SPDX-License-Identifier: MIT */
#include "scg.h"

static void erase_word(struct am_checker *c, struct am_now *now, uint64_t key, uint8_t mask)
{
	struct am_entity *e;

	while ((e = am_table_find(c, key, mask))) {
		if (am_mask_of(e) & ~mask) {
			am_table_reserve(c);
			e = am_table_find(c, key, mask);
			e = e ? am_table_cut(c, e, mask) : NULL;
		}
		if (e && now)
			am_access_edges(c, now, e, mask);
		if (e)
			am_table_remove(c, e);
	}
}

static void erase(struct am_checker *c, struct am_now *now, uint64_t space, uint64_t from, uint64_t bytes)
{
	if (!bytes || !c->n_entities)
		return;
	const uint64_t last = from + (bytes - 1 < UINT64_MAX - from ? bytes - 1 : UINT64_MAX - from);
	const uint64_t first_word = from >> 3, last_word = last >> 3;
	const uint8_t head = (uint8_t)(0xff << (from & 7)), tail = (uint8_t)(0xff >> (7 - (last & 7)));

#define MASK_AT(word) ((uint8_t)(((word) == first_word ? head : 0xff) & ((word) == last_word ? tail : 0xff)))
	if (last_word - first_word < am_table_lines(c)) {
		for (uint64_t word = first_word; word <= last_word; word++)
			erase_word(c, now, (space | word) + 1, MASK_AT(word));
		return;
	}
	for (uint32_t i = 0; i < am_table_lines(c);) { /* the block is larger than the table */
		const uint64_t key = c->table[i].key, word = (key - 1) & ~AM_LOCK_SPACE;
		if (!key || ((key - 1) & AM_LOCK_SPACE) != space || word < first_word || word > last_word ||
		    !(am_mask_of(&c->table[i]) & MASK_AT(word)))
			i++;
		else
			erase_word(c, now, key, MASK_AT(word));
	}
#undef MASK_AT
}

void am_access_block(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	const struct am_vertex *v = &c->vertex[slot];
	const bool counts = ev->kind == AM_FREE && c->data && !v->muted && !v->blind && ev->aux;

	if (counts && ev->aux <= AM_FREED_MAX) {
		am_access_freed(c, slot, ev);
	} else if (counts) {
		am_access_count(c, slot, ev->index);
		struct am_now now = {.event = ev,
				     .moment = AM_MOMENT(ev->index, slot),
				     .begin = c->front[slot].begin,
				     .object = ev->object,
				     .size = ev->aux,
				     .slot = slot,
				     .writes = true};
		erase(c, &now, 0, ev->object, ev->aux);
		am_cycle_report(c);
	} else {
		erase(c, NULL, 0, ev->object, ev->aux);
	}
	if (c->locks)
		erase(c, NULL, AM_LOCK_SPACE, ev->object, ev->aux);
}

void am_access_erase(struct am_checker *c, uint64_t space, uint64_t from, uint64_t bytes)
{
	erase(c, NULL, space, from, bytes);
}
