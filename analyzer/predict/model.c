/*
 * Builds concurrent trace programs from recorded runs: threads, locks, regions. Memory is in
 * model_data.c. Runs in tools.
 */
/* SPDX-License-Identifier: MIT */
#include "model_state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *am_predict_model_name(enum am_predict_model model)
{
	static const char *const names[] = {"sync", "avp", "value", "ctp"};
	return names[model];
}

enum am_predict_model am_predict_model_strongest(const struct am_run *run)
{
	bool has_expressions = false, has_values = true, has_accesses = false;

	if (run->at_lock_level)
		return AM_PREDICT_SYNC;
	for (uint32_t e = 0; e < run->event.n; e++) {
		const struct am_event *raw = am_run_raw(run, e);
		const struct am_run_event *r = &run->event.at[e];
		has_expressions |= raw->kind == AM_EXPR || raw->kind == AM_BRANCH || raw->expr;
		if (raw->kind == AM_FREE || !(r->reads || r->writes))
			continue;
		has_accesses = true;
		has_values &= (raw->flags & AM_HAS_VALUE) && raw->size <= 8;
	}
	if (!has_accesses || !has_values)
		return AM_PREDICT_AVP;
	return has_expressions ? AM_PREDICT_CTP : AM_PREDICT_VALUE;
}

/* ---- threads and synchronisation ------------------------------------------------------------------ */

static enum am_ctp_class class_of(uint8_t kind)
{
	switch (kind) {
	case AM_WAIT:
	case AM_WAKE:
	case AM_SIGNAL:
	case AM_BROADCAST:
		return AM_CTP_COND;
	case AM_POST:
	case AM_TAKE:
		return AM_CTP_SEM;
	case AM_ARRIVE:
	case AM_LEAVE:
		return AM_CTP_BARRIER;
	default:
		return AM_CTP_LOCK;
	}
}

static uint32_t object_of(struct am_build *b, uint32_t object, enum am_ctp_class class)
{
	char name[32];

	if (b->object[object] == AM_NONE) {
		snprintf(name, sizeof name, "%#lx", (unsigned long)b->run->object.at[object].address);
		b->object[object] = am_ctp_object(b->ctp, class, name);
		b->ctp->objects[b->object[object]].count = b->run->object.at[object].initial;
	}
	return b->object[object];
}

/* What the events before the segment left: held locks, counts. NULL, or why it cannot be told. */
static const char *enter(struct am_build *b, uint32_t object)
{
	const uint32_t key = b->run->n_cells + object;
	int64_t sum = 0;

	for (uint32_t t = 0; t < b->run->n_threads; t++) {
		const struct am_index_entry *e = am_index_last(b->index, key, t, b->segment->from[t]);
		if (!e)
			continue;
		const struct am_event *raw = am_run_raw(b->run, am_run_at(b->run, t, e->eid));
		if (raw->kind == AM_WAIT && b->run->event.at[am_run_at(b->run, t, e->eid)].object == object)
			return "a thread waits on a condition where the window begins";
		if (raw->kind == AM_ARRIVE)
			return "a thread stands in a barrier where the window begins";
		sum += e->sum;
		if (e->sum <= 0 || b->run->object.at[object].kind == AM_OBJ_SEM ||
		    b->run->object.at[object].kind == AM_OBJ_BARRIER)
			continue;
		const bool shared = !(raw->kind == AM_WAKE ||
				      (raw->kind == AM_ACQUIRE && raw->mode == AM_EXCLUSIVE));
		for (int32_t i = 0; i < e->sum; i++) {
			const uint32_t lock = object_of(b, object, AM_CTP_LOCK);
			const uint32_t a = am_ctp_event(b->ctp, b->thread[t], AM_ACQUIRE, lock);
			am_ctp_at(b->ctp, a)->mode = shared ? AM_SHARED : AM_EXCLUSIVE;
			am_ctp_at(b->ctp, a)->origin = UINT64_MAX;
			*vec_push(&b->held) = a;
		}
	}
	if (b->run->object.at[object].kind == AM_OBJ_SEM) {
		const uint32_t sem = object_of(b, object, AM_CTP_SEM);
		b->ctp->objects[sem].count = (uint32_t)(b->run->object.at[object].initial + sum);
	}
	return NULL;
}

/* Locks held when the window begins are taken before anybody else could. */
static void order_held(struct am_build *b, uint32_t event)
{
	const struct am_ctp_event *e = am_ctp_at(b->ctp, event);
	const uint32_t lock = e->kind == AM_WAKE ? e->aux : e->object;

	for (uint32_t i = 0; i < b->held.n; i++) {
		const struct am_ctp_event *h = am_ctp_at(b->ctp, b->held.at[i]);
		if (h->object == lock && h->thread != e->thread)
			am_ctp_order(b->ctp, b->held.at[i], event);
	}
}

