/*
 * The classic conflict graph (Farzan & Madhusudan, CAV'08, section 2): one node per transaction, an
 * edge for each pair of dependent accesses and between successive transactions of a thread. A
 * transaction is an outermost region, or one access outside any region. Runs in tools, in tests and,
 * with ATOMMON_VERIFY=1, in the drain thread; must stay as plain as possible, since it is what the
 * fast checker is compared with. No I/O, no globals. Here: the events; the rest is in fullgraph_*.c.
 *
 * An incoming edge can only be made by an access of the node itself, and a node without outgoing
 * edges is on no cycle: so at each access of a region that has successors, one breadth-first search
 * tells which of the conflicting transactions it reaches. Each of those closes a cycle; its edge is
 * reported and not added, so that the graph stays acyclic and later reports speak of new cycles.
 */
/* SPDX-License-Identifier: MIT */
#include "fullgraph.h"

struct am_fullgraph *am_fullgraph_new(const struct am_checker_config *config, struct am_mem *mem)
{
	struct am_fullgraph *g = am_mem_alloc(mem, sizeof *g);

	if (!g)
		return NULL;
	g->config = *config;
	g->mem = mem;
	g->data = config->conflicts == AM_CONFLICTS_DATA || config->conflicts == AM_CONFLICTS_BOTH;
	g->locks = config->conflicts != AM_CONFLICTS_DATA;
	return g;
}

void am_fullgraph_free(struct am_fullgraph *g)
{
	struct am_mem *mem = g->mem;

	am_mem_free(mem, g->nodes.at, g->nodes.cap * sizeof(struct am_full_node));
	am_mem_free(mem, g->arcs.at, g->arcs.cap * sizeof(struct am_full_arc));
	am_mem_free(mem, g->entries.at, g->entries.cap * sizeof(struct am_full_entry));
	am_mem_free(mem, g->threads.at, g->threads.cap * sizeof(struct am_full_thread));
	am_mem_free(mem, g->queue.at, g->queue.cap * sizeof(uint32_t));
	am_map_free(&g->words, mem);
	am_map_free(&g->thread_of, mem);
	am_map_free(&g->pairs, mem);
	am_map_free(&g->marks, mem);
	am_mem_free(mem, g->mark_list.at, g->mark_list.cap * sizeof(struct am_full_mark));
	am_mem_free(mem, g, sizeof *g);
}

void am_fullgraph_stats(const struct am_fullgraph *g, struct am_checker_stats *stats)
{
	*stats = g->stats;
	stats->nodes_live = stats->nodes_peak = g->nodes.n;
	stats->edges_live = stats->edges_peak = g->arcs.n;
	stats->entities_live = stats->entities_peak = g->words.n;
	stats->bytes_peak = g->mem->peak;
	stats->forgotten = g->stopped;
}

static struct am_full_thread *thread_get(struct am_fullgraph *g, uint32_t id)
{
	uint64_t *place = am_map_put(&g->thread_of, g->mem, (uint64_t)id + 1);

	if (!place) {
		g->stopped = true;
		return NULL;
	}
	if (!*place) {
		struct am_full_thread *t = am_full_push(g, &g->threads, sizeof *t);
		if (!t)
			return NULL;
		t->id = id;
		t->node = t->last = AM_FULL_NONE;
		*place = g->threads.n;
	}
	return &((struct am_full_thread *)g->threads.at)[*place - 1];
}

static void region_begin(struct am_fullgraph *g, struct am_full_thread *t, const struct am_event *ev)
{
	if (t->depth++) {
		if (t->depth - 2 < 8)
			t->inner[t->depth - 2] = (uint32_t)ev->object;
		return;
	}
	t->node = am_full_node_new(g, t, ev);
	g->stats.regions++;
}

static void region_end(struct am_full_thread *t)
{
	if (t->depth && !--t->depth)
		t->node = AM_FULL_NONE;
}

/* Nothing that was seen so far shall matter any more; open regions go on as new transactions. */
static void forget(struct am_fullgraph *g)
{
	g->era++;
	am_map_clear(&g->words);
	g->entries.n = 0;
	for (uint32_t i = 0; i < g->threads.n; i++) {
		struct am_full_thread *t = &((struct am_full_thread *)g->threads.at)[i];
		if (t->node == AM_FULL_NONE)
			continue;
		const struct am_full_node old = *NODE(g, t->node);
		struct am_full_node *n = am_full_push(g, &g->nodes, sizeof *n);
		if (!n)
			return;
		*n = old;
		n->out = AM_FULL_NONE;
		n->era = g->era;
		t->node = g->nodes.n - 1;
	}
}

