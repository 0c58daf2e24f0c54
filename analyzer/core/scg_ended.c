/*
 * Threads that ended (rule 5 of the paper: thread ids are erased). Such a thread keeps its slot while
 * an open region reaches it. One region that stays open while thousands of threads come and go would
 * collect thousands of slots; so, when there are too many, they are merged.
 *
 * No transaction of an ended thread gets an edge from a later one of its thread any more: all that
 * matters of an access is which open regions reach it. Accesses with the same set of such regions
 * behave alike for ever (a region that comes to reach one reaches all, and a region that ends leaves
 * all). So each such set becomes one *ghost*, a slot that every region of the set reaches from the
 * beginning of time, and the entities' stamps are moved there. A stamp then carries its thread's id
 * instead of its transaction's number. The way back to the region is lost: a cycle through a ghost is
 * told with its last edge, and says that the rest is missing. Runs wherever the checker runs.
 */
/* SPDX-License-Identifier: MIT */
#include "scg.h"

#include <assert.h>
#include <string.h>

struct merge {
	struct am_checker *c;
	uint64_t *set; /* of ghost i: set + i * words */
	uint32_t *slot; /* of the ended: ghost i takes slot[i] */
	uint32_t n, ended;
	uint64_t *scratch;
	bool assign; /* second pass: stamps move */
};

static bool is_ended(const struct am_checker *c, const struct am_stamp *s)
{
	return s->moment && c->vertex[AM_SLOT_OF(s->moment)].ended;
}

/* The open regions that reach this access of an ended thread; false: none. */
static bool set_of(const struct merge *m, const struct am_stamp *s)
{
	return am_reach_whose(m->c, s->moment, m->scratch);
}

/* Which ghost has the set in scratch; a new one if there is room, else UINT32_MAX. */
static uint32_t ghost_of(struct merge *m)
{
	const uint32_t words = m->c->stride;

	for (uint32_t i = 0; i < m->n; i++)
		if (!memcmp(m->set + (size_t)i * words, m->scratch, sizeof *m->set * words))
			return i;
	if (m->n == m->ended / 2 || m->assign)
		return UINT32_MAX;
	memcpy(m->set + (size_t)m->n * words, m->scratch, sizeof *m->set * words);
	return m->n++;
}

/* False in the first pass: too many different sets, merging does not pay. */
static bool visit(struct merge *m, struct am_stamp *s)
{
	if (!is_ended(m->c, s))
		return true;
	const bool is_reached = set_of(m, s);
	const uint32_t ghost = is_reached ? ghost_of(m) : 0;
	if (ghost == UINT32_MAX)
		return false;
	if (!m->assign)
		return true;
	const struct am_vertex *v = &m->c->vertex[AM_SLOT_OF(s->moment)];
	if (!is_reached) {
		s->moment = 0;
		return true;
	}
	if (!v->ghost)
		s->tag = (s->tag & ~UINT64_C(0xffffffff)) | v->id;
	s->moment = (s->moment & ~UINT64_C(0xffff)) | m->slot[ghost];
	return true;
}

/* Further readers are found by slot: put them back by their new ones. */
static bool visit_readers(struct merge *m, struct am_entity *e)
{
	struct am_stamp *s;

	for (uint32_t i = 0; (s = am_readers_next(m->c, e, &i));)
		if (!visit(m, s))
			return false;
	if (m->assign)
		am_readers_rehash(m->c, e);
	return true;
}

static bool visit_all(struct merge *m)
{
	struct am_checker *c = m->c;

	for (uint32_t i = 0; i < am_table_lines(c); i++) {
		struct am_entity *e = &c->table[i];
		if (e->key && (!visit(m, &e->write) || !visit(m, &e->read) || !visit_readers(m, e)))
			return false;
	}
	return true;
}

/* Open regions no longer reach the ended threads, but their ghosts. */
static void rewrite_reach(struct merge *m)
{
	const struct am_end unknown = {0};
	struct am_checker *c = m->c;

	for (uint32_t i = 0; i < m->ended; i++)
		am_reach_drop(c, m->slot[i]);
	for (uint32_t i = 0; i < m->n; i++)
		am_reach_add(c, m->slot[i], m->set + (size_t)i * c->stride, 0, &unknown, &unknown);
}

static void merge_all(struct merge *m)
{
	struct am_checker *c = m->c;

	for (uint32_t s = 0; s < c->high; s++)
		if (c->vertex[s].used && c->vertex[s].ended)
			m->slot[m->ended++] = s;
	if (!visit_all(m))
		return;
	m->assign = true;
	visit_all(m);
	rewrite_reach(m);
	for (uint32_t i = m->ended; i-- > 0;) {
		const uint32_t s = m->slot[i];
		c->vertex[s].ghost = i < m->n;
		if (i >= m->n || !am_matters(c, s))
			am_slot_release(c, s);
	}
}

static void merge(struct am_checker *c)
{
	const uint32_t n = c->n_ended, words = c->stride;
	struct merge m = {.c = c};

	m.set = am_mem_alloc(c->mem, sizeof *m.set * words * (n / 2 + 1));
	m.slot = am_mem_alloc(c->mem, sizeof *m.slot * n);
	m.scratch = am_mem_alloc(c->mem, sizeof *m.scratch * words);
	if (m.set && m.slot && m.scratch)
		merge_all(&m);
	am_mem_free(c->mem, m.set, sizeof *m.set * words * (n / 2 + 1));
	am_mem_free(c->mem, m.slot, sizeof *m.slot * n);
	am_mem_free(c->mem, m.scratch, sizeof *m.scratch * words);
}

void am_ended_merge(struct am_checker *c)
{
	am_open_reclaim(c); /* perhaps many are reached no more */
	if (c->n_ended <= c->ended_limit)
		return;
	merge(c);
	if (c->ended_limit < c->n_ended * 2)
		c->ended_limit = c->n_ended * 2;
}
