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

enum { FIRST_CONTEXTS = 256, CONTEXTS_MAX = 1 << 20 };

static uint32_t hash_of(const struct am_context *x)
{
	const uint64_t h = (x->where * UINT64_C(0x9e3779b97f4a7c15) ^ x->what) * UINT64_C(0xc2b2ae3d27d4eb4f);

	return (uint32_t)(h >> 32);
}

static bool is_same(const struct am_context *a, const struct am_context *b)
{
	return a->where == b->where && a->what == b->what;
}

static bool contexts_widen(struct am_checker *c)
{
	const uint32_t cap = c->cap_contexts ? c->cap_contexts * 2 : FIRST_CONTEXTS;
	uint32_t *at = cap <= CONTEXTS_MAX ? am_mem_alloc(c->mem, sizeof *at * cap * 2) : NULL;

	if (!at)
		return false;
	struct am_context *p = am_mem_resize(c->mem, c->context, sizeof *p * c->cap_contexts, sizeof *p * cap);
	if (!p) {
		am_mem_free(c->mem, at, sizeof *at * cap * 2);
		return false;
	}
	am_mem_free(c->mem, c->context_at, sizeof *at * c->cap_contexts * 2);
	c->context = p;
	c->cap_contexts = cap;
	c->context_at = at;
	for (uint32_t i = 0; i < c->n_contexts; i++) {
		uint32_t h = hash_of(&p[i]) & (cap * 2 - 1);
		while (at[h])
			h = (h + 1) & (cap * 2 - 1);
		at[h] = i + 1;
	}
	return true;
}

uint32_t am_context_number(struct am_checker *c, const struct am_context *x)
{
	if (c->n_contexts == c->cap_contexts && !contexts_widen(c))
		return 0;
	const uint32_t wrap = c->cap_contexts * 2 - 1;
	uint32_t h = hash_of(x) & wrap;
	for (; c->context_at[h]; h = (h + 1) & wrap)
		if (is_same(&c->context[c->context_at[h] - 1], x))
			return c->context_at[h];
	c->context[c->n_contexts] = *x;
	c->context_at[h] = ++c->n_contexts;
	return c->n_contexts;
}

void am_context_free(struct am_checker *c)
{
	am_mem_free(c->mem, c->context, sizeof *c->context * c->cap_contexts);
	am_mem_free(c->mem, c->context_at, sizeof *c->context_at * c->cap_contexts * 2);
}

static struct am_access access_of(const struct am_checker *c, const struct am_end *end)
{
	const struct am_context *x = &c->context[AM_CONTEXT_OF(end->stamp.tag) - 1];

	return (struct am_access){
		.index = AM_INDEX_OF(end->stamp.moment),
		.object = end->object,
		.value = end->stamp.value,
		.size = (uint32_t)end->size,
		.thread = c->vertex[AM_SLOT_OF(end->stamp.moment)].id,
		.site = (uint32_t)x->where,
		.region = (uint32_t)(x->where >> 32),
		.region_site = (uint32_t)x->what,
		.kind = (uint8_t)(x->what >> 32),
		.mode = (uint8_t)(x->what >> 40),
		.flags = (uint8_t)(x->what >> 48),
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
		if (x == slot && at.stamp.moment >= c->vertex[slot].begin)
			return true;
		if (!am_has(am_anc(c, x), slot))
			return false;
		const struct am_reach r = *am_reach_of(c, slot, x);
		if (r.first > at.stamp.moment)
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

void am_cycle_close(struct am_checker *c, struct am_now *now, const struct am_end *from)
{
	const struct am_vertex *v = &c->vertex[now->slot];
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
	cycle->region = v->region;
	cycle->region_site = v->region_site;
	cycle->begin_index = v->begin_index;
	cycle->close_index = now->event->index;
	cycle->n_inner = v->depth - 1 < 8 ? v->depth - 1 : 8;
	memcpy(cycle->inner, v->inner, sizeof cycle->inner);
	cycle->n_edges = told;
	cycle->omitted = omitted;
	cycle->omit_at = complete && omitted ? AM_CYCLE_MAX - 1 : 0;
	struct fill f = {total, total};
	const struct am_end to = am_now_end(now);
	fill_edge(c, &f, from, &to, AM_EDGE_CONFLICT);
	walk_back(c, now->slot, from, fill_edge, &f);
	c->best = *cycle;
	c->found = true;
}
