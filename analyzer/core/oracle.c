/*
 * Serializability by definition. Runs in tests; must never share code with the checkers it judges,
 * and must never be clever.
 */
/* SPDX-License-Identifier: MIT */
#include "oracle.h"

#include <assert.h>
#include <string.h>

struct what {
	bool is_access, is_lock, writes;
	uint64_t from, bytes;
};

static struct what what_is(const struct am_event *e, enum am_conflicts conflicts)
{
	const bool data = conflicts != AM_CONFLICTS_LOCKS, locks = conflicts != AM_CONFLICTS_DATA;

	switch (e->kind) {
	case AM_READ:
		return (struct what){data && e->size, false, false, e->object, e->size};
	case AM_WRITE:
	case AM_UPDATE:
		return (struct what){data && e->size, false, true, e->object, e->size};
	case AM_FREE:
		return (struct what){data && e->aux, false, true, e->object, e->aux};
	case AM_ACQUIRE:
	case AM_RELEASE:
		return (struct what){locks, true, e->mode != AM_SHARED, e->object, 1};
	case AM_WAIT:
	case AM_WAKE:
		return (struct what){locks && e->aux, true, true, e->aux, 1};
	default:
		return (struct what){0};
	}
}

/* Does event k make byte `at` another entity? */
static bool renews(const struct am_event *e, uint64_t at, bool is_lock)
{
	if (e->kind == AM_ALLOC || (e->kind == AM_FREE && (is_lock || e->aux > AM_FREED_MAX)))
		return at >= e->object && at < e->object + e->aux;
	return (e->kind == AM_INIT || e->kind == AM_DESTROY) && is_lock && at == e->object;
}

/* Two additions of which nobody uses the result, or the like, to the same bytes of one word. */
static bool do_commute(const struct am_event *a, const struct am_event *b)
{
	return a->kind == AM_UPDATE && b->kind == AM_UPDATE && a->object == b->object && a->size == b->size &&
	       a->object / 8 == (a->object + a->size - 1) / 8 && (a->order & 0x30) != 0 &&
	       (a->order & 0x30) == (b->order & 0x30);
}

bool am_oracle_conflict(const struct am_event *event, size_t n, size_t i, size_t j,
			enum am_conflicts conflicts)
{
	assert(i < j && j < n);
	(void)n;
	const struct what a = what_is(&event[i], conflicts), b = what_is(&event[j], conflicts);

	if (!a.is_access || !b.is_access || a.is_lock != b.is_lock || (!a.writes && !b.writes))
		return false;
	if (do_commute(&event[i], &event[j]))
		return false;
	for (uint64_t at = a.from; at < a.from + a.bytes; at++) {
		if (at < b.from || at >= b.from + b.bytes)
			continue;
		bool same = event[i].kind != AM_FREE || event[i].aux <= AM_FREED_MAX;
		for (size_t k = i + 1; k < j && same; k++)
			same = !renews(&event[k], at, a.is_lock);
		if (same)
			return true;
	}
	return false;
}

struct step {
	size_t event;
	uint32_t transaction, thread;
};

struct run {
	struct step step[AM_ORACLE_ACCESSES];
	size_t n_steps;
	uint32_t n_transactions;
	/* dependent[i][j], i < j: the steps may not be swapped */
	bool dependent[AM_ORACLE_ACCESSES][AM_ORACLE_ACCESSES];
};

/* The transaction of each access: that of its outermost region, or its own. */
static bool read_run(struct run *r, const struct am_event *event, size_t n, enum am_conflicts conflicts)
{
	memset(r, 0, sizeof *r);
	for (size_t i = 0; i < n; i++) {
		if (!what_is(&event[i], conflicts).is_access)
			continue;
		if (r->n_steps == AM_ORACLE_ACCESSES)
			return false;
		struct step *s = &r->step[r->n_steps];
		*s = (struct step){i, UINT32_MAX, event[i].thread};
		size_t begin = n;
		int depth = 0;
		for (size_t k = 0; k < i; k++) {
			if (event[k].thread != s->thread)
				continue;
			if (event[k].kind == AM_BEGIN && depth++ == 0)
				begin = k;
			if (event[k].kind == AM_END && depth)
				depth--;
		}
		for (size_t k = 0; k < r->n_steps && depth; k++)
			if (r->step[k].thread == s->thread && r->step[k].event > begin)
				s->transaction = r->step[k].transaction;
		if (s->transaction == UINT32_MAX)
			s->transaction = r->n_transactions++;
		r->n_steps++;
	}
	for (size_t i = 0; i < r->n_steps; i++)
		for (size_t j = i + 1; j < r->n_steps; j++)
			r->dependent[i][j] =
				r->step[i].thread == r->step[j].thread ||
				am_oracle_conflict(event, n, r->step[i].event, r->step[j].event, conflicts);
	return r->n_transactions <= AM_ORACLE_TRANSACTIONS;
}

/* Is the serial schedule that runs the transactions in this order equivalent to the run? */
static bool equivalent(const struct run *r, const uint32_t *place)
{
	for (size_t i = 0; i < r->n_steps; i++)
		for (size_t j = i + 1; j < r->n_steps; j++)
			if (r->dependent[i][j] &&
			    place[r->step[i].transaction] > place[r->step[j].transaction])
				return false;
	return true;
}

/* All permutations: place[t] is where transaction t runs. */
static bool try_all(const struct run *r, uint32_t *place, uint32_t t, uint32_t taken)
{
	if (t == r->n_transactions)
		return equivalent(r, place);
	for (uint32_t p = 0; p < r->n_transactions; p++)
		if (!(taken >> p & 1)) {
			place[t] = p;
			if (try_all(r, place, t + 1, taken | 1u << p))
				return true;
		}
	return false;
}

size_t am_oracle(const struct am_event *event, size_t n, enum am_conflicts conflicts)
{
	struct run r;
	uint32_t place[AM_ORACLE_TRANSACTIONS];

	assert(conflicts != AM_CONFLICTS_AUTO);
	if (!read_run(&r, event, n, conflicts))
		return AM_ORACLE_TOO_LARGE;
	if (try_all(&r, place, 0, 0))
		return AM_ORACLE_SERIALIZABLE;
	/* No prefix of a serializable run is not: bisect for the shortest that is not. */
	size_t good = 0, bad = n;
	while (bad - good > 1) {
		const size_t middle = good + (bad - good) / 2;
		read_run(&r, event, middle, conflicts);
		if (try_all(&r, place, 0, 0))
			good = middle;
		else
			bad = middle;
	}
	return bad - 1;
}
