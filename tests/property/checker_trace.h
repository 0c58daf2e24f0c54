/*
 * Random well-formed traces for the checkers' tests, and an independent check of reported cycles
 * against the trace. Included by one test program each; no state.
 */
/* SPDX-License-Identifier: MIT */
#ifndef CHECKER_TRACE_H
#define CHECKER_TRACE_H

#include "analyzer/core/oracle.h"
#include "atommon/checker.h"

#include <stdio.h>
#include <string.h>

#ifndef TRACE_THREAD_RATE
#define TRACE_THREAD_RATE 60
#endif

enum { TRACE_MAX = 600, LANES = 8, LOCKS = 3 };

struct rng {
	uint64_t state;
};

static inline uint32_t draw(struct rng *r, uint32_t below)
{
	r->state += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t z = r->state;
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(((z ^ (z >> 31)) >> 32) * below >> 32);
}

struct lane { /* a thread; another takes its place when it ends */
	uint32_t id, depth, held;
	bool waits;
	uint32_t wait_lock;
};

struct trace {
	struct am_event event[TRACE_MAX];
	size_t n;
	struct lane lane[LANES];
	uint32_t lanes, next_id;
	int owner[LOCKS]; /* lane + 1 of the exclusive holder */
	uint32_t sharers[LOCKS];
	struct {
		uint32_t vars, lock_rate, region_rate, block_rate, thread_rate, read_rate, lost_rate, stride, commute_rate, commutes;
	} how;
};

static inline struct am_event *emit(struct trace *t, uint32_t lane, enum am_kind kind, uint64_t object)
{
	struct am_event *e = &t->event[t->n];
	memset(e, 0, sizeof *e);
	e->index = t->n++;
	e->thread = t->lane[lane].id;
	e->kind = (uint8_t)kind;
	e->object = object;
	e->site = 1 + (uint32_t)(e->index * 7 % 1000);
	return e;
}

/* A step of locking that the lock's state allows. */
static inline void step_lock(struct trace *t, struct rng *r, uint32_t l)
{
	struct lane *me = &t->lane[l];
	const uint32_t k = draw(r, LOCKS);
	const uint64_t at = 0x9000 + k * 8;

	if (me->waits) {
		if (!t->owner[me->wait_lock] && !t->sharers[me->wait_lock]) {
			emit(t, l, AM_WAKE, 0xa000)->aux = 0x9000 + me->wait_lock * 8;
			t->owner[me->wait_lock] = (int)l + 1;
			me->waits = false;
		}
		return;
	}
	if (t->owner[k] == (int)l + 1) {
		if (draw(r, 4) == 0) {
			emit(t, l, AM_WAIT, 0xa000)->aux = at;
			me->waits = true;
			me->wait_lock = k;
		} else {
			emit(t, l, AM_RELEASE, at);
		}
		t->owner[k] = 0;
	} else if (t->sharers[k] >> l & 1) {
		emit(t, l, AM_RELEASE, at)->mode = AM_SHARED;
		t->sharers[k] &= ~(1u << l);
	} else if (!t->owner[k] && draw(r, 3) == 0) {
		emit(t, l, AM_ACQUIRE, at)->mode = AM_SHARED;
		t->sharers[k] |= 1u << l;
	} else if (!t->owner[k] && !t->sharers[k]) {
		emit(t, l, AM_ACQUIRE, at);
		t->owner[k] = (int)l + 1;
	}
}

static inline bool holds_any(const struct trace *t, uint32_t l)
{
	for (int k = 0; k < LOCKS; k++)
		if (t->owner[k] == (int)l + 1 || (t->sharers[k] >> l & 1))
			return true;
	return t->lane[l].waits;
}

static inline void step(struct trace *t, struct rng *r)
{
	static const uint32_t sizes[] = {1, 2, 4, 4, 8, 8, 3, 16, 24};
	const uint32_t l = draw(r, t->lanes), dice = draw(r, 1000);
	struct lane *me = &t->lane[l];
	uint32_t edge = t->how.lock_rate;

	if (me->waits || dice < edge) {
		step_lock(t, r, l);
		return;
	}
	if (dice < (edge += t->how.region_rate)) {
		if (me->depth && draw(r, 5) < 3) {
			emit(t, l, AM_END, 1 + me->id % 5);
			me->depth--;
		} else if (me->depth < 3) {
			emit(t, l, AM_BEGIN, 1 + draw(r, 9));
			me->depth++;
		}
		return;
	}
	const uint64_t at = 0x1000 + (uint64_t)draw(r, t->how.vars) * t->how.stride;
	if (dice < (edge += t->how.block_rate)) {
		emit(t, l, draw(r, 2) ? AM_ALLOC : AM_FREE, at)->aux =
			1 + draw(r, 24) + (draw(r, 4) ? 0 : AM_FREED_MAX);
		return;
	}
	if (dice < (edge += t->how.thread_rate)) {
		if (holds_any(t, l))
			return;
		emit(t, l, AM_THREAD_END, me->id);
		*me = (struct lane){.id = t->next_id++};
		return;
	}
	if (dice < edge + t->how.lost_rate) {
		emit(t, l, AM_LOST, 0)->aux = 3;
		me->depth = 0;
		return;
	}
	const uint32_t kind = draw(r, 100);
	struct am_event *e = emit(t, l, kind < t->how.read_rate ? AM_READ : kind < 92 ? AM_WRITE : AM_UPDATE, at);
	e->size = t->how.stride == 8 ? 8 : sizes[draw(r, sizeof sizes / sizeof *sizes)];
	e->value = e->index * 3;
	e->flags = AM_HAS_VALUE;
	if (e->kind == AM_UPDATE || draw(r, 1000) < t->how.commute_rate) {
		e->kind = AM_UPDATE;
		e->order = (uint8_t)(1 | (draw(r, 8) ? t->how.commutes : draw(r, 4) << 4));
	}
}

