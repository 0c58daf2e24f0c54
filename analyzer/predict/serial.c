/*
 * General conflict-serializability of a region as a goal: a cycle of conflicts that leaves the region
 * by an access, passes each other thread at most once, and comes back to a later access. Any number
 * of variables and threads. Why "at most once" loses nothing: doc/notes/symbolic.md. Tool side.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/goal.h"

#include <assert.h>

enum { MOST_CONFLICTS = 100000 };

struct conflict {
	uint32_t u, v; /* u before v */
	int32_t lit;
};

struct builder {
	struct am_lazy *z;
	struct am_goal *goal;
	struct conflict *all;
	uint32_t count, room;
	uint32_t *transaction; /* by event: rank of its transaction in its thread */
};

static void rank_transactions(struct builder *b)
{
	const struct am_ctp *ctp = b->z->ctp;
	for (uint32_t t = 0; t < ctp->thread_count; t++) {
		const struct am_ctp_thread *th = &ctp->threads[t];
		uint32_t rank = 0, current = AM_CTP_NONE;
		for (uint32_t i = 0; i < th->length; i++) {
			const struct am_ctp_event *v = &ctp->events[th->events[i]];
			if (v->region == AM_CTP_NONE || v->region != current ||
			    b->goal->query.alone)
				rank++;
			current = v->region;
			b->transaction[th->events[i]] = rank;
		}
	}
}

