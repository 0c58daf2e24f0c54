/* The index of touches. n log n to build, log n to ask. */
/* SPDX-License-Identifier: MIT */
#include "index.h"

#include <stdlib.h>
#include <string.h>

void am_index_keys(const struct am_run *run, uint32_t event, am_key_fn *fn, void *ctx)
{
	const struct am_run_event *r = &run->event.at[event];

	if (r->reads || r->writes)
		for (uint32_t c = r->cell; c < r->cell + r->cells; c++)
			fn(ctx, c, r->writes);
	if (r->object != AM_NONE)
		fn(ctx, run->n_cells + r->object, true);
	if (r->mutex != AM_NONE)
		fn(ctx, run->n_cells + r->mutex, true);
}

struct item {
	uint32_t key, thread, eid;
	bool writes;
};

struct fill {
	VEC(struct item) items;
	uint32_t thread, eid;
};

static void add(void *ctx, uint32_t key, bool writes)
{
	struct fill *fill = ctx;
	*vec_push(&fill->items) = (struct item){key, fill->thread, fill->eid, writes};
}

static int by_place(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->eid < y->eid ? -1 : x->eid > y->eid;
}

void am_index_build(struct am_index *index, const struct am_run *run)
{
	struct fill fill = {0};

	for (uint32_t e = 0; e < run->event.n; e++) {
		fill.thread = run->event.at[e].thread;
		fill.eid = run->event.at[e].eid;
		am_index_keys(run, e, add, &fill);
	}
	const uint32_t n = fill.items.n;
	const struct item *item = fill.items.at;
	if (n)
		qsort(fill.items.at, n, sizeof *fill.items.at, by_place);
	index->run = run;
	index->n_keys = run->n_cells + run->object.n;
	index->start = am_xalloc((size_t)index->n_keys + 1, sizeof *index->start);
	index->entry = am_xalloc(n, sizeof *index->entry);
	for (uint32_t i = 0; i < n; i++)
		index->start[item[i].key + 1]++;
	for (uint32_t k = 0; k < index->n_keys; k++)
		index->start[k + 1] += index->start[k];
	for (uint32_t i = n; i-- > 0;) {
		struct am_index_entry *e = &index->entry[i];
		const bool same = i + 1 < n && item[i + 1].key == item[i].key &&
				  item[i + 1].thread == item[i].thread;
		*e = (struct am_index_entry){item[i].thread, item[i].eid,
					     item[i].writes ? i
					     : same	    ? index->entry[i + 1].next_write
							    : AM_NONE};
	}
	free(fill.items.at);
}

void am_index_free(struct am_index *index)
{
	free(index->start);
	free(index->entry);
	memset(index, 0, sizeof *index);
}

uint32_t am_index_first(const struct am_index *index, uint32_t key, uint32_t thread, uint32_t eid,
			bool writes)
{
	uint32_t low = index->start[key], high = index->start[key + 1];
	const uint32_t end = high;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		const struct am_index_entry *e = &index->entry[mid];
		if (e->thread < thread || (e->thread == thread && e->eid < eid))
			low = mid + 1;
		else
			high = mid;
	}
	if (low == end || index->entry[low].thread != thread)
		return AM_NONE;
	if (!writes)
		return index->entry[low].eid;
	const uint32_t w = index->entry[low].next_write;
	return w == AM_NONE ? AM_NONE : index->entry[w].eid;
}
