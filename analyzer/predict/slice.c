/*
 * Slicing of trace programs; see slice.h. A fixed point over "needed": events the property names, what
 * can stop a thread, the reads those depend on, the writes those reads may see. Tool side.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/slice.h"
#include "analyzer/predict/exec.h"
#include "analyzer/predict/grow.h"

#include <assert.h>

struct slicer {
	struct am_ctp *ctp;
	bool *keep;   /* by event */
	bool *live;   /* by location: its value matters */
	bool *needed; /* by node: seen */
	bool *lock;   /* by object: a lock of which some event is kept, so all are */
	bool changed;
};

static bool is_fixed(const struct am_ctp *ctp, const struct am_ctp_event *e)
{
	return !e->offset || am_ctp_is_const(ctp, e->offset, NULL);
}

/* ---- what may go at all ------------------------------------------------------------------------ */

/* Used by one thread alone, taken and given back in turn: it never blocks. */
static bool is_private_lock(const struct am_ctp *ctp, uint32_t lock)
{
	uint32_t thread = AM_CTP_NONE;
	bool held = false;
	for (uint32_t e = 0; e < ctp->event_count; e++) {
		const struct am_ctp_event *v = &ctp->events[e];
		const bool is_lock = v->kind == AM_ACQUIRE || v->kind == AM_RELEASE;
		if ((v->kind == AM_WAIT || v->kind == AM_WAKE) && v->aux == lock)
			return false;
		if (!is_lock || v->object != lock)
			continue;
		if (v->guard || v->mode == AM_SHARED || (thread != AM_CTP_NONE && thread != v->thread) ||
		    held != (v->kind == AM_RELEASE))
			return false;
		thread = v->thread;
		held = v->kind == AM_ACQUIRE;
	}
	return true;
}

static bool may_go(const struct am_ctp *ctp, uint32_t e, const bool *private_lock)
{
	const struct am_ctp_event *v = &ctp->events[e];
	uint64_t always = 0;
	switch (v->kind) {
	case AM_READ:
	case AM_WRITE:
	case AM_UPDATE:
		return !v->cond && is_fixed(ctp, v);
	case AM_BRANCH:
		return am_ctp_is_const(ctp, v->cond, &always) && always;
	case AM_ACQUIRE:
	case AM_RELEASE:
		return private_lock[v->object];
	case AM_FENCE:
	case AM_NONE:
		return true;
	default:
		return false;
	}
}

/* ---- what the property asks for ---------------------------------------------------------------- */

static void pin_shared(struct slicer *s)
{
	const struct am_ctp *ctp = s->ctp;
	uint32_t *user = am_zalloc(ctp->loc_count, sizeof *user);
	bool *shared = am_zalloc(ctp->loc_count, sizeof *shared);
	for (uint32_t e = 0; e < ctp->event_count; e++) {
		const struct am_ctp_event *v = &ctp->events[e];
		if (!am_ctp_is_access(v))
			continue;
		shared[v->loc] |= user[v->loc] && user[v->loc] != v->thread + 1;
		user[v->loc] = v->thread + 1;
	}
	for (uint32_t e = 0; e < ctp->event_count; e++)
		if (am_ctp_is_access(&ctp->events[e]) && shared[ctp->events[e].loc])
			s->keep[e] = true;
	free(user);
	free(shared);
}

static void pin_property(struct slicer *s, const struct am_query *q)
{
	const struct am_ctp *ctp = s->ctp;
	switch (q->property) {
	case AM_PROP_THREE:
		for (uint32_t e = 0; e < ctp->event_count; e++) /* of all triplets there */
			s->keep[e] |= am_ctp_is_access(&ctp->events[e]) &&
				      ctp->events[e].loc == ctp->events[q->a].loc;
		/* guarded independence looks at the values there */
		if (!q->plain)
			s->live[ctp->events[q->a].loc] = true;
		break;
	case AM_PROP_REACH:
		s->keep[q->a] = true;
		break;
	case AM_PROP_ASSERT:
		break;
	case AM_PROP_SERIAL:
		pin_shared(s);
		break;
	case AM_PROP_RACE:
		pin_shared(s);
		for (uint32_t e = 0; e < ctp->event_count; e++)
			if (am_ctp_is_access(&ctp->events[e]) && ctp->events[e].order > 1) {
				s->keep[e] = true; /* who reads from whom matters */
				s->live[ctp->events[e].loc] = true;
			}
		break;
	case AM_PROP_STRONG:
	case AM_PROP_WINDOW:
		for (uint32_t e = 0; e < ctp->event_count; e++)
			s->keep[e] = true;
	}
}

bool am_slice_serves(const struct am_ctp *whole, const struct am_query *made,
		     const struct am_query *query)
{
	if (made->property != query->property)
		return false;
	switch (query->property) {
	case AM_PROP_THREE:
		return made->plain == query->plain &&
		       whole->events[made->a].loc == whole->events[query->a].loc;
	case AM_PROP_REACH:
		return made->a == query->a;
	default:
		return true;
	}
}

/* ---- the fixed point --------------------------------------------------------------------------- */

