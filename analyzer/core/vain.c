/*
 * Reads and attempts in vain: event stream in, event stream out (see include/atommon/vain.h). Keeps for
 * each thread the reads of its open look, and for all a queue of what is held back. Runs in the drain thread
 * and in tools; no I/O, no globals. At the memory ceiling more reads are in doubt, or count; none is dropped that
 * counts.
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/vain.h"

#include "vain_state.h"
#include "atommon/mem.h"
#include "atommon/waited.h"

#include <assert.h>

enum { FIRST_ROOM = 64 };

#define GONE UINT64_MAX	   /* no longer in the queue: in doubt */
#define ANYWHERE UINT32_MAX /* told by another thread, so its place is not comparable */
#define NOWHERE (UINT32_MAX - 1)

struct am_vain *am_vain_new(const struct am_vain_config *config, struct am_mem *mem)
{
	struct am_vain *v = am_mem_alloc(mem, sizeof *v);

	if (!v)
		return NULL;
	v->config = *config;
	v->mem = mem;
	return v;
}

/* ---- threads ------------------------------------------------------------------------------- */

static __attribute__((noinline)) struct am_vain_thread *thread_search(struct am_vain *v, uint32_t id)
{
	const uint64_t *place = am_map_find(&v->threads, (uint64_t)id + 1);
	if (!place || !*place)
		return NULL;
	v->recent = (struct am_vain_thread *)(uintptr_t)*place;
	v->recent_id = id;
	return v->recent;
}

/* Events come in runs of one thread. */
static inline struct am_vain_thread *thread_find(struct am_vain *v, uint32_t id)
{
	return v->recent && v->recent_id == id ? v->recent : thread_search(v, id);
}

static struct am_vain_thread *thread_make(struct am_vain *v, uint32_t id)
{
	struct am_vain_thread *t = thread_find(v, id);
	uint64_t *place;

	if (t || !(place = am_map_put(&v->threads, v->mem, (uint64_t)id + 1)))
		return t;
	*place = (uint64_t)(uintptr_t)am_mem_alloc(v->mem, sizeof(struct am_vain_thread));
	return thread_find(v, id);
}

static void thread_remove(struct am_vain *v, uint32_t id)
{
	struct am_vain_thread *t = thread_find(v, id);

	assert(!t || t->look.n == 0);
	am_mem_free(v->mem, t, sizeof *t);
	am_map_remove(&v->threads, (uint64_t)id + 1);
	v->recent = NULL;
}

void am_vain_free(struct am_vain *v)
{
	for (uint32_t i = 0; v->threads.at && i < 1u << v->threads.log; i++)
		if (v->threads.at[i].key)
			am_mem_free(v->mem, (void *)(uintptr_t)v->threads.at[i].value, sizeof(struct am_vain_thread));
	am_map_free(&v->threads, v->mem);
	am_mem_free(v->mem, v->queue, sizeof *v->queue * v->room);
	am_mem_free(v->mem, v->held, sizeof *v->held * AM_VAIN_HELD);
	am_mem_free(v->mem, v, sizeof *v);
}

/* ---- the queue ----------------------------------------------------------------------------- */

static struct am_vain_entry *entry_at(struct am_vain *v, uint64_t position)
{
	return &v->queue[position & (v->room - 1)];
}

static void settle(struct am_vain *v, const struct am_event *ev, enum am_vain_fate fate)
{
	struct am_event bare;

	if (ev->order & (AM_ORDER_FAILED | AM_ORDER_AGAIN)) {
		/* An update that stands for a read before it does not commute. */
		bare = *ev;
		bare.order &= AM_ORDER_MASK;
		ev = &bare;
	}
	if (fate != AM_VAIN_IN_VAIN) {
		v->config.out(v->config.ctx, ev);
		return;
	}
	v->stats.dropped++;
	if (v->config.drop)
		v->config.drop(v->config.ctx, ev);
}

static inline bool can_advance(struct am_vain *v)
{
	return v->first < v->next && entry_at(v, v->first)->fate != AM_VAIN_OPEN;
}

/* What is known to count, or not to, goes on. */
static void advance(struct am_vain *v)
{
	while (can_advance(v)) {
		const struct am_vain_entry *e = entry_at(v, v->first++);
		settle(v, &e->event, (enum am_vain_fate)e->fate);
	}
}

