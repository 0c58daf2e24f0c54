/* Does a run that was executed show what the query asked for? By definition; see engine.h. Pure. */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/validate.h"

#include <stdlib.h>
#include <string.h>

struct run {
	const struct am_ctp *ctp;
	const struct am_query *query;
	const struct am_answer *answer;
	const struct am_validation *v;
	uint32_t *at; /* by event: 1 + position in the run, 0 not in it */
};

static bool happened(const struct run *r, uint32_t e)
{
	return e < r->ctp->event_count && r->at[e] && r->v->state[e] == 1;
}

static bool before(const struct run *r, uint32_t a, uint32_t b)
{
	return happened(r, a) && happened(r, b) && r->at[a] < r->at[b];
}

static bool overlap(const struct run *r, uint32_t a, uint32_t b)
{
	const struct am_ctp_event *x = &r->ctp->events[a], *y = &r->ctp->events[b];

	return am_ctp_is_access(x) && am_ctp_is_access(y) && x->object == y->object &&
	       r->v->where[a] < r->v->where[b] + y->size &&
	       r->v->where[b] < r->v->where[a] + x->size;
}

static bool conflict(const struct run *r, uint32_t a, uint32_t b)
{
	const struct am_ctp_event *x = &r->ctp->events[a], *y = &r->ctp->events[b];

	return x->thread != y->thread && overlap(r, a, b) && (am_ctp_is_store(x) || am_ctp_is_store(y));
}

/* Wang et al. section 3, rule 4, for accesses of the same place; accesses that only overlap are
 * taken as dependent. */
static bool dependent(const struct run *r, uint32_t a, uint32_t b)
{
	const struct am_ctp_event *x = &r->ctp->events[a], *y = &r->ctp->events[b];

	if (!conflict(r, a, b))
		return false;
	if (r->query->plain || r->v->where[a] != r->v->where[b] || x->size != y->size)
		return true;
	if (y->kind != AM_READ && x->kind != AM_WRITE && r->v->reads[a] != r->v->wrote[b])
		return true;
	if (x->kind != AM_READ && y->kind != AM_WRITE && r->v->old[a] != r->v->wrote[a])
		return true;
	return x->kind != AM_READ && y->kind != AM_READ && r->v->wrote[a] != r->v->wrote[b];
}

static const char *three(const struct run *r)
{
	const struct am_query *q = r->query;

	if (!before(r, q->a, q->b) || !before(r, q->b, q->c))
		return "the three accesses do not come in their order";
	const struct am_ctp_event *a = &r->ctp->events[q->a], *c = &r->ctp->events[q->c];
	if (a->thread != c->thread || a->pos >= c->pos)
		return "the outer accesses are not of one thread in their order";
	if (!dependent(r, q->a, q->b) || !dependent(r, q->b, q->c))
		return "two of the three accesses are independent";
	return NULL;
}

static bool in_region(const struct run *r, uint32_t e)
{
	return e < r->ctp->event_count && r->ctp->events[e].region == r->query->region;
}

/* Marks are pairs (from, to): leave the region, through other transactions, back to it later. */
static const char *serial(const struct run *r, const uint32_t *m, uint32_t n)
{
	if (n < 4 || n % 2 || !in_region(r, m[0]) || !in_region(r, m[n - 1]))
		return "the cycle does not begin and end in the region";
	const struct am_ctp_event *first = &r->ctp->events[m[0]], *last = &r->ctp->events[m[n - 1]];
	if (first->thread != last->thread || first->pos >= last->pos)
		return "the cycle does not come back to a later access";
	for (uint32_t i = 0; i < n; i += 2) {
		if (!before(r, m[i], m[i + 1]) || !conflict(r, m[i], m[i + 1]))
			return "a step of the cycle is no conflict in this order";
		if (i + 2 == n)
			continue;
		const struct am_ctp_event *to = &r->ctp->events[m[i + 1]],
					  *from = &r->ctp->events[m[i + 2]];
		const bool same = to->region != AM_CTP_NONE && to->region == from->region &&
				  !r->query->alone;
		if (to->thread != from->thread || (to->pos > from->pos && !same) ||
		    to->thread == first->thread)
			return "two steps of the cycle do not meet in a transaction";
	}
	return NULL;
}

static bool is_sync(const struct am_ctp_event *e)
{
	switch (e->kind) {
	case AM_ACQUIRE:
	case AM_RELEASE:
	case AM_WAIT:
	case AM_WAKE:
	case AM_SIGNAL:
	case AM_BROADCAST:
	case AM_POST:
	case AM_TAKE:
	case AM_ARRIVE:
	case AM_LEAVE:
	case AM_ONCE_BEGIN:
	case AM_ONCE_END: return true;
	default: return false;
	}
}

