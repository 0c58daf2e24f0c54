/*
 * Orders that values force: a condition that demands a value of a read, where one write alone can have
 * put it there, comes after that write. Pure functions over the program; sequential consistency only.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/grow.h"
#include "analyzer/predict/must.h"

struct finder {
	const struct am_ctp *ctp;
	struct am_must_edges *edges;
	struct {
		uint32_t *list, count, room;
	} *stores; /* by location */
};

static uint64_t initial_value(const struct am_ctp *ctp, const struct am_ctp_event *e)
{
	const struct am_ctp_object *o = &ctp->objects[e->object];
	uint64_t at = 0, value = 0;
	if (e->offset)
		am_ctp_is_const(ctp, e->offset, &at);
	for (uint32_t k = 0; k < e->size && o->init && at + k < o->size; k++)
		value |= (uint64_t)o->init[at + k] << (8 * k);
	return value;
}

/* The last write of r's own thread before it that is sure to happen, AM_CTP_NONE. */
static uint32_t own_write(const struct finder *f, const struct am_ctp_event *r)
{
	const struct am_ctp_event *events = f->ctp->events;
	uint32_t best = AM_CTP_NONE;
	for (uint32_t i = 0; i < f->stores[r->loc].count; i++) {
		const uint32_t w = f->stores[r->loc].list[i];
		if (events[w].thread == r->thread && events[w].pos < r->pos && !events[w].guard &&
		    (best == AM_CTP_NONE || events[best].pos < events[w].pos))
			best = w;
	}
	return best;
}

/* The only write from which read r can have the value; AM_CTP_NONE if there are several, or none, or
 * it may be the initial value. */
static uint32_t only_writer(const struct finder *f, uint32_t r, uint64_t value)
{
	const struct am_ctp_event *events = f->ctp->events, *read = &events[r];
	const uint32_t own = own_write(f, read);
	uint32_t found = AM_CTP_NONE;
	if (own == AM_CTP_NONE && initial_value(f->ctp, read) == value)
		return AM_CTP_NONE;
	for (uint32_t i = 0; i < f->stores[read->loc].count; i++) {
		const uint32_t w = f->stores[read->loc].list[i];
		const struct am_ctp_event *e = &events[w];
		uint64_t written;
		if (e->thread == read->thread &&
		    (e->pos >= read->pos || (own != AM_CTP_NONE && e->pos < events[own].pos)))
			continue;
		if (am_ctp_is_const(f->ctp, e->value, &written) && written != value)
			continue;
		if (found != AM_CTP_NONE)
			return AM_CTP_NONE;
		found = w;
	}
	return found;
}

static void demand(struct finder *f, uint32_t at, uint32_t node)
{
	const struct am_ctp *ctp = f->ctp;
	const struct am_expr n = ctp->nodes[node];
	uint64_t value;
	if (n.op == AM_OP_AND && n.width == 1) {
		demand(f, at, n.a);
		demand(f, at, n.b);
		return;
	}
	if (n.op != AM_OP_EQ)
		return;
	const bool swapped = ctp->nodes[n.a].op != AM_OP_READ;
	const uint32_t leaf = swapped ? n.b : n.a, other = swapped ? n.a : n.b;
	if (ctp->nodes[leaf].op != AM_OP_READ || !am_ctp_is_const(ctp, other, &value))
		return;
	const uint32_t r = (uint32_t)ctp->nodes[leaf].value;
	const struct am_ctp_event *e = &ctp->events[r];
	if (e->guard || !am_ctp_is_access(e) || !ctp->locs[e->loc].exact)
		return;
	const uint32_t w = only_writer(f, r, value);
	if (w != AM_CTP_NONE && !ctp->events[w].guard && ctp->events[w].thread != e->thread &&
	    ctp->events[w].thread != ctp->events[at].thread)
		AM_PUSH(f->edges->list, f->edges->count, f->edges->room) =
			(struct am_ctp_edge){ .before = w, .after = at };
}

void am_must_by_values(const struct am_ctp *ctp, struct am_must_edges *edges)
{
	struct finder f = { .ctp = ctp, .edges = edges };
	f.stores = am_zalloc(ctp->loc_count, sizeof *f.stores);
	for (uint32_t e = 0; e < ctp->event_count; e++) {
		const struct am_ctp_event *v = &ctp->events[e];
		if (am_ctp_is_store(v))
			AM_PUSH(f.stores[v->loc].list, f.stores[v->loc].count,
				f.stores[v->loc].room) = e;
	}
	for (uint32_t e = 0; e < ctp->event_count; e++)
		if (ctp->events[e].cond && !ctp->events[e].guard && ctp->events[e].kind != AM_ASSERT)
			demand(&f, e, ctp->events[e].cond);
	for (uint32_t i = 0; i < ctp->loc_count; i++)
		free(f.stores[i].list);
	free(f.stores);
}
