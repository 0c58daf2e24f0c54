/*
 * Checks a trace program and computes what is derived from it: matching events, regions, location
 * classes; and whether two accesses share bytes. Tool side; never prints.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/ctp_priv.h"

#include <assert.h>

/* ---- checks ---------------------------------------------------------------------------------- */

/* May event `user` use the value read by event `leaf`? */
static bool visible(const struct am_ctp *ctp, uint32_t leaf, uint32_t user)
{
	const struct am_ctp_event *l = &ctp->events[leaf], *u = &ctp->events[user];
	if (l->thread == u->thread)
		return l->pos <= u->pos;
	const struct am_ctp_thread *t = &ctp->threads[u->thread];
	for (uint32_t i = 0; i < u->pos; i++) {
		const struct am_ctp_event *j = &ctp->events[t->events[i]];
		if (j->kind == AM_JOIN && j->object == l->thread && !j->guard)
			return true;
	}
	return false;
}

struct walk {
	const struct am_ctp *ctp;
	uint32_t *seen; /* by node: 1 + event that saw it last */
	uint32_t user;
	bool own; /* may use the event's own leaf */
};

static bool leaves_fine(struct walk *w, uint32_t node)
{
	if (!node || w->seen[node] == w->user * 2 + 1 + w->own)
		return true;
	w->seen[node] = w->user * 2 + 1 + w->own;
	const struct am_expr *n = &w->ctp->nodes[node];
	if (n->op == AM_OP_READ)
		return (w->own || n->value != w->user) &&
		       visible(w->ctp, (uint32_t)n->value, w->user);
	const unsigned arity = am_op_arity((enum am_op)n->op);
	return (arity < 1 || leaves_fine(w, n->a)) &&
	       (arity < 2 || n->op == AM_OP_EXTRACT || leaves_fine(w, n->b)) &&
	       (arity < 3 || leaves_fine(w, n->c));
}

static bool class_fits(const struct am_ctp *ctp, uint32_t object, enum am_ctp_class class)
{
	return object < ctp->object_count && ctp->objects[object].class == class;
}

static const char *check_access(const struct am_ctp *ctp, const struct am_ctp_event *e)
{
	if (!class_fits(ctp, e->object, AM_CTP_DATA))
		return "an access needs a data object";
	if (e->size < 1 || e->size > 8)
		return "the size of an access must be 1 to 8 bytes";
	uint64_t at = 0;
	if ((!e->offset || am_ctp_is_const(ctp, e->offset, &at)) &&
	    at + e->size > ctp->objects[e->object].size)
		return "an access lies beyond its object";
	if (e->kind != AM_READ && (!e->value || ctp->nodes[e->value].width != e->size * 8))
		return "the value of a write must have the width of the access";
	if (e->offset && ctp->nodes[e->offset].width != 64)
		return "an offset must have 64 bits";
	return NULL;
}

static const char *check_event(const struct am_ctp *ctp, const struct am_ctp_event *e)
{
	if ((e->guard && ctp->nodes[e->guard].width != 1) ||
	    (e->cond && ctp->nodes[e->cond].width != 1))
		return "a guard or condition must have width 1";
	switch (e->kind) {
	case AM_READ:
	case AM_WRITE:
	case AM_UPDATE:
		return check_access(ctp, e);
	case AM_ACQUIRE:
	case AM_RELEASE:
		return class_fits(ctp, e->object, AM_CTP_LOCK) ? NULL : "a lock is needed";
	case AM_WAIT:
	case AM_WAKE:
		return class_fits(ctp, e->object, AM_CTP_COND) && class_fits(ctp, e->aux, AM_CTP_LOCK)
			       ? NULL
			       : "a wait needs a condition and a lock";
	case AM_SIGNAL:
	case AM_BROADCAST:
		return class_fits(ctp, e->object, AM_CTP_COND) ? NULL : "a condition is needed";
	case AM_POST:
	case AM_TAKE:
		return class_fits(ctp, e->object, AM_CTP_SEM) ? NULL : "a semaphore is needed";
	case AM_ARRIVE:
	case AM_LEAVE:
		return class_fits(ctp, e->object, AM_CTP_BARRIER) &&
				       ctp->objects[e->object].count > 0
			       ? NULL
			       : "a barrier with a count is needed";
	case AM_FORK:
	case AM_JOIN:
		return e->object < ctp->thread_count && e->object != e->thread
			       ? NULL
			       : "fork and join need another thread";
	case AM_BEGIN:
	case AM_END:
		return e->object < ctp->region_count ? NULL : "begin and end need a region";
	case AM_BRANCH:
	case AM_ASSERT:
		return e->cond ? NULL : "a branch or assertion needs a condition";
	default:
		return NULL;
	}
}

