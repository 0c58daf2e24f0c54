/* The step machine of recorded events. Every change goes through set(), so undo is exact. */
/* SPDX-License-Identifier: MIT */
#include "machine.h"
#include "unused.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define set am_machine_set

/* Bits of own[] and taint[] per cell. */
enum { READ = 1, WRITE = 2 };

void am_machine_set(struct am_machine *m, uint32_t *at, uint32_t value)
{
	if (*at == value)
		return;
	*vec_push(&m->journal) = (struct am_machine_change){at, *at};
	*at = value;
}

void am_machine_undo(struct am_machine *m, uint32_t mark)
{
	assert(mark <= m->journal.n);
	while (m->journal.n > mark) {
		m->journal.n--;
		*m->journal.at[m->journal.n].at = m->journal.at[m->journal.n].old;
	}
}

/* ---- condition variables --------------------------------------------------------------------- */

/*
 * A token is a wake-up whose receiver is open: it may go to any waiter that waited when the signal
 * came, that is, whose ticket is below the token's bound. tokens: per condition a row of [n, bounds
 * ascending...]. A token exists only while some waiter could still take it.
 */
static uint32_t *token_row(const struct am_machine *m, uint32_t cond)
{
	return &m->tokens[(size_t)m->token_row[cond] * (m->run->n_threads + 1)];
}

static uint32_t waiters(const struct am_machine *m, uint32_t cond)
{
	uint32_t n = 0;

	for (uint32_t t = 0; t < m->run->n_threads; t++)
		n += m->ticket[t] && m->waits_on[t] == cond;
	return n;
}

static uint32_t usable_token(const struct am_machine *m, uint32_t cond, uint32_t ticket)
{
	const uint32_t *row = token_row(m, cond);

	for (uint32_t i = 1; i <= row[0]; i++)
		if (ticket < row[i])
			return i; /* the oldest that fits leaves most choice to the others */
	return 0;
}

static void take_token(struct am_machine *m, uint32_t cond, uint32_t ticket)
{
	uint32_t *row = token_row(m, cond);
	const uint32_t i = usable_token(m, cond, ticket);

	if (!i)
		return;
	for (uint32_t k = i; k < row[0]; k++)
		set(m, &row[k], row[k + 1]);
	set(m, &row[0], row[0] - 1);
}

static void give_tokens(struct am_machine *m, uint32_t cond, bool to_all)
{
	const uint32_t waiting = waiters(m, cond);
	uint32_t *row = token_row(m, cond);

	while (row[0] < waiting) {
		set(m, &row[row[0] + 1], m->tickets + 1);
		set(m, &row[0], row[0] + 1);
		if (!to_all)
			return;
	}
}

/* ---- enabledness ------------------------------------------------------------------------------ */

static bool couple_is_kept(const struct am_machine *m, const struct am_run_event *r)
{
	for (uint32_t i = 0; i < r->cells; i++)
		if (m->last_write[r->cell + i] != m->run->writer.at[r->couple + i])
			return false;
	return true;
}

bool am_machine_keeps(const struct am_machine *m, uint32_t event)
{
	const struct am_run_event *r = &m->run->event.at[event];
	return !r->reads || m->ignores_data || couple_is_kept(m, r);
}

static bool lock_is_free(const struct am_machine *m, uint32_t lock, bool shared)
{
	return !m->owner[lock] && (shared || !m->readers[lock]);
}

uint32_t am_machine_next(const struct am_machine *m, uint32_t thread)
{
	const uint32_t eid = m->pos[thread] + 1;

	if (m->cut[thread] || eid >= m->segment->to[thread] || eid > m->run->thread[thread].n)
		return AM_NONE;
	return am_run_at(m->run, thread, eid);
}

bool am_machine_enabled(const struct am_machine *m, uint32_t event)
{
	const struct am_run_event *r = &m->run->event.at[event];
	const struct am_event *raw = am_run_raw(m->run, event);

	if (r->peer != AM_NONE) {
		const struct am_run_event *peer = &m->run->event.at[r->peer];
		if (m->pos[peer->thread] < peer->eid)
			return false;
	}
	/* an update that reads something else may write something else, or nothing; an atomic read may be in vain */
	if (r->reads && (r->writes || am_run_may_repeat(raw)) && !m->ignores_data && !couple_is_kept(m, r))
		return false;
	switch (raw->kind) {
	case AM_ACQUIRE:
		return lock_is_free(m, r->object, raw->mode == AM_SHARED);
	case AM_WAKE:
		if (r->mutex != AM_NONE && !lock_is_free(m, r->mutex, false))
			return false;
		if (raw->flags & (AM_TIMED_OUT | AM_CANCELLED))
			return true;
		/* a wake whose wait lies before the recording began goes by the mutex alone */
		return !m->ticket[r->thread] || usable_token(m, r->object, m->ticket[r->thread]);
	case AM_TAKE:
		return m->count[r->object] > 0;
	case AM_LEAVE:
		return m->generation[r->object] >= m->arrived[r->thread];
	default:
		return true;
	}
}

