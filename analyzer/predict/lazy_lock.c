/*
 * Locks and other synchronisation in the lazy engine: sections, their exclusion, and lemmas about
 * waits, semaphores and barriers when execution found them wanting. Tool side.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/lazy.h"

#include <assert.h>

/* ---- sections -------------------------------------------------------------------------------- */

static bool guard_implies(const struct am_ctp *ctp, uint32_t guard, uint32_t needed)
{
	if (!needed || guard == needed)
		return true;
	if (!guard || ctp->nodes[guard].op != AM_OP_AND)
		return false;
	return guard_implies(ctp, ctp->nodes[guard].a, needed) ||
	       guard_implies(ctp, ctp->nodes[guard].b, needed);
}

void am_lazy_add_section(struct am_lazy *z, struct am_section s)
{
	const struct am_ctp *ctp = z->ctp;
	const struct am_ctp_thread *t = &ctp->threads[s.thread];
	const uint32_t first = ctp->events[s.open].pos;
	const uint32_t last = s.close == AM_CTP_NONE ? t->length - 1 : ctp->events[s.close].pos;
	const uint32_t needed = ctp->events[s.open].guard, index = z->section_count;

	AM_PUSH(z->sections, z->section_count, z->section_room) = s;
	struct am_list *of = &z->by_lock[s.lock];
	AM_PUSH(of->list, of->count, of->room) = index;
	for (uint32_t i = first; i <= last; i++) {
		const uint32_t e = t->events[i];
		struct am_list *in = &z->inside[e];
		if (guard_implies(ctp, ctp->events[e].guard, needed))
			AM_PUSH(in->list, in->count, in->room) = index;
	}
}

/* The lock that an event opens or closes a section of, AM_CTP_NONE if none. */
static uint32_t lock_of(const struct am_ctp_event *e, bool *opens)
{
	*opens = e->kind == AM_ACQUIRE || e->kind == AM_WAKE;
	if (e->kind == AM_ACQUIRE || e->kind == AM_RELEASE)
		return e->object;
	return e->kind == AM_WAIT || e->kind == AM_WAKE ? e->aux : AM_CTP_NONE;
}

static bool is_shared(const struct am_ctp_event *e)
{
	return (e->kind == AM_ACQUIRE || e->kind == AM_RELEASE) && e->mode == AM_SHARED;
}

static void scan_thread(struct am_lazy *z, uint32_t thread, uint32_t *open)
{
	const struct am_ctp *ctp = z->ctp;
	const struct am_ctp_thread *t = &ctp->threads[thread];
	for (uint32_t i = 0; i < ctp->object_count; i++)
		open[i] = AM_CTP_NONE;
	for (uint32_t i = 0; i < t->length; i++) {
		const uint32_t id = t->events[i];
		const struct am_ctp_event *e = &ctp->events[id];
		bool opens;
		const uint32_t lock = lock_of(e, &opens);
		if (lock == AM_CTP_NONE)
			continue;
		const uint32_t o = open[lock];
		if (opens) {
			z->irregular[lock] |= o != AM_CTP_NONE;
			open[lock] = id;
		} else if (o == AM_CTP_NONE || ctp->events[o].guard != e->guard ||
			   is_shared(&ctp->events[o]) != is_shared(e)) {
			z->irregular[lock] = true;
		} else {
			am_lazy_add_section(z, (struct am_section){ .open = o, .close = id,
								    .lock = lock, .thread = thread,
								    .shared = is_shared(e) });
			open[lock] = AM_CTP_NONE;
		}
	}
	for (uint32_t lock = 0; lock < ctp->object_count; lock++)
		if (open[lock] != AM_CTP_NONE)
			am_lazy_add_section(z, (struct am_section){
						       .open = open[lock], .close = AM_CTP_NONE,
						       .lock = lock, .thread = thread,
						       .shared = is_shared(&ctp->events[open[lock]]) });
}

void am_lazy_find_sections(struct am_lazy *z)
{
	uint32_t *open = am_zalloc(z->ctp->object_count, sizeof *open);
	for (uint32_t t = 0; t < z->ctp->thread_count; t++)
		scan_thread(z, t, open);
	free(open);
}

static bool exclusive(const struct am_lazy *z, uint32_t s, uint32_t t)
{
	const struct am_section *a = &z->sections[s], *b = &z->sections[t];
	return a->lock == b->lock && a->thread != b->thread && !(a->shared && b->shared) &&
	       !z->irregular[a->lock];
}

static uint32_t span(const struct am_lazy *z, uint32_t s)
{
	const struct am_section *a = &z->sections[s];
	const uint32_t end = a->close == AM_CTP_NONE ? z->ctp->threads[a->thread].length
						     : z->ctp->events[a->close].pos;
	return end - z->ctp->events[a->open].pos;
}

/* Two sections that exclude each other around a and b; the widest, so that as many orders as possible
 * share one literal. */