static void add_sync(struct am_build *b, uint32_t e, const struct am_run_event *r,
		     const struct am_event *raw)
{
	const uint32_t t = b->thread[r->thread];
	uint32_t x = AM_NONE;

	switch (raw->kind) {
	case AM_WAIT:
	case AM_WAKE: {
		const uint32_t cond = object_of(b, r->object, AM_CTP_COND);
		const uint32_t mutex =
			r->mutex == AM_NONE ? AM_NONE : object_of(b, r->mutex, AM_CTP_LOCK);
		assert(mutex != AM_NONE);
		x = raw->kind == AM_WAIT ? am_ctp_wait(b->ctp, t, cond, mutex)
					 : am_ctp_wake(b->ctp, t, cond, mutex);
		if (raw->flags & (AM_TIMED_OUT | AM_CANCELLED))
			am_ctp_at(b->ctp, x)->flags |= AM_TIMED_OUT;
		break;
	}
	case AM_ACQUIRE:
	case AM_RELEASE:
	case AM_SIGNAL:
	case AM_BROADCAST:
	case AM_POST:
	case AM_TAKE:
	case AM_ARRIVE:
	case AM_LEAVE:
		x = am_ctp_event(b->ctp, t, raw->kind, object_of(b, r->object, class_of(raw->kind)));
		am_ctp_at(b->ctp, x)->mode = raw->mode;
		break;
	case AM_FORK:
	case AM_JOIN:
	case AM_THREAD_BEGIN:
	case AM_THREAD_END:
	case AM_ONCE_END:
		x = am_ctp_event(b->ctp, t, AM_THREAD_BEGIN, 0);
		break;
	default:
		return;
	}
	am_ctp_at(b->ctp, x)->origin = e;
	b->event[e - b->low] = x;
	if (raw->kind == AM_ACQUIRE || raw->kind == AM_WAKE)
		order_held(b, x);
}

static void add_marker(struct am_build *b, const struct am_run_event *r, const struct am_event *raw,
		       uint32_t e)
{
	const uint32_t region = b->marker[e - b->low];
	char name[24];

	if (region == AM_NONE || (b->only_own && region != b->segment->region))
		return;
	if (b->region[region] == AM_NONE) {
		if (raw->kind == AM_END)
			return; /* began before the window */
		snprintf(name, sizeof name, "r%u", region);
		b->region[region] = am_ctp_region(b->ctp, name);
	}
	const uint32_t x = am_ctp_event(b->ctp, b->thread[r->thread], raw->kind, b->region[region]);
	am_ctp_at(b->ctp, x)->origin = e;
	b->event[e - b->low] = x;
}

/* The event of the program that stands for event e or, going by `step`, for its nearest neighbour
 * in its thread within the segment that has one. */
static uint32_t stand_in(const struct am_build *b, uint32_t e, int step)
{
	const struct am_run_event *r = &b->run->event.at[e];

	for (uint32_t eid = r->eid; eid >= b->segment->from[r->thread] && eid < b->segment->to[r->thread];
	     eid += (uint32_t)step) {
		const uint32_t x = b->event[am_run_at(b->run, r->thread, eid) - b->low];
		if (x != AM_NONE)
			return x;
	}
	return AM_NONE;
}

/* Orders that every schedule keeps. */
static void add_orders(struct am_build *b)
{
	for (uint32_t e = b->low; e < b->high; e++) {
		const struct am_run_event *r = &b->run->event.at[e];
		if (r->peer == AM_NONE || !am_segment_has(b->segment, r) ||
		    !am_segment_has(b->segment, &b->run->event.at[r->peer]))
			continue;
		const uint32_t before = stand_in(b, r->peer, -1), after = stand_in(b, e, 1);
		if (before != AM_NONE && after != AM_NONE)
			am_ctp_order(b->ctp, before, after);
	}
}

/* ---- driver --------------------------------------------------------------------------------------- */

static void mark_object(void *ctx, uint32_t key, bool writes)
{
	struct am_build *b = ctx;

	(void)writes;
	if (key >= b->run->n_cells)
		b->touched[key - b->run->n_cells] = 1;
}

static const char *add_threads(struct am_build *b)
{
	char name[24];

	for (uint32_t t = 0; t < b->run->n_threads; t++) {
		snprintf(name, sizeof name, "T%u", b->run->thread[t].id);
		b->thread[t] = am_ctp_thread(b->ctp, name);
		for (uint32_t eid = b->segment->from[t]; eid < b->segment->to[t]; eid++)
			am_index_keys(b->run, am_run_at(b->run, t, eid), mark_object, b);
	}
	for (uint32_t o = 0; o < b->run->object.n; o++) {
		const char *why = b->touched[o] ? enter(b, o) : NULL;
		if (why)
			return why;
	}
	return NULL;
}

/* An event that no schedule of the segment can reach, because what it waits for lies outside. */
static bool is_blocked_by_peer(const struct am_build *b, const struct am_run_event *r)
{
	if (r->peer == AM_NONE)
		return false;
	const struct am_run_event *peer = &b->run->event.at[r->peer];
	return peer->eid >= b->segment->to[peer->thread];
}