/* ---- effects ----------------------------------------------------------------------------------- */

void am_machine_notify(struct am_machine *m, uint32_t event)
{
	const struct am_run_event *r = &m->run->event.at[event];
	const struct am_event *raw = am_run_raw(m->run, event);

	switch (raw->kind) {
	case AM_WAIT:
		set(m, &m->tickets, m->tickets + 1);
		set(m, &m->ticket[r->thread], m->tickets);
		set(m, &m->waits_on[r->thread], r->object);
		break;
	case AM_WAKE:
		if (m->ticket[r->thread] && !(raw->flags & (AM_TIMED_OUT | AM_CANCELLED)))
			take_token(m, r->object, m->ticket[r->thread]);
		set(m, &m->ticket[r->thread], 0);
		break;
	case AM_SIGNAL:
	case AM_BROADCAST:
		if (m->token_row[r->object] != AM_NONE)
			give_tokens(m, r->object, raw->kind == AM_BROADCAST);
		break;
	default:
		break;
	}
}

static void synchronise(struct am_machine *m, const struct am_run_event *r, const struct am_event *raw)
{
	switch (raw->kind) {
	case AM_ACQUIRE:
		if (raw->mode == AM_SHARED)
			set(m, &m->readers[r->object], m->readers[r->object] + 1);
		else
			set(m, &m->owner[r->object], r->thread + 1);
		break;
	case AM_RELEASE:
		if (m->owner[r->object])
			set(m, &m->owner[r->object], 0);
		else if (m->readers[r->object])
			set(m, &m->readers[r->object], m->readers[r->object] - 1);
		break;
	case AM_WAIT:
		if (r->mutex != AM_NONE)
			set(m, &m->owner[r->mutex], 0);
		break;
	case AM_WAKE:
		if (r->mutex != AM_NONE)
			set(m, &m->owner[r->mutex], r->thread + 1);
		break;
	case AM_POST:
		set(m, &m->count[r->object], m->count[r->object] + 1);
		break;
	case AM_TAKE:
		set(m, &m->count[r->object], m->count[r->object] - 1);
		break;
	case AM_ARRIVE:
		set(m, &m->arrived[r->thread], m->generation[r->object] + 1);
		set(m, &m->count[r->object], m->count[r->object] + 1);
		if (m->count[r->object] >= m->run->object.at[r->object].initial) {
			set(m, &m->count[r->object], 0);
			set(m, &m->generation[r->object], m->generation[r->object] + 1);
		}
		break;
	default:
		break;
	}
}

static bool meets(const uint32_t *bits, const struct am_run_event *r, uint32_t also_own,
		  const uint32_t *own)
{
	for (uint32_t c = r->cell; c < r->cell + r->cells; c++) {
		const uint32_t b = bits[c] | (also_own ? own[c] : 0);
		if ((r->writes && b) || (r->reads && (b & WRITE)))
			return true;
	}
	return false;
}

/* The violation path: what follows from an access of the region, and returns into it. */
static void follow(struct am_machine *m, uint32_t event, const struct am_run_event *r)
{
	const struct am_run_region *a = m->region;
	const bool inside = r->thread == a->thread && r->eid >= a->first && r->eid <= a->last;
	uint32_t *bits = inside ? m->own : m->taint;

	if ((!r->reads && !r->writes) || am_is_vouched(am_run_raw(m->run, event)))
		return;
	if (inside) {
		if (!m->broken && meets(m->taint, r, false, m->own)) {
			set(m, &m->broken, 1);
			set(m, &m->closing, event);
		}
	} else {
		if (!m->taint_thread[r->thread] && !meets(m->taint, r, true, m->own))
			return;
		set(m, &m->taint_thread[r->thread], 1);
	}
	for (uint32_t c = r->cell; c < r->cell + r->cells; c++)
		set(m, &bits[c], bits[c] | (r->reads ? READ : 0) | (r->writes ? WRITE : 0));
}

void am_machine_step(struct am_machine *m, uint32_t event)
{
	const struct am_run_event *r = &m->run->event.at[event];

	/* A solver's schedule leaves out steps that read, write and order nothing. */
	assert(r->eid > m->pos[r->thread]);
	am_machine_notify(m, event);
	synchronise(m, r, am_run_raw(m->run, event));
	set(m, &m->pos[r->thread], r->eid);
	if (r->reads && !m->ignores_data && !couple_is_kept(m, r))
		set(m, &m->cut[r->thread], 1);
	if (m->region)
		follow(m, event, r);
	if (r->writes)
		for (uint32_t c = r->cell; c < r->cell + r->cells; c++)
			set(m, &m->last_write[c], event);
}

/* ---- dependence -------------------------------------------------------------------------------- */

static bool is_lock_op(uint8_t kind)
{
	return kind == AM_ACQUIRE || kind == AM_RELEASE || kind == AM_WAIT || kind == AM_WAKE;
}

