/*
 * The classic conflict graph (fullgraph.c): the accesses to each 8-byte word, and the conflicts of a new one with
 * them. Runs wherever the graph does; no I/O, no globals.
 */
/* SPDX-License-Identifier: MIT */
#include "fullgraph.h"

/* What one event's access to one word (or lock) does; *best is the nearest conflict that closes a cycle. */
static void touch(struct am_fullgraph *g, uint32_t me, uint64_t word, uint8_t mask, bool writes, uint32_t commutes,
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
	for (uint32_t i = (uint32_t)*place - 1; i != AM_FULL_NONE && !g->stopped; i = ENTRY(g, i)->next) {
		const struct am_full_entry *e = ENTRY(g, i);
		if (e->node == me)
			known |= e->mask == mask && e->writes == writes && e->commutes == commutes;
		if (!(e->mask & mask) || !(e->writes || writes) || e->node == me || (commutes && e->commutes == commutes) ||
		    NODE(g, e->node)->thread == NODE(g, me)->thread || am_full_has_arc(g, e->node, me))
			continue;
		if (NODE(g, me)->out != AM_FULL_NONE) {
			if (!*searched)
				am_full_search(g, me);
			*searched = true;
			if (NODE(g, e->node)->seen == g->search) {
				if (*best == AM_FULL_NONE || am_full_distance(g, e->node) < am_full_distance(g, ENTRY(g, *best)->node))
					*best = i;
				continue;
			}
		}
		const struct am_edge edge = {e->access, *access, AM_EDGE_CONFLICT};
		am_full_add_arc(g, e->node, me, &edge);
	}
	if (known || !keep || g->stopped)
		return;
	struct am_full_entry *e = am_full_push(g, &g->entries, sizeof *e);
	if (!e)
		return;
	e->node = me;
	e->mask = mask;
	e->writes = writes;
	e->commutes = commutes;
	e->access = *access;
	e->next = (uint32_t)*place - 1;
	*place = g->entries.n;
}

uint8_t am_full_mask(uint64_t word, uint64_t from, uint64_t bytes)
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
			if (am_full_mask((from >> 3) + i, from, bytes))
				fn(g, ctx, space | ((from >> 3) + i), am_full_mask((from >> 3) + i, from, bytes));
		return;
	}
	for (uint64_t i = 0; i < lists; i++) {
		const uint64_t word = g->words.at[i].key - 1;
		if (g->words.at[i].key && (word & AM_FULL_LOCKS) == space && am_full_mask(word & ~AM_FULL_LOCKS, from, bytes))
			fn(g, ctx, word, am_full_mask(word & ~AM_FULL_LOCKS, from, bytes));
	}
}

static void erase_word(struct am_fullgraph *g, void *ctx, uint64_t word, uint8_t mask)
{
	const uint64_t *place = am_map_find(&g->words, word + 1);

	(void)ctx;
	for (uint32_t i = place ? (uint32_t)*place - 1 : AM_FULL_NONE; i != AM_FULL_NONE; i = ENTRY(g, i)->next)
		ENTRY(g, i)->mask &= (uint8_t)~mask;
}

void am_full_erase(struct am_fullgraph *g, uint64_t space, uint64_t from, uint64_t bytes)
{
	for_each_word(g, space, from, bytes, erase_word, NULL);
}

struct touched {
	uint32_t me, best;
	bool writes, searched;
	uint32_t commutes;
	struct am_access access;
};

static void touch_word(struct am_fullgraph *g, void *ctx, uint64_t word, uint8_t mask)
{
	struct touched *t = ctx;

	if (!g->stopped)
		touch(g, t->me, word, mask, t->writes, t->commutes, &t->access, &t->searched, &t->best);
}

void am_full_touch(struct am_fullgraph *g, struct am_full_thread *t, const struct am_event *ev, uint64_t space,
		      uint64_t from, uint64_t bytes, bool writes)
{
	const uint32_t me = t->node != AM_FULL_NONE ? t->node : am_full_node_new(g, t, ev);

	if (me == AM_FULL_NONE)
		return;
	g->stats.accesses++;
	g->stats.unary += t->node == AM_FULL_NONE;
	struct touched touched = {me, AM_FULL_NONE, writes, false, am_commutes(ev), am_full_access(g, me, ev)};
	am_full_program_edge(g, t, me, &touched.access);
	if (ev->kind == AM_FREE && ev->aux > AM_FREED_MAX)
		for_each_word(g, space, from, bytes, touch_word, &touched);
	else
		for (uint64_t word = from >> 3; bytes && word <= (from + bytes - 1) >> 3; word++)
			touch_word(g, &touched, space | word, am_full_mask(word, from, bytes));
	if (touched.best != AM_FULL_NONE && !g->stopped)
		am_full_report(g, t, ENTRY(g, touched.best), &touched.access);
}
