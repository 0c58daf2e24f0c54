/*
 * What the last owner of an object does (see last.h). Keeps the newest counts and partings in fixed room: an older one counts as none,
 * and its region is reported as before. Runs in the drain thread and in tools; no I/O, no globals.
 */
/* SPDX-License-Identifier: MIT */
#include "last.h"

#include <string.h>

static void forget(struct am_last *l, uint32_t i)
{
	l->n_counts--;
	memmove(&l->count[i], &l->count[i + 1], (l->n_counts - i) * sizeof l->count[0]);
}

/* The thread's newest parting, among the newest of all; NULL: there is none. */
static struct am_parting *newest(struct am_last *l, uint32_t thread)
{
	for (uint64_t i = l->n_partings, n = 0; i-- > 0 && n < AM_LAST_COUNTS; n++) {
		struct am_parting *p = &l->parting[i % AM_LAST_PARTINGS];
		if (p->thread == thread)
			return p;
	}
	return NULL;
}

/* What the thread frees from here on is another block. */
static void close_parting(struct am_last *l, uint32_t thread)
{
	struct am_parting *p = newest(l, thread);

	if (p)
		p->end = UINT64_MAX;
}

void am_last_reached(struct am_last *l, const struct am_event *update)
{
	close_parting(l, update->thread);
	if (l->n_counts == AM_LAST_COUNTS)
		forget(l, 0);
	const uint32_t i = l->n_counts++;
	l->count[i].address = update->object;
	l->count[i].index = update->index;
	l->count[i].thread = update->thread;
}

/* Another piece of the block of the newest parting? */
static void go_on(struct am_last *l, const struct am_event *event)
{
	struct am_parting *p = newest(l, event->thread);

	if (!p || event->object < p->end || event->object - p->end >= AM_FREED_MAX || p->site != event->site)
		return;
	p->last = event->index;
	p->end = event->object + event->aux;
}

void am_last_freed(struct am_last *l, const struct am_event *event)
{
	if (l->n_partings)
		go_on(l, event);
	for (uint32_t i = l->n_counts; i-- > 0;) {
		const bool is_within = l->count[i].address - event->object < event->aux;
		if (!is_within || l->count[i].thread != event->thread)
			continue;
		l->parting[l->n_partings++ % AM_LAST_PARTINGS] = (struct am_parting){
			.first = l->count[i].index,
			.last = event->index,
			.end = event->object + event->aux,
			.thread = event->thread,
			.site = event->site,
		};
		forget(l, i);
	}
}

void am_last_over(struct am_last *l, uint32_t thread)
{
	close_parting(l, thread);
	for (uint32_t i = l->n_counts; i-- > 0;)
		if (l->count[i].thread == thread)
			forget(l, i);
}

static bool has(const struct am_parting *p, const struct am_access *a)
{
	return p->first <= a->index && a->index <= p->last;
}

enum am_last_fate am_last_joins(const struct am_last *l, const struct am_access *in, const struct am_access *out)
{
	const uint64_t n = l->n_partings < AM_LAST_PARTINGS ? l->n_partings : AM_LAST_PARTINGS;
	bool is_parting = false;

	for (uint64_t i = 0; i < n; i++) {
		const struct am_parting *p = &l->parting[i];
		if (p->thread != in->thread || !has(p, in))
			continue;
		if (has(p, out))
			return AM_LAST_JOINED;
		is_parting = true;
	}
	if (is_parting)
		return AM_LAST_APART;
	for (uint32_t i = 0; i < l->n_counts; i++)
		if (l->count[i].thread == in->thread && l->count[i].index <= in->index && out->index < l->count[i].index)
			return AM_LAST_OPEN;
	return AM_LAST_JOINED;
}