static inline void trace_make(struct trace *t, struct rng *r, size_t length, bool lost)
{
	static const uint32_t strides[] = {1, 2, 4, 4, 8, 8, 8, 12};

	memset(t, 0, sizeof *t);
	t->lanes = 2 + draw(r, LANES - 1);
	for (uint32_t l = 0; l < t->lanes; l++)
		t->lane[l].id = t->next_id++;
	t->how.vars = 1 + draw(r, draw(r, 2) ? 4 : 60);
	t->how.stride = strides[draw(r, sizeof strides / sizeof *strides)];
	t->how.lock_rate = draw(r, 3) ? 0 : draw(r, 400);
	t->how.region_rate = 50 + draw(r, 400);
	t->how.block_rate = draw(r, 2) ? 0 : draw(r, 80);
	t->how.thread_rate = draw(r, 2) ? 0 : draw(r, TRACE_THREAD_RATE);
	t->how.read_rate = 20 + draw(r, 70);
	t->how.commute_rate = draw(r, 2) ? 0 : draw(r, 900);
	t->how.commutes = draw(r, 4) << 4;
	t->how.lost_rate = lost ? 1 + draw(r, 20) : 0;
	for (size_t tries = 0; t->n < length && tries < length * 4; tries++)
		step(t, r);
}

/* ---- is a reported cycle real? ------------------------------------------------------------- */

/* The event at which the transaction of event i began: its region's begin, or i itself. */
static inline size_t transaction_of(const struct trace *t, size_t i)
{
	size_t begin = i;
	int depth = 0;

	for (size_t k = 0; k < i; k++) {
		if (t->event[k].thread != t->event[i].thread)
			continue;
		if (t->event[k].kind == AM_BEGIN && depth++ == 0)
			begin = k;
		if (t->event[k].kind == AM_END && depth)
			depth--;
		if (t->event[k].kind == AM_LOST)
			depth = 0;
	}
	return depth ? begin : i;
}

static inline const char *access_wrong(const struct trace *t, const struct am_access *a)
{
	if (a->index >= t->n)
		return "an access that never happened";
	const struct am_event *e = &t->event[a->index];
	const bool waits = e->kind == AM_WAIT || e->kind == AM_WAKE;
	const uint64_t object = waits ? e->aux : e->object;
	const uint64_t size = e->kind == AM_FREE ? e->aux : e->size ? e->size : 1;
	const size_t begin = transaction_of(t, a->index);
	if (e->thread != a->thread || e->kind != a->kind || e->site != a->site || e->mode != a->mode ||
	    e->value != a->value)
		return "an access that is not the event's";
	if (a->object < object || a->object + a->size > object + size || (!a->size && a->object != object))
		return "bytes that the event did not touch";
	if (a->region != (begin == a->index ? 0 : t->event[begin].object) ||
	    a->region_site != (begin == a->index ? 0 : t->event[begin].site))
		return "a region that is not the event's";
	return NULL;
}

static inline const char *cycle_wrong(const struct trace *t, const struct am_cycle *c, enum am_conflicts conflicts)
{
#ifdef TRACE_ALLOWS_OMITTED /* the way through merged threads is not told: its beginning is missing */
	const bool has_gap = c->omitted && c->omit_at == 0;
#else
	const bool has_gap = false;
#endif
	if (c->omitted && !has_gap)
		return "edges left out";
	if (!c->n_edges || c->n_edges > AM_CYCLE_MAX)
		return "no edges";
	for (uint32_t i = 0; i < c->n_edges; i++) {
		const struct am_access *f = &c->edge[i].from, *g = &c->edge[i].to;
		const struct am_access *next = &c->edge[(i + 1) % c->n_edges].from;
		const char *wrong = access_wrong(t, f);
		if (wrong || (wrong = access_wrong(t, g)))
			return wrong;
		if (f->index >= g->index)
			return "an edge against time";
		if (transaction_of(t, f->index) == transaction_of(t, g->index))
			return "an edge inside a transaction";
		if (c->edge[i].why == AM_EDGE_PROGRAM ? f->thread != g->thread
						      : !am_oracle_conflict(t->event, t->n, f->index, g->index,
									    conflicts))
			return "an edge without a reason";
		if (transaction_of(t, g->index) != transaction_of(t, next->index) && !(has_gap && i + 1 == c->n_edges))
			return "a gap between edges";
	}
	const size_t begin = transaction_of(t, c->close_index);
	if (c->edge[c->n_edges - 1].to.index != c->close_index || t->event[c->close_index].thread != c->thread)
		return "a close that is not the last edge";
	if (begin == c->close_index || begin != c->begin_index || t->event[begin].object != c->region ||
	    t->event[begin].site != c->region_site)
		return "a blamed region that did not close it";
	return NULL;
}

static inline void trace_print(const struct trace *t, size_t until)
{
	for (size_t i = 0; i <= until && i < t->n; i++) {
		const struct am_event *e = &t->event[i];
		printf("# %3zu T%u %s 0x%llx size %u aux 0x%llx mode %u\n", i, e->thread, am_kind_name(e->kind),
		       (unsigned long long)e->object, e->size, (unsigned long long)e->aux, e->mode);
	}
}

#endif
