/* Shortest violation path, by breadth-first search over the schedule. No state. */
/* SPDX-License-Identifier: MIT */
#include "vpath.h"
#include "unused.h"

#include <stdlib.h>
#include <string.h>

struct search {
	const struct am_run *run;
	const struct am_run_region *a;
	const uint32_t *schedule;
	uint32_t n;
	uint32_t *pred;	 /* position before this one on the path, AM_NONE; AM_NONE - 1: not reached */
	uint32_t *queue, head, tail;
};

#define UNSEEN (AM_NONE - 1)

static const struct am_run_event *at(const struct search *s, uint32_t i)
{
	return &s->run->event.at[s->schedule[i]];
}

static bool is_inside(const struct search *s, uint32_t i)
{
	const struct am_run_event *r = at(s, i);
	return r->thread == s->a->thread && r->eid >= s->a->first && r->eid <= s->a->last;
}

static bool is_access(const struct search *s, uint32_t i)
{
	return at(s, i)->reads || at(s, i)->writes;
}

/* Updates that commute may as well have come the other way round (am_commutes); a read that an exchange vouches for may as well
 * have been made with it. */
static bool is_conflict(const struct search *s, uint32_t i, uint32_t k)
{
	const struct am_event *a = am_run_raw(s->run, s->schedule[i]), *b = am_run_raw(s->run, s->schedule[k]);
	const uint32_t commutes = am_commutes(a);

	return am_run_conflict(at(s, i), at(s, k)) && !(commutes && commutes == am_commutes(b)) && !am_is_vouched(a) &&
	       !am_is_vouched(b);
}

/* Positions after i that one step leads to. Returns the one that closes the path, or AM_NONE. */
static uint32_t expand(struct search *s, uint32_t i)
{
	const bool from_inside = is_inside(s, i);

	for (uint32_t k = i + 1; k < s->n; k++) {
		if (!is_access(s, k))
			continue;
		const bool inside = is_inside(s, k), same = at(s, k)->thread == at(s, i)->thread;
		if (inside && from_inside)
			continue;
		if (!(same && !from_inside) && !is_conflict(s, i, k))
			continue;
		if (inside) {
			if (same)
				continue;
			s->pred[k] = i;
			return k;
		}
		if (s->pred[k] != UNSEEN)
			continue;
		s->pred[k] = i;
		s->queue[s->tail++] = k;
	}
	return AM_NONE;
}

/* ---- telling it ------------------------------------------------------------------------------------ */

static struct am_access access_of(const struct am_run *run, uint32_t e)
{
	const struct am_event *raw = am_run_raw(run, e);
	const struct am_run_event *r = &run->event.at[e];
	const struct am_run_region *g = r->region == AM_NONE ? NULL : &run->region.at[r->region];

	return (struct am_access){.index = raw->index,
				  .object = raw->kind == AM_WAKE ? raw->aux : raw->object,
				  .value = raw->value,
				  .size = raw->kind == AM_FREE ? (uint32_t)raw->aux : raw->size,
				  .thread = raw->thread,
				  .site = raw->site,
				  .region = g ? g->name : 0,
				  .region_site = g ? g->site : 0,
				  .kind = raw->kind,
				  .mode = raw->mode,
				  .flags = raw->flags};
}

static void tell(const struct search *s, uint32_t close, struct am_cycle *cycle)
{
	uint32_t path[AM_CYCLE_MAX + 1], n = 0;
	const struct am_run *run = s->run;

	for (uint32_t i = close; i != AM_NONE && n <= AM_CYCLE_MAX; i = s->pred[i])
		path[n++] = i;
	memset(cycle, 0, sizeof *cycle);
	cycle->thread = run->thread[s->a->thread].id;
	cycle->region = s->a->name;
	cycle->region_site = s->a->site;
	cycle->begin_index = s->a->begin_index;
	cycle->close_index = am_run_raw(run, s->schedule[close])->index;
	for (uint32_t i = n - 1; i-- > 0 && cycle->n_edges < AM_CYCLE_MAX;) {
		const struct am_run_event *from = at(s, path[i + 1]), *to = at(s, path[i]);
		const bool is_program = from->thread == to->thread;
		if (is_program && from->region != AM_NONE && from->region == to->region)
			continue; /* one transaction */
		cycle->edge[cycle->n_edges++] =
			(struct am_edge){access_of(run, s->schedule[path[i + 1]]),
					 access_of(run, s->schedule[path[i]]),
					 is_program ? AM_EDGE_PROGRAM : AM_EDGE_CONFLICT};
	}
}

bool am_vpath_find(const struct am_run *run, uint32_t region, const uint32_t *schedule, uint32_t n,
		   struct am_cycle *cycle)
{
	struct search s = {.run = run, .a = &run->region.at[region], .schedule = schedule, .n = n};
	uint32_t close = AM_NONE;

	s.pred = am_xalloc(n, sizeof *s.pred);
	s.queue = am_xalloc(n, sizeof *s.queue);
	for (uint32_t i = 0; i < n; i++)
		s.pred[i] = UNSEEN;
	for (uint32_t i = 0; i < n; i++)
		if (is_inside(&s, i) && is_access(&s, i)) {
			s.pred[i] = AM_NONE;
			s.queue[s.tail++] = i;
		}
	while (s.head < s.tail && close == AM_NONE)
		close = expand(&s, s.queue[s.head++]);
	if (close != AM_NONE)
		tell(&s, close, cycle);
	free(s.pred);
	free(s.queue);
	return close != AM_NONE;
}
