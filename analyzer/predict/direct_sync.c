/*
 * Synchronisation in the direct encoding. Locks, semaphores and barriers are variables whose events
 * read and write them (Wang et al., section 2); a lock that each thread takes and gives back in turn
 * needs no values: it is taken after the latest release (end of section 4.3). Tool side.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/direct.h"

#define AND AM_DIRECT_AND
#define CLAUSE AM_DIRECT_CLAUSE

/* A held lock: bit 31 and the thread; below it, the number of shared holders. */
enum { SYNC_WIDTH = AM_DIRECT_SYNC_WIDTH };
#define WRITER UINT32_C(0x80000000)

static bool is_lock_event(const struct am_ctp_event *e)
{
	return e->kind == AM_ACQUIRE || e->kind == AM_RELEASE || e->kind == AM_WAIT ||
	       e->kind == AM_WAKE;
}

/* The synchronisation variable that e reads and writes, AM_CTP_NONE. */
uint32_t am_direct_sync_variable(const struct am_ctp_event *e)
{
	switch (e->kind) {
	case AM_ACQUIRE:
	case AM_RELEASE:
	case AM_POST:
	case AM_TAKE:
	case AM_ARRIVE:
	case AM_LEAVE:
		return e->object;
	case AM_WAIT:
	case AM_WAKE:
		return e->aux;
	default:
		return AM_CTP_NONE;
	}
}

static int32_t sync_const(struct am_direct *d, uint64_t v)
{
	return am_smt_bv_const(d->smt, SYNC_WIDTH, v);
}

int32_t am_direct_sync_initial(struct am_direct *d, const struct am_ctp_event *e)
{
	const struct am_ctp_object *o = &d->ctp->objects[am_direct_sync_variable(e)];
	return sync_const(d, o->class == AM_CTP_SEM ? o->count : 0);
}

bool am_direct_takes(const struct am_ctp_event *e)
{
	return e->kind == AM_WAKE || (e->kind == AM_ACQUIRE && e->mode != AM_SHARED);
}

static bool is_shared(const struct am_ctp_event *e)
{
	return (e->kind == AM_ACQUIRE || e->kind == AM_RELEASE) && e->mode == AM_SHARED;
}

/* What e leaves in its synchronisation variable. */
int32_t am_direct_sync_value(struct am_direct *d, uint32_t e)
{
	const struct am_ctp_event *v = &d->ctp->events[e];
	const int32_t old = d->old[e], one = sync_const(d, 1);
	switch (v->kind) {
	case AM_ACQUIRE:
	case AM_WAKE:
		return is_shared(v) ? am_smt_op(d->smt, AM_OP_ADD, SYNC_WIDTH, old, one, 0)
				    : sync_const(d, WRITER + v->thread);
	case AM_RELEASE:
	case AM_WAIT:
		return is_shared(v) ? am_smt_op(d->smt, AM_OP_SUB, SYNC_WIDTH, old, one, 0)
				    : sync_const(d, 0);
	case AM_POST:
	case AM_ARRIVE:
		return am_smt_op(d->smt, AM_OP_ADD, SYNC_WIDTH, old, one, 0);
	case AM_TAKE:
		return am_smt_op(d->smt, AM_OP_SUB, SYNC_WIDTH, old, one, 0);
	default:
		return old;
	}
}

/* ---- locks that are taken and given back in turn ----------------------------------------------- */

struct held {
	uint32_t open, close; /* close: AM_CTP_NONE if the program has none */
};

struct holds {
	struct held *list;
	uint32_t count, room;
};

static bool gives(const struct am_ctp_event *e)
{
	return e->kind == AM_WAIT || (e->kind == AM_RELEASE && e->mode != AM_SHARED);
}

/* All sections of the lock; false if some event of it is shared, guarded or out of turn. */
static bool find_holds(const struct am_ctp *ctp, uint32_t lock, struct holds *h)
{
	for (uint32_t t = 0; t < ctp->thread_count; t++) {
		bool is_held = false;
		for (uint32_t i = 0; i < ctp->threads[t].length; i++) {
			const uint32_t id = ctp->threads[t].events[i];
			const struct am_ctp_event *e = &ctp->events[id];
			if (am_direct_sync_variable(e) != lock)
				continue;
			if (e->guard || !(is_held ? gives(e) : am_direct_takes(e)))
				return false;
			if (is_held)
				h->list[h->count - 1].close = id;
			else
				AM_PUSH(h->list, h->count, h->room) =
					(struct held){ .open = id, .close = AM_CTP_NONE };
			is_held = !is_held;
		}
	}
	return true;
}

