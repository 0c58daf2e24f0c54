/*
 * Interpreter of trace programs for the engine: one step at a time, in memory order. Tool side; never
 * prints. The witness validator has its own; they share nothing.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/exec.h"
#include "analyzer/predict/grow.h"

#include <assert.h>

void am_exec_init(struct am_exec *x, const struct am_ctp *ctp, enum am_model model)
{
	const uint32_t n = ctp->event_count, t = ctp->thread_count, o = ctp->object_count;
	*x = (struct am_exec){ .ctp = ctp, .model = model };
	x->base = am_zalloc(o + 1, sizeof *x->base);
	for (uint32_t i = 0; i < o; i++)
		x->base[i + 1] = x->base[i] + ctp->objects[i].size;
	x->bytes = x->base[o];
	x->memory = am_zalloc(x->bytes, 1);
	x->writer = am_zalloc(x->bytes, sizeof *x->writer);
	x->state = am_zalloc(n, 1);
	x->reads = am_zalloc(n, sizeof *x->reads);
	x->old = am_zalloc(n, sizeof *x->old);
	x->from = am_zalloc(n, sizeof *x->from);
	x->failed = am_zalloc(n, sizeof *x->failed);
	x->holder = am_zalloc(o, sizeof *x->holder);
	x->shared = am_zalloc((size_t)o * t, sizeof *x->shared);
	x->count = am_zalloc(o, sizeof *x->count);
	x->done = am_zalloc(t, sizeof *x->done);
	x->waited = am_zalloc(t, sizeof *x->waited);
	x->rank = am_zalloc(t, sizeof *x->rank);
	x->stopped = am_zalloc(t, sizeof *x->stopped);
	x->notes = am_zalloc(n, sizeof *x->notes);
	x->note_time = am_zalloc(n, sizeof *x->note_time);
	x->note_used = am_zalloc(n, sizeof *x->note_used);
	x->first_demand = am_zalloc(n + 2, sizeof *x->first_demand);
	x->demands = am_zalloc(ctp->order_count, sizeof *x->demands);
	for (uint32_t i = 0; i < ctp->order_count; i++)
		x->first_demand[ctp->orders[i].after + 2]++;
	for (uint32_t i = 2; i < n + 2; i++)
		x->first_demand[i] += x->first_demand[i - 1];
	for (uint32_t i = 0; i < ctp->order_count; i++)
		x->demands[x->first_demand[ctp->orders[i].after + 1]++] = ctp->orders[i].before;
	am_exec_reset(x);
}

void am_exec_reset(struct am_exec *x)
{
	const struct am_ctp *ctp = x->ctp;
	const uint32_t n = ctp->event_count, t = ctp->thread_count, o = ctp->object_count;
	for (uint32_t i = 0; i < o; i++) {
		const struct am_ctp_object *b = &ctp->objects[i];
		if (b->init)
			memcpy(x->memory + x->base[i], b->init, b->size);
		else if (b->size)
			memset(x->memory + x->base[i], 0, b->size);
		x->holder[i] = AM_CTP_NONE;
		x->count[i] = b->class == AM_CTP_SEM ? b->count : 0;
	}
	memset(x->writer, 0xff, x->bytes * sizeof *x->writer);
	memset(x->shared, 0xff, (size_t)o * t * sizeof *x->shared);
	memset(x->state, 0, n);
	memset(x->reads, 0, n * sizeof *x->reads);
	memset(x->failed, 0, n * sizeof *x->failed);
	memset(x->done, 0, t * sizeof *x->done);
	memset(x->waited, 0, t * sizeof *x->waited);
	memset(x->rank, 0xff, t * sizeof *x->rank);
	memset(x->stopped, 0, t * sizeof *x->stopped);
	x->note_count = 0;
	x->clock = 0;
	x->executed = 0;
	x->blocker = AM_CTP_NONE;
}

void am_exec_clear(struct am_exec *x)
{
	free(x->base);
	free(x->memory);
	free(x->writer);
	free(x->state);
	free(x->reads);
	free(x->old);
	free(x->from);
	free(x->failed);
	free(x->holder);
	free(x->shared);
	free(x->count);
	free(x->done);
	free(x->waited);
	free(x->rank);
	free(x->stopped);
	free(x->notes);
	free(x->note_time);
	free(x->note_used);
	free(x->demands);
	free(x->first_demand);
	*x = (struct am_exec){ 0 };
}

/* ---- memory ---------------------------------------------------------------------------------- */

static uint64_t offset_of(const struct am_exec *x, const struct am_ctp_event *e)
{
	return e->offset ? am_exec_eval(x, e->offset) : 0;
}

