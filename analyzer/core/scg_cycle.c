/*
 * Telling a cycle: contexts of accesses (site, region, kind; interned, since they come from program
 * text), and the way back from the closing access to the region through the edges that each
 * first(a, X) remembers. Runs wherever the checker runs; no I/O, no globals. Must never invent: a
 * step that is no longer known is counted as omitted.
 */
/* SPDX-License-Identifier: MIT */
#include "scg.h"

#include <assert.h>
#include <string.h>

enum { FIRST = 64, CONTEXTS_MAX = 1 << 20 };

/* Room for one more in an array that only grows. */
static void *widen(struct am_checker *c, void *at, uint32_t n, uint32_t *cap, uint32_t max, size_t bytes)
{
	if (n < *cap)
		return at;
	const uint32_t more = *cap ? *cap * 2 : FIRST;
	void *p = more <= max ? am_mem_resize(c->mem, at, *cap * bytes, more * bytes) : NULL;
	if (p)
		*cap = more;
	return p;
}

static uint32_t number_of(struct am_checker *c, uint64_t context)
{
	const uint64_t *known = am_map_find(&c->context_number, context);

	if (known)
		return (uint32_t)*known;
	uint64_t *p = widen(c, c->context, c->n_contexts, &c->cap_contexts, CONTEXTS_MAX, sizeof *p);
	if (!p)
		return 0;
	c->context = p;
	uint64_t *number = am_map_put(&c->context_number, c->mem, context);
	if (!number)
		return 0;
	c->context[c->n_contexts++] = context;
	return (uint32_t)(*number = c->n_contexts);
}

uint32_t am_context_keep(struct am_checker *c, uint32_t at, uint32_t site, uint32_t place, uint32_t what, uint64_t context)
{
	const uint32_t number = number_of(c, context);

	if (number) {
		c->recent_context[at].site = site;
		c->recent_context[at].place = place;
		c->recent_context[at].what = what;
		c->recent_context[at].number = number;
	}
	return number;
}

uint32_t am_context_learn(struct am_checker *c, uint32_t place, const struct am_event *e, uint32_t at)
{
	const uint64_t context = (uint64_t)e->site << AM_CONTEXT_SITE | place |
				 (uint32_t)(e->flags | (e->order & AM_ORDER_MASK ? AM_ATOMIC : 0)) << AM_CONTEXT_FLAGS |
				 (uint32_t)(e->mode & 1) << AM_CONTEXT_MODE | e->kind;

	return am_context_keep(c, at, e->site, place, am_what(e), context);
}

uint32_t am_place_number(struct am_checker *c, struct am_region_place place)
{
	const uint64_t key = ((uint64_t)place.region << 32 | place.site) + 1;
	const uint64_t *known = am_map_find(&c->place_number, key ? key : 1);

	if (known)
		return (uint32_t)*known;
	struct am_region_place *p = widen(c, c->place, c->n_places, &c->cap_places, AM_PLACES_MAX / 2, sizeof *p);
	if (!p)
		return 0;
	c->place = p;
	uint64_t *number = am_map_put(&c->place_number, c->mem, key ? key : 1);
	if (!number)
		return 0;
	c->place[c->n_places++] = place;
	return (uint32_t)(*number = c->n_places);
}

void am_context_free(struct am_checker *c)
{
	am_mem_free(c->mem, c->context, sizeof *c->context * c->cap_contexts);
	am_mem_free(c->mem, c->place, sizeof *c->place * c->cap_places);
	am_map_free(&c->context_number, c->mem);
	am_map_free(&c->place_number, c->mem);
}

static struct am_access access_of(const struct am_checker *c, const struct am_end *end)
{
	const uint64_t x = c->context[AM_CONTEXT_OF(end->stamp.tag) - 1];
	const uint32_t number = (uint32_t)x >> AM_CONTEXT_PLACE;
	const struct am_region_place place = number ? c->place[number - 1] : (struct am_region_place){0, 0};
	const uint8_t kind = x & ((1 << AM_CONTEXT_MODE) - 1), mode = x >> AM_CONTEXT_MODE & 1;
	const bool is_late = (kind == AM_READ || kind == AM_WRITE) && mode; /* scg_late.c */

	return (struct am_access){
		.index = AM_INDEX_OF(end->stamp.moment),
		.told = is_late ? end->stamp.value : 0,
		.object = end->object,
		.value = is_late ? 0 : end->stamp.value,
		.size = end->size,
		.thread = end->thread,
		.site = (uint32_t)(x >> AM_CONTEXT_SITE),
		.region = place.region,
		.region_site = place.site,
		.kind = kind,
		.mode = is_late ? 0 : mode,
		.flags = x >> AM_CONTEXT_FLAGS & 0xff,
	};
}