/* Is another section of some thread sure to lie between i (AM_CTP_NONE: the start) and taking k? */
static bool is_behind(const struct am_direct *d, const struct holds *h, uint32_t i, uint32_t k)
{
	const struct am_must *must = &d->engine->must;
	for (uint32_t j = 0; j < h->count; j++)
		if (j != i && j != k && h->list[j].close != AM_CTP_NONE &&
		    (i == AM_CTP_NONE || am_must_before(must, h->list[i].close, h->list[j].open)) &&
		    am_must_before(must, h->list[j].close, h->list[k].open))
			return true;
	return false;
}

/* Sections are listed thread by thread: what holds of the next one after i, or of the last one before
 * k, holds of those beyond it. */
static bool is_beyond(const struct am_ctp *ctp, const struct holds *h, uint32_t i, uint32_t k,
		      uint32_t j)
{
	const uint32_t t = ctp->events[h->list[j].open].thread;
	if (i != AM_CTP_NONE && ctp->events[h->list[i].open].thread == t && j > i + 1 && k != i + 1)
		return true;
	return ctp->events[h->list[k].open].thread == t && j + 1 < k && i != k - 1;
}

/* Section k is entered after section i was left (AM_CTP_NONE: as the first): every other one was left
 * before i was, or is entered later. */
static int32_t enters_after(struct am_direct *d, const struct holds *h, uint32_t i, uint32_t k)
{
	struct am_lits all = { 0 };
	const uint32_t e = h->list[k].open, r = i == AM_CTP_NONE ? AM_CTP_NONE : h->list[i].close;
	if (r != AM_CTP_NONE)
		am_lits_add(&all, am_direct_before(d, r, e));
	for (uint32_t j = 0; j < h->count; j++) {
		if (j == i || j == k || is_beyond(d->ctp, h, i, k, j))
			continue;
		const bool left = r != AM_CTP_NONE && h->list[j].close != AM_CTP_NONE;
		const int32_t out[2] = { left ? am_direct_before(d, h->list[j].close, r)
					      : AM_SMT_FALSE,
					 am_direct_before(d, e, h->list[j].open) };
		am_lits_add(&all, am_direct_or(d, out, 2));
	}
	const int32_t t = am_direct_and(d, all.list, all.count);
	free(all.list);
	return t;
}

static void regular_lock(struct am_direct *d, const struct holds *h)
{
	struct am_lits any = { 0 };
	for (uint32_t k = 0; k < h->count; k++) {
		any.count = 0;
		am_lits_add(&any, -d->x[h->list[k].open]);
		for (uint32_t i = 0; i < h->count; i++)
			if (i != k && h->list[i].close != AM_CTP_NONE &&
			    !am_must_before(&d->engine->must, h->list[k].open, h->list[i].close) &&
			    !is_behind(d, h, i, k))
				am_lits_add(&any, enters_after(d, h, i, k));
		if (!is_behind(d, h, AM_CTP_NONE, k))
			am_lits_add(&any, enters_after(d, h, AM_CTP_NONE, k));
		am_direct_clause(d, any.list, any.count);
	}
	free(any.list);
}

/* ---- other objects ----------------------------------------------------------------------------- */

/* The assume part of a synchronisation event, over its pi-function. */
static int32_t sync_assume(struct am_direct *d, uint32_t e)
{
	const struct am_ctp_event *v = &d->ctp->events[e];
	const int32_t old = am_direct_old(d, e), zero = sync_const(d, 0);
	const int32_t writer = sync_const(d, WRITER);
	switch (v->kind) {
	case AM_ACQUIRE:
	case AM_WAKE:
		return is_shared(v) ? am_smt_op(d->smt, AM_OP_ULT, 1, old, writer, 0)
				    : am_smt_eq(d->smt, old, zero);
	case AM_RELEASE:
	case AM_WAIT:
		if (!is_shared(v))
			return am_smt_eq(d->smt, old, sync_const(d, WRITER + v->thread));
		return AND(d, am_smt_op(d->smt, AM_OP_ULT, 1, old, writer, 0),
			   am_smt_op(d->smt, AM_OP_UGT, 1, old, zero, 0));
	case AM_TAKE:
		return am_smt_op(d->smt, AM_OP_SGT, 1, old, zero, 0);
	default:
		return AM_SMT_TRUE;
	}
}

