/*
 * What a region is: event stream in, event stream out (see include/atommon/regions.h). Keeps for each
 * thread the locks it holds and the regions it is in. Runs in the drain thread and in tools;
 * no I/O, no globals. At the memory ceiling a thread has fewer regions, never wrong ones.
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/regions.h"

#include "map.h"
#include "atommon/mem.h"

#include <assert.h>
#include <string.h>

enum { FIRST = 4 };

struct held {
	uint64_t lock;
	uint32_t count; /* a lock taken shared may be taken again */
	bool is_parked; /* held while a thread was started: no section any more */
};

/* A region that is open and no section. */
struct call {
	uint64_t function; /* MARKED: not a function */
	uint32_t name;
};
#define MARKED UINT64_MAX

struct thread {
	struct held *held;
	struct call *call;
	uint32_t n_held, cap_held, n_calls, cap_calls;
	uint32_t n_waiting; /* the outermost of the calls: ended by a wait, to begin again */
	uint32_t n_parked; /* of those held */
	uint32_t section; /* name of the open section */
	bool in_section;
};

struct am_regions {
	struct am_regions_config config;
	struct am_mem *mem;
	struct am_map threads; /* id + 1 -> struct thread * */
	struct thread *recent; /* the one asked for last: events come in runs of one thread */
	uint32_t recent_id;
	bool marked, sections, functions;
	uint64_t kinds; /* of events that it has to do with: a bit each */
};

#define BIT(kind) (UINT64_C(1) << (kind))
_Static_assert(AM_KINDS <= 64, "one bit each");

/* ---- the list ------------------------------------------------------------------------------ */

static bool is_word(const char *at, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(at, word, n) == 0;
}

static const char *parse(const char *atomic, struct am_regions *r)
{
	for (const char *at = atomic;; at++) {
		const size_t n = strcspn(at, ",");
		if (is_word(at, n, "marked"))
			r->marked = true;
		else if (is_word(at, n, "sections"))
			r->sections = true;
		else if (n > 3 && memcmp(at, "fn:", 3) == 0)
			r->functions = true;
		else
			return at;
		at += n;
		if (!*at)
			return NULL;
	}
}

const char *am_regions_bad(const char *atomic)
{
	struct am_regions unused = {0};

	return parse(atomic, &unused);
}

struct am_regions *am_regions_new(const struct am_regions_config *config, struct am_mem *mem)
{
	struct am_regions *r = am_mem_alloc(mem, sizeof *r);

	if (!r)
		return NULL;
	r->config = *config;
	r->mem = mem;
	parse(config->atomic, r);
	r->kinds = BIT(AM_BEGIN) | BIT(AM_END) | BIT(AM_WAIT) | BIT(AM_WAKE) | BIT(AM_LOST) | BIT(AM_THREAD_END);
	if (r->sections)
		r->kinds |= BIT(AM_ACQUIRE) | BIT(AM_RELEASE) | BIT(AM_FORK) | BIT(AM_JOIN);
	if (r->functions)
		r->kinds |= BIT(AM_ENTER) | BIT(AM_LEAVE_FN);
	return r;
}

/* ---- threads ------------------------------------------------------------------------------- */

static struct thread *thread_of(struct am_regions *r, uint32_t id)
{
	if (r->recent && r->recent_id == id)
		return r->recent;
	uint64_t *place = am_map_put(&r->threads, r->mem, (uint64_t)id + 1);
	if (!place)
		return NULL;
	if (!*place)
		*place = (uint64_t)(uintptr_t)am_mem_alloc(r->mem, sizeof(struct thread));
	r->recent = (struct thread *)(uintptr_t)*place;
	r->recent_id = id;
	return r->recent;
}

static void thread_free(struct am_regions *r, struct thread *t)
{
	r->recent = NULL;
	am_mem_free(r->mem, t->held, sizeof *t->held * t->cap_held);
	am_mem_free(r->mem, t->call, sizeof *t->call * t->cap_calls);
	am_mem_free(r->mem, t, sizeof *t);
}

void am_regions_free(struct am_regions *r)
{
	for (uint32_t i = 0; r->threads.at && i < 1u << r->threads.log; i++)
		if (r->threads.at[i].key && r->threads.at[i].value)
			thread_free(r, (struct thread *)(uintptr_t)r->threads.at[i].value);
	am_map_free(&r->threads, r->mem);
	am_mem_free(r->mem, r, sizeof *r);
}

/* Room for one more in an array of this thread. */
static void *widen(struct am_regions *r, void *at, uint32_t n, uint32_t *cap, size_t bytes)
{
	if (n < *cap)
		return at;
	const uint32_t more = *cap ? *cap * 2 : FIRST;
	void *p = am_mem_resize(r->mem, at, *cap * bytes, more * bytes);
	if (p)
		*cap = more;
	return p;
}

