/* SPDX-License-Identifier: MIT */
/* Records (units of a ring or chunk) to events and back. See include/atommon/event.h. */
#ifndef ATOMMON_CORE_DECODE_H
#define ATOMMON_CORE_DECODE_H

#include "atommon/event.h"

#include <stddef.h>

enum { AM_RECORD_UNITS_MAX = 1 + AM_R_EXT_MAX };

static inline enum am_kind am_unit_kind(const struct am_unit *u)
{
	return (enum am_kind)(u->w0 & AM_R_KIND_MASK);
}

static inline unsigned am_unit_detail(const struct am_unit *u)
{
	return (unsigned)(u->w0 >> AM_R_DETAIL_SHIFT) & AM_R_DETAIL_MASK;
}

/* Units of the record that begins here. */
static inline size_t am_record_units(const struct am_unit *u)
{
	return 1 + ((u->w0 >> AM_R_EXT_SHIFT) & 3u);
}

/* Fork, join, thread-begin, thread-end name a thread, not an address. */
static inline bool am_kind_names_thread(enum am_kind kind)
{
	return kind >= AM_THREAD_BEGIN && kind <= AM_JOIN;
}

/* The counter whose number the first unit of a record carries: below AM_COUNTERS. */
static inline uint32_t am_record_slot(const struct am_unit *u)
{
	const uint64_t object = u->w0 >> AM_R_OBJECT_SHIFT;
	if (u->w0 & AM_R_OWN)
		return AM_SLOTS + am_own_slot_of(object);
	return am_slot_of(am_kind_names_thread(am_unit_kind(u)) ? AM_THREAD_OBJECT(object)
								: object);
}

/*
 * Decode the whole record at u; returns its units. The caller fills index and thread, and expr of
 * an AM_EXPR (whose number is implied by its place). Any bit pattern decodes to something; use
 * am_units_check on input that is not trusted.
 */
size_t am_record_decode(const struct am_unit *u, struct am_event *event);

/* Equal in all that a record holds: the index does not count. */
static inline bool am_event_same(const struct am_event *a, const struct am_event *b)
{
	return a->object == b->object && a->aux == b->aux && a->value == b->value &&
	       a->thread == b->thread && a->site == b->site && a->size == b->size &&
	       a->expr == b->expr && a->kind == b->kind && a->mode == b->mode &&
	       a->order == b->order && a->flags == b->flags;
}

/* The numbering of a thread's expression nodes, see expr.h. */
struct am_expr_count {
	uint32_t newest;
	bool is_lost; /* after a hole, until a record says its node's number */
};

/* Fill in expr of an AM_EXPR (0 if its number is not known); follow the other records. */
static inline void am_expr_follow(struct am_expr_count *c, struct am_event *e)
{
	if (e->kind == AM_EXPR) {
		c->newest++;
		e->expr = c->is_lost ? 0 : c->newest;
	} else if (e->kind == AM_LOST) {
		c->is_lost = true;
	} else if (e->expr && (e->kind == AM_READ || e->kind == AM_UPDATE)) {
		if (c->is_lost || e->expr > c->newest)
			c->newest = e->expr;
		c->is_lost = false;
	}
}

/*
 * The record of an event, without a sequence number; returns its units, or 0 when the event has
 * more details than a record can hold.
 */
size_t am_record_encode(const struct am_event *event, struct am_unit u[AM_RECORD_UNITS_MAX]);

/*
 * Do the units form whole, well-formed records? NULL, or what is wrong with the record at *bad.
 */
const char *am_units_check(const struct am_unit *u, size_t n, size_t *bad);

#endif