bool am_machine_dependent(const struct am_machine *m, uint32_t a, uint32_t b)
{
	const struct am_run_event *ra = &m->run->event.at[a], *rb = &m->run->event.at[b];
	const struct am_event *xa = am_run_raw(m->run, a), *xb = am_run_raw(m->run, b);

	if (ra->peer == b || rb->peer == a || am_run_conflict(ra, rb))
		return true;
	if (ra->object == AM_NONE || rb->object == AM_NONE)
		return false;
	if (ra->object == rb->object) {
		if (xa->kind == AM_RELEASE || xb->kind == AM_RELEASE ||
		    (xa->kind == AM_ACQUIRE && xb->kind == AM_ACQUIRE))
			return !(xa->mode == AM_SHARED && xb->mode == AM_SHARED);
		return true;
	}
	if (!is_lock_op(xa->kind) || !is_lock_op(xb->kind))
		return false;
	const uint32_t la = ra->mutex != AM_NONE ? ra->mutex : ra->object;
	const uint32_t lb = rb->mutex != AM_NONE ? rb->mutex : rb->object;
	return la == lb;
}

/* ---- life ---------------------------------------------------------------------------------------- */

static void allocate(struct am_machine *m)
{
	const uint32_t threads = m->run->n_threads, objects = m->run->object.n, cells = m->run->n_cells;
	uint32_t rows = 0;

	m->pos = am_xalloc(threads, sizeof(uint32_t));
	m->cut = am_xalloc(threads, sizeof(uint32_t));
	m->arrived = am_xalloc(threads, sizeof(uint32_t));
	m->ticket = am_xalloc(threads, sizeof(uint32_t));
	m->waits_on = am_xalloc(threads, sizeof(uint32_t));
	m->taint_thread = am_xalloc(threads, sizeof(uint32_t));
	m->owner = am_xalloc(objects, sizeof(uint32_t));
	m->readers = am_xalloc(objects, sizeof(uint32_t));
	m->count = am_xalloc(objects, sizeof(uint32_t));
	m->generation = am_xalloc(objects, sizeof(uint32_t));
	m->token_row = am_xalloc(objects, sizeof(uint32_t));
	m->last_write = am_xalloc(cells, sizeof(uint32_t));
	m->own = am_xalloc(cells, sizeof(uint32_t));
	m->taint = am_xalloc(cells, sizeof(uint32_t));
	m->loaded = am_xalloc((size_t)cells + objects, sizeof(uint32_t));
	m->chain = am_xalloc((size_t)cells + objects, sizeof(uint32_t));
	memset(m->chain, 0xff, ((size_t)cells + objects) * sizeof(uint32_t));
	memset(m->token_row, 0xff, objects * sizeof(uint32_t));
	memset(m->last_write, 0xff, cells * sizeof(uint32_t));
	for (uint32_t e = 0; e < m->run->event.n; e++) {
		const uint32_t o = m->run->event.at[e].object;
		if (am_run_raw(m->run, e)->kind == AM_WAIT && m->token_row[o] == AM_NONE)
			m->token_row[o] = rows++;
	}
	m->tokens = am_xalloc((size_t)rows * (threads + 1), sizeof(uint32_t));
	for (uint32_t o = 0; o < objects; o++)
		if (m->run->object.at[o].kind == AM_OBJ_SEM)
			m->count[o] = m->run->object.at[o].initial;
}

void am_machine_new(struct am_machine *m, const struct am_index *index)
{
	memset(m, 0, sizeof *m);
	m->run = index->run;
	m->index = index;
	allocate(m);
}

bool am_machine_replay(struct am_machine *m, const struct am_segment *segment, bool ignores_data)
{
	m->segment = segment;
	m->ignores_data = ignores_data;
	m->region = NULL;
	for (uint32_t e = 0; e < m->run->event.n; e++) {
		const struct am_run_event *r = &m->run->event.at[e];
		if (r->eid >= segment->from[r->thread])
			continue;
		if (!am_machine_enabled(m, e))
			return false;
		am_machine_step(m, e);
		if (m->cut[r->thread])
			return false;
	}
	m->region = &m->run->region.at[segment->region];
	return true;
}

void am_machine_unload(struct am_machine *m)
{
	am_machine_undo(m, 0);
	m->segment = NULL;
	m->region = NULL;
}

void am_machine_free(struct am_machine *m)
{
	free(m->pos);
	free(m->cut);
	free(m->arrived);
	free(m->ticket);
	free(m->waits_on);
	free(m->taint_thread);
	free(m->owner);
	free(m->readers);
	free(m->count);
	free(m->generation);
	free(m->token_row);
	free(m->tokens);
	free(m->last_write);
	free(m->own);
	free(m->taint);
	free(m->loaded);
	free(m->chain);
	free(m->journal.at);
	memset(m, 0, sizeof *m);
}