/* ---- made events --------------------------------------------------------------------------- */

static void pass(struct am_regions *r, const struct am_event *ev)
{
	r->config.out(r->config.out_ctx, ev);
}

static void make(struct am_regions *r, const struct am_event *from, enum am_kind kind, uint32_t name)
{
	const struct am_event made = {
		.index = from->index,
		.object = name,
		.thread = from->thread,
		.site = from->site,
		.kind = (uint8_t)kind,
	};
	pass(r, &made);
}

/* ---- sections ------------------------------------------------------------------------------ */

static struct held *held_find(struct thread *t, uint64_t lock)
{
	for (uint32_t i = 0; i < t->n_held; i++)
		if (t->held[i].lock == lock)
			return &t->held[i];
	return NULL;
}

static void section_begin(struct am_regions *r, struct thread *t, const struct am_event *ev, uint64_t lock)
{
	if (t->in_section)
		return;
	t->section = r->config.section ? r->config.section(r->config.ctx, lock, ev->site) : 0;
	t->in_section = true;
	make(r, ev, AM_BEGIN, t->section);
}

static void section_end(struct am_regions *r, struct thread *t, const struct am_event *ev)
{
	if (t->in_section)
		make(r, ev, AM_END, t->section);
	t->in_section = false;
}

/* The lock is held from here on; comes before the event itself. */
static void take(struct am_regions *r, struct thread *t, const struct am_event *ev, uint64_t lock)
{
	struct held *h = held_find(t, lock);

	if (h) {
		h->count++;
	} else {
		h = widen(r, t->held, t->n_held, &t->cap_held, sizeof *t->held);
		if (!h)
			return;
		t->held = h;
		t->held[t->n_held++] = (struct held){lock, 1, false};
		h = &t->held[t->n_held - 1];
	}
	if (!h->is_parked)
		section_begin(r, t, ev, lock);
}

/* Drop one hold; true if no lock is held any more, save parked ones. */
static bool drop(struct thread *t, uint64_t lock)
{
	struct held *h = held_find(t, lock);

	if (!h || --h->count)
		return false;
	t->n_parked -= h->is_parked;
	*h = t->held[--t->n_held];
	assert(t->n_parked <= t->n_held);
	return t->n_held == t->n_parked;
}

/*
 * A thread is started: what runs from here on runs beside it by design, so the section is no promise
 * any more. Locks held over this are often held for good (a global interpreter lock, a gate at which
 * the new thread waits), so they are no outer section of what comes later either.
 */
static void on_fork(struct am_regions *r, const struct am_event *ev)
{
	const uint64_t *place = am_map_find(&r->threads, (uint64_t)ev->thread + 1);
	struct thread *t = place ? (struct thread *)(uintptr_t)*place : NULL;

	pass(r, ev);
	if (!t)
		return;
	section_end(r, t, ev);
	for (uint32_t i = 0; i < t->n_held; i++)
		t->held[i].is_parked = true;
	t->n_parked = t->n_held;
}

/* A wait for the end of a thread is a wait for others, like that on a condition: what was before it and what
 * comes after are no one step. Locks that are held go on being held. */
static void on_join(struct am_regions *r, const struct am_event *ev)
{
	const uint64_t *place = am_map_find(&r->threads, (uint64_t)ev->thread + 1);

	pass(r, ev);
	if (place)
		section_end(r, (struct thread *)(uintptr_t)*place, ev);
}

static void on_lock(struct am_regions *r, struct thread *t, const struct am_event *ev)
{
	switch (ev->kind) {
	case AM_ACQUIRE:
		take(r, t, ev, ev->object);
		pass(r, ev);
		break;
	case AM_WAKE:
		if (ev->aux)
			take(r, t, ev, ev->aux);
		pass(r, ev);
		break;
	case AM_RELEASE:
		pass(r, ev);
		if (drop(t, ev->object))
			section_end(r, t, ev);
		break;
	default:
		assert(ev->kind == AM_WAIT);
		pass(r, ev);
		drop(t, ev->aux);
		section_end(r, t, ev); /* even if it waits with another lock held */
		break;
	}
}

/* ---- marked ones and functions ------------------------------------------------------------- */

static void open_call(struct am_regions *r, struct thread *t, uint64_t function, uint32_t name)
{
	struct call *c = widen(r, t->call, t->n_calls, &t->cap_calls, sizeof *t->call);

	if (!c)
		return;
	t->call = c;
	t->call[t->n_calls++] = (struct call){function, name};
}

/* One of them is over. False: it is that already, by a wait. */
static bool close_call(struct thread *t, uint32_t at)
{
	const bool is_open = at >= t->n_waiting;

	t->n_waiting -= !is_open;
	t->n_calls--;
	memmove(&t->call[at], &t->call[at + 1], (t->n_calls - at) * sizeof *t->call);
	return is_open;
}

