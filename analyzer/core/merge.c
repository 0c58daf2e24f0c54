/*
 * The merge: records of each thread in, one order that really happened out. Runs in the drain
 * thread inside the host and in tools: memory only from am_mem, no stdio, no system call of its
 * own.
 *
 * The rule is that of event.h: a numbered record goes when its number is its slot's next. The order
 * in which the numbers were taken is one order that satisfies the rule, so some record can always
 * go as long as every record taken before it was fed; threads that are idle or blocked hold up
 * nobody.
 *
 * Nested records. A signal handler that interrupts a record writes its own records first, though
 * the interrupted one may have taken its number before them. So while the head of a queue is a
 * nested record that cannot go, the record it interrupted (the first after it that is not nested)
 * may go first; and a nested record may overtake the head when both wait for the same slot and its
 * number is the smaller one, which proves that the head interrupted it. Nothing else leaves program
 * order.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/core/merge_state.h"
#include "atommon/mem.h"

#include <assert.h>
#include <string.h>

enum {
	QUEUE_UNITS = 256,	/* first queue of a thread */
	QUEUE_KEEP = 64 * 1024, /* an empty queue larger than this is given back */
	INNER_SCAN = 64,	/* nested records looked at for one that the head interrupted */
};

/* ---- threads ------------------------------------------------------------------------------- */

