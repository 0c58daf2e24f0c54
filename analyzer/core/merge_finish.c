/*
 * The end of a stream: close holes, or give up what lies behind a cut. A hole is a number that was
 * taken and whose record was never written, because the process died in between; no pending record
 * carries it. Runs once, where the merge runs.
 *
 * All pending numbers are collected and sorted once; a parked thread's slot is then moved on to the
 * smallest pending number that it can still reach. In a stream whose records were damaged there may
 * be no hole and still no record that can go; then heads are let go against the rule, a few at
 * first.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/core/merge_state.h"
#include "atommon/mem.h"

#include <assert.h>
#include <string.h>

struct numbers {
	struct merge_key *key; /* sorted by slot, then by distance from the slot's next number */
	size_t n, cap;
	uint32_t *first; /* per slot: index of its first key; [slot + 1] ends it */
	uint32_t *cursor;
};

typedef void visit_fn(struct numbers *all, struct merge_key key);

/* Every number that records still in the queues carry. */
static void each_number(const struct am_merge *m, struct numbers *all, visit_fn *visit)
{
	for (size_t i = 0; i < m->thread_cap; i++) {
		const struct merge_thread *t = m->thread[i];
		if (!t)
			continue;
		for (size_t at = t->head; at < t->tail; at += am_record_units(t->units + at)) {
			struct am_unit *u = t->units + at;
			if (at + am_record_units(u) > t->tail)
				break;
			if (!(u->w0 & AM_R_SEQ))
				continue;
			const struct merge_key next = merge_next_key(u);
			const struct merge_key last = {am_record_slot(u), (uint32_t)u->w1};
			visit(all, next);
			if (next.slot != last.slot || next.number != last.number)
				visit(all, last);
		}
	}
}

static void count_number(struct numbers *all, struct merge_key key)
{
	all->first[key.slot + 1]++;
	all->n++;
}

static void add_number(struct numbers *all, struct merge_key key)
{
	all->key[all->cursor[key.slot]++] = key;
}

/* Heap sort of one slot's numbers by distance: no memory, no recursion. */
static void sift(struct merge_key *k, size_t i, size_t n, uint32_t base)
{
	for (;;) {
		size_t child = 2 * i + 1;
		if (child >= n)
			return;
		if (child + 1 < n &&
		    (int32_t)(k[child].number - base) < (int32_t)(k[child + 1].number - base))
			child++;
		if ((int32_t)(k[i].number - base) >= (int32_t)(k[child].number - base))
			return;
		const struct merge_key tmp = k[i];
		k[i] = k[child];
		k[child] = tmp;
		i = child;
	}
}

static void sort_slot(struct merge_key *k, size_t n, uint32_t base)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(k, i, n, base);
	while (n > 1) {
		n--;
		const struct merge_key tmp = k[0];
		k[0] = k[n];
		k[n] = tmp;
		sift(k, 0, n, base);
	}
}

static bool collect(struct am_merge *m, struct numbers *all)
{
	all->first = am_mem_alloc(m->mem, (AM_COUNTERS + 1) * sizeof *all->first);
	all->cursor = am_mem_alloc(m->mem, AM_COUNTERS * sizeof *all->cursor);
	if (!all->first || !all->cursor)
		return false;
	each_number(m, all, count_number);
	all->cap = all->n ? all->n : 1;
	all->key = am_mem_alloc(m->mem, all->cap * sizeof *all->key);
	if (!all->key)
		return false;
	for (size_t s = 0; s < AM_COUNTERS; s++) {
		all->first[s + 1] += all->first[s];
		all->cursor[s] = all->first[s];
	}
	each_number(m, all, add_number);
	for (size_t s = 0; s < AM_COUNTERS; s++) {
		assert(all->cursor[s] == all->first[s + 1]);
		sort_slot(all->key + all->first[s], all->first[s + 1] - all->first[s],
			  m->slot[s].next);
		all->cursor[s] = all->first[s];
	}
	return true;
}

