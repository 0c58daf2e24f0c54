/*
 * The raw form of events: decode, encode, check. Runs in the drain thread and in tools; no state,
 * no memory. Must accept any bit pattern without harm.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/core/decode.h"

#include <assert.h>
#include <string.h>

#define MASK48 UINT64_C(0xffffffffffff)

static bool is_access(enum am_kind kind)
{
	return kind >= AM_READ && kind <= AM_UPDATE;
}
_Static_assert(AM_WRITE == AM_READ + 1 && AM_UPDATE == AM_READ + 2, "the accesses are neighbours");

static bool is_block(enum am_kind kind)
{
	return kind == AM_ALLOC || kind == AM_FREE;
}

static bool has_outcome(enum am_kind kind)
{
	return kind == AM_BRANCH || kind == AM_ASSERT;
}

/* Those that come most often are not here. */
static void decode_detail(struct am_event *e, unsigned detail)
{
	switch (e->kind) {
	case AM_ACQUIRE:
	case AM_RELEASE:
		e->mode = detail & 1;
		e->flags |= (detail & 2 ? AM_OWNERDEAD : 0) | (detail & 4 ? AM_FREED_LOCK : 0);
		break;
	case AM_WAKE:
		e->flags |= (detail & 1 ? AM_TIMED_OUT : 0) | (detail & 2 ? AM_CANCELLED : 0);
		break;
	case AM_LEAVE:
	case AM_ONCE_END:
		e->mode = detail & 1;
		break;
	case AM_LOST:
	case AM_INIT:
	case AM_DESTROY:
		e->mode = (uint8_t)detail;
		break;
	case AM_BRANCH:
	case AM_ASSERT:
		e->value = detail & 1;
		e->flags |= AM_HAS_VALUE;
		break;
	default:
		break;
	}
}

static void decode_ext(struct am_event *e, const struct am_unit *x)
{
	switch (am_unit_detail(x)) {
	case AM_X_VALUE:
		e->value = x->w1;
		e->flags |= AM_HAS_VALUE;
		break;
	case AM_X_EXPR:
		e->expr = (uint32_t)x->w1;
		break;
	case AM_X_SIZE:
		if (is_block((enum am_kind)e->kind))
			e->aux = x->w1;
		else
			e->size = x->w1 > UINT32_MAX ? UINT32_MAX : (uint32_t)x->w1;
		break;
	case AM_X_AUX:
		e->aux = x->w1;
		break;
	case AM_X_ORDER:
		e->order = (uint8_t)x->w1;
		break;
	case AM_X_COND:
		e->aux = e->object;
		e->object = x->w0 >> AM_R_OBJECT_SHIFT;
		break;
	default:
		break;
	}
}

size_t am_record_decode(const struct am_unit *u, struct am_event *e)
{
	const uint64_t w0 = u->w0;
	const size_t n = am_record_units(u);
	const enum am_kind kind = am_unit_kind(u);

	*e = (struct am_event){
		.object = w0 >> AM_R_OBJECT_SHIFT,
		.site = (uint32_t)(u->w1 >> 32),
		.kind = (uint8_t)kind,
		.flags = w0 & AM_R_NESTED ? AM_NESTED : 0,
	};
	if (kind == AM_EXPR) {
		e->value = u->w1;
		e->site = 0;
		return n;
	}
	const unsigned detail = am_unit_detail(u);
	if (is_access(kind)) {
		e->size = (detail & 7) == 7 ? 0 : 1u << (detail & 7);
		e->flags |= detail & 8 ? AM_VOLATILE : 0;
	} else if (kind == AM_LATE) {
		e->size = (detail & 7) + 1;
		e->mode = detail >> 3 & 1;
	} else if (detail || has_outcome(kind)) { /* of an outcome 0 means something */
		decode_detail(e, detail);
	}
	for (size_t i = 1; i < n; i++)
		if (am_unit_kind(u + i) == AM_EXT)
			decode_ext(e, u + i);
	return n;
}

/* ---- encode -------------------------------------------------------------------------------- */

struct writer {
	struct am_unit *u;
	size_t n;
	bool full;
};

static void put_ext(struct writer *w, enum am_ext tag, uint64_t payload48, uint64_t payload)
{
	if (w->n == AM_RECORD_UNITS_MAX) {
		w->full = true;
		return;
	}
	w->u[w->n++] = (struct am_unit){AM_EXT | (uint64_t)tag << AM_R_DETAIL_SHIFT |
						payload48 << AM_R_OBJECT_SHIFT,
					payload};
}

