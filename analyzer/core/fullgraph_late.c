/*
 * The classic conflict graph (fullgraph.c): accesses told late (event.h). Runs wherever the graph does; no I/O,
 * no globals.
 */
/* SPDX-License-Identifier: MIT */
#include "fullgraph.h"

/* Accesses told late: the mark is a transaction's, or one of its own. */
void am_full_on_mark(struct am_fullgraph *g, struct am_full_thread *t, const struct am_event *ev)
{
	const uint32_t number = ev->aux ? (uint32_t)ev->aux : ev->site;

	if (ev->object != AM_THREAD_OBJECT(ev->thread) || t->muted || !am_full_wants_data(g))
		return;
	const uint32_t me = t->node != AM_FULL_NONE ? t->node : am_full_node_new(g, t, ev);
	uint64_t *place = am_map_put(&g->marks, g->mem, (uint64_t)t->id + 1);
	struct am_full_mark *mark = place ? am_full_push(g, &g->mark_list, sizeof *mark) : NULL;
	if (me == AM_FULL_NONE || !mark) {
		g->stopped = true;
		return;
	}
	const struct am_access access = am_full_access(g, me, ev);
	am_full_program_edge(g, t, me, &access);
	*mark = (struct am_full_mark){number, me, (uint32_t)*place - 1};
	*place = g->mark_list.n;
}

/* The node of the newest mark that is not younger than this number. */
static uint32_t mark_find(const struct am_fullgraph *g, uint32_t thread, uint32_t number)
{
	const uint64_t *newest = am_map_find(&g->marks, (uint64_t)thread + 1);
	uint32_t i = newest ? (uint32_t)*newest - 1 : AM_FULL_NONE;

	while (i != AM_FULL_NONE && !am_mark_covers(MARK(g, i)->number, number))
		i = MARK(g, i)->older;
	return i == AM_FULL_NONE ? AM_FULL_NONE : MARK(g, i)->node;
}

void am_full_on_late(struct am_fullgraph *g, const struct am_event *ev)
{
	const uint32_t me = mark_find(g, (uint32_t)(ev->aux >> 32), (uint32_t)ev->aux);

	if (me == AM_FULL_NONE || !g->data || NODE(g, me)->era != g->era || !ev->size ||
	    (ev->object & 7) + ev->size > 8)
		return;
	uint64_t *place = am_map_put(&g->words, g->mem, (ev->object >> 3) + 1);
	struct am_full_entry *e = place ? am_full_push(g, &g->entries, sizeof *e) : NULL;
	if (!e) {
		g->stopped = true;
		return;
	}
	e->node = me;
	e->mask = am_full_mask(ev->object >> 3, ev->object, ev->size);
	e->writes = ev->mode;
	e->access = am_full_access(g, me, ev);
	e->access.kind = ev->mode ? AM_WRITE : AM_READ;
	e->access.thread = (uint32_t)(ev->aux >> 32);
	e->next = (uint32_t)*place - 1;
	*place = g->entries.n;
}
