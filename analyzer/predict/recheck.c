/* Which question a read stands under, and asking for schedules in which the answer is yes; see recheck.h. Tool side. */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/recheck.h"

struct recheck {
	uint32_t asks; /* the event whose condition compares; AM_CTP_NONE: none */
	/* All that the region does for others to see up to there is in vain if the answer is no: it begins with the read that is
	 * compared, and stores nothing. */
	bool is_all;
};

static bool same_bytes(const struct am_ctp_event *a, const struct am_ctp_event *b)
{
	return a->object == b->object && a->offset == b->offset && a->size == b->size;
}

/* Does another thread access what it accesses? */
static bool is_shared(const struct am_ctp *ctp, const struct am_ctp_event *a)
{
	for (uint32_t e = 0; am_ctp_is_access(a) && e < ctp->event_count; e++)
		if (am_ctp_is_access(&ctp->events[e]) && ctp->events[e].loc == a->loc &&
		    ctp->events[e].thread != a->thread)
			return true;
	return false;
}

/* The first read at or behind position `first` that the condition compares with a later one of the same bytes. */
static uint32_t compared(const struct am_ctp *ctp, const struct am_ctp_thread *t, uint32_t first, uint32_t asks)
{
	const uint32_t cond = ctp->events[t->events[asks]].cond;

	for (uint32_t i = first; i < asks; i++) {
		const struct am_ctp_event *a = &ctp->events[t->events[i]];
		if (a->kind != AM_READ || !am_ctp_needs(ctp, cond, t->events[i]))
			continue;
		for (uint32_t k = i + 1; k <= asks; k++) {
			const struct am_ctp_event *b = &ctp->events[t->events[k]];
			if (b->kind == AM_READ && same_bytes(a, b) && am_ctp_needs(ctp, cond, t->events[k]))
				return i;
		}
	}
	return AM_CTP_NONE;
}

static bool is_first_and_stores_nothing(const struct am_ctp *ctp, const struct am_ctp_thread *t, uint32_t first,
					uint32_t compares, uint32_t asks)
{
	for (uint32_t i = first; i < asks; i++) {
		const struct am_ctp_event *a = &ctp->events[t->events[i]];
		if ((i < compares || am_ctp_is_store(a)) && is_shared(ctp, a))
			return false;
	}
	return true;
}

/* The last question that read `e` of the region stands under, if the region stores nothing for others in between: what it
 * stores may have been made of the read. */
static struct recheck recheck_of(const struct am_ctp *ctp, uint32_t region, uint32_t e)
{
	struct recheck found = {AM_CTP_NONE, false};
	const struct am_ctp_region *r = &ctp->regions[region];
	const struct am_ctp_thread *t = &ctp->threads[r->thread];
	const uint32_t first = r->begin == AM_CTP_NONE ? 0 : ctp->events[r->begin].pos;
	const uint32_t end = r->end == AM_CTP_NONE ? t->length : ctp->events[r->end].pos;

	for (uint32_t i = ctp->events[e].pos; ctp->events[e].kind == AM_READ && i < end; i++) {
		const struct am_ctp_event *v = &ctp->events[t->events[i]];
		if (am_ctp_is_store(v) && is_shared(ctp, v))
			break;
		if ((v->kind != AM_READ && v->kind != AM_BRANCH) || !v->cond)
			continue;
		const uint32_t compares = compared(ctp, t, first, i);
		if (compares <= ctp->events[e].pos)
			found = (struct recheck){t->events[i],
						 is_first_and_stores_nothing(ctp, t, first, compares, i)};
	}
	return found;
}

bool am_recheck_ask(struct am_engine *engine, const struct am_ctp *ctp, struct am_query *q,
		    struct am_answer *answer, uint64_t *rounds)
{
	struct recheck recheck = {.is_all = true};

	for (;;) {
		am_engine_ask(engine, q, answer);
		*rounds += answer->rounds;
		if (answer->verdict != AM_FEASIBLE)
			return answer->verdict == AM_INFEASIBLE && recheck.is_all;
		const uint32_t closes = answer->marks[answer->mark_count - 1];
		if (ctp->events[closes].thread != ctp->regions[q->region].thread)
			return false; /* a path longer than there is room for marks */
		recheck = recheck_of(ctp, q->region, closes);
		bool is_there = recheck.asks == AM_CTP_NONE;
		for (uint32_t i = 0; i < answer->length && !is_there; i++)
			is_there = answer->run[i] == recheck.asks;
		if (is_there)
			return false;
		q->too = 1 + recheck.asks;
		am_answer_clear(answer);
	}
}
