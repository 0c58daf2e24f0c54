/*
 * Nested records that wait for a record behind them, see merge.c. Runs where the merge runs, and
 * only when a thread is parked at a nested record: signal handlers that interrupt a record are
 * rare, so the search may be plain. It looks at `budget` records at most and then gives up until
 * the next time.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/core/merge_state.h"

enum { SLOTS_MAX = 256 };

/* The queued record that carries the number, and its thread. */
static struct am_unit *find_carrier(const struct am_merge *m, struct merge_key want,
				    struct merge_thread **owner, size_t *budget)
{
	for (size_t i = 0; i < m->thread_cap; i++) {
		struct merge_thread *t = m->thread[i];
		if (!t)
			continue;
		for (size_t at = t->head; at < t->tail && *budget > 0; --*budget) {
			struct am_unit *u = t->units + at;
			at += am_record_units(u);
			if (at > t->tail)
				break;
			if (!(u->w0 & AM_R_SEQ))
				continue;
			const struct merge_key next = merge_next_key(u);
			const struct merge_key last = {am_record_slot(u), (uint32_t)u->w1};
			if ((next.slot == want.slot && next.number == want.number) ||
			    (last.slot == want.slot && last.number == want.number)) {
				*owner = t;
				return u;
			}
		}
	}
	return NULL;
}

/* Did the head interrupt u? Between them only nested records. */
static bool is_behind_head(const struct merge_thread *t, const struct am_unit *u)
{
	const struct am_unit *at = t->units + t->head;

	while (at < u && at->w0 & AM_R_NESTED)
		at += am_record_units(at);
	return at == u && u != t->units + t->head;
}

/* The usual circle: the head waits for the very record that its handler interrupted. */
static struct am_unit *find_near(const struct am_merge *m, const struct merge_thread *t)
{
	for (size_t at = t->head; t->units[at].w0 & AM_R_NESTED;) {
		at += am_record_units(t->units + at);
		if (at >= t->tail || at + am_record_units(t->units + at) > t->tail)
			return NULL;
		const struct am_unit *u = t->units + at;
		const struct merge_key key = merge_next_key(u);
		if (u->w0 & AM_R_SEQ && key.slot == t->key.slot &&
		    key.number == m->slot[key.slot].next)
			return t->units + at;
	}
	return NULL;
}

/* Slots whose next number the head waits for, directly or not. */
struct slots {
	uint32_t slot[SLOTS_MAX];
	unsigned n;
};

static void add_slot(struct slots *s, uint32_t slot)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->slot[i] == slot)
			return;
	if (s->n < SLOTS_MAX)
		s->slot[s->n++] = slot;
}

/*
 * Follow what the head waits for: the record that carries the number waits for its own first
 * number, and for the head of its queue. Returns the record behind our head that this leads to, if
 * its number is next; NULL if there is none.
 */
static struct am_unit *find_circle(const struct am_merge *m, const struct merge_thread *t,
				   size_t *budget)
{
	struct slots all = {{t->key.slot}, 1};
	struct am_unit *const near = find_near(m, t);

	if (near)
		return near;
	for (unsigned i = 0; i < all.n; i++) {
		const struct merge_key want = {all.slot[i], m->slot[all.slot[i]].next};
		struct merge_thread *owner;
		struct am_unit *u = find_carrier(m, want, &owner, budget);
		if (!u)
			continue; /* still to come */
		const struct merge_key key = merge_next_key(u);
		const bool is_ready = key.slot == want.slot && key.number == want.number;
		if (owner == t && is_ready && is_behind_head(t, u))
			return u;
		add_slot(&all, key.slot);
		if (owner->is_parked)
			add_slot(&all, owner->key.slot);
	}
	return NULL;
}

bool merge_break_circles(struct am_merge *m, size_t *budget)
{
	struct merge_thread **link = &m->nested;

	while (*link) {
		struct merge_thread *t = *link;
		if (!t->is_parked || !(t->units[t->head].w0 & AM_R_NESTED)) {
			t->in_nested = false;
			*link = t->next_nested;
			continue;
		}
		struct am_unit *u = *budget ? find_circle(m, t, budget) : NULL;
		if (u) {
			merge_pass_early(m, t, u);
			return true; /* it went, or the first of its two numbers did */
		}
		link = &t->next_nested;
	}
	return false;
}
