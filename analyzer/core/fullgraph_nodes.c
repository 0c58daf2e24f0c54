/*
 * The classic conflict graph (fullgraph.c): transactions, the edges between them, and the cycle that an edge would
 * close. Runs wherever the graph does; no I/O, no globals.
 */
/* SPDX-License-Identifier: MIT */
#include "fullgraph.h"

void *am_full_push(struct am_fullgraph *g, struct am_full_vec *v, size_t bytes)
{
	if (v->n == v->cap) {
		const uint32_t cap = v->cap ? v->cap * 2 : 16;
		void *at = cap < AM_FULL_NONE / 2 ? am_mem_resize(g->mem, v->at, v->cap * bytes, cap * bytes) : NULL;
		if (!at) {
			g->stopped = true;
			return NULL;
		}
		v->at = at;
		v->cap = cap;
	}
	void *p = (char *)v->at + v->n++ * bytes;
	return memset(p, 0, bytes);
}

bool am_full_add_arc(struct am_fullgraph *g, uint32_t source, uint32_t target, const struct am_edge *edge)
{
	uint64_t *known = am_map_put(&g->pairs, g->mem, ((uint64_t)source << 32 | target) + 1);

	if (!known) {
		g->stopped = true;
		return false;
	}
	if (*known)
		return true;
	struct am_full_arc *a = am_full_push(g, &g->arcs, sizeof *a);
	if (!a)
		return false;
	*known = 1;
	a->source = source;
	a->target = target;
	a->edge = *edge;
	a->next = NODE(g, source)->out;
	NODE(g, source)->out = g->arcs.n - 1;
	return true;
}

bool am_full_has_arc(const struct am_fullgraph *g, uint32_t source, uint32_t target)
{
	return am_map_find(&g->pairs, ((uint64_t)source << 32 | target) + 1);
}

uint32_t am_full_node_new(struct am_fullgraph *g, const struct am_full_thread *t, const struct am_event *ev)
{
	struct am_full_node *n = am_full_push(g, &g->nodes, sizeof *n);

	if (!n)
		return AM_FULL_NONE;
	n->out = AM_FULL_NONE;
	n->era = g->era;
	n->thread = (uint32_t)(t - (const struct am_full_thread *)g->threads.at);
	n->begin = ev->index;
	if (ev->kind == AM_BEGIN) {
		n->region = (uint32_t)ev->object;
		n->region_site = ev->site;
	}
	return g->nodes.n - 1;
}

struct am_access am_full_access(const struct am_fullgraph *g, uint32_t node, const struct am_event *ev)
{
	const struct am_full_node *n = NODE(g, node);

	return (struct am_access){
		.index = ev->index,
		.object = ev->kind == AM_WAIT || ev->kind == AM_WAKE ? ev->aux : ev->object,
		.value = ev->value,
		.size = ev->kind == AM_FREE ? (uint32_t)(ev->aux < UINT32_MAX ? ev->aux : UINT32_MAX) : ev->size,
		.thread = ev->thread,
		.site = ev->site,
		.region = n->region,
		.region_site = n->region_site,
		.kind = ev->kind,
		.mode = ev->mode,
		.flags = ev->flags | (ev->order & AM_ORDER_MASK ? AM_ATOMIC : 0),
	};
}

void am_full_program_edge(struct am_fullgraph *g, struct am_full_thread *t, uint32_t node,
			 const struct am_access *access)
{
	if (t->last != AM_FULL_NONE && t->last != node && NODE(g, t->last)->era == g->era) {
		const struct am_edge e = {t->newest, *access, AM_EDGE_PROGRAM};
		am_full_add_arc(g, t->last, node, &e);
	}
	t->last = node;
	t->newest = *access;
}

void am_full_search(struct am_fullgraph *g, uint32_t start)
{
	uint32_t head = 0;

	g->queue.n = 0;
	g->search++;
	NODE(g, start)->seen = g->search;
	NODE(g, start)->via = AM_FULL_NONE;
	uint32_t *first = am_full_push(g, &g->queue, sizeof *first);
	if (first)
		*first = start;
	while (head < g->queue.n) {
		const uint32_t at = ((uint32_t *)g->queue.at)[head++];
		for (uint32_t a = NODE(g, at)->out; a != AM_FULL_NONE; a = ARC(g, a)->next) {
			struct am_full_node *n = NODE(g, ARC(g, a)->target);
			if (n->seen == g->search)
				continue;
			n->seen = g->search;
			n->via = a;
			uint32_t *q = am_full_push(g, &g->queue, sizeof *q);
			if (!q)
				return;
			*q = ARC(g, a)->target;
		}
	}
}

uint32_t am_full_distance(const struct am_fullgraph *g, uint32_t node)
{
	uint32_t n = 0;

	for (uint32_t via = NODE(g, node)->via; via != AM_FULL_NONE; via = NODE(g, ARC(g, via)->source)->via)
		n++;
	return n;
}

void am_full_report(struct am_fullgraph *g, const struct am_full_thread *t, const struct am_full_entry *closing,
		   const struct am_access *access)
{
	struct am_cycle *c = &g->cycle;
	const struct am_full_node *n = NODE(g, t->node);
	const uint32_t length = am_full_distance(g, closing->node);
	uint32_t at = length;

	memset(c, 0, offsetof(struct am_cycle, edge));
	c->thread = t->id;
	c->region = n->region;
	c->region_site = n->region_site;
	c->begin_index = n->begin;
	c->close_index = access->index;
	c->n_inner = t->depth - 1 < 8 ? t->depth - 1 : 8;
	memcpy(c->inner, t->inner, sizeof c->inner);
	for (uint32_t via = NODE(g, closing->node)->via; via != AM_FULL_NONE;) {
		if (--at < AM_CYCLE_MAX - 1)
			c->edge[at] = ARC(g, via)->edge;
		via = NODE(g, ARC(g, via)->source)->via;
	}
	c->n_edges = length < AM_CYCLE_MAX - 1 ? length : AM_CYCLE_MAX - 1;
	c->omitted = length - c->n_edges;
	c->omit_at = c->omitted ? c->n_edges : 0;
	c->edge[c->n_edges++] = (struct am_edge){closing->access, *access, AM_EDGE_CONFLICT};
	g->stats.cycles++;
	if (g->config.on_cycle)
		g->config.on_cycle(g->config.ctx, c);
}
