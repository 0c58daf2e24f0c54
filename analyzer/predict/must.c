/*
 * Must-happen-before: direct demands and their closure. For sequential consistency by vector clocks,
 * for the weaker models by a bit matrix (they are asked about small programs). Tool side.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/must.h"
#include "analyzer/predict/grow.h"

#include <assert.h>

/* 1 + C11 memory order */
enum { ORDER_ACQUIRE = 3, ORDER_RELEASE = 4, ORDER_ACQ_REL = 5, ORDER_SEQ_CST = 6 };

static bool is_full_fence(const struct am_ctp_event *e)
{
	switch (e->kind) {
	case AM_FENCE:
		return e->order == 0 || e->order >= ORDER_ACQ_REL;
	case AM_UPDATE:
	case AM_THREAD_BEGIN:
	case AM_THREAD_END:
	case AM_FORK:
	case AM_JOIN:
	case AM_ACQUIRE:
	case AM_RELEASE:
	case AM_WAIT:
	case AM_WAKE:
	case AM_SIGNAL:
	case AM_BROADCAST:
	case AM_POST:
	case AM_TAKE:
	case AM_ARRIVE:
	case AM_LEAVE:
	case AM_ONCE_BEGIN:
	case AM_ONCE_END:
		return true;
	default:
		return false;
	}
}

static bool depends(const struct am_ctp *ctp, uint32_t a, uint32_t b)
{
	const struct am_ctp_event *e = &ctp->events[b];
	return ctp->events[a].read &&
	       (am_ctp_needs(ctp, e->guard, a) || am_ctp_needs(ctp, e->cond, a) ||
		am_ctp_needs(ctp, e->offset, a) || am_ctp_needs(ctp, e->value, a));
}

static bool may_touch(const struct am_ctp *ctp, uint32_t a, uint32_t b)
{
	const struct am_ctp_event *x = &ctp->events[a], *y = &ctp->events[b];
	if (!am_ctp_is_access(x) || !am_ctp_is_access(y) || x->loc != y->loc)
		return false;
	const bool fixed = (!x->offset || am_ctp_is_const(ctp, x->offset, NULL)) &&
			   (!y->offset || am_ctp_is_const(ctp, y->offset, NULL));
	if (!fixed)
		return true;
	uint64_t p = 0, q = 0;
	if (x->offset)
		am_ctp_is_const(ctp, x->offset, &p);
	if (y->offset)
		am_ctp_is_const(ctp, y->offset, &q);
	return p < q + y->size && q < p + x->size;
}

static bool is_local(const struct am_ctp_event *e)
{
	return e->kind == AM_BRANCH || e->kind == AM_ASSERT;
}

static bool is_marker(const struct am_ctp_event *e)
{
	return !is_full_fence(e) && !am_ctp_is_access(e) && !is_local(e) && e->kind != AM_FENCE;
}

/* Fences that are not full: release and acquire. */
static bool fence_keeps(const struct am_ctp_event *x, const struct am_ctp_event *y)
{
	if (x->kind == AM_FENCE)
		return x->order == ORDER_RELEASE ? y->kind == AM_WRITE : x->order > 1;
	return y->order == ORDER_RELEASE || (y->order > 1 && (x->kind == AM_READ || is_local(x)));
}

bool am_must_keeps(const struct am_ctp *ctp, enum am_model model, uint32_t a, uint32_t b)
{
	const struct am_ctp_event *x = &ctp->events[a], *y = &ctp->events[b];
	assert(x->thread == y->thread && x->pos < y->pos);
	if (model == AM_MODEL_SC)
		return true;
	if (is_marker(x) || is_marker(y)) /* no order but that its guard must be known */
		return is_marker(y) && depends(ctp, a, b);
	if (is_full_fence(x) || is_full_fence(y))
		return true;
	if (x->kind == AM_FENCE || y->kind == AM_FENCE)
		return fence_keeps(x, y);
	if (x->kind == AM_WRITE && x->order == ORDER_SEQ_CST)
		return true;
	if (y->kind == AM_WRITE && y->order >= ORDER_RELEASE)
		return true;
	if (model == AM_MODEL_COHERENCE)
		return is_local(x) || (x->kind == AM_READ && x->order > 1) ||
		       may_touch(ctp, a, b) || depends(ctp, a, b);
	if (x->kind != AM_WRITE)
		return true;
	if (y->kind != AM_WRITE)
		return false;
	return model == AM_MODEL_TSO || may_touch(ctp, a, b);
}

/* ---- direct edges ---------------------------------------------------------------------------- */

static void add(struct am_must_edges *es, uint32_t a, uint32_t b)
{
	AM_PUSH(es->list, es->count, es->room) = (struct am_ctp_edge){ .before = a, .after = b };
}

static void thread_edges(struct am_must *m, struct am_must_edges *es, const struct am_ctp_thread *t)
{
	for (uint32_t i = 0; i + 1 < t->length && m->model == AM_MODEL_SC; i++)
		add(es, t->events[i], t->events[i + 1]);
	for (uint32_t i = 0; i < t->length && m->model != AM_MODEL_SC; i++)
		for (uint32_t j = i + 1; j < t->length; j++)
			if (am_must_keeps(m->ctp, m->model, t->events[i], t->events[j]))
				add(es, t->events[i], t->events[j]);
}