/* leave: the generation of the thread's own arrival is full. */
static int32_t leave_assume(struct am_direct *d, uint32_t e)
{
	const struct am_ctp_event *v = &d->ctp->events[e];
	const int32_t n = sync_const(d, d->ctp->objects[v->object].count);
	if (v->match == AM_CTP_NONE)
		return AM_SMT_FALSE;
	const int32_t rank = am_direct_old(d, v->match), now = am_direct_old(d, e);
	int32_t need = am_smt_op(d->smt, AM_OP_UDIV, SYNC_WIDTH, rank, n, 0);
	need = am_smt_op(d->smt, AM_OP_ADD, SYNC_WIDTH, need, sync_const(d, 1), 0);
	need = am_smt_op(d->smt, AM_OP_MUL, SYNC_WIDTH, need, n, 0);
	return am_smt_op(d->smt, AM_OP_UGE, 1, now, need, 0);
}

/* wake: a signal of its own, or a broadcast, between the wait and the wake. */
static void notifications(struct am_direct *d, uint32_t cond)
{
	const struct am_ctp *ctp = d->ctp;
	struct am_list signals = { 0 };
	struct am_lits used = { 0 }; /* by wake, then by signal */
	uint32_t wakes = 0;
	for (uint32_t s = 0; s < ctp->event_count; s++)
		if ((ctp->events[s].kind == AM_SIGNAL || ctp->events[s].kind == AM_BROADCAST) &&
		    ctp->events[s].object == cond)
			AM_PUSH(signals.list, signals.count, signals.room) = s;
	for (uint32_t e = 0; e < ctp->event_count; e++) {
		const struct am_ctp_event *v = &ctp->events[e];
		if (v->kind != AM_WAKE || v->object != cond)
			continue;
		if (v->match == AM_CTP_NONE) {
			am_direct_assert(d, -d->run[e]);
			continue;
		}
		if (ctp->spurious || (v->flags & (AM_TIMED_OUT | AM_CANCELLED)))
			continue;
		struct am_lits any = { 0 };
		am_lits_add(&any, -d->run[e]);
		wakes++;
		for (uint32_t i = 0; i < signals.count; i++) {
			const uint32_t s = signals.list[i];
			const int32_t m = am_smt_bool(d->smt, "m");
			am_lits_add(&any, m);
			am_lits_add(&used, m);
			CLAUSE(d, -m, d->run[s]);
			CLAUSE(d, -m, am_direct_before(d, v->match, s));
			CLAUSE(d, -m, am_direct_before(d, s, e));
		}
		am_direct_clause(d, any.list, any.count);
		free(any.list);
	}
	for (uint32_t i = 0; i < signals.count; i++)
		for (uint32_t a = 0; a < wakes && ctp->events[signals.list[i]].kind == AM_SIGNAL; a++)
			for (uint32_t b = 0; b < a; b++)
				CLAUSE(d, -used.list[a * signals.count + i],
				       -used.list[b * signals.count + i]);
	free(signals.list);
	free(used.list);
}

void am_direct_sync(struct am_direct *d)
{
	const struct am_ctp *ctp = d->ctp;
	for (uint32_t o = 0; o < ctp->object_count; o++) {
		struct holds h = { 0 };
		if (ctp->objects[o].class == AM_CTP_COND)
			notifications(d, o);
		d->regular[o] = ctp->objects[o].class == AM_CTP_LOCK && find_holds(ctp, o, &h);
		if (d->regular[o])
			regular_lock(d, &h);
		free(h.list);
	}
	for (uint32_t e = 0; e < ctp->event_count; e++) {
		const struct am_ctp_event *v = &ctp->events[e];
		if ((is_lock_event(v) && !d->regular[am_direct_sync_variable(v)]) ||
		    v->kind == AM_TAKE)
			CLAUSE(d, -d->run[e], sync_assume(d, e));
		if (v->kind == AM_LEAVE)
			CLAUSE(d, -d->run[e], leave_assume(d, e));
	}
}