static void on_lost(struct am_fullgraph *g, struct am_full_thread *t, const struct am_event *ev)
{
	g->stats.lost += ev->aux ? ev->aux : 1;
	t->depth = 0;
	t->node = AM_FULL_NONE;
	t->muted = true;
	forget(g);
}

static void on_lock(struct am_fullgraph *g, struct am_full_thread *t, const struct am_event *ev)
{
	const bool waits = ev->kind == AM_WAIT || ev->kind == AM_WAKE;

	if (waits && !ev->aux)
		return; /* it keeps its mutex */
	if (g->locks && !(ev->kind == AM_RELEASE && (ev->flags & AM_FREED_LOCK)))
		am_full_touch(g, t, ev, AM_FULL_LOCKS, waits ? ev->aux : ev->object, 1,
			  waits || ev->mode != AM_SHARED);
}

/* Nothing lies behind the last address. */
static uint64_t clip(uint64_t from, uint64_t bytes)
{
	return bytes < UINT64_MAX - from ? bytes : UINT64_MAX - from;
}

bool am_full_wants_data(struct am_fullgraph *g)
{
	if (!g->data && g->config.conflicts == AM_CONFLICTS_AUTO) {
		g->data = true;
		g->locks = false;
		forget(g);
	}
	return g->data;
}

static void on_data(struct am_fullgraph *g, struct am_full_thread *t, const struct am_event *ev)
{
	if (am_full_wants_data(g) && !t->muted)
		am_full_touch(g, t, ev, 0, ev->object, clip(ev->object, ev->size < AM_ACCESS_MAX ? ev->size : AM_ACCESS_MAX),
			  ev->kind != AM_READ);
}

static void on_block(struct am_fullgraph *g, struct am_full_thread *t, const struct am_event *ev)
{
	const bool counts = ev->kind == AM_FREE && am_full_wants_data(g) && !t->muted && ev->aux;

	if (counts)
		am_full_touch(g, t, ev, 0, ev->object, clip(ev->object, ev->aux), true);
	if (!counts || ev->aux > AM_FREED_MAX)
		am_full_erase(g, 0, ev->object, ev->aux);
	am_full_erase(g, AM_FULL_LOCKS, ev->object, ev->aux);
}

static void thread_end(struct am_fullgraph *g, uint32_t id)
{
	const uint64_t *place = am_map_find(&g->thread_of, (uint64_t)id + 1);

	if (place)
		((struct am_full_thread *)g->threads.at)[*place - 1].node = AM_FULL_NONE;
	am_map_remove(&g->thread_of, (uint64_t)id + 1);
}

void am_fullgraph_event(struct am_fullgraph *g, const struct am_event *ev)
{
	g->stats.events++;
	if (g->stopped)
		return;
	struct am_full_thread *t = thread_get(g, ev->thread);
	if (!t)
		return;
	switch (ev->kind) {
	case AM_BEGIN:
		region_begin(g, t, ev);
		break;
	case AM_END:
		region_end(t);
		break;
	case AM_READ:
	case AM_WRITE:
	case AM_UPDATE:
		on_data(g, t, ev);
		break;
	case AM_ACQUIRE:
	case AM_RELEASE:
	case AM_WAIT:
	case AM_WAKE:
		on_lock(g, t, ev);
		break;
	case AM_ALLOC:
	case AM_FREE:
		on_block(g, t, ev);
		break;
	case AM_INIT:
	case AM_DESTROY:
		am_full_erase(g, AM_FULL_LOCKS, ev->object, 1);
		break;
	case AM_JOIN:
		thread_end(g, (uint32_t)ev->object);
		break;
	case AM_THREAD_END:
		thread_end(g, ev->thread);
		break;
	case AM_LOST:
		on_lost(g, t, ev);
		break;
	case AM_MARK:
		am_full_on_mark(g, t, ev);
		break;
	case AM_LATE:
		am_full_on_late(g, ev);
		break;
	default:
		break;
	}
}