/* ---- matching -------------------------------------------------------------------------------- */

static bool closes(const struct am_ctp_event *open, const struct am_ctp_event *e)
{
	switch (e->kind) {
	case AM_RELEASE:
		return open->kind == AM_ACQUIRE && open->mode == e->mode;
	case AM_WAKE:
		return open->kind == AM_WAIT;
	case AM_LEAVE:
		return open->kind == AM_ARRIVE;
	default:
		return false;
	}
}

/* The last event before `pos` that e closes: same object, same guard, not yet closed. */
static void match_event(struct am_ctp *ctp, const struct am_ctp_thread *t, uint32_t pos)
{
	const uint32_t id = t->events[pos];
	struct am_ctp_event *e = &ctp->events[id];
	if (e->kind != AM_RELEASE && e->kind != AM_WAKE && e->kind != AM_LEAVE)
		return;
	for (uint32_t i = pos; i-- > 0;) {
		struct am_ctp_event *o = &ctp->events[t->events[i]];
		if (o->object != e->object || o->match != AM_CTP_NONE || o->guard != e->guard ||
		    !closes(o, e))
			continue;
		o->match = id;
		e->match = t->events[i];
		return;
	}
}

static const char *match_regions(struct am_ctp *ctp, uint32_t thread)
{
	const struct am_ctp_thread *t = &ctp->threads[thread];
	uint32_t depth = 0, outer = AM_CTP_NONE;
	for (uint32_t i = 0; i < t->length; i++) {
		const uint32_t id = t->events[i];
		struct am_ctp_event *e = &ctp->events[id];
		if (e->kind == AM_BEGIN) {
			struct am_ctp_region *r = &ctp->regions[e->object];
			if (r->begin != AM_CTP_NONE)
				return "a region instance begins twice";
			r->begin = id;
			r->thread = thread;
			r->outermost = depth == 0;
			if (depth++ == 0)
				outer = e->object;
		}
		e->region = outer;
		if (e->kind == AM_END) {
			struct am_ctp_region *r = &ctp->regions[e->object];
			if (r->begin == AM_CTP_NONE || r->thread != thread ||
			    r->end != AM_CTP_NONE || depth == 0)
				return "a region ends that did not begin";
			r->end = id;
			e->match = r->begin;
			ctp->events[r->begin].match = id;
			if (--depth == 0)
				outer = AM_CTP_NONE;
		}
	}
	return NULL;
}

/* ---- location classes ------------------------------------------------------------------------ */

struct span {
	uint32_t event;
	uint64_t at, end;
};