static size_t thread_home(uint32_t id, size_t cap)
{
	return (size_t)((uint64_t)id * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (cap - 1);
}

static struct merge_thread *find_thread(const struct am_merge *m, uint32_t id)
{
	if (!m->thread_cap)
		return NULL;
	for (size_t i = thread_home(id, m->thread_cap); m->thread[i];
	     i = (i + 1) & (m->thread_cap - 1))
		if (m->thread[i]->id == id)
			return m->thread[i];
	return NULL;
}

static void place_thread(struct merge_thread **table, size_t cap, struct merge_thread *t)
{
	size_t i = thread_home(t->id, cap);
	while (table[i])
		i = (i + 1) & (cap - 1);
	table[i] = t;
}

static bool reserve_threads(struct am_merge *m, size_t n)
{
	if (m->thread_cap >= 2 * n)
		return true;
	const size_t cap = m->thread_cap ? 2 * m->thread_cap : 64;
	struct merge_thread **table = am_mem_alloc(m->mem, cap * sizeof *table);
	if (!table)
		return false;
	for (size_t i = 0; i < m->thread_cap; i++)
		if (m->thread[i])
			place_thread(table, cap, m->thread[i]);
	am_mem_free(m->mem, m->thread, m->thread_cap * sizeof *m->thread);
	m->thread = table;
	m->thread_cap = cap;
	return true;
}

static struct merge_thread *add_thread(struct am_merge *m, uint32_t id)
{
	if (!reserve_threads(m, m->n_threads + 1) || !merge_park_reserve(m, m->n_threads + 1))
		return NULL;
	struct merge_thread *t = am_mem_alloc(m->mem, sizeof *t);
	if (!t)
		return NULL;
	t->id = id;
	place_thread(m->thread, m->thread_cap, t);
	m->n_threads++;
	return t;
}

/* A thread that ended and has nothing queued; its id is never used again. */
static void drop_thread(struct am_merge *m, struct merge_thread *t)
{
	const size_t mask = m->thread_cap - 1;
	size_t i = thread_home(t->id, m->thread_cap);

	assert(!t->parked && !t->is_runnable && t->head == t->tail);
	while (m->thread[i] != t)
		i = (i + 1) & mask;
	for (size_t j = (i + 1) & mask; m->thread[j]; j = (j + 1) & mask) {
		const size_t want = thread_home(m->thread[j]->id, m->thread_cap);
		if (((j - want) & mask) >= ((j - i) & mask)) {
			m->thread[i] = m->thread[j];
			i = j;
		}
	}
	m->thread[i] = NULL;
	m->n_threads--;
	am_mem_free(m->mem, t->units, t->cap * sizeof *t->units);
	am_mem_free(m->mem, t, sizeof *t);
}

/* ---- queues -------------------------------------------------------------------------------- */

static bool queue_room(struct am_merge *m, struct merge_thread *t, size_t n)
{
	const size_t used = t->tail - t->head;

	if (t->cap - t->tail >= n)
		return true;
	if (t->head >= used &&
	    t->cap - used >= n) { /* moving costs no more than what was consumed */
		if (used)
			memcpy(t->units, t->units + t->head, used * sizeof *t->units);
	} else {
		size_t cap = t->cap ? t->cap : QUEUE_UNITS;
		while (cap < used + n)
			cap *= 2;
		if (cap < 2 * used)
			cap *= 2;
		struct am_unit *units = am_mem_alloc(m->mem, cap * sizeof *units);
		if (!units)
			return false;
		if (used)
			memcpy(units, t->units + t->head, used * sizeof *units);
		am_mem_free(m->mem, t->units, t->cap * sizeof *t->units);
		t->units = units;
		t->cap = cap;
	}
	t->scan = t->scan > t->head ? t->scan - t->head : 0;
	t->head = 0;
	t->tail = used;
	return true;
}

bool am_merge_feed(struct am_merge *m, uint32_t thread, const struct am_unit *units, size_t n)
{
	struct merge_thread *t = find_thread(m, thread);
	uint64_t records = 0;

	if (n == 0)
		return true;
	if (!t && !(t = add_thread(m, thread)))
		return false;
	if (!queue_room(m, t, n))
		return false;
	memcpy(t->units + t->tail, units, n * sizeof *units);
	for (size_t i = 0; i < n; i++) {
		const enum am_kind kind = am_unit_kind(units + i);
		records += kind != AM_EXT && kind != AM_NONE;
	}
	t->tail += n;
	m->pending += records;
	if (!t->parked || t->units[t->head].w0 & AM_R_NESTED)
		merge_make_runnable(m, t);
	return true;
}

/* ---- passing on ---------------------------------------------------------------------------- */

struct am_unit *merge_cond_unit(struct am_unit *u)
{
	const size_t n = am_record_units(u);
	for (size_t i = 1; i < n; i++)
		if (am_unit_kind(u + i) == AM_EXT && am_unit_detail(u + i) == AM_X_COND)
			return u + i;
	return NULL;
}

static bool has_two_numbers(const struct am_unit *u)
{
	const enum am_kind kind = am_unit_kind(u);
	return kind == AM_WAIT || kind == AM_WAKE;
}

struct merge_key merge_next_key(const struct am_unit *u)
{
	if (has_two_numbers(u)) {
		const struct am_unit *c = merge_cond_unit((struct am_unit *)(uintptr_t)u);
		if (c && !(c->w0 & AM_MERGE_COND_DONE))
			return (struct merge_key){am_slot_of(c->w0 >> AM_R_OBJECT_SHIFT),
						  (uint32_t)c->w1};
	}
	return (struct merge_key){am_record_slot(u), (uint32_t)u->w1};
}

/* Consume a number if it is next. A number that already went (only in a damaged stream, or after a
 * hole was closed too early) does not hold up its record. */
static inline bool take(struct am_merge *m, struct merge_key key)
{
	struct merge_slot *s = &m->slot[key.slot];
	const int32_t ahead = (int32_t)(key.number - s->next);

	if (ahead > 0)
		return false;
	if (ahead == 0) {
		s->next++;
		if (s->waiters)
			merge_wake(m, key.slot);
	}
	return true;
}

/* May this numbered record go? Consumes its numbers. */
static bool take_record(struct am_merge *m, struct am_unit *u)
{
	if (has_two_numbers(u)) {
		struct am_unit *c = merge_cond_unit(u);
		if (c && !(c->w0 & AM_MERGE_COND_DONE)) {
			if (!take(m, merge_next_key(u)))
				return false;
			c->w0 |= AM_MERGE_COND_DONE;
		}
	}
	return take(m, (struct merge_key){am_record_slot(u), (uint32_t)u->w1});
}

static inline void pass(struct am_merge *m, struct merge_thread *t, const struct am_unit *u)
{
	struct am_event e;

	am_record_decode(u, &e);
	e.index = m->index++;
	e.thread = t->id;
	am_expr_follow(&t->expr, &e);
	t->has_ended |= e.kind == AM_THREAD_END;
	m->pending--;
	m->out(m->ctx, &e);
}

/* The record goes although others before it wait: leave a blank of its size in the queue. */
static void pass_early(struct am_merge *m, struct merge_thread *t, struct am_unit *u)
{
	pass(m, t, u);
	u->w0 = AM_NONE | (u->w0 & (AM_R_NESTED | UINT64_C(3) << AM_R_EXT_SHIFT));
}

static bool is_blank(const struct am_unit *u)
{
	return am_unit_kind(u) == AM_NONE;
}

/* Keys whose number has come, by whatever way, are no reason to wait any more. */
static void forget_old_keys(struct am_merge *m, struct merge_thread *t)
{
	for (unsigned k = 0; k < KEYS; k++)
		if (t->parked & 1u << k &&
		    (int32_t)(t->key[k].number - m->slot[t->key[k].slot].next) <= 0)
			merge_unpark(m, t, k);
}

static void wait_for(struct am_merge *m, struct merge_thread *t, unsigned which,
		     const struct am_unit *u)
{
	const struct merge_key key = merge_next_key(u);

	if (t->parked & 1u << which) {
		if (t->key[which].slot == key.slot && t->key[which].number == key.number)
			return;
		merge_unpark(m, t, which);
	}
	merge_park(m, t, which, key);
}

/* The record that the nested head interrupted, if it is queued. */
static struct am_unit *find_outer(struct merge_thread *t)
{
	if (t->scan < t->head)
		t->scan = t->head;
	while (t->scan < t->tail) {
		struct am_unit *u = t->units + t->scan;
		if (t->scan + am_record_units(u) > t->tail)
			return NULL;
		if (!(u->w0 & AM_R_NESTED))
			return u;
		t->scan += am_record_units(u);
	}
	return NULL;
}

/* A nested record that the head interrupted: same slot, smaller number. The smallest one. */
static struct am_unit *find_inner(struct merge_thread *t)
{
	const struct merge_key head = merge_next_key(t->units + t->head);
	struct am_unit *best = NULL;
	uint32_t best_number = head.number;
	size_t at = t->head;

	for (unsigned i = 0; i < INNER_SCAN; i++) {
		at += am_record_units(t->units + at);
		if (at >= t->tail || at + am_record_units(t->units + at) > t->tail)
			break;
		struct am_unit *u = t->units + at;
		if (!(u->w0 & AM_R_NESTED))
			break;
		if (is_blank(u) || !(u->w0 & AM_R_SEQ))
			continue;
		const struct merge_key key = merge_next_key(u);
		if (key.slot == head.slot && (int32_t)(key.number - best_number) < 0) {
			best = u;
			best_number = key.number;
		}
	}
	return best;
}

static bool pass_early_or_wait(struct am_merge *m, struct merge_thread *t, unsigned which,
			       struct am_unit *u)
{
	if (!u || is_blank(u) || !(u->w0 & AM_R_SEQ))
		return false;
	if (take_record(m, u)) {
		pass_early(m, t, u);
		return true;
	}
	wait_for(m, t, which, u);
	return false;
}

/* The head waits for its number. True if something went early instead: try again. */
static bool head_is_blocked(struct am_merge *m, struct merge_thread *t)
{
	struct am_unit *u = t->units + t->head;

	forget_old_keys(m, t);
	wait_for(m, t, KEY_HEAD, u);
	if (!(u->w0 & AM_R_NESTED))
		return false;
	const bool outer_went = pass_early_or_wait(m, t, KEY_OUTER, find_outer(t));
	const bool inner_went = pass_early_or_wait(m, t, KEY_INNER, find_inner(t));
	return outer_went || inner_went;
}

static void run_thread(struct am_merge *m, struct merge_thread *t)
{
	struct am_unit *const units = t->units;
	const size_t tail = t->tail;
	size_t at = t->head;

	while (at < tail) {
		struct am_unit *u = units + at;
		const size_t n = am_record_units(u);
		if (at + n > tail)
			break;
		if (u->w0 & AM_R_SEQ && !take_record(m, u)) {
			t->head = at;
			if (!head_is_blocked(m, t))
				return;
			continue;
		}
		if (!is_blank(u))
			pass(m, t, u);
		at += n;
	}
	t->head = at;
	if (t->parked)
		forget_old_keys(m, t);
	if (at < tail)
		return;
	t->head = t->tail = t->scan = 0;
	if (t->has_ended && !t->parked && !t->is_runnable) {
		drop_thread(m, t);
	} else if (t->cap > QUEUE_KEEP) {
		am_mem_free(m->mem, t->units, t->cap * sizeof *t->units);
		t->units = NULL;
		t->cap = 0;
	}
}

uint64_t am_merge_run(struct am_merge *m)
{
	const uint64_t before = m->index;

	while (m->runnable) {
		struct merge_thread *t = m->runnable;
		m->runnable = t->next;
		t->is_runnable = false;
		run_thread(m, t);
	}
	return m->index - before;
}

uint64_t am_merge_pending(const struct am_merge *m)
{
	return m->pending;
}

struct am_merge *am_merge_new(struct am_mem *mem, am_event_fn *out, void *ctx)
{
	struct am_merge *m = am_mem_alloc(mem, sizeof *m);

	if (!m)
		return NULL;
	m->mem = mem;
	m->out = out;
	m->ctx = ctx;
	return m;
}

void am_merge_free(struct am_merge *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->thread_cap; i++) {
		struct merge_thread *t = m->thread[i];
		if (!t)
			continue;
		am_mem_free(m->mem, t->units, t->cap * sizeof *t->units);
		am_mem_free(m->mem, t, sizeof *t);
	}
	am_mem_free(m->mem, m->thread, m->thread_cap * sizeof *m->thread);
	am_mem_free(m->mem, m->park, m->park_cap * sizeof *m->park);
	am_mem_free(m->mem, m, sizeof *m);
}