/* Bytes still in the thread's own store buffer, the latest program-earlier write wins (tso, pso). */
static void forward(struct am_exec *x, uint32_t id, uint64_t at)
{
	const struct am_ctp_event *e = &x->ctp->events[id];
	const struct am_ctp_thread *t = &x->ctp->threads[e->thread];
	uint32_t missing = (1u << e->size) - 1;

	for (uint32_t i = e->pos; i-- > 0 && missing;) {
		const uint32_t w = t->events[i];
		const struct am_ctp_event *s = &x->ctp->events[w];
		if (s->kind == AM_UPDATE || s->loc != e->loc || s->kind != AM_WRITE)
			continue;
		if (x->state[w] == 2 || (x->state[w] == 0 && !am_exec_eval(x, s->guard)))
			continue;
		const uint64_t start = offset_of(x, s);
		for (uint32_t k = 0; k < e->size; k++) {
			const uint64_t byte = at + k - start;
			if (byte >= s->size || !(missing & (1u << k)))
				continue;
			missing &= ~(1u << k);
			if (x->state[w] == 1)
				continue; /* left the buffer: memory has it, or something later */
			const uint64_t v = am_exec_eval(x, s->value) >> (8 * byte);
			x->old[id] &= ~(UINT64_C(0xff) << (8 * k));
			x->old[id] |= (v & 0xff) << (8 * k);
			x->from[id][k] = w;
		}
	}
}

static bool load(struct am_exec *x, uint32_t id)
{
	const struct am_ctp_event *e = &x->ctp->events[id];
	const uint64_t at = offset_of(x, e);
	const uint32_t size = x->ctp->objects[e->object].size;
	if (at > size || e->size > size - at)
		return false;
	x->old[id] = 0;
	for (uint32_t k = 0; k < e->size; k++) {
		const uint32_t byte = x->base[e->object] + (uint32_t)at + k;
		x->old[id] |= (uint64_t)x->memory[byte] << (8 * k);
		x->from[id][k] = x->writer[byte];
	}
	if (e->kind == AM_READ && (x->model == AM_MODEL_TSO || x->model == AM_MODEL_PSO))
		forward(x, id, at);
	return true;
}

static void store(struct am_exec *x, uint32_t id)
{
	const struct am_ctp_event *e = &x->ctp->events[id];
	const uint32_t byte = x->base[e->object] + (uint32_t)offset_of(x, e);
	const uint64_t value = am_exec_eval(x, e->value);
	for (uint32_t k = 0; k < e->size; k++) {
		x->memory[byte + k] = (uint8_t)(value >> (8 * k));
		x->writer[byte + k] = id;
	}
}

static enum am_step step_access(struct am_exec *x, uint32_t id)
{
	const struct am_ctp_event *e = &x->ctp->events[id];
	if (!load(x, id))
		return AM_STEP_COND; /* beyond its object: this run is not one of the program */
	if (e->kind != AM_WRITE) {
		x->reads[id] = x->old[id];
		if (e->cond && !am_exec_eval(x, e->cond))
			return AM_STEP_COND;
	}
	if (e->kind != AM_READ)
		store(x, id);
	return AM_STEP_OK;
}

/* ---- synchronisation ------------------------------------------------------------------------- */

static bool lock_free(struct am_exec *x, uint32_t lock, bool shared)
{
	const uint32_t threads = x->ctp->thread_count;
	x->blocker = x->holder[lock];
	if (x->blocker != AM_CTP_NONE)
		return false;
	for (uint32_t t = 0; t < threads && !shared; t++) {
		x->blocker = x->shared[(size_t)lock * threads + t];
		if (x->blocker != AM_CTP_NONE)
			return false;
	}
	return true;
}

static uint32_t *hold(struct am_exec *x, const struct am_ctp_event *e)
{
	return e->mode == AM_SHARED
		       ? &x->shared[(size_t)e->object * x->ctp->thread_count + e->thread]
		       : &x->holder[e->object];
}

static bool holds(const struct am_exec *x, uint32_t lock, uint32_t thread)
{
	const uint32_t h = x->holder[lock];
	return h != AM_CTP_NONE && x->ctp->events[h].thread == thread;
}

/* The earliest unused signal after the wait, or a broadcast: see ctp.h on why this is general. */
static bool notified(struct am_exec *x, const struct am_ctp_event *e, bool take)
{
	for (uint32_t i = 0; i < x->note_count; i++) {
		const struct am_ctp_event *s = &x->ctp->events[x->notes[i]];
		if (s->object != e->object || x->note_time[i] < x->waited[e->thread])
			continue;
		if (s->kind == AM_BROADCAST)
			return true;
	}
	for (uint32_t i = 0; i < x->note_count; i++) {
		const struct am_ctp_event *s = &x->ctp->events[x->notes[i]];
		if (s->object != e->object || x->note_used[i] ||
		    x->note_time[i] < x->waited[e->thread])
			continue;
		if (take)
			x->note_used[i] = true;
		return true;
	}
	return false;
}