static bool widen(struct am_vain *v)
{
	const uint32_t more = v->room ? v->room * 2 : FIRST_ROOM;

	if (v->config.room && more > v->config.room)
		return false;
	struct am_vain_entry *queue = am_mem_alloc(v->mem, sizeof *queue * more);
	if (!queue)
		return false;
	for (uint64_t i = v->first; i < v->next; i++)
		queue[i & (more - 1)] = *entry_at(v, i);
	am_mem_free(v->mem, v->queue, sizeof *v->queue * v->room);
	v->queue = queue;
	v->room = more;
	return true;
}

static inline uint64_t put(struct am_vain *v, const struct am_event *ev, enum am_vain_fate fate)
{
	struct am_vain_entry *e = entry_at(v, v->next);

	e->event = *ev;
	e->fate = (uint8_t)fate;
	return v->next++;
}

/* There is no room. */
static __attribute__((noinline)) uint64_t hold_more(struct am_vain *v, const struct am_event *ev, enum am_vain_fate fate)
{
	if (widen(v))
		return put(v, ev, fate);
	const struct am_event copy = *ev; /* may be where the next to go on is put */
	am_vain_hurry(v);
	if (fate == AM_VAIN_OPEN && v->room)
		return put(v, &copy, fate);
	settle(v, &copy, fate == AM_VAIN_OPEN ? AM_VAIN_COUNTS : fate);
	v->stats.doubted += fate == AM_VAIN_OPEN;
	return GONE;
}

/* Returns its position, GONE if it went on at once. */
static inline uint64_t hold(struct am_vain *v, const struct am_event *ev, enum am_vain_fate fate)
{
	if (v->first == v->next && fate != AM_VAIN_OPEN) {
		settle(v, ev, fate);
		return GONE;
	}
	return v->next - v->first < v->room ? put(v, ev, fate) : hold_more(v, ev, fate);
}

uint64_t am_vain_held(const struct am_vain *v)
{
	return v->first < v->next ? v->first + 1 : 0;
}

/* ---- plain reads of regions ---------------------------------------------------------------- */

static void note_plain(struct am_vain *v, const struct am_event *ev, uint32_t thread)
{
	struct am_vain_thread *t = thread_find(v, thread);

	if (t && t->depth)
		am_plain_add(&t->plain, ev);
}

static void forget_plain(struct am_vain *v, struct am_vain_thread *t)
{
	v->is_news |= t->plain.n != 0;
	am_plain_clear(&t->plain);
}

/* An attempt failed. */
static void fail_plain(struct am_vain *v, struct am_vain_thread *t, const struct am_event *ev)
{
	const uint64_t index = am_plain_take(&t->plain, ev);

	if (!index)
		return;
	v->voids[v->n_voids++ % AM_VAIN_VOIDS] = index;
	v->is_news = true;
	if (v->config.undo)
		v->config.undo(v->config.ctx, index);
}

/* The thread wrote something, or did something else by which others can tell. */
static void settle_plain(struct am_vain *v, const struct am_event *ev)
{
	struct am_vain_thread *t = thread_find(v, ev->thread);

	if (!t || !t->plain.n)
		return;
	if (ev->kind == AM_WRITE)
		v->is_news |= am_plain_take(&t->plain, ev) != 0;
	else
		forget_plain(v, t);
}

/* ---- looks --------------------------------------------------------------------------------- */

/* It is known now: the read leaves its look. */
static void decide(struct am_vain *v, struct am_vain_thread *t, uint32_t at, enum am_vain_fate fate)
{
	const struct am_read *r = am_look_at(&t->look, at);
	const uint64_t position = r->position, index = r->index;
	const bool is_attempt = r->is_attempt;

	am_look_remove(&t->look, at);
	v->n_reads--;
	v->is_news = true;
	if (is_attempt)
		return;
	if (position != GONE) {
		entry_at(v, position)->fate = (uint8_t)fate;
	} else if (fate == AM_VAIN_IN_VAIN) {
		v->voids[v->n_voids++ % AM_VAIN_VOIDS] = index;
		if (v->config.undo)
			v->config.undo(v->config.ctx, index);
	}
}

