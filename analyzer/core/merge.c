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
 * Nested records. A signal handler that interrupts a record between its number and its place in the
 * ring writes its own records first, though the interrupted one has the older number. So a nested
 * record may have to wait for one behind it. It does only if the wait is a circle: from the number
 * it waits for to the record that carries it, to the head of that record's queue, to the number
 * that one waits for, and so on back to this queue (merge_nested.c). Then, and only then, the
 * record behind goes first; nothing else ever leaves program order.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/core/merge_state.h"
#include "atommon/mem.h"

#include <assert.h>
#include <string.h>

enum {
	QUEUE_UNITS = 256,	   /* first queue of a thread */
	NESTED_BUDGET = 64 * 1024, /* records looked at for one that a handler interrupted */
	QUEUE_KEEP = 64 * 1024,	   /* an empty queue larger than this is given back */
	AHEAD = 16,		   /* units: the slot of a record is fetched before its turn */
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

	assert(!t->is_parked && !t->is_runnable && !t->in_nested && t->head == t->tail);
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
		/* Half as much again, so that a fixed share of memory holds as much as it can. */
		const size_t cap = (used + n + used / 2 + QUEUE_UNITS - 1) / QUEUE_UNITS * QUEUE_UNITS;
		struct am_unit *units = am_mem_alloc(m->mem, cap * sizeof *units);
		if (!units)
			return false;
		if (used)
			memcpy(units, t->units + t->head, used * sizeof *units);
		am_mem_free(m->mem, t->units, t->cap * sizeof *t->units);
		t->units = units;
		t->cap = cap;
	}
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
	if (m->is_searching)
		return false;
	if (!t && !(t = add_thread(m, thread)))
		return false;
	if (!queue_room(m, t, n))
		return false;
	struct am_unit *out = t->units + t->tail;
	for (size_t i = 0; i < n; i++) {
		/* Straight from a ring, and not through memcpy, which a race detector in the host has
		 * replaced: it knows nothing of what makes this read safe. */
		__asm__("" : "+r"(i));
		out[i] = units[i];
		const enum am_kind kind = am_unit_kind(out + i);
		records += kind != AM_EXT && kind != AM_NONE;
	}
	t->tail += n;
	t->late = m->is_leaving ? t->late + n : 0;
	m->pending += records;
	if (!t->is_parked)
		merge_make_runnable(m, t);
	return true;
}

void am_merge_leaving(struct am_merge *m, bool is_leaving)
{
	m->is_leaving = is_leaving;
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

/* The condition's number, which comes first. */
static __attribute__((noinline)) bool take_cond(struct am_merge *m, struct am_unit *u)
{
	struct am_unit *c = merge_cond_unit(u);

	if (!c || c->w0 & AM_MERGE_COND_DONE)
		return true;
	if (!take(m, merge_next_key(u)))
		return false;
	c->w0 |= AM_MERGE_COND_DONE;
	return true;
}

/* May this numbered record go? Consumes its numbers. */
static inline bool take_record(struct am_merge *m, struct am_unit *u)
{
	if (has_two_numbers(u) && !take_cond(m, u))
		return false;
	return take(m, (struct merge_key){am_record_slot(u), (uint32_t)u->w1});
}

static inline void pass(struct am_merge *m, struct merge_thread *t, const struct am_unit *u)
{
	struct am_event *const e = m->place;

	am_record_decode(u, e);
	e->index = m->index++;
	e->thread = t->id;
	am_expr_follow(&t->expr, e);
	t->has_ended |= e->kind == AM_THREAD_END;
	m->pending--;
	m->out(m->ctx, e);
}

bool merge_pass_early(struct am_merge *m, struct merge_thread *t, struct am_unit *u)
{
	if (!take_record(m, u))
		return false;
	pass(m, t, u);
	u->w0 = AM_NONE | (u->w0 & (AM_R_NESTED | UINT64_C(3) << AM_R_EXT_SHIFT));
	return true;
}

/* The head waits for its number. */
static void block(struct am_merge *m, struct merge_thread *t, const struct am_unit *head)
{
	merge_park(m, t, merge_next_key(head));
	if (head->w0 & AM_R_NESTED && !t->in_nested) {
		t->in_nested = true;
		t->next_nested = m->nested;
		m->nested = t;
	}
}

static void run_thread(struct am_merge *m, struct merge_thread *t)
{
	/* It counts as runnable until it stops: `out` may feed it, which may also move its queue. */
	assert(!t->is_parked && t->is_runnable);
	while (t->head < t->tail) {
		struct am_unit *u = t->units + t->head;
		const size_t n = am_record_units(u);
		if (t->head + n > t->tail)
			break;
		if (t->head + AHEAD < t->tail) /* perhaps of a record, perhaps in the middle of one: no matter */
			__builtin_prefetch(&m->slot[am_record_slot(u + AHEAD)], 1);
		if (u->w0 & AM_R_SEQ && !take_record(m, u)) {
			t->is_runnable = false;
			block(m, t, u);
			return;
		}
		t->head += n;
		if (am_unit_kind(u) != AM_NONE)
			pass(m, t, u);
	}
	t->is_runnable = false;
	if (t->head < t->tail)
		return;
	t->head = t->tail = 0;
	if (t->has_ended && !t->in_nested) {
		drop_thread(m, t);
	} else if (t->cap > QUEUE_KEEP) {
		am_mem_free(m->mem, t->units, t->cap * sizeof *t->units);
		t->units = NULL;
		t->cap = 0;
	}
}

static bool break_circles(struct am_merge *m, size_t *budget)
{
	m->is_searching = true; /* with pointers into queues */
	const bool has_found = merge_break_circles(m, budget);
	m->is_searching = false;
	return has_found;
}

uint64_t am_merge_run(struct am_merge *m)
{
	const uint64_t before = m->index;
	size_t budget = NESTED_BUDGET;

	do
		while (m->runnable) {
			struct merge_thread *t = m->runnable;
			m->runnable = t->next;
			run_thread(m, t);
		}
	while (m->nested && break_circles(m, &budget));
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
	m->place = &m->own;
	return m;
}

void am_merge_place(struct am_merge *m, struct am_event *place)
{
	m->place = place ? place : &m->own;
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
