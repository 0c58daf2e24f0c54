/*
 * Proofs by order and locks. Per cell a short summary of who touches it, with which locks, where;
 * so a question costs the square of the region's accesses times the length of the summaries,
 * whatever the length of the run.
 */
/* SPDX-License-Identifier: MIT */
#include "prove.h"
#include "unused.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Accesses of one cell by one thread under one set of locks. */
struct group {
	uint32_t thread, set;
	uint32_t first, last; /* eids */
	bool writes, reads;
};

struct am_prover {
	const struct am_run *run;
	const struct am_index *index;
	const struct am_locksets *locks;
	const struct am_order *order; /* of the question */
	uint32_t *set_of; /* number of the lock set of each event */
	VEC(uint32_t) sets; /* interned: count, then object << 1 | shared, ascending */
	VEC(uint32_t) table; /* open hash of starts in `sets`, plus one */
	VEC(uint32_t) access; /* of the region being asked about */
	uint32_t *group_start; /* per cell */
	VEC(struct group) group;
};

/* ---- lock sets --------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

enum { TABLE = 1 << 16 };

/* The start in `sets` of this list; equal lists have equal starts. */
static uint32_t intern(struct am_prover *p, const uint32_t *list, uint32_t n)
{
	uint64_t h = n;

	for (uint32_t i = 0; i < n; i++)
		h = mix(h, list[i]);
	for (uint32_t slot = (uint32_t)h % TABLE, tries = 0;; slot = (slot + 1) % TABLE, tries++) {
		const uint32_t start = p->table.at[slot];
		if (start && p->sets.at[start - 1] == n &&
		    (n == 0 || !memcmp(&p->sets.at[start], list, n * sizeof *list)))
			return start - 1;
		if (start && tries < TABLE / 2)
			continue;
		const uint32_t at = p->sets.n;
		*vec_push(&p->sets) = n;
		for (uint32_t i = 0; i < n; i++)
			*vec_push(&p->sets) = list[i];
		if (!start)
			p->table.at[slot] = at + 1;
		return at;
	}
}

static void number_sets(struct am_prover *p)
{
	const struct am_locksets *locks = p->locks;
	uint32_t *known = am_xalloc(locks->pool.n, sizeof *known); /* set of a list, plus one */
	VEC(uint32_t) list = {0};

	for (uint32_t i = 0; i < TABLE; i++)
		*vec_push(&p->table) = 0;
	p->set_of = am_xalloc(p->run->event.n, sizeof *p->set_of);
	for (uint32_t e = 0; e < p->run->event.n; e++) {
		uint32_t *set = &known[locks->held[e]];
		if (!*set) {
			const uint32_t *held = am_locksets_of(locks, e);
			list.n = 0;
			for (uint32_t i = 1; i <= held[0]; i++) {
				const struct am_section *s = &locks->section.at[held[i]];
				*vec_push(&list) = s->object << 1 | s->shared;
			}
			if (list.n)
				qsort(list.at, list.n, sizeof *list.at, by_number);
			*set = intern(p, list.at, list.n) + 1;
		}
		p->set_of[e] = *set - 1;
	}
	free(list.at);
	free(known);
}

/* ---- summaries --------------------------------------------------------------------------------- */

static void summarise(struct am_prover *p)
{
	const struct am_index *index = p->index;

	p->group_start = am_xalloc((size_t)p->run->n_cells + 1, sizeof *p->group_start);
	for (uint32_t cell = 0; cell < p->run->n_cells; cell++) {
		p->group_start[cell] = p->group.n;
		for (uint32_t i = index->start[cell]; i < index->start[cell + 1]; i++) {
			const struct am_index_entry *entry = &index->entry[i];
			const uint32_t e = am_run_at(p->run, entry->thread, entry->eid);
			struct group *g = NULL;
			for (uint32_t k = p->group.n; k-- > p->group_start[cell] && !g;) {
				struct group *other = &p->group.at[k];
				if (other->thread != entry->thread)
					break; /* the index goes by threads */
				if (other->set == p->set_of[e] && other->writes == p->run->event.at[e].writes)
					g = other;
			}
			if (!g) {
				g = vec_push(&p->group);
				*g = (struct group){.thread = entry->thread,
						    .set = p->set_of[e],
						    .first = entry->eid,
						    .writes = p->run->event.at[e].writes,
						    .reads = !p->run->event.at[e].writes};
			}
			g->last = entry->eid;
		}
	}
	p->group_start[p->run->n_cells] = p->group.n;
}

struct am_prover *am_prover_new(const struct am_locksets *locks)
{
	struct am_prover *p = am_xalloc(1, sizeof *p);

	p->run = locks->index->run;
	p->index = locks->index;
	p->locks = locks;
	number_sets(p);
	summarise(p);
	return p;
}

void am_prover_free(struct am_prover *p)
{
	free(p->set_of);
	free(p->sets.at);
	free(p->table.at);
	free(p->access.at);
	free(p->group_start);
	free(p->group.at);
	free(p);
}

/* ---- questions ---------------------------------------------------------------------------------- */

/* Is a lock held from s through t that this set of locks contains too? */
static bool excludes(const struct am_prover *p, uint32_t s, uint32_t t, uint32_t set)
{
	const uint32_t *held = am_locksets_of(p->locks, s), *list = &p->sets.at[set];
	const uint32_t until = p->run->event.at[t].eid;

	for (uint32_t i = 1; i <= held[0]; i++) {
		const struct am_section *a = &p->locks->section.at[held[i]];
		for (uint32_t k = 1; a->last > until && k <= list[0]; k++)
			if (list[k] >> 1 == a->object && !(a->shared && (list[k] & 1)))
				return true;
	}
	return false;
}