static void need(struct slicer *s, uint32_t node)
{
	if (!node || s->needed[node])
		return;
	const struct am_expr n = s->ctp->nodes[node];
	s->needed[node] = true;
	if (n.op == AM_OP_READ) {
		const uint32_t r = (uint32_t)n.value;
		if (!s->keep[r] || !s->live[s->ctp->events[r].loc])
			s->changed = true;
		s->keep[r] = true;
		s->live[s->ctp->events[r].loc] = true;
		return;
	}
	const unsigned arity = am_op_arity((enum am_op)n.op);
	if (arity > 0)
		need(s, n.a);
	if (arity > 1 && n.op != AM_OP_EXTRACT)
		need(s, n.b);
	if (arity > 2)
		need(s, n.c);
}

static bool is_lock_event(const struct am_ctp_event *e)
{
	return e->kind == AM_ACQUIRE || e->kind == AM_RELEASE;
}

static void close_over(struct slicer *s)
{
	const struct am_ctp *ctp = s->ctp;
	do {
		s->changed = false;
		for (uint32_t e = 0; e < ctp->event_count; e++) {
			const struct am_ctp_event v = ctp->events[e];
			if (am_ctp_is_store(&v) && s->live[v.loc] && !s->keep[e])
				s->keep[e] = s->changed = true;
			if (is_lock_event(&v) && s->lock[v.object] != s->keep[e])
				s->lock[v.object] = s->keep[e] = s->changed = true;
			if (!s->keep[e])
				continue;
			need(s, v.guard);
			need(s, v.cond);
			need(s, v.offset);
			if (am_ctp_is_access(&v) && s->live[v.loc])
				need(s, v.value);
		}
	} while (s->changed);
}

/* ---- the copy ---------------------------------------------------------------------------------- */

static uint32_t copy_node(struct am_slice *s, uint32_t *map, uint32_t node)
{
	const struct am_expr n = s->whole->nodes[node];
	if (!node)
		return 0;
	if (map[node])
		return map[node];
	if (n.op == AM_OP_CONST) {
		map[node] = am_ctp_const(s->ctp, n.width, n.value);
	} else {
		const unsigned arity = am_op_arity((enum am_op)n.op);
		assert(n.op != AM_OP_READ); /* mapped when its event was copied */
		const uint32_t a = copy_node(s, map, n.a);
		const uint32_t b = n.op == AM_OP_EXTRACT ? n.b
				   : arity > 1		 ? copy_node(s, map, n.b)
							 : 0;
		const uint32_t c = arity > 2 ? copy_node(s, map, n.c) : 0;
		map[node] = am_ctp_op(s->ctp, (enum am_op)n.op, n.width, a, b, c);
	}
	return map[node];
}

/* First all events, so that every leaf has its node; expressions follow. */
static void copy_event(struct am_slice *s, uint32_t *map, uint32_t e)
{
	const struct am_ctp_event v = s->whole->events[e];
	struct am_ctp *c = s->ctp;
	uint32_t id;
	if (v.kind == AM_READ)
		id = am_ctp_read(c, v.thread, v.object, 0, v.size);
	else if (v.kind == AM_UPDATE)
		id = am_ctp_update(c, v.thread, v.object, 0, v.size);
	else if (v.kind == AM_WRITE)
		id = am_ctp_write(c, v.thread, v.object, 0, v.size, 0);
	else
		id = am_ctp_event(c, v.thread, (enum am_kind)v.kind, v.object);
	struct am_ctp_event *n = am_ctp_at(c, id);
	if (v.read)
		map[v.read] = n->read;
	n->mode = v.mode;
	n->order = v.order;
	n->flags = v.flags;
	n->aux = v.aux;
	n->origin = e;
	s->to[e] = id;
	s->from[id] = e;
}

static void copy_expressions(struct am_slice *s, uint32_t *map, uint32_t e, bool value_matters)
{
	const struct am_ctp_event v = s->whole->events[e];
	struct am_ctp_event *n = am_ctp_at(s->ctp, s->to[e]);
	n->offset = copy_node(s, map, v.offset);
	n->guard = copy_node(s, map, v.guard);
	n->cond = copy_node(s, map, v.cond);
	if (am_ctp_is_store(&v))
		n->value = value_matters ? copy_node(s, map, v.value)
					 : am_ctp_const(s->ctp, v.size * 8, 0);
}

static void copy_frame(struct am_slice *s)
{
	struct am_ctp *w = s->whole;
	for (uint32_t o = 0; o < w->object_count; o++) {
		const struct am_ctp_object *b = &w->objects[o];
		const uint32_t id = am_ctp_object(s->ctp, b->class, b->name);
		struct am_ctp_object *n = &s->ctp->objects[id];
		n->size = b->size;
		n->count = b->count;
		n->aligned = b->aligned;
		if (b->init) {
			n->init = am_zalloc(b->size, 1);
			memcpy(n->init, b->init, b->size);
		}
	}
	for (uint32_t t = 0; t < w->thread_count; t++)
		am_ctp_thread(s->ctp, w->threads[t].name);
	for (uint32_t r = 0; r < w->region_count; r++)
		am_ctp_region(s->ctp, w->regions[r].name);
	s->ctp->spurious = w->spurious;
}

