/*
 * Plain reads of a thread's open region, by address: part of vain.c. An attempt on the same bytes that fails undoes them, as it does
 * atomic ones, but they are not held back for that: they go on, and a cycle that leaves its region by one of them, to an atomic update of
 * another thread, waits until there was an attempt, or there can be none. Of two at the same place the newer one stays. Runs wherever vain.c does; no I/O, no
 * globals, no memory of its own.
 */
/* SPDX-License-Identifier: MIT */
#ifndef ATOMMON_CORE_VAIN_PLAIN_H
#define ATOMMON_CORE_VAIN_PLAIN_H

#include "atommon/checker.h"

#include <string.h>

enum { AM_PLAIN_LOG2 = 5, AM_PLAIN_READS = 1 << AM_PLAIN_LOG2 };

struct am_plain {
	struct am_plain_read {
		uint64_t object, index; /* of the first read of it; object 0: none */
		uint32_t size;
	} read[AM_PLAIN_READS];
	uint32_t n;
};

static inline struct am_plain_read *am_plain_at(struct am_plain *p, uint64_t object)
{
	return &p->read[object * UINT64_C(0x9e3779b97f4a7c15) >> (64 - AM_PLAIN_LOG2)];
}

/* A word that may be exchanged. */
static inline void am_plain_add(struct am_plain *p, const struct am_event *ev)
{
	struct am_plain_read *r = am_plain_at(p, ev->object);

	if (!ev->object || ev->size < 4 || ev->size > 8 || (r->object == ev->object && r->size == ev->size))
		return;
	p->n += !r->object;
	r->object = ev->object;
	r->size = ev->size;
	r->index = ev->index;
}

static inline bool am_plain_has(struct am_plain *p, const struct am_access *a, uint64_t index)
{
	const struct am_plain_read *r = am_plain_at(p, a->object);

	return p->n && r->object == a->object && r->index == index;
}

/* It is no more; returns its index, 0 if there was none. */
static inline uint64_t am_plain_take(struct am_plain *p, const struct am_event *ev)
{
	struct am_plain_read *r = am_plain_at(p, ev->object);

	if (!p->n || r->object != ev->object || r->size != ev->size)
		return 0;
	r->object = 0;
	p->n--;
	return r->index;
}

static inline void am_plain_clear(struct am_plain *p)
{
	if (p->n)
		memset(p, 0, sizeof *p);
}

#endif
