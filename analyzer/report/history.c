/*
 * Critical sections seen lately: see history.h. Runs in the drain thread and in tools, a few
 * nanoseconds per lock operation.
 */
/* SPDX-License-Identifier: MIT */
#include "history.h"

#include <assert.h>
#include <string.h>

#include "atommon/mem.h"

/* Threads share slots by id modulo SLOTS; the newest owner of a slot wins. */
enum { SLOTS = 4096 };

struct lane {
	uint32_t thread;
	uint32_t n_held;
	uint64_t n_closed;
	struct am_section held[AM_HELD]; /* in order of acquisition */
	struct am_section closed[AM_SECTIONS];
};

struct am_history {
	struct am_mem *mem;
	struct lane *lane[SLOTS];
};

struct am_history *am_history_new(struct am_mem *mem)
{
	struct am_history *h = am_mem_alloc(mem, sizeof *h);

	if (h)
		h->mem = mem;
	return h;
}

void am_history_free(struct am_history *h)
{
	if (!h)
		return;
	for (unsigned i = 0; i < SLOTS; i++)
		am_mem_free(h->mem, h->lane[i], sizeof **h->lane);
	am_mem_free(h->mem, h, sizeof *h);
}

static struct lane *lane_of(struct am_history *h, uint32_t thread)
{
	struct lane **at = &h->lane[thread % SLOTS];

	if (!*at) {
		*at = am_mem_alloc(h->mem, sizeof **at);
		if (!*at)
			return NULL;
		(*at)->thread = thread;
	}
	if ((*at)->thread != thread) {
		(*at)->thread = thread;
		(*at)->n_held = 0;
		(*at)->n_closed = 0;
	}
	return *at;
}

static void open_section(struct lane *l, uint64_t lock, const struct am_event *e)
{
	if (l->n_held == AM_HELD) {
		memmove(l->held, l->held + 1, (AM_HELD - 1) * sizeof *l->held);
		l->n_held--;
	}
	l->held[l->n_held++] = (struct am_section){.lock = lock, .acquired = e->index,
						   .released = AM_OPEN, .acquire_site = e->site,
						   .mode = e->kind == AM_ACQUIRE ? e->mode : 0,
						   .acquire_kind = e->kind};
}

static void close_section(struct lane *l, uint64_t lock, const struct am_event *e)
{
	for (uint32_t i = l->n_held; i-- > 0;) {
		if (l->held[i].lock != lock)
			continue;
		struct am_section *s = &l->closed[l->n_closed++ % AM_SECTIONS];
		*s = l->held[i];
		s->released = e->index;
		s->release_site = e->site;
		s->release_kind = e->kind;
		l->n_held--;
		if (i < l->n_held) /* seldom: the last one taken is mostly the first one given back */
			memmove(l->held + i, l->held + i + 1, (l->n_held - i) * sizeof *l->held);
		return;
	}
}

void am_history_event(struct am_history *h, const struct am_event *e)
{
	const bool opens = e->kind == AM_ACQUIRE || e->kind == AM_WAKE;
	const bool closes = e->kind == AM_RELEASE || e->kind == AM_WAIT;

	if (!opens && !closes)
		return;
	struct lane *l = lane_of(h, e->thread);
	const uint64_t lock = e->kind == AM_WAIT || e->kind == AM_WAKE ? e->aux : e->object;
	if (!l)
		return;
	if (opens)
		open_section(l, lock, e);
	else
		close_section(l, lock, e);
}

static unsigned insert_by_start(struct am_section *out, unsigned n, unsigned max,
				const struct am_section *s)
{
	if (n == max)
		return n;
	unsigned at = n;
	for (; at > 0 && out[at - 1].acquired > s->acquired; at--)
		out[at] = out[at - 1];
	out[at] = *s;
	return n + 1;
}

unsigned am_history_held(const struct am_history *h, uint32_t thread, uint64_t index,
			 struct am_section *out, unsigned max)
{
	const struct lane *l = h->lane[thread % SLOTS];
	unsigned n = 0;

	if (!l || l->thread != thread)
		return 0;
	const uint64_t kept = l->n_closed < AM_SECTIONS ? l->n_closed : AM_SECTIONS;
	for (uint64_t i = 1; i <= kept; i++) {
		const struct am_section *s = &l->closed[(l->n_closed - i) % AM_SECTIONS];
		assert(s->acquired < s->released);
		if (s->acquired <= index && index <= s->released)
			n = insert_by_start(out, n, max, s);
	}
	for (uint32_t i = 0; i < l->n_held; i++)
		if (l->held[i].acquired <= index)
			n = insert_by_start(out, n, max, &l->held[i]);
	return n;
}

/* Of the newest, the oldest makes room. */
static unsigned insert_newest(struct am_section *out, unsigned n, unsigned max, const struct am_section *s)
{
	if (n < max)
		return insert_by_start(out, n, max, s);
	if (!max || s->acquired <= out[0].acquired)
		return n;
	memmove(out, out + 1, (n - 1) * sizeof *out);
	return insert_by_start(out, n - 1, max, s);
}

unsigned am_history_between(const struct am_history *h, uint32_t thread, uint64_t first, uint64_t last,
			    struct am_section *out, unsigned max)
{
	const struct lane *l = h->lane[thread % SLOTS];
	unsigned n = 0;

	if (!l || l->thread != thread)
		return 0;
	const uint64_t kept = l->n_closed < AM_SECTIONS ? l->n_closed : AM_SECTIONS;
	for (uint64_t i = 1; i <= kept; i++) {
		const struct am_section *s = &l->closed[(l->n_closed - i) % AM_SECTIONS];
		if (s->acquired <= last && s->released >= first)
			n = insert_newest(out, n, max, s);
	}
	for (uint32_t i = 0; i < l->n_held; i++)
		if (l->held[i].acquired <= last)
			n = insert_newest(out, n, max, &l->held[i]);
	return n;
}
