/*
 * The park table: which thread waits for which number of which slot. Open addressing, linear
 * probing, backward-shift deletion; never more than half full. Runs where the merge runs.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/core/merge_state.h"
#include "atommon/mem.h"

#include <assert.h>
#include <string.h>

static size_t home(const struct am_merge *m, struct merge_key key)
{
	const uint64_t mixed =
		((uint64_t)key.slot << 32 | key.number) * UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(mixed >> 32) & (m->park_cap - 1);
}

static void insert(struct am_merge *m, struct merge_parked entry)
{
	size_t i = home(m, entry.key);
	while (m->park[i].thread)
		i = (i + 1) & (m->park_cap - 1);
	m->park[i] = entry;
}

bool merge_park_reserve(struct am_merge *m, size_t n_threads)
{
	size_t cap = m->park_cap ? m->park_cap : 64;
	while (cap < 2 * n_threads)
		cap *= 2;
	if (cap == m->park_cap)
		return true;
	struct merge_parked *old = m->park;
	const size_t old_cap = m->park_cap;
	struct merge_parked *table = am_mem_alloc(m->mem, cap * sizeof *table);
	if (!table)
		return false;
	m->park = table;
	m->park_cap = cap;
	for (size_t i = 0; i < old_cap; i++)
		if (old[i].thread)
			insert(m, old[i]);
	am_mem_free(m->mem, old, old_cap * sizeof *old);
	return true;
}

void merge_park(struct am_merge *m, struct merge_thread *t, struct merge_key key)
{
	assert(!t->is_parked);
	assert((int32_t)(key.number - m->slot[key.slot].next) > 0);
	t->is_parked = true;
	t->parked_at = m->looks;
	t->key = key;
	m->slot[key.slot].waiters++;
	insert(m, (struct merge_parked){t, key});
}

static void delete_at(struct am_merge *m, size_t i)
{
	const size_t mask = m->park_cap - 1;
	struct merge_parked *p = &m->park[i];

	assert(m->slot[p->key.slot].waiters > 0);
	m->slot[p->key.slot].waiters--;
	p->thread->is_parked = false;
	for (size_t j = (i + 1) & mask; m->park[j].thread; j = (j + 1) & mask) {
		const size_t want = home(m, m->park[j].key);
		if (((j - want) & mask) >= ((j - i) & mask)) {
			m->park[i] = m->park[j];
			i = j;
		}
	}
	m->park[i].thread = NULL;
}

void merge_unpark(struct am_merge *m, struct merge_thread *t)
{
	size_t i = home(m, t->key);

	assert(t->is_parked);
	while (m->park[i].thread != t) {
		assert(m->park[i].thread);
		i = (i + 1) & (m->park_cap - 1);
	}
	delete_at(m, i);
}

void merge_wake(struct am_merge *m, uint32_t slot)
{
	const struct merge_key key = {slot, m->slot[slot].next};
	size_t i = home(m, key);

	for (; m->park[i].thread; i = (i + 1) & (m->park_cap - 1))
		if (m->park[i].key.slot == key.slot && m->park[i].key.number == key.number) {
			struct merge_thread *t = m->park[i].thread;
			delete_at(m, i);
			merge_make_runnable(m, t);
			return;
		}
}
