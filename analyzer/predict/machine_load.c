/*
 * The state of the machine at the start of a segment, from the index: for each cell and object that
 * the segment touches, what the events before the segment have left there. Costs as much as the
 * segment; am_machine_replay is the twin.
 */
/* SPDX-License-Identifier: MIT */
#include "machine.h"

#include <assert.h>
#include <stdlib.h>

static void load_cell(struct am_machine *m, uint32_t cell)
{
	uint32_t last = AM_NONE;

	for (uint32_t t = 0; t < m->run->n_threads; t++) {
		const struct am_index_entry *e =
			am_index_last(m->index, cell, t, m->segment->from[t]);
		if (!e || e->last_write == AM_NONE)
			continue;
		const uint32_t w = am_run_at(m->run, t, m->index->entry[e->last_write].eid);
		if (last == AM_NONE || w > last)
			last = w;
	}
	am_machine_set(m, &m->last_write[cell], last);
}

/* A lock: who holds it before the segment. */
static void load_holder(struct am_machine *m, uint32_t object, uint32_t t, const struct am_index_entry *e)
{
	const struct am_event *raw = am_run_raw(m->run, am_run_at(m->run, t, e->eid));

	if (e->sum <= 0)
		return;
	if (raw->kind == AM_WAKE || (raw->kind == AM_ACQUIRE && raw->mode == AM_EXCLUSIVE))
		am_machine_set(m, &m->owner[object], t + 1);
	else
		am_machine_set(m, &m->readers[object], m->readers[object] + (uint32_t)e->sum);
}

static int by_number(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* A barrier: full generations so far, and who stands in the one that is filling. */
static void load_barrier(struct am_machine *m, uint32_t object, int64_t arrivals)
{
	const uint32_t size = m->run->object.at[object].initial, n = m->run->n_threads;
	uint32_t *last = am_xalloc(n, sizeof *last), *sorted = am_xalloc(n, sizeof *sorted), k = 0;

	if (size) {
		am_machine_set(m, &m->generation[object], (uint32_t)(arrivals / size));
		am_machine_set(m, &m->count[object], (uint32_t)(arrivals % size));
	}
	for (uint32_t t = 0; t < n; t++) {
		const struct am_index_entry *e =
			am_index_last(m->index, m->run->n_cells + object, t, m->segment->from[t]);
		last[t] = AM_NONE;
		if (!e)
			continue;
		const uint32_t x = am_run_at(m->run, t, e->eid);
		if (am_run_raw(m->run, x)->kind == AM_ARRIVE)
			last[t] = sorted[k++] = x;
	}
	if (k)
		qsort(sorted, k, sizeof *sorted, by_number);
	const uint32_t filling = m->count[object] < k ? m->count[object] : k;
	for (uint32_t t = 0; t < n; t++) {
		if (last[t] == AM_NONE)
			continue;
		const bool is_filling = filling && last[t] >= sorted[k - filling];
		am_machine_set(m, &m->arrived[t], m->generation[object] + is_filling);
	}
	free(last);
	free(sorted);
}

/* The last wait of a thread on a condition before `eid`, if it has not woken by then. */
static uint32_t pending_wait(const struct am_machine *m, uint32_t cond, uint32_t t, uint32_t eid)
{
	const struct am_index_entry *e = am_index_last(m->index, m->run->n_cells + cond, t, eid);

	while (e) {
		const uint32_t x = am_run_at(m->run, t, e->eid);
		const uint8_t kind = am_run_raw(m->run, x)->kind;
		if (kind == AM_WAIT)
			return x;
		if (kind == AM_WAKE)
			return AM_NONE;
		e = am_index_last(m->index, m->run->n_cells + cond, t, e->eid);
	}
	return AM_NONE;
}

/* The eid of thread t from which on its events have number e or more. */
static uint32_t eid_from(const struct am_run *run, uint32_t t, uint32_t e)
{
	uint32_t low = 1, high = run->thread[t].n + 1;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		if (am_run_at(run, t, mid) < e)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * A condition variable: if somebody waits when the segment begins, the notifications since the last
 * moment at which nobody waited are played again.
 */
static void load_condition(struct am_machine *m, uint32_t cond)
{
	const struct am_run *run = m->run;
	uint32_t since = AM_NONE;

	for (uint32_t t = 0; t < run->n_threads; t++) {
		const uint32_t w = pending_wait(m, cond, t, m->segment->from[t]);
		if (w < since)
			since = w;
	}
	if (since == AM_NONE)
		return;
	for (uint32_t t = 0; t < run->n_threads; t++) {
		const uint32_t w = pending_wait(m, cond, t, eid_from(run, t, since));
		if (w < since) {
			since = w;
			t = UINT32_MAX; /* and once more for all */
		}
	}
	VEC(uint32_t) play = {0};
	for (uint32_t t = 0; t < run->n_threads; t++) {
		uint32_t eid = eid_from(run, t, since) - 1;
		for (;;) {
			eid = am_index_first(m->index, run->n_cells + cond, t, eid + 1, true);
			if (eid == AM_NONE || eid >= m->segment->from[t])
				break;
			*vec_push(&play) = am_run_at(run, t, eid);
		}
	}
	if (play.n)
		qsort(play.at, play.n, sizeof *play.at, by_number);
	for (uint32_t i = 0; i < play.n; i++)
		am_machine_notify(m, play.at[i]);
	free(play.at);
}

static void load_object(struct am_machine *m, uint32_t object)
{
	const uint8_t kind = m->run->object.at[object].kind;
	int64_t sum = 0;

	for (uint32_t t = 0; t < m->run->n_threads; t++) {
		const struct am_index_entry *e =
			am_index_last(m->index, m->run->n_cells + object, t, m->segment->from[t]);
		if (!e)
			continue;
		sum += e->sum;
		if (kind != AM_OBJ_SEM && kind != AM_OBJ_BARRIER)
			load_holder(m, object, t, e);
	}
	if (kind == AM_OBJ_SEM)
		am_machine_set(m, &m->count[object], (uint32_t)(m->run->object.at[object].initial + sum));
	else if (kind == AM_OBJ_BARRIER)
		load_barrier(m, object, sum);
	if (m->token_row[object] != AM_NONE)
		load_condition(m, object);
}

static void load_key(void *ctx, uint32_t key, bool writes)
{
	struct am_machine *m = ctx;

	(void)writes;
	if (m->loaded[key])
		return;
	am_machine_set(m, &m->loaded[key], 1);
	if (key < m->run->n_cells)
		load_cell(m, key);
	else
		load_object(m, key - m->run->n_cells);
}

void am_machine_load(struct am_machine *m, const struct am_segment *segment, bool ignores_data)
{
	assert(!m->journal.n && "unload first");
	m->segment = segment;
	m->ignores_data = ignores_data;
	for (uint32_t t = 0; t < m->run->n_threads; t++)
		am_machine_set(m, &m->pos[t], segment->from[t] - 1);
	for (uint32_t t = 0; t < m->run->n_threads; t++)
		for (uint32_t eid = segment->from[t]; eid < segment->to[t]; eid++)
			am_index_keys(m->run, am_run_at(m->run, t, eid), load_key, m);
	m->region = &m->run->region.at[segment->region];
}