/* As if each were decided: it counts. */
static void end_look(struct am_vain *v, struct am_vain_thread *t)
{
	for (uint32_t i = 0; i < t->look.n; i++) {
		const struct am_read *r = am_look_at(&t->look, i);
		if (!r->is_attempt && r->position != GONE)
			entry_at(v, r->position)->fate = AM_VAIN_COUNTS;
	}
	v->is_news |= t->look.n > 0;
	v->n_reads -= t->look.n;
	am_look_clear(&t->look);
}

/* It need not wait any longer: in doubt from here on. */
static void let_go(struct am_vain *v, struct am_read *r)
{
	if (r->position == GONE)
		return;
	entry_at(v, r->position)->fate = AM_VAIN_COUNTS;
	r->position = GONE;
	v->stats.doubted++;
}

/* The thread wrote something. What it read counts, unless that was for an attempt that is still to come. */
static void settle_look(struct am_vain *v, struct am_vain_thread *t, const struct am_event *write)
{
	if (!am_look_is_open(&t->look) && !am_look_may_have(&t->look, write))
		return; /* all are settled, which only atomic ones are */
	for (uint32_t i = t->look.n; i-- > 0;) {
		struct am_read *r = am_look_at(&t->look, i);
		if (r->is_atomic && !am_read_is_of(r, write)) {
			let_go(v, r);
			r->is_settled = true;
		} else {
			decide(v, t, i, AM_VAIN_COUNTS);
		}
	}
}

/* Those reads of the look that this read makes in vain. */
static void supersede(struct am_vain *v, struct am_vain_thread *t, const struct am_event *ev)
{
	for (uint32_t i = am_look_may_have(&t->look, ev) ? t->look.n : 0; i-- > 0;) {
		const struct am_read *r = am_look_at(&t->look, i);
		if (am_read_is_of(r, ev) && !r->is_settled &&
		    (ev->order & AM_ORDER_AGAIN || r->site == ev->site || r->site == ANYWHERE || r->waited != t->waited))
			decide(v, t, i, AM_VAIN_IN_VAIN);
	}
}

/* An update found what was read before: those reads may as well have been made together with it. */
static void confirm(struct am_vain *v, struct am_vain_thread *t, const struct am_event *ev)
{
	for (uint32_t i = am_look_may_have(&t->look, ev) ? t->look.n : 0; i-- > 0;) {
		const struct am_read *r = am_look_at(&t->look, i);
		if (am_read_is_of(r, ev) && (ev->order & AM_ORDER_AGAIN || (r->has_value && ev->flags & AM_HAS_VALUE &&
								     r->value == ev->value)))
			decide(v, t, i, AM_VAIN_IN_VAIN);
	}
}

/*
 * A lock is released, and nothing was written under it: what was read under it stands for what was read of the same
 * before it was taken (a test that is made once more under the lock).
 */
static void release(struct am_vain *v, struct am_vain_thread *t)
{
	/* Numbers only rise: if the ends are alike, all are. */
	if (am_look_at(&t->look, 0)->acquired == am_look_at(&t->look, t->look.n - 1)->acquired)
		return;
	for (uint32_t i = t->look.n; i-- > 0;)
		for (uint32_t k = i + 1; k < t->look.n; k++) {
			const struct am_read *r = am_look_at(&t->look, i), *later = am_look_at(&t->look, k);
			if (!r->is_settled && r->object == later->object && r->size == later->size &&
			    r->acquired < later->acquired) {
				decide(v, t, i, AM_VAIN_IN_VAIN);
				break;
			}
		}
}

/* An attempt failed: what was read of its variable is out of date, and so is what was read since then for it. */
static void fail(struct am_vain *v, struct am_vain_thread *t, const struct am_event *ev)
{
	uint32_t first = 0;

	fail_plain(v, t, ev);
	while (first < t->look.n && !am_read_is_of(am_look_at(&t->look, first), ev))
		first++;
	for (uint32_t i = t->look.n; i-- > first;)
		if (am_read_is_of(am_look_at(&t->look, i), ev) || !am_look_at(&t->look, i)->is_settled)
			decide(v, t, i, AM_VAIN_IN_VAIN);
	if (t->look.n == AM_LOOK_READS)
		decide(v, t, 0, AM_VAIN_COUNTS);
	struct am_read *r = am_look_push(&t->look, ev);
	r->position = GONE;
	r->index = UINT64_MAX;
	r->site = NOWHERE;
	r->acquired = t->acquired;
	r->waited = 0;
	r->has_value = r->is_settled = false;
	r->is_atomic = r->is_attempt = true;
	v->n_reads++;
}

