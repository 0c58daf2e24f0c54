/*
 * From a model to a linearisation: sort the events that happen by the chosen orders; if they are
 * cyclic, say so to the solver with short cycles. Tool side.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/lazy.h"

#include <assert.h>

/* One edge of the round's graph. pair: index of z->pairs, or NONE: kept by every run. */
struct edge {
	uint32_t to, pair, next;
};

struct graph {
	struct edge *edges;
	uint32_t count, room;
	uint32_t *head; /* by event: first edge + 1 */
	uint32_t *in;	/* by event: edges into it */
	bool *here;	/* by event: happens */
	bool *skipped;	/* by event: happens, but its guard is claimed false */
};

static void add_edge(struct graph *g, uint32_t a, uint32_t b, uint32_t pair)
{
	AM_PUSH(g->edges, g->count, g->room) =
		(struct edge){ .to = b, .pair = pair, .next = g->head[a] };
	g->head[a] = g->count;
	g->in[b]++;
}

static void add_pair(struct am_lazy *z, struct graph *g, uint32_t index)
{
	const struct am_pair *p = &z->pairs[index];
	uint32_t a = p->a, b = p->b;
	const bool forward = am_lazy_truth(z, p->lit);
	if (!am_lazy_pair_matters(z, p))
		return;
	if (p->is_section) {
		const struct am_section *first = &z->sections[forward ? a : b];
		const struct am_section *second = &z->sections[forward ? b : a];
		if (!g->here[first->open] || !g->here[second->open] || g->skipped[first->open] ||
		    g->skipped[second->open])
			return;
		assert(first->close != AM_CTP_NONE && g->here[first->close]);
		add_edge(g, first->close, second->open, index);
		return;
	}
	if (g->here[a] && g->here[b] && !g->skipped[a] && !g->skipped[b])
		add_edge(g, forward ? a : b, forward ? b : a, index);
}

static void build(struct am_lazy *z, struct graph *g)
{
	const struct am_ctp *ctp = z->ctp;
	const uint32_t n = ctp->event_count;
	g->head = am_zalloc(n, sizeof *g->head);
	g->in = am_zalloc(n, sizeof *g->in);
	g->here = am_zalloc(n, sizeof *g->here);
	g->skipped = am_zalloc(n, sizeof *g->skipped);
	for (uint32_t e = 0; e < n; e++) {
		g->here[e] = am_lazy_truth(z, z->x[e]);
		g->skipped[e] = g->here[e] && ctp->events[e].guard &&
				!am_lazy_truth(z, am_lazy_node(z, ctp->events[e].guard));
	}
	for (uint32_t e = 0; e < n; e++) {
		if (!g->here[e] || (g->skipped[e] && z->options.model != AM_MODEL_SC))
			continue;
		for (uint32_t i = z->must.first[e]; i < z->must.first[e + 1]; i++)
			if (g->here[z->must.out[i]])
				add_edge(g, e, z->must.out[i], AM_CTP_NONE);
	}
	for (uint32_t i = 0; i < z->pair_count; i++)
		add_pair(z, g, i);
}

static void destroy(struct graph *g)
{
	free(g->edges);
	free(g->head);
	free(g->in);
	free(g->here);
	free(g->skipped);
}

/* ---- topological order, smallest event first ------------------------------------------------- */

