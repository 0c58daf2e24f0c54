/*
 * The reads of a thread's open look, oldest first: part of vain.c, which decides what becomes of them. Once a look is
 * full each read takes the place of the oldest, so they stand in a ring; and how many of them are of each class of
 * addresses is counted, for a quick no to the question whether something is among them. Runs wherever vain.c
 * does; no I/O, no globals, no memory of its own.
 */
/* SPDX-License-Identifier: MIT */
#ifndef ATOMMON_CORE_VAIN_LOOK_H
#define ATOMMON_CORE_VAIN_LOOK_H

#include "atommon/event.h"

#include <assert.h>

/* AM_LOOK_READS: of more the oldest count. */
enum { AM_LOOK_READS = 32, AM_LOOK_LOG2_CLASSES = 8, AM_LOOK_CLASSES = 1 << AM_LOOK_LOG2_CLASSES };

struct am_read {
	uint64_t position; /* in the queue */
	uint64_t index, object;
	uint32_t size, site;
	uint32_t acquired; /* locks that the thread had taken by then, since its look began or before */
	uint32_t waited;   /* how often it had waited by then */
	uint64_t value;
	bool has_value;
	bool is_atomic;
	bool is_settled; /* something was written since: only a failed attempt undoes it; so are all before it */
	/* An attempt that failed, and brought what the next one expects: what is read behind it is for that one. It does not
	 * count itself, and is no event of the queue. */
	bool is_attempt;
};

struct am_look {
	struct am_read read[AM_LOOK_READS]; /* from `first` on: am_look_at */
	uint32_t first, n;
	uint8_t in_class[AM_LOOK_CLASSES];
};

static inline struct am_read *am_look_at(struct am_look *look, uint32_t i)
{
	return &look->read[(look->first + i) % AM_LOOK_READS];
}

static inline bool am_read_is_of(const struct am_read *r, const struct am_event *ev)
{
	return r->object == ev->object && r->size == ev->size;
}

/* For plain reads too? */
static inline bool am_look_is_open(struct am_look *look)
{
	return look->n && !am_look_at(look, look->n - 1)->is_settled;
}

static inline uint8_t *am_look_class(struct am_look *look, uint64_t object)
{
	return &look->in_class[(object * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - AM_LOOK_LOG2_CLASSES)];
}

/* May it have read this? False: it has not. */
static inline bool am_look_may_have(struct am_look *look, const struct am_event *ev)
{
	return *am_look_class(look, ev->object);
}

/* One more, of which object and size are known; the rest is to be filled in. Where it stays: a copy of what was just written
 * in parts would stall. */
static inline struct am_read *am_look_push(struct am_look *look, const struct am_event *ev)
{
	assert(look->n < AM_LOOK_READS);
	struct am_read *r = am_look_at(look, look->n++);
	r->object = ev->object;
	r->size = ev->size;
	++*am_look_class(look, ev->object);
	return r;
}

static inline void am_look_remove(struct am_look *look, uint32_t at)
{
	assert(at < look->n);
	--*am_look_class(look, am_look_at(look, at)->object);
	look->n--;
	if (at == 0)
		look->first++;
	for (uint32_t i = at; at && i < look->n; i++)
		*am_look_at(look, i) = *am_look_at(look, i + 1);
}

static inline void am_look_clear(struct am_look *look)
{
	for (uint32_t i = 0; i < look->n; i++)
		--*am_look_class(look, am_look_at(look, i)->object);
	look->n = 0;
}

#endif
