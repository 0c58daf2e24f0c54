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

/* What an operation adds to the state of its object: a held lock, a post, an arrival. */
static int32_t effect(const struct am_run *run, uint32_t key, uint32_t thread, uint32_t eid)
{
	const uint32_t e = am_run_at(run, thread, eid);
	const bool is_mutex = key == run->n_cells + run->event.at[e].mutex;

	if (key < run->n_cells)
		return 0;
	switch (run->raw.at[e].kind) {
	case AM_ACQUIRE:
	case AM_POST:
	case AM_ARRIVE:
		return 1;
	case AM_RELEASE:
	case AM_TAKE:
		return -1;
	case AM_WAIT:
		return is_mutex ? -1 : 0;
	case AM_WAKE:
		return is_mutex ? 1 : 0;
	default:
		return 0;
	}
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
		*e = (struct am_index_entry){.thread = item[i].thread,
					     .eid = item[i].eid,
					     .next_write = item[i].writes ? i
							   : same ? index->entry[i + 1].next_write
								  : AM_NONE};
	}
	for (uint32_t i = 0; i < n; i++) {
		struct am_index_entry *e = &index->entry[i];
		const bool same = i && item[i - 1].key == item[i].key && e[-1].thread == e->thread;
		e->last_write = e->next_write == i ? i : same ? e[-1].last_write : AM_NONE;
		e->sum = (same ? e[-1].sum : 0) + effect(run, item[i].key, item[i].thread, item[i].eid);
	}
	free(fill.items.at);
}

void am_index_free(struct am_index *index)
{
	free(index->start);
	free(index->entry);
	memset(index, 0, sizeof *index);
}

/* The first entry of the key at or after (thread, eid). */
static uint32_t lower_bound(const struct am_index *index, uint32_t key, uint32_t thread, uint32_t eid)
{
	uint32_t low = index->start[key], high = index->start[key + 1];

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		const struct am_index_entry *e = &index->entry[mid];
		if (e->thread < thread || (e->thread == thread && e->eid < eid))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint32_t am_index_first(const struct am_index *index, uint32_t key, uint32_t thread, uint32_t eid,
			bool writes)
{
	const uint32_t at = lower_bound(index, key, thread, eid);

	if (at == index->start[key + 1] || index->entry[at].thread != thread)
		return AM_NONE;
	if (!writes)
		return index->entry[at].eid;
	const uint32_t w = index->entry[at].next_write;
	return w == AM_NONE ? AM_NONE : index->entry[w].eid;
}

const struct am_index_entry *am_index_last(const struct am_index *index, uint32_t key, uint32_t thread,
					   uint32_t eid)
{
	const uint32_t at = lower_bound(index, key, thread, eid);

	if (at == index->start[key] || index->entry[at - 1].thread != thread)
		return NULL;
	return &index->entry[at - 1];
}
