/*
 * Accesses told late (event.h): a thread's mark names a moment within a transaction; accesses that
 * it made there, and that concerned nobody, are told when they do. Runs wherever the checker runs;
 * no I/O, no globals.
 *
 * An access is a moment of its thread (scg.h), so a late one is put beside the others with the
 * moment of its mark. No edge leads to it: whoever told it late has made sure of that (filter.h in
 * preload/). Marks that no open region reaches are of no use any more (R4), so few are kept.
 */
/* SPDX-License-Identifier: MIT */
#include "scg.h"

enum { FIRST_MARKS = 64, MARKS_MAX = 1 << 16 };

static void drop_first(struct am_vertex *v, uint32_t n)
{
	for (uint32_t i = n; i < v->n_marks; i++)
		v->mark[i - n] = v->mark[i];
	v->n_marks -= n;
	v->rising = v->rising > n ? v->rising - n : 0;
}

/* Room for one more mark. */
static bool reserve(struct am_checker *c, uint32_t slot)
{
	struct am_vertex *v = &c->vertex[slot];
	const uint64_t horizon = am_horizon_of(c, slot);
	uint32_t stale = 0;

	while (stale < v->n_marks && v->mark[stale].moment < horizon)
		stale++;
	drop_first(v, stale);
	if (v->n_marks < v->cap_marks / 2)
		return true;
	const uint32_t cap = v->cap_marks ? v->cap_marks * 2 : FIRST_MARKS;
	void *p = cap <= MARKS_MAX ? am_mem_resize(c->mem, v->mark, sizeof *v->mark * v->cap_marks,
						   sizeof *v->mark * cap)
				   : NULL;
	if (p) {
		v->mark = p;
		v->cap_marks = cap;
		return true;
	}
	c->stats.forgotten++;
	drop_first(v, v->n_marks / 2 + (v->n_marks > 0));
	return v->n_marks < v->cap_marks;
}

void am_late_mark(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	struct am_vertex *v = &c->vertex[slot];
	const uint32_t number = ev->aux ? (uint32_t)ev->aux : ev->site;

	if (ev->object != AM_THREAD_OBJECT(ev->thread) || v->blind || v->muted)
		return; /* of one who comes behind it */
	if (!am_is_reached(c, slot)) {
		if (!am_is_open(c, slot))
			return;
		/* The usual case: nobody knows what was before this region. */
		if (v->n_marks && v->mark[v->n_marks - 1].moment < c->front[slot].begin)
			v->n_marks = 0;
	}
	if (v->n_marks == v->cap_marks && !reserve(c, slot))
		return;
	if (v->n_marks == 0 || !am_mark_covers(v->mark[v->n_marks - 1].number, number))
		v->rising = v->n_marks;
	c->newest = AM_MOMENT(ev->index, slot);
	v->mark[v->n_marks++] =
		(struct am_mark){c->newest, number, c->front[slot].transaction, am_place_now(&c->front[slot])};
}

/* Of the rising ones the newest with no larger number, counted from 1; if there is none, not more than `rising`. They mostly ask for recent ones, but one who
 * comes to much of what a long region did, or to what many did, asks for any: steps twice as long each, then halves. */
