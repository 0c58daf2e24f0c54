/*
 * The classic conflict graph (Farzan & Madhusudan, CAV'08, section 2): one node per transaction, an
 * edge for each pair of dependent accesses and between successive transactions of a thread. A
 * transaction is an outermost region, or one access outside any region. Runs in tools, in tests and,
 * with ATOMMON_VERIFY=1, in the drain thread; must stay as plain as possible, since it is what the
 * fast checker is compared with. No I/O, no globals.
 *
 * An incoming edge can only be made by an access of the node itself, and a node without outgoing
 * edges is on no cycle: so at each access of a region that has successors, one breadth-first search
 * tells which of the conflicting transactions it reaches. Each of those closes a cycle; its edge is
 * reported and not added, so that the graph stays acyclic and later reports speak of new cycles.
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/checker.h"

#include "map.h"
#include "atommon/mem.h"

#include <assert.h>
#include <string.h>

#define NONE UINT32_MAX
#define LOCK_SPACE (UINT64_C(1) << 63)

struct node {
	uint32_t out;	   /* first edge, NONE */
	uint32_t era;	   /* edges never lead from one era to another */
	uint32_t seen;	   /* search that reached it */
	uint32_t via;	   /* edge by which that search reached it */
	uint32_t thread; /* which of g->threads: a thread that ended never comes back */
	uint32_t region, region_site;
	uint64_t begin;
};

struct arc {
	uint32_t source, target, next;
	struct am_edge edge;
};

struct entry { /* one access in the list of its word */
	uint32_t node, next;
	uint8_t mask;
	bool writes;
	struct am_access access;
};

struct mark {
	uint32_t number, node, older; /* of the same thread, NONE */
};

struct thread {
	uint32_t id;
	uint32_t node; /* of the open region, NONE outside */
	uint32_t last; /* newest transaction that has an access, NONE */
	uint32_t depth;
	bool muted;		 /* events were lost: its accesses are not trusted */
	struct am_access newest; /* the newest access, of `last` */
	uint32_t inner[8];
};

struct vec {
	void *at;
	uint32_t n, cap;
};

struct am_fullgraph {
	struct am_checker_config config;
	struct am_mem *mem;
	struct am_checker_stats stats;
	struct vec nodes, arcs, entries, threads, queue, mark_list;
	struct am_map words;	/* word + 1 -> first entry + 1 */
	struct am_map thread_of; /* id + 1 -> index + 1 */
	struct am_map pairs;	/* source << 32 | target, + 1 */
	struct am_map marks;	/* thread + 1 -> its newest mark + 1 */
	uint32_t era, search;
	bool data, locks, stopped;
	struct am_cycle cycle;
};