/* An end without a begin passes on: the checkers know what to do with it. */
static void on_mark(struct am_regions *r, const struct am_event *ev)
{
	struct thread *t = thread_of(r, ev->thread);
	uint32_t at = t ? t->n_calls : 0;

	if (ev->kind == AM_BEGIN) {
		if (t)
			open_call(r, t, MARKED, (uint32_t)ev->object);
		pass(r, ev);
		return;
	}
	while (at && t->call[at - 1].function != MARKED)
		at--;
	if (!at || close_call(t, at - 1))
		pass(r, ev);
}

/*
 * Who waits on a condition asks others to change what the region has seen: nobody means a region to be
 * atomic over that. So it ends there, and begins again where the wait returns.
 */
static void on_wait(struct am_regions *r, struct thread *t, const struct am_event *ev)
{
	for (uint32_t i = t->n_calls; i > t->n_waiting; i--)
		make(r, ev, AM_END, t->call[i - 1].name);
	t->n_waiting = t->n_calls;
}

static void on_wake(struct am_regions *r, struct thread *t, const struct am_event *ev)
{
	for (uint32_t i = 0; i < t->n_waiting; i++)
		make(r, ev, AM_BEGIN, t->call[i].name);
	t->n_waiting = 0;
}

static void on_enter(struct am_regions *r, struct thread *t, const struct am_event *ev)
{
	const uint32_t name = r->config.function ? r->config.function(r->config.ctx, ev) : (uint32_t)ev->aux;
	const uint32_t n = t->n_calls;

	if (name)
		open_call(r, t, ev->object, name);
	if (t->n_calls > n)
		make(r, ev, AM_BEGIN, name);
	pass(r, ev);
}

/* Calls above it that were left by longjmp or an exception end with it; marked regions do not. */
static void on_leave(struct am_regions *r, struct thread *t, const struct am_event *ev)
{
	uint32_t at = t->n_calls;

	pass(r, ev);
	while (at && t->call[at - 1].function != ev->object)
		at--;
	if (!at)
		return;
	for (uint32_t i = t->n_calls; i >= at; i--) {
		const struct call c = t->call[i - 1];
		if (c.function != MARKED && close_call(t, i - 1))
			make(r, ev, AM_END, c.name);
	}
}

/* ---- events -------------------------------------------------------------------------------- */

static void end_all(struct am_regions *r, struct thread *t, const struct am_event *ev)
{
	section_end(r, t, ev);
	while (t->n_calls) {
		const uint32_t name = t->call[t->n_calls - 1].name;
		if (close_call(t, t->n_calls - 1))
			make(r, ev, AM_END, name);
	}
	t->n_held = t->n_parked = 0;
}

/* A hole, or the end of the thread: nothing of it is open any more. */
static void on_end(struct am_regions *r, const struct am_event *ev)
{
	const uint64_t *place = am_map_find(&r->threads, (uint64_t)ev->thread + 1);
	struct thread *t = place ? (struct thread *)(uintptr_t)*place : NULL;

	if (t)
		end_all(r, t, ev);
	if (ev->kind == AM_THREAD_END) {
		if (t)
			thread_free(r, t);
		am_map_remove(&r->threads, (uint64_t)ev->thread + 1);
	}
	pass(r, ev);
}

/* One of these kinds. */
static __attribute__((noinline)) void by_kind(struct am_regions *r, const struct am_event *ev)
{
	struct thread *t;

	switch (ev->kind) {
	case AM_BEGIN:
	case AM_END:
		if (r->marked)
			on_mark(r, ev);
		return;
	case AM_ACQUIRE:
	case AM_RELEASE:
	case AM_WAIT:
	case AM_WAKE:
		t = thread_of(r, ev->thread);
		if (t && ev->kind == AM_WAKE)
			on_wake(r, t, ev);
		if (t && r->sections)
			on_lock(r, t, ev);
		else
			pass(r, ev);
		if (t && ev->kind == AM_WAIT)
			on_wait(r, t, ev);
		return;
	case AM_ENTER:
	case AM_LEAVE_FN:
		if (!(t = thread_of(r, ev->thread)))
			pass(r, ev);
		else if (ev->kind == AM_ENTER)
			on_enter(r, t, ev);
		else
			on_leave(r, t, ev);
		return;
	case AM_FORK:
		on_fork(r, ev);
		return;
	case AM_JOIN:
		on_join(r, ev);
		return;
	case AM_LOST:
	case AM_THREAD_END:
		on_end(r, ev);
		return;
	default:
		pass(r, ev);
		return;
	}
}

void am_regions_event(struct am_regions *r, const struct am_event *ev)
{
	if (r->kinds >> (ev->kind & 63) & 1)
		by_kind(r, ev);
	else
		pass(r, ev);
}