static int by_place(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

static uint32_t new_loc(struct am_ctp *ctp, uint32_t object, bool exact, bool same_size)
{
	AM_PUSH(ctp->locs, ctp->loc_count, ctp->priv->loc_room) =
		(struct am_ctp_loc){ .object = object, .exact = exact, .same_size = same_size };
	return ctp->loc_count - 1;
}

/* All accesses of one object, which lie in spans[0..n). */
static void classify(struct am_ctp *ctp, struct span *spans, uint32_t n)
{
	bool symbolic = false, one_size = true;
	const uint32_t object = ctp->events[spans[0].event].object;
	const uint32_t size = ctp->events[spans[0].event].size;
	for (uint32_t i = 0; i < n; i++) {
		const struct am_ctp_event *e = &ctp->events[spans[i].event];
		const bool fixed = !e->offset || am_ctp_is_const(ctp, e->offset, NULL);
		symbolic |= !fixed;
		one_size &= e->size == size && (!fixed || spans[i].at % size == 0);
	}
	if (symbolic) {
		const uint32_t loc =
			new_loc(ctp, object, false, one_size && ctp->objects[object].aligned);
		for (uint32_t i = 0; i < n; i++)
			ctp->events[spans[i].event].loc = loc;
		return;
	}
	qsort(spans, n, sizeof *spans, by_place);
	for (uint32_t i = 0, j; i < n; i = j) {
		uint64_t end = spans[i].end;
		bool exact = true;
		for (j = i + 1; j < n && spans[j].at < end; j++) {
			exact &= spans[j].at == spans[i].at && spans[j].end == spans[i].end;
			if (spans[j].end > end)
				end = spans[j].end;
		}
		const uint32_t loc = new_loc(ctp, object, exact, exact);
		for (uint32_t k = i; k < j; k++)
			ctp->events[spans[k].event].loc = loc;
	}
}

static int by_object(const void *a, const void *b, void *arg)
{
	const struct am_ctp *ctp = arg;
	const struct span *x = a, *y = b;
	const uint32_t ox = ctp->events[x->event].object, oy = ctp->events[y->event].object;
	if (ox != oy)
		return ox < oy ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

static void locate(struct am_ctp *ctp)
{
	struct span *spans = am_zalloc(ctp->event_count, sizeof *spans);
	uint32_t n = 0;
	for (uint32_t id = 0; id < ctp->event_count; id++) {
		const struct am_ctp_event *e = &ctp->events[id];
		uint64_t at = 0;
		if (!am_ctp_is_access(e))
			continue;
		if (e->offset)
			am_ctp_is_const(ctp, e->offset, &at);
		spans[n++] = (struct span){ .event = id, .at = at, .end = at + e->size };
	}
	qsort_r(spans, n, sizeof *spans, by_object, ctp);
	for (uint32_t i = 0, j; i < n; i = j) {
		const uint32_t object = ctp->events[spans[i].event].object;
		for (j = i; j < n && ctp->events[spans[j].event].object == object; j++)
			;
		classify(ctp, spans + i, j - i);
	}
	free(spans);
}

/* ---- entry ----------------------------------------------------------------------------------- */

static const char *check_leaves(const struct am_ctp *ctp)
{
	struct walk w = { .ctp = ctp, .seen = am_zalloc(ctp->node_count, sizeof(uint32_t)) };
	const char *wrong = NULL;
	for (uint32_t id = 0; id < ctp->event_count && !wrong; id++) {
		const struct am_ctp_event *e = &ctp->events[id];
		w.user = id;
		w.own = false;
		if (!leaves_fine(&w, e->guard) || !leaves_fine(&w, e->offset))
			wrong = "an expression uses a value that is not read yet";
		w.own = true;
		if (!leaves_fine(&w, e->cond) || !leaves_fine(&w, e->value))
			wrong = "an expression uses a value that is not read yet";
	}
	free(w.seen);
	return wrong;
}

const char *am_ctp_finish(struct am_ctp *ctp)
{
	assert(!ctp->finished);
	for (uint32_t id = 0; id < ctp->event_count; id++) {
		struct am_ctp_event *e = &ctp->events[id];
		uint64_t k;
		/* guards that are constantly true are no guards */
		if (e->guard && am_ctp_is_const(ctp, e->guard, &k) && k)
			e->guard = 0;
		const char *wrong = check_event(ctp, e);
		if (wrong)
			return wrong;
		if (e->kind == AM_FORK) {
			struct am_ctp_thread *t = &ctp->threads[e->object];
			if (t->fork != AM_CTP_NONE)
				return "a thread is forked twice";
			t->fork = id;
		}
	}
	const char *wrong = check_leaves(ctp);
	if (wrong)
		return wrong;
	for (uint32_t i = 0; i < ctp->order_count; i++)
		if (ctp->orders[i].before >= ctp->event_count ||
		    ctp->orders[i].after >= ctp->event_count)
			return "an order names an event that does not exist";
	for (uint32_t i = 0; i < ctp->thread_count; i++) {
		for (uint32_t j = 0; j < ctp->threads[i].length; j++)
			match_event(ctp, &ctp->threads[i], j);
		wrong = match_regions(ctp, i);
		if (wrong)
			return wrong;
	}
	locate(ctp);
	ctp->finished = true;
	return NULL;
}

uint32_t am_ctp_overlap(struct am_ctp *ctp, uint32_t a, uint32_t b)
{
	const struct am_ctp_event x = ctp->events[a], y = ctp->events[b];
	assert(ctp->finished && am_ctp_is_access(&x) && am_ctp_is_access(&y));
	if (x.loc != y.loc)
		return am_ctp_const(ctp, 1, 0);
	const struct am_ctp_loc loc = ctp->locs[x.loc];
	if (loc.exact)
		return am_ctp_const(ctp, 1, 1);
	const uint32_t zero = am_ctp_const(ctp, 64, 0);
	const uint32_t p = x.offset ? x.offset : zero, q = y.offset ? y.offset : zero;
	if (loc.same_size)
		return am_ctp_op(ctp, AM_OP_EQ, 1, p, q, 0);
	const uint32_t after = am_ctp_op(ctp, AM_OP_ULT, 1, am_ctp_op(ctp, AM_OP_SUB, 64, q, p, 0),
					 am_ctp_const(ctp, 64, x.size), 0);
	const uint32_t before = am_ctp_op(ctp, AM_OP_ULT, 1,
					  am_ctp_op(ctp, AM_OP_SUB, 64, p, q, 0),
					  am_ctp_const(ctp, 64, y.size), 0);
	return am_ctp_op(ctp, AM_OP_OR, 1, after, before, 0);
}