static bool same_transaction(const struct am_stamp *a, const struct am_stamp *b)
{
	const uint32_t transaction = AM_TRANSACTION_OF(a->tag);

	return a->moment == b->moment || (transaction && transaction == AM_TRANSACTION_OF(b->tag));
}

/*
 * Walk back from `end` to the open region of `slot`, from each access to the edge by which its
 * thread was reached. Edges are handed over last first. Every step goes to an earlier transaction of
 * an acyclic graph, so the walk ends; the bound only guards against a step forgotten at the memory
 * ceiling. False: the way back is not known to its beginning.
 */
typedef void edge_fn(struct am_checker *c, void *ctx, const struct am_end *from, const struct am_end *to,
		     enum am_edge_why why);

static bool walk_back(struct am_checker *c, uint32_t slot, const struct am_end *end, edge_fn *fn, void *ctx)
{
	struct am_end at = *end;

	for (uint32_t steps = 0; steps <= c->high; steps++) {
		const uint32_t x = AM_SLOT_OF(at.stamp.moment);
		if (x == slot && at.stamp.moment >= c->front[slot].begin)
			return true;
		if (x == slot || !am_has(am_anc(c, x), c->front[slot].region))
			return false;
		const struct am_reach r = *am_reach_of(c, c->front[slot].region, x);
		if (r.first > at.stamp.moment || !r.from.stamp.moment)
			return false;
		if (!same_transaction(&r.to.stamp, &at.stamp)) {
			assert(r.to.stamp.moment < at.stamp.moment);
			fn(c, ctx, &r.to, &at, AM_EDGE_PROGRAM);
		}
		fn(c, ctx, &r.from, &r.to, AM_EDGE_CONFLICT);
		at = r.from;
	}
	return false;
}

static void count_edge(struct am_checker *c, void *ctx, const struct am_end *from, const struct am_end *to,
		       enum am_edge_why why)
{
	(void)c, (void)from, (void)to, (void)why;
	++*(uint32_t *)ctx;
}

struct fill {
	uint32_t at; /* one behind the edge that comes next */
	uint32_t total;
};

static void fill_edge(struct am_checker *c, void *ctx, const struct am_end *from, const struct am_end *to,
		      enum am_edge_why why)
{
	struct fill *f = ctx;
	uint32_t at = --f->at;

	if (f->total > AM_CYCLE_MAX) { /* the beginning and the closing edge are told */
		if (at == f->total - 1)
			at = AM_CYCLE_MAX - 1;
		else if (at >= AM_CYCLE_MAX - 1)
			return;
	}
	c->other.edge[at] = (struct am_edge){access_of(c, from), access_of(c, to), (uint8_t)why};
}

void am_cycle_tell(struct am_checker *c)
{
	c->found = false;
	c->stats.cycles++;
	if (c->config.on_cycle)
		c->config.on_cycle(c->config.ctx, &c->best);
}

void am_cycle_close(struct am_checker *c, struct am_now *now, const struct am_end *from)
{
	const struct am_vertex *v = &c->vertex[now->slot];
	const struct am_front *f = &c->front[now->slot];
	const struct am_region_place place = c->place[(f->place >> AM_CONTEXT_PLACE) - 1];
	struct am_cycle *cycle = &c->other;
	uint32_t total = 1;

	if (!am_now_tag(c, now)) {
		c->stats.forgotten++;
		return;
	}
	const bool complete = walk_back(c, now->slot, from, count_edge, &total);
	const uint32_t told = total < AM_CYCLE_MAX ? total : AM_CYCLE_MAX;
	const uint32_t omitted = total - told + !complete;
	if (c->found && (c->best.omitted < omitted ||
			 (c->best.omitted == omitted && c->best.n_edges <= told)))
		return;
	memset(cycle, 0, offsetof(struct am_cycle, edge));
	cycle->thread = v->id;
	cycle->region = place.region;
	cycle->region_site = place.site;
	cycle->begin_index = f->begin_index;
	cycle->close_index = now->event->index;
	cycle->n_inner = f->depth - 1u < 8 ? f->depth - 1u : 8;
	memcpy(cycle->inner, v->inner, sizeof cycle->inner);
	cycle->n_edges = told;
	cycle->omitted = omitted;
	cycle->omit_at = complete && omitted ? AM_CYCLE_MAX - 1 : 0;
	struct fill fill = {total, total};
	const struct am_end to = am_now_end(now);
	fill_edge(c, &fill, from, &to, AM_EDGE_CONFLICT);
	walk_back(c, now->slot, from, fill_edge, &fill);
	am_cycle_copy(&c->best, cycle);
	c->found = true;
}