/* The segment may begin behind the marker of its own region, at the first access in it. */
static void begin_own(struct am_build *b)
{
	const struct am_run_region *a = &b->run->region.at[b->segment->region];
	char name[24];

	if (!b->only_own || a->first > b->segment->from[a->thread])
		return;
	snprintf(name, sizeof name, "r%u", b->segment->region);
	const uint32_t region = b->region[b->segment->region] = am_ctp_region(b->ctp, name);
	const uint32_t x = am_ctp_event(b->ctp, b->thread[a->thread], AM_BEGIN, region);
	am_ctp_at(b->ctp, x)->origin = UINT64_MAX;
}

static const char *add_events(struct am_build *b)
{
	bool *stopped = am_xalloc(b->run->n_threads, sizeof *stopped);
	const char *why = NULL;

	for (uint32_t e = b->low; e < b->high && !why; e++) {
		const struct am_run_event *r = &b->run->event.at[e];
		const struct am_event *raw = am_run_raw(b->run, e);
		const bool inside = am_segment_has(b->segment, r) && !stopped[r->thread];
		if (inside && is_blocked_by_peer(b, r)) {
			stopped[r->thread] = true;
			continue;
		}
		if (inside && (raw->kind == AM_WAIT || raw->kind == AM_WAKE) && r->mutex == AM_NONE)
			why = "a wait that keeps its recursive mutex";
		else if (inside && (raw->kind == AM_BEGIN || raw->kind == AM_END))
			add_marker(b, r, raw, e);
		else if (inside)
			add_sync(b, e, r, raw);
		if (!why)
			why = am_build_data(b, e, inside);
	}
	free(stopped);
	return why;
}

static void release(struct am_build *b)
{
	am_build_data_free(b);
	free(b->object);
	free(b->thread);
	free(b->touched);
	free(b->held.at);
	free(b->marker);
}

/* The stretch of the run that the segment lies in, and the regions that begin or end there. */
static void find_span(struct am_build *b)
{
	b->low = AM_NONE;
	for (uint32_t t = 0; t < b->run->n_threads; t++) {
		if (b->segment->from[t] >= b->segment->to[t])
			continue;
		const uint32_t first = am_run_at(b->run, t, b->segment->from[t]);
		const uint32_t last = am_run_at(b->run, t, b->segment->to[t] - 1);
		b->low = first < b->low ? first : b->low;
		b->high = last + 1 > b->high ? last + 1 : b->high;
	}
	if (b->low > b->high)
		b->low = b->high;
	const uint32_t n = b->high - b->low;
	b->event = am_xalloc(n, sizeof *b->event);
	b->marker = am_xalloc(n, sizeof *b->marker);
	memset(b->event, 0xff, n * sizeof *b->event);
	memset(b->marker, 0xff, n * sizeof *b->marker);
	const uint32_t only = b->only_own ? b->segment->region : AM_NONE;
	for (uint32_t i = only == AM_NONE ? 0 : only; i < b->run->region.n; i++) {
		const struct am_run_region *a = &b->run->region.at[i];
		const uint32_t begin = am_run_at(b->run, a->thread, a->first - 1);
		const uint32_t end = a->is_open ? AM_NONE : am_run_at(b->run, a->thread, a->last + 1);
		if (begin >= b->low && begin < b->high)
			b->marker[begin - b->low] = i;
		if (end >= b->low && end < b->high)
			b->marker[end - b->low] = i;
		if (i == only)
			break;
	}
}

const char *am_program_build(struct am_program *program, const struct am_index *index,
			   const struct am_segment *segment, enum am_predict_model kind, bool only_own)
{
	const struct am_run *run = index->run;
	struct am_build b = {.run = run, .index = index, .segment = segment, .kind = kind,
			     .only_own = only_own};

	b.ctp = am_ctp_new();
	b.object = am_xalloc(run->object.n, sizeof *b.object);
	b.touched = am_xalloc(run->object.n, sizeof *b.touched);
	b.thread = am_xalloc(run->n_threads, sizeof *b.thread);
	b.region = am_xalloc(run->region.n, sizeof *b.region);
	memset(b.object, 0xff, run->object.n * sizeof *b.object);
	memset(b.region, 0xff, run->region.n * sizeof *b.region);
	find_span(&b);
	am_build_data_init(&b);
	const char *why = add_threads(&b);
	if (!why) {
		begin_own(&b);
		why = add_events(&b);
	}
	if (!why) {
		add_orders(&b);
		why = am_ctp_finish(b.ctp);
	}
	*program = (struct am_program){b.ctp, b.region, b.event, b.low, b.high};
	release(&b);
	if (why)
		am_program_free(program);
	return why;
}

void am_program_free(struct am_program *program)
{
	if (program->ctp)
		am_ctp_free(program->ctp);
	free(program->region);
	free(program->event);
	memset(program, 0, sizeof *program);
}

uint32_t am_program_origin(const struct am_program *program, uint32_t ctp_event)
{
	const uint64_t origin = program->ctp->events[ctp_event].origin;
	return origin > UINT32_MAX - 1 ? AM_NONE : (uint32_t)origin;
}
