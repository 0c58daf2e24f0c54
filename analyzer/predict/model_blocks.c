/* Memory of the models value and ctp: which bytes are one object, and what they hold at first.
 * Runs in tools. */
/* SPDX-License-Identifier: MIT */
#include "model_state.h"

#include <stdio.h>
#include <stdlib.h>

/* The value of byte `address` that an access with a known value read or wrote. */
static bool byte_of(const struct am_build *b, const struct am_event *raw, uint64_t address, uint8_t *byte)
{
	if (!(raw->flags & AM_HAS_VALUE) || raw->size > 8 || address < raw->object ||
	    address - raw->object >= raw->size)
		return false;
	uint64_t value = raw->value;
	if (raw->kind == AM_UPDATE && !am_build_written(b, raw, &value))
		return false;
	*byte = (uint8_t)(value >> 8 * (address - raw->object));
	return true;
}

/* What the write itself says was there before. */
static bool byte_replaced(const struct am_event *raw, uint64_t address, uint8_t *byte)
{
	if (raw->kind != AM_WRITE || !raw->aux || raw->size > 8 || address < raw->object ||
	    address - raw->object >= raw->size)
		return false;
	*byte = (uint8_t)(~raw->aux >> 8 * (address - raw->object));
	return true;
}

/* The byte at the start of the segment: what the last write before left. */
static bool byte_before(const struct am_build *b, uint32_t cell, uint64_t address, uint8_t *byte)
{
	uint32_t last = AM_NONE;

	for (uint32_t t = 0; t < b->run->n_threads; t++) {
		const struct am_index_entry *e =
			am_index_last(b->index, cell, t, b->segment->from[t]);
		if (!e || e->last_write == AM_NONE)
			continue;
		const uint32_t w = am_run_at(b->run, t, b->index->entry[e->last_write].eid);
		last = last == AM_NONE || w > last ? w : last;
	}
	return last != AM_NONE && byte_of(b, am_run_raw(b->run, last), address, byte);
}

/* First access in recorded order to each byte tells, or does not tell, what was there before. */
static void find_initial(struct am_build *b)
{
	struct am_build_data *d = b->data;
	uint8_t *seen = am_xalloc(b->run->n_cells, 1);

	for (uint32_t e = b->low; e < b->high; e++) {
		const struct am_event *raw = am_run_raw(b->run, e);
		const struct am_run_event *r = &b->run->event.at[e];
		if (!am_build_is_shared(b, e))
			continue;
		for (uint32_t c = r->cell; c < r->cell + r->cells; c++) {
			if (seen[c]++)
				continue;
			seen[c] = 1;
			const uint32_t at = d->cell_object[am_build_root(d, c)];
			if (at == AM_NONE)
				continue; /* a free of what nobody else in the segment touches */
			const struct am_build_block *block = &d->block.at[at];
			const uint64_t end = b->run->cell_address[c + 1];
			for (uint64_t a = b->run->cell_address[c]; a < end; a++) {
				struct am_event as_read = *raw;
				uint8_t byte = 0;
				as_read.kind = AM_READ;
				if (r->reads ? byte_of(b, &as_read, a, &byte)
					     : byte_replaced(raw, a, &byte) ||
						       byte_before(b, c, a, &byte))
					am_ctp_init(b->ctp, block->object, (uint32_t)(a - block->base), 1,
						    byte);
				else
					d->first_write[c] = 1;
			}
		}
	}
	free(seen);
}

void am_build_blocks_init(struct am_build *b)
{
	struct am_build_data *d = b->data;
	const struct am_run *run = b->run;

	am_build_unite(b, false);
	for (uint32_t e = b->low; e < b->high; e++) {
		const struct am_run_event *r = &run->event.at[e];
		if (!am_build_is_shared(b, e) || am_run_raw(run, e)->kind == AM_FREE)
			continue;
		uint32_t *at = &d->cell_object[am_build_root(d, r->cell)];
		if (*at == AM_NONE) {
			*at = d->block.n;
			*vec_push(&d->block) = (struct am_build_block){.base = UINT64_MAX};
		}
		struct am_build_block *block = &d->block.at[*at];
		const uint64_t low = run->cell_address[r->cell];
		const uint64_t high = run->cell_address[r->cell + r->cells];
		block->base = low < block->base ? low : block->base;
		block->end = high > block->end ? high : block->end;
	}
	for (uint32_t i = 0; i < d->block.n; i++) {
		struct am_build_block *block = &d->block.at[i];
		char name[32];
		snprintf(name, sizeof name, "%#lx", (unsigned long)block->base);
		block->object = am_ctp_data(b->ctp, name, (uint32_t)(block->end - block->base));
	}
	for (uint32_t e = b->low; e < b->high; e++) {
		const struct am_run_event *r = &run->event.at[e];
		const struct am_event *raw = am_run_raw(run, e);
		if (!am_build_is_shared(b, e) || raw->kind == AM_FREE)
			continue;
		const struct am_build_block *block = &d->block.at[d->cell_object[am_build_root(d, r->cell)]];
		if (raw->size && (raw->object - block->base) % raw->size)
			b->ctp->objects[block->object].aligned = false;
	}
	find_initial(b);
}