static void *push(struct am_fullgraph *g, struct vec *v, size_t bytes)
{
	if (v->n == v->cap) {
		const uint32_t cap = v->cap ? v->cap * 2 : 16;
		void *at = cap < NONE / 2 ? am_mem_resize(g->mem, v->at, v->cap * bytes, cap * bytes) : NULL;
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

#define NODE(g, i) (&((struct node *)(g)->nodes.at)[i])
#define ARC(g, i) (&((struct arc *)(g)->arcs.at)[i])
#define MARK(g, i) (&((struct mark *)(g)->mark_list.at)[i])
#define ENTRY(g, i) (&((struct entry *)(g)->entries.at)[i])

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

	am_mem_free(mem, g->nodes.at, g->nodes.cap * sizeof(struct node));
	am_mem_free(mem, g->arcs.at, g->arcs.cap * sizeof(struct arc));
	am_mem_free(mem, g->entries.at, g->entries.cap * sizeof(struct entry));
	am_mem_free(mem, g->threads.at, g->threads.cap * sizeof(struct thread));
	am_mem_free(mem, g->queue.at, g->queue.cap * sizeof(uint32_t));
	am_map_free(&g->words, mem);
	am_map_free(&g->thread_of, mem);
	am_map_free(&g->pairs, mem);
	am_map_free(&g->marks, mem);
	am_mem_free(mem, g->mark_list.at, g->mark_list.cap * sizeof(struct mark));
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

static struct thread *thread_get(struct am_fullgraph *g, uint32_t id)
{
	uint64_t *place = am_map_put(&g->thread_of, g->mem, (uint64_t)id + 1);

	if (!place) {
		g->stopped = true;
		return NULL;
	}
	if (!*place) {
		struct thread *t = push(g, &g->threads, sizeof *t);
		if (!t)
			return NULL;
		t->id = id;
		t->node = t->last = NONE;
		*place = g->threads.n;
	}
	return &((struct thread *)g->threads.at)[*place - 1];
}

static bool add_arc(struct am_fullgraph *g, uint32_t source, uint32_t target, const struct am_edge *edge)
{
	uint64_t *known = am_map_put(&g->pairs, g->mem, ((uint64_t)source << 32 | target) + 1);

	if (!known) {
		g->stopped = true;
		return false;
	}
	if (*known)
		return true;
	struct arc *a = push(g, &g->arcs, sizeof *a);
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

static bool has_arc(const struct am_fullgraph *g, uint32_t source, uint32_t target)
{
	return am_map_find(&g->pairs, ((uint64_t)source << 32 | target) + 1);
}

/* A new transaction of the thread. Its program edge comes with its first access. */
static uint32_t node_new(struct am_fullgraph *g, const struct thread *t, const struct am_event *ev)
{
	struct node *n = push(g, &g->nodes, sizeof *n);

	if (!n)
		return NONE;
	n->out = NONE;
	n->era = g->era;
	n->thread = (uint32_t)(t - (const struct thread *)g->threads.at);
	n->begin = ev->index;
	if (ev->kind == AM_BEGIN) {
		n->region = (uint32_t)ev->object;
		n->region_site = ev->site;
	}
	return g->nodes.n - 1;
}

static struct am_access access_of(const struct am_fullgraph *g, uint32_t node, const struct am_event *ev)
{
	const struct node *n = NODE(g, node);

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
		.flags = ev->flags,
	};
}

/* Program order: the transaction before it in its thread comes first. */
static void program_edge(struct am_fullgraph *g, struct thread *t, uint32_t node,
			 const struct am_access *access)
{
	if (t->last != NONE && t->last != node && NODE(g, t->last)->era == g->era) {
		const struct am_edge e = {t->newest, *access, AM_EDGE_PROGRAM};
		add_arc(g, t->last, node, &e);
	}
	t->last = node;
	t->newest = *access;
}

/* Which nodes does this one reach? Marks them with g->search. */
static void search_from(struct am_fullgraph *g, uint32_t start)
{
	uint32_t head = 0;

	g->queue.n = 0;
	g->search++;
	NODE(g, start)->seen = g->search;
	NODE(g, start)->via = NONE;
	uint32_t *first = push(g, &g->queue, sizeof *first);
	if (first)
		*first = start;
	while (head < g->queue.n) {
		const uint32_t at = ((uint32_t *)g->queue.at)[head++];
		for (uint32_t a = NODE(g, at)->out; a != NONE; a = ARC(g, a)->next) {
			struct node *n = NODE(g, ARC(g, a)->target);
			if (n->seen == g->search)
				continue;
			n->seen = g->search;
			n->via = a;
			uint32_t *q = push(g, &g->queue, sizeof *q);
			if (!q)
				return;
			*q = ARC(g, a)->target;
		}
	}
}

static uint32_t distance(const struct am_fullgraph *g, uint32_t node)
{
	uint32_t n = 0;

	for (uint32_t via = NODE(g, node)->via; via != NONE; via = NODE(g, ARC(g, via)->source)->via)
		n++;
	return n;
}

static void report(struct am_fullgraph *g, const struct thread *t, const struct entry *closing,
		   const struct am_access *access)
{
	struct am_cycle *c = &g->cycle;
	const struct node *n = NODE(g, t->node);
	const uint32_t length = distance(g, closing->node);
	uint32_t at = length;

	memset(c, 0, offsetof(struct am_cycle, edge));
	c->thread = t->id;
	c->region = n->region;
	c->region_site = n->region_site;
	c->begin_index = n->begin;
	c->close_index = access->index;
	c->n_inner = t->depth - 1 < 8 ? t->depth - 1 : 8;
	memcpy(c->inner, t->inner, sizeof c->inner);
	for (uint32_t via = NODE(g, closing->node)->via; via != NONE;) {
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

/* What one event's access to one word (or lock) does; *best is the nearest conflict that closes a cycle. */
static void touch(struct am_fullgraph *g, uint32_t me, uint64_t word, uint8_t mask, bool writes,
		  const struct am_access *access, bool *searched, uint32_t *best)
{
	/* A large block is gone when it is freed: what touches its address later is another entity. */
	const bool keep = access->kind != AM_FREE || access->size <= AM_FREED_MAX;
	uint64_t *place = keep ? am_map_put(&g->words, g->mem, word + 1) : am_map_find(&g->words, word + 1);

	if (!place) {
		g->stopped |= keep;
		return;
	}
	bool known = false;
	for (uint32_t i = (uint32_t)*place - 1; i != NONE && !g->stopped; i = ENTRY(g, i)->next) {
		const struct entry *e = ENTRY(g, i);
		if (e->node == me)
			known |= e->mask == mask && e->writes == writes;
		if (!(e->mask & mask) || !(e->writes || writes) || e->node == me ||
		    NODE(g, e->node)->thread == NODE(g, me)->thread || has_arc(g, e->node, me))
			continue;
		if (NODE(g, me)->out != NONE) {
			if (!*searched)
				search_from(g, me);
			*searched = true;
			if (NODE(g, e->node)->seen == g->search) {
				if (*best == NONE || distance(g, e->node) < distance(g, ENTRY(g, *best)->node))
					*best = i;
				continue;
			}
		}
		const struct am_edge edge = {e->access, *access, AM_EDGE_CONFLICT};
		add_arc(g, e->node, me, &edge);
	}
	if (known || !keep || g->stopped)
		return;
	struct entry *e = push(g, &g->entries, sizeof *e);
	if (!e)
		return;
	e->node = me;
	e->mask = mask;
	e->writes = writes;
	e->access = *access;
	e->next = (uint32_t)*place - 1;
	*place = g->entries.n;
}

/* Which bytes of this word lie in [from, from + bytes)? */
static uint8_t mask_in(uint64_t word, uint64_t from, uint64_t bytes)
{
	uint8_t mask = 0;

	for (unsigned i = 0; i < 8; i++)
		if ((word << 3) + i - from < bytes)
			mask |= (uint8_t)(1u << i);
	return mask;
}

/*
 * Calls back for each word of a block that has a list: by looking up its words, or all lists if the
 * block is larger than that.
 */
typedef void word_fn(struct am_fullgraph *g, void *ctx, uint64_t word, uint8_t mask);

static void for_each_word(struct am_fullgraph *g, uint64_t space, uint64_t from, uint64_t bytes, word_fn *fn, void *ctx)
{
	const uint64_t words = bytes / 8 + 2, lists = g->words.at ? UINT64_C(1) << g->words.log : 0;

	if (words <= lists) {
		for (uint64_t i = 0; i < words; i++)
			if (mask_in((from >> 3) + i, from, bytes))
				fn(g, ctx, space | ((from >> 3) + i), mask_in((from >> 3) + i, from, bytes));
		return;
	}
	for (uint64_t i = 0; i < lists; i++) {
		const uint64_t word = g->words.at[i].key - 1;
		if (g->words.at[i].key && (word & LOCK_SPACE) == space && mask_in(word & ~LOCK_SPACE, from, bytes))
			fn(g, ctx, word, mask_in(word & ~LOCK_SPACE, from, bytes));
	}
}

static void erase_word(struct am_fullgraph *g, void *ctx, uint64_t word, uint8_t mask)
{
	const uint64_t *place = am_map_find(&g->words, word + 1);

	(void)ctx;
	for (uint32_t i = place ? (uint32_t)*place - 1 : NONE; i != NONE; i = ENTRY(g, i)->next)
		ENTRY(g, i)->mask &= (uint8_t)~mask;
}

/* The bytes are another entity from now on. */
static void erase(struct am_fullgraph *g, uint64_t space, uint64_t from, uint64_t bytes)
{
	for_each_word(g, space, from, bytes, erase_word, NULL);
}

struct touched {
	uint32_t me, best;
	bool writes, searched;
	struct am_access access;
};

static void touch_word(struct am_fullgraph *g, void *ctx, uint64_t word, uint8_t mask)
{
	struct touched *t = ctx;

	if (!g->stopped)
		touch(g, t->me, word, mask, t->writes, &t->access, &t->searched, &t->best);
}

static void on_access(struct am_fullgraph *g, struct thread *t, const struct am_event *ev, uint64_t space,
		      uint64_t from, uint64_t bytes, bool writes)
{
	const uint32_t me = t->node != NONE ? t->node : node_new(g, t, ev);

	if (me == NONE)
		return;
	g->stats.accesses++;
	g->stats.unary += t->node == NONE;
	struct touched touched = {me, NONE, writes, false, access_of(g, me, ev)};
	program_edge(g, t, me, &touched.access);
	if (ev->kind == AM_FREE && ev->aux > AM_FREED_MAX)
		for_each_word(g, space, from, bytes, touch_word, &touched);
	else
		for (uint64_t word = from >> 3; bytes && word <= (from + bytes - 1) >> 3; word++)
			touch_word(g, &touched, space | word, mask_in(word, from, bytes));
	if (touched.best != NONE && !g->stopped)
		report(g, t, ENTRY(g, touched.best), &touched.access);
}

static void region_begin(struct am_fullgraph *g, struct thread *t, const struct am_event *ev)
{
	if (t->depth++) {
		if (t->depth - 2 < 8)
			t->inner[t->depth - 2] = (uint32_t)ev->object;
		return;
	}
	t->node = node_new(g, t, ev);
	g->stats.regions++;
}

static void region_end(struct thread *t)
{
	if (t->depth && !--t->depth)
		t->node = NONE;
}

/* Nothing that was seen so far shall matter any more; open regions go on as new transactions. */
static void forget(struct am_fullgraph *g)
{
	g->era++;
	am_map_clear(&g->words);
	g->entries.n = 0;
	for (uint32_t i = 0; i < g->threads.n; i++) {
		struct thread *t = &((struct thread *)g->threads.at)[i];
		if (t->node == NONE)
			continue;
		const struct node old = *NODE(g, t->node);
		struct node *n = push(g, &g->nodes, sizeof *n);
		if (!n)
			return;
		*n = old;
		n->out = NONE;
		n->era = g->era;
		t->node = g->nodes.n - 1;
	}
}

static void on_lost(struct am_fullgraph *g, struct thread *t, const struct am_event *ev)
{
	g->stats.lost += ev->aux ? ev->aux : 1;
	t->depth = 0;
	t->node = NONE;
	t->muted = true;
	forget(g);
}

static void on_lock(struct am_fullgraph *g, struct thread *t, const struct am_event *ev)
{
	const bool waits = ev->kind == AM_WAIT || ev->kind == AM_WAKE;

	if (waits && !ev->aux)
		return; /* it keeps its mutex */
	if (g->locks && !(ev->kind == AM_RELEASE && (ev->flags & AM_FREED_LOCK)))
		on_access(g, t, ev, LOCK_SPACE, waits ? ev->aux : ev->object, 1,
			  waits || ev->mode != AM_SHARED);
}

/* Nothing lies behind the last address. */
static uint64_t clip(uint64_t from, uint64_t bytes)
{
	return bytes < UINT64_MAX - from ? bytes : UINT64_MAX - from;
}

/* Do accesses count? With AM_CONFLICTS_AUTO from the first one on. */
static bool wants_data(struct am_fullgraph *g)
{
	if (!g->data && g->config.conflicts == AM_CONFLICTS_AUTO) {
		g->data = true;
		g->locks = false;
		forget(g);
	}
	return g->data;
}

static void on_data(struct am_fullgraph *g, struct thread *t, const struct am_event *ev)
{
	if (wants_data(g) && !t->muted)
		on_access(g, t, ev, 0, ev->object, clip(ev->object, ev->size < AM_ACCESS_MAX ? ev->size : AM_ACCESS_MAX),
			  ev->kind != AM_READ);
}

/* Accesses told late: the mark is a transaction's, or one of its own. */
static void on_mark(struct am_fullgraph *g, struct thread *t, const struct am_event *ev)
{
	const uint32_t number = ev->aux ? (uint32_t)ev->aux : ev->site;

	if (ev->object != AM_THREAD_OBJECT(ev->thread) || t->muted || !wants_data(g))
		return;
	const uint32_t me = t->node != NONE ? t->node : node_new(g, t, ev);
	uint64_t *place = am_map_put(&g->marks, g->mem, (uint64_t)t->id + 1);
	struct mark *mark = place ? push(g, &g->mark_list, sizeof *mark) : NULL;
	if (me == NONE || !mark) {
		g->stopped = true;
		return;
	}
	const struct am_access access = access_of(g, me, ev);
	program_edge(g, t, me, &access);
	*mark = (struct mark){number, me, (uint32_t)*place - 1};
	*place = g->mark_list.n;
}

/* The node of the newest mark that is not younger than this number. */
static uint32_t mark_find(const struct am_fullgraph *g, uint32_t thread, uint32_t number)
{
	const uint64_t *newest = am_map_find(&g->marks, (uint64_t)thread + 1);
	uint32_t i = newest ? (uint32_t)*newest - 1 : NONE;

	while (i != NONE && !am_mark_covers(MARK(g, i)->number, number))
		i = MARK(g, i)->older;
	return i == NONE ? NONE : MARK(g, i)->node;
}

static void on_late(struct am_fullgraph *g, const struct am_event *ev)
{
	const uint32_t me = mark_find(g, (uint32_t)(ev->aux >> 32), (uint32_t)ev->aux);

	if (me == NONE || !g->data || NODE(g, me)->era != g->era || !ev->size ||
	    (ev->object & 7) + ev->size > 8)
		return;
	uint64_t *place = am_map_put(&g->words, g->mem, (ev->object >> 3) + 1);
	struct entry *e = place ? push(g, &g->entries, sizeof *e) : NULL;
	if (!e) {
		g->stopped = true;
		return;
	}
	e->node = me;
	e->mask = mask_in(ev->object >> 3, ev->object, ev->size);
	e->writes = ev->mode;
	e->access = access_of(g, me, ev);
	e->access.kind = ev->mode ? AM_WRITE : AM_READ;
	e->access.thread = (uint32_t)(ev->aux >> 32);
	e->next = (uint32_t)*place - 1;
	*place = g->entries.n;
}

static void on_block(struct am_fullgraph *g, struct thread *t, const struct am_event *ev)
{
	const bool counts = ev->kind == AM_FREE && wants_data(g) && !t->muted && ev->aux;

	if (counts)
		on_access(g, t, ev, 0, ev->object, clip(ev->object, ev->aux), true);
	if (!counts || ev->aux > AM_FREED_MAX)
		erase(g, 0, ev->object, ev->aux);
	erase(g, LOCK_SPACE, ev->object, ev->aux);
}

static void thread_end(struct am_fullgraph *g, uint32_t id)
{
	const uint64_t *place = am_map_find(&g->thread_of, (uint64_t)id + 1);

	if (place)
		((struct thread *)g->threads.at)[*place - 1].node = NONE;
	am_map_remove(&g->thread_of, (uint64_t)id + 1);
}

void am_fullgraph_event(struct am_fullgraph *g, const struct am_event *ev)
{
	g->stats.events++;
	if (g->stopped)
		return;
	struct thread *t = thread_get(g, ev->thread);
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
		erase(g, LOCK_SPACE, ev->object, 1);
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
		on_mark(g, t, ev);
		break;
	case AM_LATE:
		on_late(g, ev);
		break;
	default:
		break;
	}
}