static void fork_join_edges(struct am_must *m, struct am_must_edges *es)
{
	const struct am_ctp *ctp = m->ctp;
	const bool sc = m->model == AM_MODEL_SC;
	for (uint32_t id = 0; id < ctp->event_count; id++) {
		const struct am_ctp_event *e = &ctp->events[id];
		if (e->kind != AM_FORK && (e->kind != AM_JOIN || e->guard))
			continue;
		const struct am_ctp_thread *t = &ctp->threads[e->object];
		for (uint32_t i = 0; i < t->length; i++) {
			if (e->kind == AM_FORK && (!sc || i == 0))
				add(es, id, t->events[i]);
			if (e->kind == AM_JOIN && (!sc || i + 1 == t->length))
				add(es, t->events[i], id);
		}
	}
	for (uint32_t i = 0; i < ctp->order_count; i++)
		add(es, ctp->orders[i].before, ctp->orders[i].after);
}

static void group(struct am_must *m, const struct am_must_edges *es)
{
	const uint32_t n = m->ctp->event_count;
	m->first = am_zalloc(n + 2, sizeof *m->first);
	m->out = am_zalloc(es->count, sizeof *m->out);
	for (uint32_t i = 0; i < es->count; i++)
		m->first[es->list[i].before + 2]++;
	for (uint32_t i = 2; i < n + 2; i++)
		m->first[i] += m->first[i - 1];
	for (uint32_t i = 0; i < es->count; i++)
		m->out[m->first[es->list[i].before + 1]++] = es->list[i].after;
}

/* ---- closure --------------------------------------------------------------------------------- */

/* A topological order of the direct edges; events on cycles are left out and marked never. */
static uint32_t *sort(struct am_must *m, uint32_t *count)
{
	const uint32_t n = m->ctp->event_count;
	uint32_t *in = am_zalloc(n, sizeof *in), *queue = am_zalloc(n, sizeof *queue);
	uint32_t head = 0, tail = 0;
	for (uint32_t i = 0; i < m->first[n]; i++)
		in[m->out[i]]++;
	for (uint32_t i = 0; i < n; i++)
		if (!in[i])
			queue[tail++] = i;
	while (head < tail) {
		const uint32_t a = queue[head++];
		for (uint32_t i = m->first[a]; i < m->first[a + 1]; i++)
			if (--in[m->out[i]] == 0)
				queue[tail++] = m->out[i];
	}
	m->never = am_zalloc(n, sizeof *m->never);
	for (uint32_t i = 0; i < n; i++)
		m->never[i] = in[i] != 0;
	free(in);
	*count = tail;
	return queue;
}

static void clocks(struct am_must *m, const uint32_t *order, uint32_t count)
{
	const uint32_t t = m->ctp->thread_count;
	m->clock = am_zalloc((size_t)m->ctp->event_count * t, sizeof *m->clock);
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t a = order[i];
		const struct am_ctp_event *e = &m->ctp->events[a];
		const uint32_t *from = m->clock + (size_t)a * t;
		for (uint32_t j = m->first[a]; j < m->first[a + 1]; j++) {
			uint32_t *to = m->clock + (size_t)m->out[j] * t;
			for (uint32_t k = 0; k < t; k++) {
				const uint32_t v = k == e->thread ? e->pos + 1 : from[k];
				if (to[k] < v)
					to[k] = v;
			}
		}
	}
}

/* Paths through a guarded event do not count: it may be skipped, and then orders nothing. */
static void matrix(struct am_must *m, const uint32_t *order, uint32_t count)
{
	const uint32_t n = m->ctp->event_count;
	m->words = (n + 63) / 64;
	m->too_large = n > 8192;
	if (m->too_large)
		return;
	m->bits = am_zalloc((size_t)n * m->words, sizeof *m->bits);
	for (uint32_t i = count; i-- > 0;) {
		const uint32_t a = order[i];
		uint64_t *row = m->bits + (size_t)a * m->words;
		for (uint32_t j = m->first[a]; j < m->first[a + 1]; j++) {
			const uint32_t b = m->out[j];
			const uint64_t *next = m->bits + (size_t)b * m->words;
			row[b / 64] |= UINT64_C(1) << (b % 64);
			for (uint32_t k = 0; k < m->words && !m->ctp->events[b].guard; k++)
				row[k] |= next[k];
		}
	}
}

static void init(struct am_must *m, const struct am_ctp *ctp, enum am_model model, bool by_values)
{
	*m = (struct am_must){ .ctp = ctp, .model = model };
	struct am_must_edges es = { 0 };
	for (uint32_t t = 0; t < ctp->thread_count; t++)
		thread_edges(m, &es, &ctp->threads[t]);
	fork_join_edges(m, &es);
	if (by_values)
		am_must_by_values(ctp, &es);
	group(m, &es);
	free(es.list);
	uint32_t count;
	uint32_t *order = sort(m, &count);
	if (model == AM_MODEL_SC)
		clocks(m, order, count);
	else
		matrix(m, order, count);
	free(order);
}

void am_must_init(struct am_must *m, const struct am_ctp *ctp, enum am_model model)
{
	init(m, ctp, model, false);
}

void am_must_init_with_values(struct am_must *m, const struct am_ctp *ctp, enum am_model model)
{
	init(m, ctp, model, model == AM_MODEL_SC);
}

void am_must_clear(struct am_must *m)
{
	free(m->out);
	free(m->first);
	free(m->clock);
	free(m->bits);
	free(m->never);
	*m = (struct am_must){ 0 };
}

bool am_must_before(const struct am_must *m, uint32_t a, uint32_t b)
{
	const struct am_ctp_event *x = &m->ctp->events[a];
	if (a == b)
		return false;
	if (m->clock)
		return m->clock[(size_t)b * m->ctp->thread_count + x->thread] > x->pos;
	if (m->bits)
		return m->bits[(size_t)a * m->words + b / 64] >> (b % 64) & 1;
	for (uint32_t i = m->first[a]; i < m->first[a + 1]; i++)
		if (m->out[i] == b)
			return true;
	return false;
}