static void add_read(struct am_vain *v, struct am_vain_thread *t, const struct am_event *ev, uint32_t site)
{
	if (t->look.n == AM_LOOK_READS)
		decide(v, t, 0, AM_VAIN_COUNTS);
	/* Room first: if there is none the reads so far are in doubt, this one included. */
	const uint64_t position = hold(v, ev, AM_VAIN_OPEN);
	struct am_read *r = am_look_push(&t->look, ev);
	r->position = position;
	r->index = ev->index;
	r->value = ev->value;
	r->site = site;
	r->acquired = t->acquired;
	r->waited = t->waited;
	r->has_value = ev->flags & AM_HAS_VALUE;
	r->is_atomic = ev->kind == AM_READ && ev->order & AM_ORDER_MASK;
	r->is_settled = r->is_attempt = false;
	v->n_reads++;
}

/* Atomic or volatile. */
static bool is_marked_read(const struct am_event *ev)
{
	return ev->order & AM_ORDER_MASK || ev->flags & AM_VOLATILE;
}

/* Does the thread's look go on over an event of this kind? */
static bool is_silent(enum am_kind kind)
{
	switch (kind) {
	case AM_NONE:
	case AM_MARK:
	case AM_LATE:
	case AM_TOLD:
	case AM_CLOCK:
	case AM_MODULES:
	case AM_NAME:
	case AM_EXPR:
	case AM_PIN:
	case AM_BRANCH:
	case AM_ASSERT:
	case AM_UNTAKEN:
	case AM_CALL:
	case AM_FENCE:
	case AM_ENTER:
	case AM_LEAVE_FN:
	case AM_ALLOC:
		return true;
	default:
		return false;
	}
}

static void on_read(struct am_vain *v, const struct am_event *ev)
{
	struct am_vain_thread *t = is_marked_read(ev) ? thread_make(v, ev->thread) : thread_find(v, ev->thread);

	if (!t || (!is_marked_read(ev) && !am_look_is_open(&t->look))) {
		hold(v, ev, AM_VAIN_COUNTS);
		return;
	}
	supersede(v, t, ev);
	add_read(v, t, ev, ev->site);
}

/* An access of a thread that another one tells, since it comes to the same bytes. */
static void on_late(struct am_vain *v, const struct am_event *ev)
{
	struct am_vain_thread *t = ev->mode ? NULL : thread_find(v, (uint32_t)(ev->aux >> 32));

	if (t && am_look_is_open(&t->look))
		add_read(v, t, ev, ANYWHERE);
	else
		hold(v, ev, AM_VAIN_COUNTS);
}

static void on_boundary(struct am_vain *v, const struct am_event *ev)
{
	struct am_vain_thread *t = thread_make(v, ev->thread);

	if (t) {
		if (ev->kind == AM_END && t->depth)
			t->depth--;
		if (t->depth == 0) {
			end_look(v, t);
			forget_plain(v, t);
		}
		t->depth += ev->kind == AM_BEGIN;
	}
	hold(v, ev, AM_VAIN_COUNTS);
}

static void on_other(struct am_vain *v, const struct am_event *ev)
{
	struct am_vain_thread *t = thread_find(v, ev->thread);

	if (t && t->look.n && ev->kind == AM_UPDATE)
		confirm(v, t, ev);
	if (t && t->look.n && ev->kind == AM_ACQUIRE)
		t->acquired++;
	else if (t && t->look.n && ev->kind == AM_RELEASE)
		release(v, t);
	else if (t && t->look.n && am_tells_waited(ev))
		t->waited += ev->mode == AM_OBJ_FUTEX && ev->aux;
	else if (t && t->look.n && (ev->kind == AM_WRITE || ev->kind == AM_FREE))
		settle_look(v, t, ev);
	else if (t && t->look.n && !is_silent((enum am_kind)ev->kind))
		end_look(v, t);
	if (t && ev->kind == AM_LOST) {
		t->depth = 0;
		forget_plain(v, t);
	}
	if (t && ev->kind == AM_THREAD_END)
		thread_remove(v, ev->thread);
	hold(v, ev, AM_VAIN_COUNTS);
}