void am_slice_make(struct am_slice *s, struct am_ctp *whole, const struct am_query *query)
{
	struct slicer k = { .ctp = whole };
	const uint32_t n = whole->event_count;
	bool *private_lock = am_zalloc(whole->object_count, sizeof *private_lock);
	uint32_t *map = am_zalloc(whole->node_count, sizeof *map);
	*s = (struct am_slice){ .whole = whole, .ctp = am_ctp_new() };
	s->from = am_zalloc(n, sizeof *s->from);
	s->to = am_zalloc(n, sizeof *s->to);
	k.keep = am_zalloc(n, sizeof *k.keep);
	k.live = am_zalloc(whole->loc_count, sizeof *k.live);
	k.needed = am_zalloc(whole->node_count, sizeof *k.needed);
	k.lock = am_zalloc(whole->object_count, sizeof *k.lock);
	for (uint32_t o = 0; o < whole->object_count; o++)
		private_lock[o] = whole->objects[o].class == AM_CTP_LOCK && is_private_lock(whole, o);
	for (uint32_t e = 0; e < n; e++)
		k.keep[e] = !may_go(whole, e, private_lock);
	for (uint32_t i = 0; i < whole->order_count; i++)
		k.keep[whole->orders[i].before] = k.keep[whole->orders[i].after] = true;
	for (uint32_t t = 0; t < whole->thread_count; t++) /* joins look at the last event */
		if (whole->threads[t].length)
			k.keep[whole->threads[t].events[whole->threads[t].length - 1]] = true;
	pin_property(&k, query);
	close_over(&k);
	copy_frame(s);
	for (uint32_t e = 0; e < n; e++) {
		s->to[e] = AM_CTP_NONE;
		if (k.keep[e])
			copy_event(s, map, e);
	}
	for (uint32_t e = 0; e < n; e++)
		if (k.keep[e])
			copy_expressions(s, map, e,
					 am_ctp_is_access(&whole->events[e]) &&
						 k.live[whole->events[e].loc]);
	for (uint32_t i = 0; i < whole->order_count; i++)
		am_ctp_order(s->ctp, s->to[whole->orders[i].before], s->to[whole->orders[i].after]);
	const char *wrong = am_ctp_finish(s->ctp);
	assert(!wrong);
	(void)wrong;
	free(private_lock);
	free(map);
	free(k.keep);
	free(k.live);
	free(k.needed);
	free(k.lock);
}

void am_slice_clear(struct am_slice *s)
{
	am_ctp_free(s->ctp);
	free(s->from);
	free(s->to);
}

struct am_query am_slice_query(const struct am_slice *s, const struct am_query *query)
{
	struct am_query q = *query;
	uint32_t *const events[] = { &q.a, &q.b, &q.c };
	for (uint32_t i = 0; i < 3; i++)
		if (*events[i] < s->whole->event_count)
			*events[i] = s->to[*events[i]];
	return q;
}

struct restored {
	const struct am_slice *s;
	struct am_exec x;
	uint32_t *next; /* by thread */
	uint32_t *run, length;
};

/* The rest of a thread, as far as it was cut off or skips. */
static void finish_thread(struct restored *r, uint32_t t)
{
	const struct am_ctp *w = r->s->whole;
	for (; r->next[t] < w->threads[t].length; r->next[t]++) {
		const uint32_t e = w->threads[t].events[r->next[t]];
		if (r->s->to[e] != AM_CTP_NONE && am_exec_eval(&r->x, w->events[e].guard))
			return;
		const enum am_step step = am_exec_step(&r->x, e);
		if (step == AM_STEP_OK)
			r->run[r->length++] = e;
		else if (step != AM_STEP_SKIPPED)
			return;
	}
}

/* Before each event of the slice, what its thread does in the whole program up to there. */
void am_slice_restore(const struct am_slice *s, struct am_answer *answer)
{
	const struct am_ctp *w = s->whole;
	struct restored r = { .s = s,
			      .next = am_zalloc(w->thread_count, sizeof *r.next),
			      .run = am_zalloc(w->event_count, sizeof *r.run) };
	am_exec_init(&r.x, w, AM_MODEL_SC);
	for (uint32_t i = 0; i < answer->length; i++) {
		const uint32_t goal = s->from[answer->run[i]], t = w->events[goal].thread;
		for (; r.next[t] <= w->events[goal].pos; r.next[t]++) {
			const uint32_t e = w->threads[t].events[r.next[t]];
			if (w->events[e].kind == AM_JOIN)
				finish_thread(&r, w->events[e].object);
			if (am_exec_step(&r.x, e) == AM_STEP_OK)
				r.run[r.length++] = e;
		}
	}
	for (uint32_t t = 0; t < w->thread_count; t++)
		finish_thread(&r, t);
	am_exec_clear(&r.x);
	free(r.next);
	free(answer->run);
	answer->run = r.run;
	answer->length = r.length;
	for (uint32_t i = 0; i < answer->mark_count; i++)
		answer->marks[i] = s->from[answer->marks[i]];
}