static void release(struct am_merge *m, struct numbers *all)
{
	am_mem_free(m->mem, all->key, all->cap * sizeof *all->key);
	am_mem_free(m->mem, all->cursor, AM_COUNTERS * sizeof *all->cursor);
	am_mem_free(m->mem, all->first, (AM_COUNTERS + 1) * sizeof *all->first);
}

/* If the slot's next number is a hole, go on to the next pending one; returns the numbers skipped.
 */
static uint64_t close_hole(struct am_merge *m, struct numbers *all, uint32_t slot)
{
	struct merge_slot *s = &m->slot[slot];
	uint32_t *at = &all->cursor[slot];
	const uint32_t end = all->first[slot + 1];

	while (*at < end && (int32_t)(all->key[*at].number - s->next) < 0)
		++*at;
	if (*at == end || all->key[*at].number == s->next)
		return 0;
	const uint64_t skipped = all->key[*at].number - s->next;
	s->next = all->key[*at].number;
	merge_wake(m, slot);
	return skipped;
}

static bool is_late(const struct am_merge *m, const struct merge_thread *t)
{
	return m->is_leaving && t->tail - t->head <= t->late;
}

static uint64_t close_holes(struct am_merge *m, struct numbers *all)
{
	uint64_t skipped = 0;

	for (size_t i = 0; i < m->thread_cap; i++) {
		const struct merge_thread *t = m->thread[i];
		if (t && t->is_parked && !is_late(m, t))
			skipped += close_hole(m, all, t->key.slot);
	}
	return skipped;
}

/* What was logged while the rings were read for the last time and waits for what was not read any more: it
 * happened after the moment up to which everything is there. */
static uint64_t give_up_late(struct am_merge *m)
{
	uint64_t given_up = 0;

	for (size_t i = 0; i < m->thread_cap; i++) {
		struct merge_thread *t = m->thread[i];
		if (!t || !t->is_parked || !is_late(m, t))
			continue;
		for (; t->head < t->tail; t->head += am_record_units(t->units + t->head)) {
			const bool is_record = am_unit_kind(t->units + t->head) != AM_NONE;
			m->pending -= is_record;
			given_up += is_record;
		}
		t->head = t->tail;
		merge_unpark(m, t);
	}
	return given_up;
}

/* The same for slots that only records behind a nested one wait for. */
static uint64_t close_all_holes(struct am_merge *m, struct numbers *all)
{
	uint64_t skipped = 0;

	for (uint32_t slot = 0; slot < AM_COUNTERS; slot++)
		skipped += close_hole(m, all, slot);
	return skipped;
}

/* Let up to `most` heads go although their numbers are not next. */
static uint64_t force(struct am_merge *m, uint64_t most)
{
	uint64_t forced = 0;

	for (size_t i = 0; i < m->thread_cap && forced < most; i++) {
		struct merge_thread *t = m->thread[i];
		if (!t || !t->is_parked)
			continue;
		struct am_unit *u = t->units + t->head;
		struct am_unit *c = merge_cond_unit(u);
		u->w0 &= ~(uint64_t)AM_R_SEQ;
		if (c)
			c->w0 |= AM_MERGE_COND_DONE;
		merge_unpark(m, t);
		merge_make_runnable(m, t);
		forced++;
	}
	return forced;
}

/* Threads whose number went by without waking them: two records of a damaged stream carried it. */
static void wake_stragglers(struct am_merge *m)
{
	for (size_t i = 0; i < m->thread_cap; i++) {
		struct merge_thread *t = m->thread[i];
		if (t && t->is_parked &&
		    (int32_t)(t->key.number - m->slot[t->key.slot].next) <= 0) {
			merge_unpark(m, t);
			merge_make_runnable(m, t);
		}
	}
}