static void add_conflict(struct builder *b, uint32_t u, uint32_t v)
{
	struct am_lazy *z = b->z;
	const uint32_t overlap = am_ctp_overlap(z->ctp, u, v);
	const int32_t order = am_lazy_before(z, u, v), same = am_lazy_node(z, overlap);
	if (order == AM_SMT_FALSE || same == AM_SMT_FALSE)
		return;
	const int32_t lit = am_lazy_hidden(z, "c");
	const int32_t needs[] = { z->x[u], z->x[v], am_lazy_node(z, z->ctp->events[u].guard),
				  am_lazy_node(z, z->ctp->events[v].guard), order, same };
	for (uint32_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
		am_lazy_clause(z, (int32_t[]){ -lit, needs[i] }, 2);
	AM_PUSH(b->all, b->count, b->room) = (struct conflict){ .u = u, .v = v, .lit = lit };
	am_lits_add(&b->goal->uses, lit);
	AM_PUSH(b->goal->events.list, b->goal->events.count, b->goal->events.room) = u;
	AM_PUSH(b->goal->events.list, b->goal->events.count, b->goal->events.room) = v;
}

static void find_conflicts(struct builder *b)
{
	const struct am_ctp *ctp = b->z->ctp;
	const uint32_t region = b->goal->query.region, home = ctp->regions[region].thread;
	struct am_list *at = am_zalloc(ctp->loc_count, sizeof *at);
	for (uint32_t e = 0; e < ctp->event_count; e++) {
		const struct am_ctp_event *v = &ctp->events[e];
		if (!am_ctp_is_access(v) || v->flags & AM_CTP_VOUCHED ||
		    (v->thread == home && !am_goal_in_region(ctp, region, e)))
			continue;
		struct am_list *l = &at[v->loc];
		for (uint32_t i = 0; i < l->count && b->count < MOST_CONFLICTS; i++) {
			const struct am_ctp_event *u = &ctp->events[l->list[i]];
			if (u->thread == v->thread || (!am_ctp_is_store(u) && !am_ctp_is_store(v)))
				continue;
			if (b->goal->narrow && u->thread != home && v->thread != home) {
				b->goal->partial = true;
				continue;
			}
			add_conflict(b, l->list[i], e);
			add_conflict(b, e, l->list[i]);
			v = &ctp->events[e];
		}
		AM_PUSH(l->list, l->count, l->room) = e;
	}
	for (uint32_t i = 0; i < ctp->loc_count; i++)
		free(at[i].list);
	free(at);
}

/* At most one of the literals: a ladder. */
static void at_most_one(struct am_lazy *z, const struct am_lits *l)
{
	int32_t before = AM_SMT_FALSE;
	for (uint32_t i = 0; i < l->count; i++) {
		am_lazy_clause(z, (int32_t[]){ -l->list[i], -before }, 2);
		const int32_t now = am_lazy_hidden(z, "a");
		am_lazy_clause(z, (int32_t[]){ -before, now }, 2);
		am_lazy_clause(z, (int32_t[]){ -l->list[i], now }, 2);
		before = now;
	}
}

static int by_place(const void *a, const void *b, void *arg)
{
	const uint64_t *key = arg;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return key[x] < key[y] ? -1 : key[x] > key[y];
}

/*
 * Every exit is justified by an entry at a place that is not later (threads: by transaction), or every
 * entry by an exit at an earlier place (the region itself: by event). `first` are the justifying ones.
 */
static void justify(struct builder *b, const struct am_list *first, const struct am_list *second,
		    uint64_t *key, bool strictly)
{
	struct am_lazy *z = b->z;
	struct am_lits c = { 0 };
	int32_t reached = AM_SMT_FALSE;
	uint32_t i = 0;
	if (first->count)
		qsort_r(first->list, first->count, sizeof *first->list, by_place, key);
	if (second->count)
		qsort_r(second->list, second->count, sizeof *second->list, by_place, key);
	for (uint32_t j = 0; j < second->count; j++) {
		c.count = 0;
		while (i < first->count && (strictly ? key[first->list[i]] < key[second->list[j]]
						     : key[first->list[i]] <= key[second->list[j]]))
			am_lits_add(&c, b->all[first->list[i++] / 2].lit);
		if (c.count) {
			const int32_t now = am_lazy_hidden(z, "j");
			am_lits_add(&c, reached);
			am_lits_add(&c, -now);
			am_lazy_clause(z, c.list, c.count);
			reached = now;
		}
		am_lazy_clause(z, (int32_t[]){ -b->all[second->list[j] / 2].lit, reached }, 2);
	}
	free(c.list);
}

/* Each of `some` demands at least one of `others`. */
static void demand(struct builder *b, const struct am_list *some, const struct am_list *others)
{
	struct am_lazy *z = b->z;
	struct am_lits c = { 0 };
	const int32_t any = am_lazy_hidden(z, "d");
	am_lits_add(&c, -any);
	for (uint32_t i = 0; i < others->count; i++)
		am_lits_add(&c, b->all[others->list[i] / 2].lit);
	am_lazy_clause(z, c.list, c.count);
	for (uint32_t i = 0; i < some->count; i++)
		am_lazy_clause(z, (int32_t[]){ -b->all[some->list[i] / 2].lit, any }, 2);
	free(c.list);
}

static void thread_clauses(struct builder *b, uint32_t thread, uint64_t *key)
{
	struct am_lazy *z = b->z;
	const bool home = z->ctp->regions[b->goal->query.region].thread == thread;
	struct am_list in = { 0 }, out = { 0 };
	struct am_lits ins = { 0 }, outs = { 0 };
	for (uint32_t i = 0; i < b->count; i++) {
		const struct conflict *c = &b->all[i];
		if (z->ctp->events[c->u].thread == thread) {
			AM_PUSH(out.list, out.count, out.room) = 2 * i;
			am_lits_add(&outs, c->lit);
		}
		if (z->ctp->events[c->v].thread == thread) {
			AM_PUSH(in.list, in.count, in.room) = 2 * i + 1;
			am_lits_add(&ins, c->lit);
		}
	}
	at_most_one(z, &ins);
	at_most_one(z, &outs);
	if (home) {
		/* leaves at u, comes back at a later v; both must be there */
		justify(b, &out, &in, key, true);
		am_lits_add(&ins, -b->goal->q);
		am_lazy_clause(z, ins.list, ins.count);
		demand(b, &out, &in);
	} else {
		justify(b, &in, &out, key, false);
		demand(b, &in, &out);
	}
	free(in.list);
	free(out.list);
	free(ins.list);
	free(outs.list);
}

void am_goal_make_serial(struct am_lazy *z, struct am_goal *goal)
{
	const struct am_ctp *ctp = z->ctp;
	struct builder b = { .z = z, .goal = goal };
	const uint32_t home = ctp->regions[goal->query.region].thread;
	if (home == AM_CTP_NONE) {
		goal->q = AM_SMT_FALSE;
		return;
	}
	b.transaction = am_zalloc(ctp->event_count, sizeof *b.transaction);
	rank_transactions(&b);
	find_conflicts(&b);
	if (b.count >= MOST_CONFLICTS)
		z->give_up = "too many conflicting accesses";
	/* place of each end of a conflict: the position in the region, else the transaction */
	uint64_t *key = am_zalloc(2 * (size_t)b.count, sizeof *key);
	for (uint32_t i = 0; i < b.count; i++) {
		const uint32_t u = b.all[i].u, v = b.all[i].v;
		key[2 * i] = ctp->events[u].thread == home ? ctp->events[u].pos : b.transaction[u];
		key[2 * i + 1] =
			ctp->events[v].thread == home ? ctp->events[v].pos : b.transaction[v];
	}
	for (uint32_t t = 0; t < ctp->thread_count; t++)
		thread_clauses(&b, t, key);
	free(key);
	free(b.transaction);
	free(b.all);
}

/* Follows the chosen conflicts from the region back to it; checks the claims they rest on. */
bool am_goal_holds_serial(struct am_lazy *z, struct am_goal *goal)
{
	const uint32_t home = z->ctp->regions[goal->query.region].thread;
	const uint32_t *ends = goal->events.list;
	uint32_t thread = home;
	goal->mark_count = 0;
	do {
		uint32_t i = 0;
		while (i < goal->uses.count && !(am_lazy_truth(z, goal->uses.list[i]) &&
						 z->ctp->events[ends[2 * i]].thread == thread))
			i++;
		assert(i < goal->uses.count);
		if (!am_goal_claim(z, am_ctp_overlap(z->ctp, ends[2 * i], ends[2 * i + 1])))
			return false;
		am_goal_mark(goal, ends[2 * i]);
		am_goal_mark(goal, ends[2 * i + 1]);
		thread = z->ctp->events[ends[2 * i + 1]].thread;
	} while (thread != home);
	return true;
}