static unsigned size_code(uint32_t size)
{
	if (size == 0 || size > 64 || (size & (size - 1)))
		return 7;
	return (unsigned)__builtin_ctz(size);
}

static unsigned encode_detail(const struct am_event *e)
{
	switch (e->kind) {
	case AM_ACQUIRE:
	case AM_RELEASE:
		return (e->mode & 1u) | (e->flags & AM_OWNERDEAD ? 2 : 0) |
		       (e->flags & AM_FREED_LOCK ? 4 : 0);
	case AM_READ:
	case AM_WRITE:
	case AM_UPDATE:
		return size_code(e->size) | (e->flags & AM_VOLATILE ? 8 : 0);
	case AM_WAKE:
		return (e->flags & AM_TIMED_OUT ? 1 : 0) | (e->flags & AM_CANCELLED ? 2 : 0);
	case AM_LEAVE:
	case AM_ONCE_END:
		return e->mode & 1u;
	case AM_LOST:
	case AM_INIT:
	case AM_DESTROY:
		return e->mode & AM_R_DETAIL_MASK;
	case AM_BRANCH:
	case AM_ASSERT:
		return e->value & 1u;
	default:
		return 0;
	}
}

size_t am_record_encode(const struct am_event *e, struct am_unit u[AM_RECORD_UNITS_MAX])
{
	const enum am_kind kind = (enum am_kind)e->kind;
	struct writer w = {u, 1, false};
	uint64_t object = e->object;

	assert(kind > AM_NONE && kind < AM_EXT);
	if (object > MASK48)
		return 0;
	if (kind == AM_EXPR) {
		u[0] = (struct am_unit){AM_EXPR | object << AM_R_OBJECT_SHIFT |
						(e->flags & AM_NESTED ? AM_R_NESTED : 0),
					e->value};
		return 1;
	}
	if (kind == AM_WAIT || kind == AM_WAKE) {
		put_ext(&w, AM_X_COND, object, 0);
		object = e->aux;
		if (object > MASK48)
			return 0;
	} else if (is_block(kind)) {
		put_ext(&w, AM_X_SIZE, 0, e->aux);
	} else if (e->aux) {
		put_ext(&w, AM_X_AUX, 0, e->aux);
	}
	if (is_access(kind) ? size_code(e->size) == 7 : e->size != 0)
		put_ext(&w, AM_X_SIZE, 0, e->size);
	if (e->flags & AM_HAS_VALUE && !has_outcome(kind))
		put_ext(&w, AM_X_VALUE, 0, e->value);
	if (e->expr)
		put_ext(&w, AM_X_EXPR, 0, e->expr);
	if (e->order)
		put_ext(&w, AM_X_ORDER, 0, e->order);
	if (w.full)
		return 0;
	u[0].w0 = (uint64_t)kind | (e->flags & AM_NESTED ? AM_R_NESTED : 0) |
		  (uint64_t)(w.n - 1) << AM_R_EXT_SHIFT |
		  (uint64_t)encode_detail(e) << AM_R_DETAIL_SHIFT | object << AM_R_OBJECT_SHIFT;
	u[0].w1 = (uint64_t)e->site << 32;
	return w.n;
}

/* ---- check --------------------------------------------------------------------------------- */

static const char *check_record(const struct am_unit *u, size_t left)
{
	const enum am_kind kind = am_unit_kind(u);
	const size_t n = am_record_units(u);
	bool has_cond = false;

	if (kind == AM_EXT)
		return "an extension unit where a record should begin";
	if (kind > AM_EXT)
		return "unknown event kind";
	if (n > left)
		return "record is cut";
	if (kind == AM_EXPR && u->w0 & AM_R_SEQ)
		return "an expression cannot carry a sequence number";
	for (size_t i = 1; i < n; i++) {
		if (am_unit_kind(u + i) != AM_EXT)
			return "an extension unit is missing";
		const unsigned tag = am_unit_detail(u + i);
		if (tag < AM_X_VALUE || tag > AM_X_COND)
			return "unknown extension tag";
		if (tag == AM_X_COND && has_cond)
			return "two conditions in one record";
		has_cond |= tag == AM_X_COND;
	}
	if (has_cond != (kind == AM_WAIT || kind == AM_WAKE))
		return has_cond ? "a condition that does not belong here"
				: "wait without condition";
	return NULL;
}

const char *am_units_check(const struct am_unit *u, size_t n, size_t *bad)
{
	for (size_t i = 0; i < n; i += am_record_units(u + i)) {
		const char *why = check_record(u + i, n - i);
		if (why) {
			*bad = i;
			return why;
		}
	}
	return NULL;
}