/* The eids of another thread that are between two accesses of the region in some schedule. */
struct window {
	uint32_t low, high; /* low and before: always before s; high and behind: always after t */
};

static struct window window_of(const struct am_prover *p, uint32_t s, uint32_t t, uint32_t thread)
{
	const struct am_run *run = p->run;
	const struct am_run_event *last = &run->event.at[t];
	/* s has kept its couple, for its thread goes on to t; what comes behind t may break its own. */
	struct window w = {am_order_get(p->order, s, thread),
			   am_order_first_after(p->order, thread, last->thread, last->eid)};

	if (w.high <= run->thread[thread].n &&
	    !am_order_before_loosely(p->order, t, am_run_at(run, thread, w.high)))
		w.high++;
	return w;
}

enum { PATIENCE = 64 };

/* Has the group an access of this cell in the window? After some steps: it may have. */
static bool has_within(const struct am_prover *p, const struct group *g, uint32_t cell, struct window w)
{
	if ((g->first > w.low && g->first < w.high) || (g->last > w.low && g->last < w.high))
		return true;
	for (uint32_t eid = w.low, n = 0;; n++) {
		eid = am_index_first(p->index, cell, g->thread, eid + 1, g->writes);
		if (eid == AM_NONE || eid >= w.high)
			return false;
		if (n == PATIENCE || p->set_of[am_run_at(p->run, g->thread, eid)] == g->set)
			return true;
	}
}

/* Can something that conflicts with access x run between s and t? x is one of the two. */
static bool has_partner(const struct am_prover *p, uint32_t x, uint32_t s, uint32_t t, bool uses_locks)
{
	const struct am_run_event *r = &p->run->event.at[x];

	for (uint32_t c = r->cell; c < r->cell + r->cells; c++)
		for (uint32_t i = p->group_start[c]; i < p->group_start[c + 1]; i++) {
			const struct group *g = &p->group.at[i];
			if (g->thread == r->thread || !(g->writes || r->writes))
				continue;
			if (g->last <= am_order_get(p->order, s, g->thread))
				continue;
			if (uses_locks && excludes(p, s, t, g->set))
				continue;
			if (has_within(p, g, c, window_of(p, s, t, g->thread)))
				return true;
		}
	return false;
}

enum { MANY = 400 };

/* Every pair of accesses of the region; a very long region is left to the search. */
static bool may_break(const struct am_prover *p, bool uses_locks)
{
	const uint32_t n = p->access.n;

	if (n > MANY)
		return true;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = n; k-- > i + 1;) {
			const uint32_t s = p->access.at[i], t = p->access.at[k];
			if (has_partner(p, s, s, t, uses_locks) && has_partner(p, t, s, t, uses_locks))
				return true;
		}
	return false;
}

enum am_proof am_prover_ask(struct am_prover *p, const struct am_order *order, uint32_t region)
{
	const struct am_run_region *a = &p->run->region.at[region];

	p->order = order;
	p->access.n = 0;
	for (uint32_t eid = a->first; eid <= a->last; eid++) {
		const uint32_t e = am_run_at(p->run, a->thread, eid);
		if ((p->run->event.at[e].reads || p->run->event.at[e].writes) && !am_is_vouched(am_run_raw(p->run, e)))
			*vec_push(&p->access) = e;
	}
	if (p->access.n < 2)
		return AM_PROOF_EMPTY;
	if (!may_break(p, false))
		return AM_PROOF_ORDER;
	return may_break(p, true) ? AM_PROOF_NONE : AM_PROOF_LOCKS;
}

/* Is s or t made under a lock, held from s through t, under which all accesses of the run to it are? */
static bool is_guarded(const struct am_prover *p, const struct am_outline *outline, uint32_t s, uint32_t t)
{
	const uint32_t *held = am_locksets_of(p->locks, s);
	const uint32_t until = p->run->event.at[t].eid;

	for (uint32_t i = 1; i <= held[0]; i++) {
		const struct am_section *a = &p->locks->section.at[held[i]];
		const uint64_t lock = p->run->object.at[a->object].address;
		if (!a->shared && a->last > until &&
		    (am_outline_guards(outline, am_run_raw(p->run, s), lock) ||
		     am_outline_guards(outline, am_run_raw(p->run, t), lock)))
			return true;
	}
	return false;
}

bool am_prover_is_guarded(struct am_prover *p, const struct am_outline *outline, uint32_t region)
{
	const struct am_run_region *a = &p->run->region.at[region];

	p->access.n = 0;
	for (uint32_t eid = a->first; eid <= a->last; eid++) {
		const uint32_t e = am_run_at(p->run, a->thread, eid);
		const uint8_t kind = am_run_raw(p->run, e)->kind;
		if (am_is_vouched(am_run_raw(p->run, e)))
			continue;
		/* shared in the run, if not in the window: others have been left out */
		if (kind == AM_READ || kind == AM_WRITE || kind == AM_UPDATE || kind == AM_FREE)
			*vec_push(&p->access) = e;
	}
	if (p->access.n > MANY)
		return false;
	for (uint32_t i = 0; i < p->access.n; i++)
		for (uint32_t k = i + 1; k < p->access.n; k++)
			if (!is_guarded(p, outline, p->access.at[i], p->access.at[k]))
				return false;
	return true;
}

uint64_t am_region_signature(const struct am_run *run, uint32_t region)
{
	const struct am_run_region *a = &run->region.at[region];
	uint64_t h = mix(a->name, a->site);

	for (uint32_t eid = a->first; eid <= a->last; eid++) {
		const struct am_event *raw = am_run_raw(run, am_run_at(run, a->thread, eid));
		if (raw->kind != AM_EXPR && raw->kind != AM_CLOCK)
			h = mix(mix(h, raw->site), raw->kind);
	}
	return h;
}