static enum am_step step_wake(struct am_exec *x, uint32_t id)
{
	const struct am_ctp_event *e = &x->ctp->events[id];
	const bool free_pass = (e->flags & (AM_TIMED_OUT | AM_CANCELLED)) || x->ctp->spurious;
	if (!x->waited[e->thread] || (!free_pass && !notified(x, e, false)))
		return AM_STEP_SYNC;
	if (!lock_free(x, e->aux, false))
		return AM_STEP_LOCK;
	if (!free_pass)
		notified(x, e, true);
	x->holder[e->aux] = id;
	x->waited[e->thread] = 0;
	return AM_STEP_OK;
}

static void note(struct am_exec *x, uint32_t id)
{
	x->notes[x->note_count] = id;
	x->note_time[x->note_count] = x->clock;
	x->note_used[x->note_count++] = false;
}

static enum am_step step_sync(struct am_exec *x, uint32_t id)
{
	const struct am_ctp_event *e = &x->ctp->events[id];
	switch (e->kind) {
	case AM_ACQUIRE:
		if (!lock_free(x, e->object, e->mode == AM_SHARED))
			return AM_STEP_LOCK;
		if (*hold(x, e) != AM_CTP_NONE)
			return AM_STEP_SYNC;
		*hold(x, e) = id;
		return AM_STEP_OK;
	case AM_RELEASE:
		if (*hold(x, e) == AM_CTP_NONE ||
		    (e->mode != AM_SHARED && !holds(x, e->object, e->thread)))
			return AM_STEP_SYNC;
		*hold(x, e) = AM_CTP_NONE;
		return AM_STEP_OK;
	case AM_WAIT:
		if (!holds(x, e->aux, e->thread))
			return AM_STEP_SYNC;
		x->holder[e->aux] = AM_CTP_NONE;
		x->waited[e->thread] = x->clock;
		return AM_STEP_OK;
	case AM_WAKE:
		return step_wake(x, id);
	case AM_SIGNAL:
	case AM_BROADCAST:
		note(x, id);
		return AM_STEP_OK;
	case AM_POST:
		x->count[e->object]++;
		return AM_STEP_OK;
	case AM_TAKE:
		if (x->count[e->object] <= 0)
			return AM_STEP_SYNC;
		x->count[e->object]--;
		return AM_STEP_OK;
	case AM_ARRIVE:
		x->rank[e->thread] = (uint32_t)x->count[e->object]++;
		return AM_STEP_OK;
	case AM_LEAVE: {
		const uint32_t size = x->ctp->objects[e->object].count;
		const uint32_t rank = x->rank[e->thread];
		if (rank == AM_CTP_NONE || x->count[e->object] < (int64_t)(rank / size + 1) * size)
			return AM_STEP_SYNC;
		x->rank[e->thread] = AM_CTP_NONE;
		return AM_STEP_OK;
	}
	case AM_JOIN:
		return x->done[e->object] == x->ctp->threads[e->object].length &&
				       !x->stopped[e->object]
			       ? AM_STEP_OK
			       : AM_STEP_NOT_YET;
	default:
		return AM_STEP_OK;
	}
}

static bool may_run(const struct am_exec *x, uint32_t id)
{
	const struct am_ctp *ctp = x->ctp;
	const struct am_ctp_event *e = &ctp->events[id];
	const uint32_t fork = ctp->threads[e->thread].fork;
	if (x->stopped[e->thread] || (fork != AM_CTP_NONE && x->state[fork] != 1))
		return false;
	for (uint32_t i = x->first_demand[id]; i < x->first_demand[id + 1]; i++)
		if (!x->state[x->demands[i]])
			return false;
	return true;
}

enum am_step am_exec_step(struct am_exec *x, uint32_t id)
{
	const struct am_ctp_event *e = &x->ctp->events[id];
	assert(!x->state[id]);
	if (!may_run(x, id))
		return AM_STEP_NOT_YET;
	x->clock++;
	if (e->guard && !am_exec_eval(x, e->guard)) {
		x->state[id] = 2;
		x->done[e->thread]++;
		return AM_STEP_SKIPPED;
	}
	enum am_step s = AM_STEP_OK;
	if (am_ctp_is_access(e))
		s = step_access(x, id);
	else if (e->kind == AM_BRANCH)
		s = am_exec_eval(x, e->cond) ? AM_STEP_OK : AM_STEP_COND;
	else if (e->kind == AM_ASSERT)
		x->stopped[e->thread] = x->failed[id] = !am_exec_eval(x, e->cond);
	else
		s = step_sync(x, id);
	if (s != AM_STEP_OK)
		return s;
	x->state[id] = 1;
	x->done[e->thread]++;
	x->executed++;
	return s;
}