static const char *between(const struct run *r, bool is_window, const uint32_t *m, uint32_t n)
{
	if (n != 3 || !in_region(r, m[0]) || !in_region(r, m[2]) ||
	    m[1] >= r->ctp->event_count)
		return "three events are needed: two of the region and the intruder";
	const struct am_ctp_event *intruder = &r->ctp->events[m[1]];
	if (!before(r, m[0], m[1]) || !before(r, m[1], m[2]) ||
	    intruder->thread == r->ctp->events[m[0]].thread)
		return "the intruder does not come in between";
	if (!is_window)
		return am_ctp_is_access(intruder) || is_sync(intruder) ||
				       intruder->kind == AM_FORK || intruder->kind == AM_JOIN ?
			       NULL :
			       "the intruder does nothing that others can see";
	for (uint32_t e = 0; e < r->ctp->event_count; e++)
		if (in_region(r, e) && happened(r, e) && overlap(r, e, m[1]))
			return NULL;
	return "the intruder touches nothing that the region touches";
}

/* ---- races --------------------------------------------------------------------------------------- */

/* Was the thread that wakes by `b` already waiting when `a` happened? */
static bool was_waiting(const struct run *r, uint32_t a, uint32_t b)
{
	const uint32_t thread = r->ctp->events[b].thread;

	for (uint32_t i = r->at[b] - 1; i-- > 0;) {
		const struct am_ctp_event *e = &r->ctp->events[r->answer->run[i]];
		if (e->kind == AM_WAIT && e->thread == thread)
			return i + 1 < r->at[a];
	}
	return false;
}

/* Does `b` take what `a`, earlier in the run, gave away, on the same object? */
static bool synchronises(const struct run *r, uint32_t a, uint32_t b)
{
	const struct am_ctp_event *x = &r->ctp->events[a], *y = &r->ctp->events[b];
	const bool gives_lock = x->kind == AM_RELEASE || x->kind == AM_WAIT;
	const bool takes_lock = y->kind == AM_ACQUIRE || y->kind == AM_WAKE;

	if (gives_lock && takes_lock) {
		const uint32_t given = x->kind == AM_WAIT ? x->aux : x->object;
		const uint32_t taken = y->kind == AM_WAKE ? y->aux : y->object;
		if (given == taken && !(x->kind == AM_RELEASE && y->kind == AM_ACQUIRE &&
					x->mode == AM_SHARED && y->mode == AM_SHARED))
			return true;
	}
	switch (x->kind) {
	case AM_POST: return y->kind == AM_TAKE && x->object == y->object;
	case AM_ARRIVE: return y->kind == AM_LEAVE && x->object == y->object;
	case AM_SIGNAL:
	case AM_BROADCAST:
		return y->kind == AM_WAKE && x->object == y->object && was_waiting(r, a, b);
	case AM_FORK: return x->object == y->thread;
	default: return y->kind == AM_JOIN && y->object == x->thread;
	}
}

/* b reads what a wrote, a releases and b acquires. */
static bool hands_over(const struct run *r, uint32_t a, uint32_t b)
{
	const struct am_ctp_event *x = &r->ctp->events[a], *y = &r->ctp->events[b];

	if (!am_ctp_is_store(x) || y->kind == AM_WRITE || !am_ctp_is_access(y) || !overlap(r, a, b) ||
	    r->v->forwarded[b] ||
	    x->order < 4 || (y->order != 3 && y->order < 5))
		return false;
	for (uint32_t i = r->at[a]; i + 1 < r->at[b]; i++) {
		const uint32_t w = r->answer->run[i];
		if (am_ctp_is_store(&r->ctp->events[w]) && overlap(r, w, b))
			return false;
	}
	return true;
}

static bool direct(const struct run *r, uint32_t a, uint32_t b)
{
	const struct am_ctp_event *x = &r->ctp->events[a], *y = &r->ctp->events[b];

	if (x->thread == y->thread)
		return x->pos < y->pos;
	if (r->at[a] > r->at[b])
		return false;
	for (uint32_t i = 0; i < r->ctp->order_count; i++)
		if (r->ctp->orders[i].before == a && r->ctp->orders[i].after == b)
			return true;
	return synchronises(r, a, b) || hands_over(r, a, b);
}

/* Is there a chain of happens-before from a to b? */
static bool happens_before(const struct run *r, uint32_t a, uint32_t b)
{
	const uint32_t n = r->answer->length;
	const uint32_t *run = r->answer->run;
	bool *reached = calloc(n + 1, sizeof(*reached));
	bool grew = true;

	if (!reached)
		abort();
	reached[r->at[a] - 1] = true;
	while (grew && !reached[r->at[b] - 1]) {
		grew = false;
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t j = 0; reached[i] && j < n; j++)
				if (!reached[j] && direct(r, run[i], run[j]))
					reached[j] = grew = true;
	}
	const bool answer = reached[r->at[b] - 1];
	free(reached);
	return answer;
}

