/* Critical sections and what they exclude. Linear to build; nesting is assumed shallow. */
/* SPDX-License-Identifier: MIT */
#include "lockset.h"

#include <stdlib.h>
#include <string.h>

typedef VEC(uint32_t) list;

static uint32_t store(struct am_locksets *locks, const list *open)
{
	const uint32_t at = locks->pool.n;

	*vec_push(&locks->pool) = open->n;
	for (uint32_t i = 0; i < open->n; i++)
		*vec_push(&locks->pool) = open->at[i];
	return at;
}

static void take(struct am_locksets *locks, list *open, const struct am_run_event *r, uint32_t object,
		 bool shared)
{
	if (object == AM_NONE)
		return;
	*vec_push(open) = locks->section.n;
	*vec_push(&locks->section) =
		(struct am_section){.thread = r->thread,
				    .object = object,
				    .first = r->eid,
				    .last = locks->index->run->thread[r->thread].n + 1,
				    .shared = shared};
}

static void give_up(struct am_locksets *locks, list *open, const struct am_run_event *r, uint32_t object)
{
	for (uint32_t i = open->n; i-- > 0;) {
		struct am_section *s = &locks->section.at[open->at[i]];
		if (s->object != object)
			continue;
		s->last = r->eid;
		memmove(&open->at[i], &open->at[i + 1], (open->n - i - 1) * sizeof *open->at);
		open->n--;
		return;
	}
}

void am_locksets_build(struct am_locksets *locks, const struct am_index *index)
{
	const struct am_run *run = index->run;
	list open = {0};

	memset(locks, 0, sizeof *locks);
	locks->index = index;
	locks->held = am_xalloc(run->event.n, sizeof *locks->held);
	for (uint32_t t = 0; t < run->n_threads; t++) {
		open.n = 0;
		uint32_t now = store(locks, &open);
		for (uint32_t eid = 1; eid <= run->thread[t].n; eid++) {
			const uint32_t e = am_run_at(run, t, eid);
			const struct am_event *raw = am_run_raw(run, e);
			const struct am_run_event *r = &run->event.at[e];
			if (raw->kind == AM_RELEASE || raw->kind == AM_WAIT)
				give_up(locks, &open, r, raw->kind == AM_WAIT ? r->mutex : r->object);
			else if (raw->kind == AM_ACQUIRE)
				take(locks, &open, r, r->object, raw->mode == AM_SHARED);
			else if (raw->kind == AM_WAKE)
				take(locks, &open, r, r->mutex, false);
			else {
				locks->held[e] = now;
				continue;
			}
			locks->held[e] = now = store(locks, &open);
		}
	}
	free(open.at);
}

void am_locksets_free(struct am_locksets *locks)
{
	free(locks->section.at);
	free(locks->pool.at);
	free(locks->held);
	memset(locks, 0, sizeof *locks);
}

static bool clash(const struct am_section *a, const struct am_section *b)
{
	return a->object == b->object && !(a->shared && b->shared);
}

bool am_locksets_exclude(const struct am_locksets *locks, uint32_t s, uint32_t t, uint32_t e)
{
	const uint32_t *own = am_locksets_of(locks, s), *theirs = am_locksets_of(locks, e);
	const uint32_t until = locks->index->run->event.at[t].eid;

	for (uint32_t i = 1; i <= own[0]; i++) {
		const struct am_section *a = &locks->section.at[own[i]];
		for (uint32_t k = 1; a->last > until && k <= theirs[0]; k++)
			if (clash(a, &locks->section.at[theirs[k]]))
				return true;
	}
	return false;
}

/* Was lock `object` taken by `thread` after eid `from`, up to eid `to`? */
static bool was_taken(const struct am_locksets *locks, uint32_t thread, uint32_t object, uint32_t from,
		      uint32_t to)
{
	const struct am_run *run = locks->index->run;
	uint32_t eid = from;

	for (;;) {
		eid = am_index_first(locks->index, run->n_cells + object, thread, eid + 1, true);
		if (eid == AM_NONE || eid > to)
			return false;
		const uint8_t kind = am_run_raw(run, am_run_at(run, thread, eid))->kind;
		if (kind == AM_ACQUIRE || kind == AM_WAKE)
			return true;
	}
}

static bool may_coexist(const struct am_locksets *locks, uint32_t p, uint32_t e)
{
	const struct am_run *run = locks->index->run;
	const uint32_t *own = am_locksets_of(locks, p), *theirs = am_locksets_of(locks, e);
	const uint32_t own_eid = run->event.at[p].eid, their_eid = run->event.at[e].eid;

	for (uint32_t i = 1; i <= own[0]; i++) {
		const struct am_section *a = &locks->section.at[own[i]];
		for (uint32_t k = 1; k <= theirs[0]; k++) {
			const struct am_section *b = &locks->section.at[theirs[k]];
			if (clash(a, b))
				return false;
			if (!a->shared && !b->shared &&
			    was_taken(locks, a->thread, b->object, a->first, own_eid) &&
			    was_taken(locks, b->thread, a->object, b->first, their_eid))
				return false;
		}
	}
	return true;
}

bool am_locksets_may_meet(const struct am_locksets *locks, uint32_t c, uint32_t d, uint32_t e)
{
	const struct am_run *run = locks->index->run;
	const struct am_run_event *first = &run->event.at[c];
	uint32_t last_held = AM_NONE;

	for (uint32_t eid = first->eid; eid < run->event.at[d].eid; eid++) {
		const uint32_t p = am_run_at(run, first->thread, eid);
		if (locks->held[p] == last_held)
			continue;
		last_held = locks->held[p];
		if (may_coexist(locks, p, e))
			return true;
	}
	return false;
}