bool am_lazy_common(struct am_lazy *z, uint32_t a, uint32_t b, uint32_t *s, uint32_t *t)
{
	const struct am_list *x = &z->inside[a], *y = &z->inside[b];
	uint32_t widest = 0;
	for (uint32_t i = 0; i < x->count; i++)
		for (uint32_t j = 0; j < y->count; j++) {
			const uint32_t p = x->list[i], q = y->list[j];
			if (!exclusive(z, p, q) || span(z, p) + span(z, q) <= widest)
				continue;
			widest = span(z, p) + span(z, q);
			*s = p;
			*t = q;
		}
	return widest > 0;
}

bool am_lazy_exclude(struct am_lazy *z, uint32_t s, uint32_t t)
{
	const uint32_t news = z->news;
	am_lazy_sections_before(z, s, t);
	return z->news != news;
}

static bool executed(const struct am_lazy *z, uint32_t e)
{
	return am_lazy_truth(z, z->x[e]) &&
	       am_lazy_truth(z, am_lazy_node((struct am_lazy *)z, z->ctp->events[e].guard));
}

bool am_lazy_check_locks(struct am_lazy *z)
{
	struct am_list *open = am_zalloc(z->lock_count, sizeof *open);
	bool fine = true;
	for (uint32_t i = 0; i < z->order_count; i++) {
		const uint32_t e = z->order[i];
		const struct am_list *in = &z->inside[e];
		for (uint32_t k = 0; k < in->count; k++) {
			const uint32_t s = in->list[k];
			const struct am_section *sec = &z->sections[s];
			struct am_list *now = &open[sec->lock];
			if (z->irregular[sec->lock] || (sec->open != e && sec->close != e) ||
			    !executed(z, e))
				continue;
			if (sec->close == e) {
				for (uint32_t m = 0; m < now->count; m++)
					if (now->list[m] == s)
						now->list[m--] = now->list[--now->count];
				continue;
			}
			for (uint32_t m = 0; m < now->count; m++)
				if (exclusive(z, now->list[m], s) &&
				    am_lazy_exclude(z, now->list[m], s)) {
					z->stats->lock_lemmas++;
					fine = false;
				}
			AM_PUSH(now->list, now->count, now->room) = s;
		}
	}
	for (uint32_t i = 0; i < z->lock_count; i++)
		free(open[i].list);
	free(open);
	return fine;
}

/* ---- other synchronisation ------------------------------------------------------------------- */

/* Does event e touch the state of synchronisation object o? */
static bool concerns(const struct am_ctp_event *e, uint32_t o)
{
	switch (e->kind) {
	case AM_ACQUIRE:
	case AM_RELEASE:
	case AM_SIGNAL:
	case AM_BROADCAST:
	case AM_POST:
	case AM_TAKE:
	case AM_ARRIVE:
	case AM_LEAVE:
		return e->object == o;
	case AM_WAIT:
	case AM_WAKE:
		return e->object == o || e->aux == o;
	default:
		return false;
	}
}

/* The state of o at e is a function of the events on o before e, in their order. In this run it
 * made e impossible: not again these, in this order, and no others. */
static void replay_lemma(struct am_lazy *z, uint32_t e, uint32_t o)
{
	struct am_lits c = { 0 };
	uint32_t last = AM_CTP_NONE;
	am_lazy_not_executed(z, &c, e);
	for (uint32_t i = 0; i < z->order_count; i++) {
		const uint32_t y = z->order[i];
		if (z->exec.state[y] != 1 || !concerns(&z->ctp->events[y], o))
			continue;
		am_lazy_not_executed(z, &c, y);
		if (last != AM_CTP_NONE)
			am_lits_add(&c, -am_lazy_before(z, last, y));
		last = y;
	}
	if (last != AM_CTP_NONE)
		am_lits_add(&c, -am_lazy_before(z, last, e));
	for (uint32_t y = 0; y < z->ctp->event_count; y++) {
		if (y == e || z->exec.state[y] == 1 || !concerns(&z->ctp->events[y], o) ||
		    am_must_before(&z->must, e, y))
			continue;
		const int32_t both[2] = { am_lazy_happens(z, y), am_lazy_before(z, y, e) };
		const int32_t v = am_lazy_fresh(z, "b");
		am_lazy_clause(z, (int32_t[]){ -v, both[0] }, 2);
		am_lazy_clause(z, (int32_t[]){ -v, both[1] }, 2);
		am_lits_add(&c, v);
	}
	am_lazy_clause(z, c.list, c.count);
	free(c.list);
}