static const char *race(const struct run *r, const uint32_t *m, uint32_t n)
{
	if (n != 2 || !happened(r, m[0]) || !happened(r, m[1]) ||
	    !conflict(r, m[0], m[1]))
		return "the two accesses do not conflict";
	if (r->ctp->events[m[0]].order && r->ctp->events[m[1]].order)
		return "both accesses are atomic";
	if (happens_before(r, m[0], m[1]) || happens_before(r, m[1], m[0]))
		return "synchronisation orders the two accesses";
	return NULL;
}

/* ---- answers without marks: the run is searched ---------------------------------------------------- */

/* A way of conflicts on from `e`, through transactions of threads not passed yet, back to the region. */
static bool extend(const struct run *r, uint32_t *m, uint32_t n, uint64_t passed)
{
	const uint32_t length = r->answer->length, *run = r->answer->run;

	if (n + 2 > 64)
		return false;
	for (uint32_t i = 0; i < length; i++) {
		const struct am_ctp_event *from = &r->ctp->events[run[i]];
		if (n && from->thread != r->ctp->events[m[n - 1]].thread)
			continue;
		m[n] = run[i];
		for (uint32_t j = i + 1; j < length; j++) {
			const struct am_ctp_event *to = &r->ctp->events[run[j]];
			const uint64_t bit = UINT64_C(1) << (to->thread % 64);
			m[n + 1] = run[j];
			if (!conflict(r, m[n], m[n + 1]))
				continue;
			if (n && !serial(r, m, n + 2))
				return true;
			if ((passed & bit) || (!n && !in_region(r, m[0])))
				continue;
			if (n) { /* the last two steps must meet */
				const struct am_ctp_event *in = &r->ctp->events[m[n - 1]];
				const bool same = in->region != AM_CTP_NONE &&
						  in->region == from->region && !r->query->alone;
				if (in->pos > from->pos && !same)
					continue;
			}
			if (extend(r, m, n + 2, passed | bit))
				return true;
		}
	}
	return false;
}

static const char *search(const struct run *r)
{
	const uint32_t n = r->answer->length, *run = r->answer->run;
	const enum am_property property = r->query->property;

	if (property == AM_PROP_SERIAL) {
		uint32_t m[64];
		const uint32_t region = r->query->region;
		const uint64_t home = UINT64_C(1) << (r->ctp->regions[region].thread % 64);
		return extend(r, m, 0, home) ? NULL : "no cycle of conflicts through the region";
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i + 1; j < n; j++) {
			uint32_t m[3] = { run[i], run[j], 0 };
			if (property == AM_PROP_RACE && !race(r, m, 2))
				return NULL;
			for (uint32_t k = j + 1; property != AM_PROP_RACE && k < n; k++) {
				m[2] = run[k];
				if (!between(r, property == AM_PROP_WINDOW, m, 3))
					return NULL;
			}
		}
	return "the run does not show the property";
}

static const char *failed(const struct run *r)
{
	if (r->query->a != AM_CTP_NONE)
		return r->query->a < r->ctp->event_count && r->v->failed[r->query->a] ?
			       NULL :
			       "the assertion did not fail";
	for (uint32_t e = 0; e < r->ctp->event_count; e++)
		if (r->v->failed[e])
			return NULL;
	return "no assertion failed";
}

const char *am_validate_property(const struct am_ctp *ctp, const struct am_query *query,
				 const struct am_answer *answer, const struct am_validation *v)
{
	struct run r = { ctp, query, answer, v, calloc(ctp->event_count + 1, sizeof(uint32_t)) };
	const uint32_t *marks = answer->marks, n = answer->mark_count;
	const char *wrong = "unknown property";

	if (!r.at)
		abort();
	for (uint32_t i = 0; i < answer->length; i++)
		r.at[answer->run[i]] = i + 1;
	switch (query->property) {
	case AM_PROP_REACH: wrong = happened(&r, query->a) ? NULL : "the event did not happen"; break;
	case AM_PROP_ASSERT: wrong = failed(&r); break;
	case AM_PROP_THREE: wrong = three(&r); break;
	case AM_PROP_SERIAL: wrong = n ? serial(&r, marks, n) : search(&r); break;
	case AM_PROP_STRONG: wrong = n ? between(&r, false, marks, n) : search(&r); break;
	case AM_PROP_WINDOW: wrong = n ? between(&r, true, marks, n) : search(&r); break;
	case AM_PROP_RACE: wrong = n ? race(&r, marks, n) : search(&r); break;
	}
	free(r.at);
	return wrong;
}