uint64_t am_merge_close_holes(struct am_merge *m)
{
	struct numbers all = {0};
	uint64_t holes = 0, skipped;

	am_merge_run(m);
	if (m->pending && collect(m, &all))
		while ((skipped = close_holes(m, &all)) > 0) {
			holes += skipped;
			am_merge_run(m);
		}
	release(m, &all);
	return holes;
}

static bool waits_long(const struct am_merge *m, const struct merge_thread *t)
{
	return t && t->is_parked && m->looks - t->parked_at >= 2;
}

/* The slot's next number, if records with later ones are there and none with this. */
static bool is_hole(const struct am_merge *m, const struct numbers *all, uint32_t slot)
{
	for (uint32_t at = all->first[slot]; at < all->first[slot + 1]; at++)
		if ((int32_t)(all->key[at].number - m->slot[slot].next) >= 0)
			return all->key[at].number != m->slot[slot].next;
	return false;
}

size_t am_merge_holes(struct am_merge *m, struct am_hole *hole, size_t max)
{
	struct numbers all = {0};
	bool is_needed = false;
	size_t n = 0;

	m->looks++;
	for (size_t i = 0; i < m->thread_cap && !is_needed; i++)
		is_needed = waits_long(m, m->thread[i]);
	if (is_needed && collect(m, &all))
		for (size_t i = 0; i < m->thread_cap && n < max; i++) {
			if (!waits_long(m, m->thread[i]))
				continue;
			const uint32_t slot = m->thread[i]->key.slot;
			size_t k = 0;
			while (k < n && hole[k].counter != slot)
				k++;
			if (k == n && is_hole(m, &all, slot))
				hole[n++] = (struct am_hole){slot, m->slot[slot].next};
		}
	release(m, &all);
	return n;
}

uint64_t am_merge_close(struct am_merge *m, const struct am_hole *hole, size_t n)
{
	struct numbers all = {0};
	uint64_t closed = 0;

	am_merge_run(m);
	if (m->pending && collect(m, &all))
		for (size_t i = 0; i < n; i++)
			if (m->slot[hole[i].counter].next == hole[i].number)
				closed += close_hole(m, &all, hole[i].counter);
	release(m, &all);
	am_merge_run(m);
	return closed;
}

uint64_t am_merge_finish(struct am_merge *m)
{
	struct numbers all = {0};
	uint64_t holes = 0, most = 1;

	while (am_merge_run(m)) /* its search for circles has a budget each time */
		;
	if (m->pending == 0)
		return 0;
	const bool known = collect(m, &all);
	while (m->pending) {
		uint64_t skipped = known ? close_holes(m, &all) : 0;
		wake_stragglers(m);
		if (!m->runnable && !skipped && give_up_late(m))
			continue;
		if (!m->runnable && known && m->nested)
			skipped += close_all_holes(m, &all);
		holes += skipped;
		if (!m->runnable && !skipped) {
			const uint64_t forced = force(m, most);
			if (forced == 0)
				break; /* only the start of a record is left */
			holes += forced;
			most *= 2;
		}
		while (am_merge_run(m))
			;
	}
	release(m, &all);
	return holes;
}

uint64_t am_merge_abandon(struct am_merge *m, unsigned cause)
{
	uint64_t forgotten = 0;

	am_merge_run(m);
	for (size_t i = 0; i < m->thread_cap; i++) {
		struct merge_thread *t = m->thread[i];
		struct am_event lost = {.kind = AM_LOST, .mode = (uint8_t)cause};
		if (!t)
			continue;
		for (size_t at = t->head; at < t->tail; at += am_record_units(t->units + at))
			lost.aux += am_unit_kind(t->units + at) != AM_NONE;
		if (t->is_parked)
			merge_unpark(m, t);
		t->head = t->tail = 0;
		if (lost.aux == 0)
			continue;
		lost.thread = t->id;
		lost.index = m->index++;
		forgotten += lost.aux;
		m->out(m->ctx, &lost);
	}
	m->pending = 0;
	return forgotten;
}