static uint32_t search_rising(const struct am_vertex *v, uint32_t number)
{
	uint32_t high = v->n_marks, low = high, step = 1; /* those from `high` on are younger */

	while (low > v->rising) {
		low = low - v->rising > step ? low - step : v->rising;
		if (v->mark[low].number <= number)
			break;
		high = low;
		step *= 2;
	}
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (v->mark[middle].number <= number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Is that what search_rising would find? */
static bool is_rising(const struct am_vertex *v, uint32_t at, uint32_t number)
{
	return at > v->rising && at <= v->n_marks && v->mark[at - 1].number <= number &&
	       (at == v->n_marks || v->mark[at].number > number);
}

/* Whoever tells of one access of a stretch tells of others: the one found last is tried first. */
static uint32_t find_rising(struct am_vertex *v, uint32_t number)
{
	const uint32_t at = is_rising(v, v->found, number) ? v->found : search_rising(v, number);

	v->found = at;
	return at > v->rising && am_mark_covers(v->mark[at - 1].number, number) ? at : 0;
}

/* The newest that is not younger. */
static const struct am_mark *find(struct am_vertex *v, uint32_t number)
{
	const uint32_t at = find_rising(v, number);

	if (at)
		return &v->mark[at - 1];
	for (uint32_t i = v->rising < v->n_marks ? v->rising : v->n_marks; i-- > 0;)
		if (am_mark_covers(v->mark[i].number, number))
			return &v->mark[i];
	return NULL;
}

/* A thread that ended is no longer in the map, but may still be reached. */
static uint32_t slot_of(const struct am_checker *c, uint32_t thread)
{
	if (c->recent[thread % AM_RECENT].id == thread)
		return c->recent[thread % AM_RECENT].slot;
	const uint64_t *known = am_map_find(&c->slot_of, (uint64_t)thread + 1);
	if (known)
		return (uint32_t)*known - 1;
	for (uint32_t s = 0; s < c->high; s++)
		if (c->vertex[s].used && c->vertex[s].ended && !c->vertex[s].ghost &&
		    c->vertex[s].id == thread)
			return s;
	return UINT32_MAX;
}

/* The place is free, or has an older access of the same thread. */
static bool is_open(struct am_checker *c, const struct am_stamp *place, const struct am_stamp *stamp)
{
	return am_is_stale(c, place->moment) ||
	       (AM_SLOT_OF(place->moment) == AM_SLOT_OF(stamp->moment) && place->moment < stamp->moment);
}

static bool is_known(const struct am_stamp *place, const struct am_stamp *stamp)
{
	return AM_SLOT_OF(place->moment) == AM_SLOT_OF(stamp->moment) && place->moment >= stamp->moment;
}

static void put_read(struct am_checker *c, struct am_entity *e, const struct am_stamp *stamp)
{
	const bool two_reads = e->cell & AM_TWO_READS;

	if (is_known(&e->read, stamp) || (two_reads && is_known(&e->write, stamp)) ||
	    am_readers_has(c, e, AM_SLOT_OF(stamp->moment), stamp->moment))
		return;
	if (is_open(c, &e->read, stamp)) {
		e->read = *stamp;
	} else if (two_reads ? is_open(c, &e->write, stamp) : am_is_stale(c, e->write.moment)) {
		e->write = *stamp;
		e->cell |= AM_TWO_READS;
	} else {
		am_readers_add(c, e, stamp);
	}
}

/*
 * Into a cell that lies within the bytes. A write takes the place of the newest write: an older one
 * of its own thread, or one of another's that this thread's first access here came after. Reads
 * stay: they may be newer.
 */
static void put(struct am_checker *c, struct am_entity *e, const struct am_stamp *stamp, bool writes)
{
	const struct am_stamp old = e->write;

	if (!writes) {
		put_read(c, e, stamp);
	} else if (e->cell & AM_TWO_READS) {
		e->cell &= ~(uint32_t)AM_TWO_READS;
		e->write = *stamp;
		if (!am_is_stale(c, old.moment))
			am_readers_add(c, e, &old);
	} else if (!is_known(&e->write, stamp)) {
		e->write = *stamp;
	}
}

/* Number of its context; 0 at the memory ceiling. Which event told it is kept where others have their value, and the mode says
 * so: a read may turn out to be in vain (vain.h), and a report has to find out where the access belongs. */
static uint32_t context_of(struct am_checker *c, uint32_t place, const struct am_event *ev)
{
	const uint32_t at = am_context_home(~ev->site), what = AM_LATE | (uint32_t)ev->mode << 8;

	if (am_context_is_at(c, at, ev->site, place, what))
		return c->recent_context[at].number;
	return am_context_keep(c, at, ev->site, place, what,
			       (uint64_t)ev->site << AM_CONTEXT_SITE | place | 1 << AM_CONTEXT_MODE |
				       (ev->mode ? AM_WRITE : AM_READ));
}

void am_late_access(struct am_checker *c, const struct am_event *ev)
{
	const uint32_t slot = slot_of(c, (uint32_t)(ev->aux >> 32));
	struct am_vertex *v = slot == UINT32_MAX ? NULL : &c->vertex[slot];
	const struct am_mark *mark = v ? find(v, (uint32_t)ev->aux) : NULL;
	const uint64_t key = (ev->object >> 3) + 1;
	const unsigned low = ev->object & 7;
	struct am_entity *e;

	if (!mark || v->blind || v->muted || !ev->size || low + ev->size > 8 ||
	    mark->moment < am_horizon_of(c, slot))
		return;
	const uint64_t number = context_of(c, mark->place, ev);
	const struct am_stamp stamp = {mark->moment, ev->index, number << 32 | mark->transaction};
	if (!number) {
		c->stats.forgotten++;
		return;
	}
	uint8_t rest = (uint8_t)(((1u << ev->size) - 1) << low);
	const uint8_t mask = rest;
	am_table_reserve(c);
	while (rest && (e = am_table_find(c, key, rest))) {
		if (am_table_is_stale(c, e)) {
			am_table_remove(c, e);
			continue;
		}
		if (am_mask_of(e) & ~mask)
			e = am_table_cut(c, e, mask);
		rest &= (uint8_t)~am_mask_of(e);
		put(c, e, &stamp, ev->mode);
	}
	if (!rest)
		return;
	e = am_table_insert(c, key, rest, true);
	*(ev->mode ? &e->write : &e->read) = stamp;
}