static inline void on_plain(struct am_vain *v, const struct am_event *ev)
{
	switch (ev->kind) {
	case AM_READ:
		if (!is_marked_read(ev))
			note_plain(v, ev, ev->thread);
		break;
	case AM_LATE:
		if (!ev->mode)
			note_plain(v, ev, (uint32_t)(ev->aux >> 32));
		break;
	case AM_BEGIN: /* on_boundary */
	case AM_END:
	case AM_ACQUIRE:
	case AM_RELEASE:
	case AM_FREE:
		break;
	default:
		if (!is_silent((enum am_kind)ev->kind) && !am_tells_waited(ev))
			settle_plain(v, ev);
	}
}

void am_vain_event(struct am_vain *v, const struct am_event *ev)
{
	const bool is_access = ev->kind == AM_READ || ev->kind == AM_UPDATE;
	const bool was_open = v->n_reads || v->n_held;

	if (!am_is_waited_on(ev) && !(ev->order & AM_ORDER_FAILED))
		on_plain(v, ev);
	if (am_is_waited_on(ev)) { /* as if it were a lock's own */
		hold(v, ev, ev->order & AM_ORDER_FAILED ? AM_VAIN_IN_VAIN : AM_VAIN_COUNTS);
	} else if (is_access && ev->order & AM_ORDER_FAILED) {
		struct am_vain_thread *t = thread_make(v, ev->thread);
		if (t)
			fail(v, t, ev);
		hold(v, ev, AM_VAIN_IN_VAIN);
	} else if (ev->kind == AM_READ) {
		on_read(v, ev);
	} else if (ev->kind == AM_BEGIN || ev->kind == AM_END) {
		on_boundary(v, ev);
	} else if (!was_open && ev->kind != AM_THREAD_END && ev->kind != AM_LOST) {
		assert(v->first == v->next);
		settle(v, ev, AM_VAIN_COUNTS);
		return;
	} else if (ev->kind == AM_LATE) {
		on_late(v, ev);
	} else {
		on_other(v, ev);
	}
	if (!was_open && !v->n_reads && !v->n_held)
		return;
	if (can_advance(v))
		advance(v);
	if (v->n_held && v->is_news)
		am_vain_judge_again(v);
}

void am_vain_hurry(struct am_vain *v)
{
	for (uint32_t i = 0; v->n_reads && i < 1u << v->threads.log; i++) {
		struct am_vain_thread *t = (struct am_vain_thread *)(uintptr_t)v->threads.at[i].value;
		if (!v->threads.at[i].key || !t)
			continue;
		for (uint32_t k = 0; k < t->look.n; k++)
			let_go(v, am_look_at(&t->look, k));
	}
	advance(v);
	assert(v->first == v->next);
}

uint32_t am_vain_waits(const struct am_vain *v)
{
	return v->n_held;
}

void am_vain_settle(struct am_vain *v)
{
	for (uint32_t i = 0; v->threads.at && i < 1u << v->threads.log; i++)
		if (v->threads.at[i].key && v->threads.at[i].value)
			forget_plain(v, (struct am_vain_thread *)(uintptr_t)v->threads.at[i].value);
	am_vain_judge_again(v);
}

void am_vain_finish(struct am_vain *v)
{
	am_vain_settle(v);
	for (uint32_t i = 0; v->n_reads && i < 1u << v->threads.log; i++) {
		struct am_vain_thread *t = (struct am_vain_thread *)(uintptr_t)v->threads.at[i].value;
		while (v->threads.at[i].key && t && t->look.n)
			decide(v, t, 0, v->config.keeps_settled && am_look_at(&t->look, 0)->is_settled ? AM_VAIN_COUNTS : AM_VAIN_IN_VAIN);
	}
	advance(v);
	am_vain_judge_again(v);
	assert(v->first == v->next && v->n_held == 0);
}

void am_vain_stats(const struct am_vain *v, struct am_vain_stats *stats)
{
	*stats = v->stats;
}
