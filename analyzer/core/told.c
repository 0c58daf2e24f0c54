/*
 * Events told by others or afterwards: each once, as an event of its thread (see told.h). Several threads
 * may tell the same begin of a region, each in a group that ends in a mark; what comes first counts. The
 * region's own thread tells it too, and may by then have more to tell.
 * A group that comes when the region's own thread is already past it is old news. Runs in the drain
 * thread; no I/O, no globals.
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/told.h"

#include "map.h"
#include "atommon/mem.h"

struct am_told {
	struct am_mem *mem;
	struct am_map threads; /* id + 1 -> stretch | events of it that were told << 32 | flags */
	uint64_t *recent;      /* the one asked for last, until one is added or removed: they come in runs */
	uint32_t recent_id;
};

enum { TOLD_SHIFT = 32 };
#define TOLD_MASK UINT64_C(0xff)
#define IS_MARKED (UINT64_C(1) << 40) /* its mark was there */
#define IS_KNOWN (UINT64_C(1) << 41)

struct am_told *am_told_new(struct am_mem *mem)
{
	struct am_told *t = am_mem_alloc(mem, sizeof *t);

	if (t)
		t->mem = mem;
	return t;
}

void am_told_free(struct am_told *t)
{
	am_map_free(&t->threads, t->mem);
	am_mem_free(t->mem, t, sizeof *t);
}

/* NULL at the memory ceiling. */
static uint64_t *state_of(struct am_told *t, uint32_t thread)
{
	if (!t->recent || t->recent_id != thread) {
		t->recent = am_map_put(&t->threads, t->mem, (uint64_t)thread + 1);
		t->recent_id = thread;
	}
	return t->recent;
}

static bool is_at(uint64_t state, uint32_t stretch)
{
	return state & IS_KNOWN && (uint32_t)state == stretch;
}

/* Is `stretch` one that its thread has left? Only the thread itself goes to another block of numbers. */
static bool is_past(uint64_t state, uint32_t stretch)
{
	const uint32_t known = (uint32_t)state;

	if (!(state & IS_KNOWN) || known == stretch)
		return false;
	return !am_mark_covers(known, stretch);
}

static const struct am_event *translate(struct am_told *t, const struct am_event *ev, struct am_event *out)
{
	/* By the thread itself, in short: no value, all in aux. */
	const bool is_own = !(ev->flags & AM_HAS_VALUE);
	const uint32_t thread = is_own ? ev->thread : (uint32_t)(ev->aux >> 32);
	const uint32_t stretch = (uint32_t)ev->aux;
	const uint64_t what = is_own ? ev->aux >> 32 : ev->value;
	const uint8_t kind = (uint8_t)what, place = (uint8_t)(what >> 8);
	uint64_t *state = state_of(t, thread);

	if (!state || kind == AM_NONE || kind == AM_TOLD || is_past(*state, stretch))
		return NULL;
	if (!is_at(*state, stretch))
		*state = stretch | IS_KNOWN;
	*out = (struct am_event){.index = ev->index, .object = ev->object, .thread = thread,
				 .site = ev->site, .kind = kind, .aux = what >> 32};
	if (kind == AM_READ || kind == AM_WRITE || kind == AM_UPDATE) {
		out->size = (uint8_t)out->aux;
		out->flags = (uint8_t)(out->aux >> 8);
		out->order = (uint8_t)(out->aux >> 16);
		out->aux = 0;
	}
	if (kind == AM_ACQUIRE || kind == AM_RELEASE) {
		out->mode = (uint8_t)out->aux;
		out->aux = 0;
	}
	if (kind == AM_MARK) {
		if (*state & IS_MARKED)
			return NULL;
		*state |= IS_MARKED;
		out->aux = stretch;
		return out;
	}
	if ((*state >> TOLD_SHIFT & TOLD_MASK) != place)
		return NULL;
	*state += UINT64_C(1) << TOLD_SHIFT;
	return out;
}

const struct am_event *am_told_event(struct am_told *t, const struct am_event *ev, struct am_event *room)
{
	const uint32_t stretch = ev->aux ? (uint32_t)ev->aux : ev->site;
	uint64_t *state;

	switch (ev->kind) {
	case AM_TOLD:
		return translate(t, ev, room);
	case AM_MARK:
		if (ev->object == AM_THREAD_OBJECT(ev->thread) && stretch &&
		    (state = state_of(t, ev->thread)))
			*state = (is_at(*state, stretch) ? *state : stretch) | IS_KNOWN | IS_MARKED;
		return ev;
	case AM_THREAD_END:
		am_map_remove(&t->threads, (uint64_t)ev->thread + 1);
		t->recent = NULL;
		return ev;
	default:
		return ev;
	}
}