/* Every taker has its own giver before it: m_gt. Givers that serve all (broadcasts) may be shared. */
static void match_clauses(struct am_lazy *z, const uint32_t *takers, uint32_t taker_count,
			  const uint32_t *givers, uint32_t giver_count, uint32_t tokens)
{
	const uint32_t all = giver_count + tokens;
	int32_t *m = am_zalloc((size_t)taker_count * all, sizeof *m);
	struct am_lits c = { 0 };
	for (uint32_t t = 0; t < taker_count; t++) {
		const uint32_t taker = takers[t];
		const uint32_t wait = z->ctp->events[taker].kind == AM_WAKE
					      ? z->ctp->events[taker].match
					      : AM_CTP_NONE;
		c.count = 0;
		am_lazy_not_executed(z, &c, taker);
		for (uint32_t g = 0; g < all; g++) {
			const int32_t lit = m[t * all + g] = am_lazy_fresh(z, "m");
			am_lits_add(&c, lit);
			if (g >= giver_count)
				continue;
			const uint32_t giver = givers[g];
			am_lazy_clause(z, (int32_t[]){ -lit, am_lazy_happens(z, giver) }, 2);
			am_lazy_clause(z, (int32_t[]){ -lit, am_lazy_before(z, giver, taker) }, 2);
			if (wait != AM_CTP_NONE)
				am_lazy_clause(z,
					       (int32_t[]){ -lit, am_lazy_before(z, wait, giver) },
					       2);
		}
		am_lazy_clause(z, c.list, c.count);
	}
	for (uint32_t g = 0; g < all; g++) {
		if (g < giver_count && z->ctp->events[givers[g]].kind == AM_BROADCAST)
			continue;
		for (uint32_t t = 0; t < taker_count; t++)
			for (uint32_t u = 0; u < t; u++)
				am_lazy_clause(z, (int32_t[]){ -m[t * all + g], -m[u * all + g] },
					       2);
	}
	free(c.list);
	free(m);
}

/* Semaphore or condition o: the matching as clauses. False: not expressible, use replay lemmas. */
static bool match_object(struct am_lazy *z, uint32_t o)
{
	const struct am_ctp *ctp = z->ctp;
	struct am_list takers = { 0 }, givers = { 0 };
	const bool is_sem = ctp->objects[o].class == AM_CTP_SEM;
	bool fits = true;
	for (uint32_t e = 0; e < ctp->event_count; e++) {
		const struct am_ctp_event *v = &ctp->events[e];
		if (v->object != o || !concerns(v, o))
			continue;
		if (v->kind == AM_POST || v->kind == AM_SIGNAL || v->kind == AM_BROADCAST) {
			AM_PUSH(givers.list, givers.count, givers.room) = e;
		} else if (v->kind == AM_TAKE ||
			   (v->kind == AM_WAKE && !(v->flags & (AM_TIMED_OUT | AM_CANCELLED)))) {
			AM_PUSH(takers.list, takers.count, takers.room) = e;
			fits &= is_sem || v->match != AM_CTP_NONE;
		}
	}
	const uint32_t tokens = is_sem ? ctp->objects[o].count : 0;
	fits &= (uint64_t)takers.count * (givers.count + (uint64_t)tokens) <= 20000;
	if (fits)
		match_clauses(z, takers.list, takers.count, givers.list, givers.count, tokens);
	free(takers.list);
	free(givers.list);
	return fits;
}

/* A generation is full when enough arrivals came: with at least these arrivals before its own one, and
 * no others before the leave, it is not. */
static void barrier_lemma(struct am_lazy *z, uint32_t e)
{
	const struct am_ctp *ctp = z->ctp;
	const uint32_t own = ctp->events[e].match, o = ctp->events[e].object;
	struct am_lits c = { 0 };
	am_lazy_not_executed(z, &c, e);
	bool before_own = true;
	for (uint32_t i = 0; i < z->order_count; i++) {
		const uint32_t y = z->order[i];
		before_own &= y != own;
		if (!before_own || z->exec.state[y] != 1 || ctp->events[y].kind != AM_ARRIVE ||
		    ctp->events[y].object != o)
			continue;
		am_lazy_not_executed(z, &c, y);
		am_lits_add(&c, -am_lazy_before(z, y, own));
	}
	for (uint32_t y = 0; y < ctp->event_count; y++) {
		if (ctp->events[y].kind != AM_ARRIVE || ctp->events[y].object != o ||
		    z->exec.state[y] == 1 || am_must_before(&z->must, e, y))
			continue;
		const int32_t v = am_lazy_fresh(z, "b");
		am_lazy_clause(z, (int32_t[]){ -v, am_lazy_happens(z, y) }, 2);
		am_lazy_clause(z, (int32_t[]){ -v, am_lazy_before(z, y, e) }, 2);
		am_lits_add(&c, v);
	}
	am_lazy_clause(z, c.list, c.count);
	free(c.list);
}

void am_lazy_sync_lemma(struct am_lazy *z, uint32_t e)
{
	const struct am_ctp_event *v = &z->ctp->events[e];
	z->stats->sync_lemmas++;
	switch (v->kind) {
	case AM_TAKE:
		if (!z->sem_on[v->object]) {
			z->sem_on[v->object] = true;
			if (match_object(z, v->object))
				return;
		}
		break;
	case AM_WAKE:
		if (z->exec.blocker != AM_CTP_NONE) {
			replay_lemma(z, e, v->aux);
			return;
		}
		if (!z->cond_on[v->object]) {
			z->cond_on[v->object] = true;
			if (match_object(z, v->object))
				return;
		}
		break;
	case AM_LEAVE:
		if (v->match != AM_CTP_NONE) {
			barrier_lemma(z, e);
			return;
		}
		break;
	case AM_WAIT:
		replay_lemma(z, e, v->aux);
		return;
	default:
		break;
	}
	replay_lemma(z, e, v->object);
}