static void heap_push(uint32_t *heap, uint32_t *count, uint32_t v)
{
	uint32_t i = (*count)++;
	for (; i && heap[(i - 1) / 2] > v; i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = v;
}

static uint32_t heap_pop(uint32_t *heap, uint32_t *count)
{
	const uint32_t top = heap[0], v = heap[--*count];
	uint32_t i = 0, c;
	while ((c = 2 * i + 1) < *count) {
		if (c + 1 < *count && heap[c + 1] < heap[c])
			c++;
		if (heap[c] >= v)
			break;
		heap[i] = heap[c];
		i = c;
	}
	heap[i] = v;
	return top;
}

static bool sort(struct am_lazy *z, struct graph *g)
{
	const uint32_t n = z->ctp->event_count;
	uint32_t *heap = am_zalloc(n, sizeof *heap), waiting = 0, total = 0;
	z->order_count = 0;
	for (uint32_t e = 0; e < n; e++) {
		total += g->here[e];
		if (g->here[e] && !g->in[e])
			heap_push(heap, &waiting, e);
	}
	while (waiting) {
		const uint32_t e = heap_pop(heap, &waiting);
		z->order[z->order_count++] = e;
		for (uint32_t i = g->head[e]; i; i = g->edges[i - 1].next)
			if (--g->in[g->edges[i - 1].to] == 0)
				heap_push(heap, &waiting, g->edges[i - 1].to);
	}
	free(heap);
	return z->order_count == total;
}

/* ---- cycles ---------------------------------------------------------------------------------- */

struct search {
	uint32_t *from; /* by event: edge by which it was reached, + 1 */
	uint32_t *origin; /* by event: event it was reached from */
	uint32_t *distance, *stamp, now;
	uint32_t *deque; /* 0-1 breadth first: free edges to the front */
};

/* Fewest chosen orders on a path from `start` to `goal` among the unsorted events. */
static bool shortest(const struct graph *g, struct search *s, uint32_t n, uint32_t start,
		     uint32_t goal)
{
	uint32_t head = 2 * n, tail = 2 * n;
	s->now++;
	s->distance[start] = 0;
	s->stamp[start] = s->now;
	s->from[start] = 0;
	s->deque[tail++] = start;
	while (head < tail) {
		const uint32_t a = s->deque[head++];
		if (a == goal)
			return true;
		for (uint32_t i = g->head[a]; i; i = g->edges[i - 1].next) {
			const struct edge *e = &g->edges[i - 1];
			const bool free_edge = e->pair == AM_CTP_NONE;
			if (!g->in[e->to] || s->stamp[e->to] == s->now)
				continue;
			s->stamp[e->to] = s->now;
			s->from[e->to] = i;
			s->origin[e->to] = a;
			if (free_edge && head > 0)
				s->deque[--head] = e->to;
			else if (tail < 4 * n)
				s->deque[tail++] = e->to;
		}
	}
	return false;
}

static void add_edge_lits(struct am_lazy *z, struct am_lits *c, uint32_t from,
			  const struct edge *e)
{
	if (e->pair == AM_CTP_NONE) {
		/* weak models: what a guarded event orders, it orders only if executed */
		if (z->options.model != AM_MODEL_SC) {
			am_lits_add(c, -am_lazy_node(z, z->ctp->events[from].guard));
			am_lits_add(c, -am_lazy_node(z, z->ctp->events[e->to].guard));
		}
		return;
	}
	const struct am_pair *p = &z->pairs[e->pair];
	am_lits_add(c, am_lazy_truth(z, p->lit) ? -p->lit : p->lit);
	if (p->is_section) {
		am_lazy_not_executed(z, c, z->sections[p->a].open);
		am_lazy_not_executed(z, c, z->sections[p->b].open);
	}
}

static void block_cycles(struct am_lazy *z, struct graph *g)
{
	const uint32_t n = z->ctp->event_count;
	struct search s = { 0 };
	struct am_lits c = { 0 };
	bool *used = am_zalloc(z->pair_count, sizeof *used);
	uint32_t found = 0;
	s.from = am_zalloc(n, sizeof *s.from);
	s.origin = am_zalloc(n, sizeof *s.origin);
	s.distance = am_zalloc(n, sizeof *s.distance);
	s.stamp = am_zalloc(n, sizeof *s.stamp);
	s.deque = am_zalloc(4 * (size_t)n + 1, sizeof *s.deque);
	for (uint32_t a = 0; a < n && found < 32; a++) {
		for (uint32_t i = g->in[a] ? g->head[a] : 0; i && found < 32;
		     i = g->edges[i - 1].next) {
			const struct edge *e = &g->edges[i - 1];
			if (e->pair == AM_CTP_NONE || used[e->pair] || !g->in[e->to] ||
			    !shortest(g, &s, n, e->to, a))
				continue;
			c.count = 0;
			add_edge_lits(z, &c, a, e);
			used[e->pair] = true;
			for (uint32_t v = a; s.from[v]; v = s.origin[v]) {
				const struct edge *step = &g->edges[s.from[v] - 1];
				if (step->pair != AM_CTP_NONE)
					used[step->pair] = true;
				add_edge_lits(z, &c, s.origin[v], step);
			}
			am_lazy_clause(z, c.list, c.count);
			z->stats->cycles++;
			found++;
		}
	}
	assert(found);
	free(used);
	free(c.list);
	free(s.from);
	free(s.origin);
	free(s.distance);
	free(s.stamp);
	free(s.deque);
}

bool am_lazy_linearise(struct am_lazy *z)
{
	struct graph g = { 0 };
	build(z, &g);
	const bool acyclic = sort(z, &g);
	if (!acyclic)
		block_cycles(z, &g);
	destroy(&g);
	return acyclic;
}
