/*
 * Accesses in the summarised conflict graph: which edges an access makes, and what its entity
 * remembers. The usual case, a region touches what nobody else touched since, is in scg_touch.h; all
 * else is here. Runs wherever the checker runs; no I/O, no globals.
 */
/* SPDX-License-Identifier: MIT */
#include "scg_touch.h"

/* Field by field: a wide copy of what was just written in parts would stall. */
static inline void put_stamp(struct am_stamp *stamp, uint64_t moment, uint64_t value, uint64_t tag)
{
	stamp->moment = moment;
	stamp->value = value;
	stamp->tag = tag;
}

/* Of another thread, and perhaps reached by an open region? What none reaches does not count (R4). */
static inline bool is_foreign(const struct am_checker *c, uint64_t moment, uint32_t slot)
{
	return AM_SLOT_OF(moment) != slot && am_is_live(c, moment);
}

/* In the open region that began at `begin`? */
static inline bool is_mine(uint64_t moment, uint64_t begin, uint32_t slot)
{
	return moment >= begin && AM_SLOT_OF(moment) == slot;
}

/* ---- edges --------------------------------------------------------------------------------- */

static void edges_of_updates(struct am_checker *c, struct am_now *now, const struct am_entity *e, uint8_t common)
{
	const struct am_update *u;

	for (uint32_t i = 0; (u = am_updates_next(c, e, &i));)
		if (!(now->commutes && u->alike == now->commutes) && is_foreign(c, u->stamp.moment, now->slot))
			am_edge_add(c, now, &u->stamp, e->key, common);
}

void am_access_edges(struct am_checker *c, struct am_now *now, const struct am_entity *e, uint8_t mask)
{
	const uint8_t common = am_mask_of(e) & mask;
	const struct am_stamp *s;

	if ((now->writes || !(e->cell & AM_TWO_READS)) && is_foreign(c, e->write.moment, now->slot) &&
	    am_edge_add(c, now, &e->write, e->key, common))
		c->front[now->slot].known = e->write.moment; /* it need not ask again */
	if (e->more)
		edges_of_updates(c, now, e, common);
	if (!now->writes)
		return;
	if (is_foreign(c, e->read.moment, now->slot))
		am_edge_add(c, now, &e->read, e->key, common);
	for (uint32_t i = 0; (s = am_reads_next(c, e, &i));)
		if (is_foreign(c, s->moment, now->slot))
			am_edge_add(c, now, s, e->key, common);
}

/* ---- what an entity remembers -------------------------------------------------------------- */

/* May a new read of this thread take the place of this one? */
static inline bool gives_way(struct am_checker *c, const struct am_stamp *read, uint32_t slot)
{
	/* An older one of a thread than what this one came after is covered as well. */
	const uint64_t known = c->front[slot].known;

	return !is_foreign(c, read->moment, slot) ||
	       (read->moment <= known && AM_SLOT_OF(read->moment) == AM_SLOT_OF(known)) ||
	       am_is_covered(c, read->moment, slot) || am_stamp_dominated(c, read, slot);
}

static void note_read(struct am_checker *c, struct am_now *now, struct am_entity *e)
{
	if ((e->more && am_readers_has(c, e, now->slot, now->begin)) || !am_matters(c, now->slot))
		return;
	if (!am_now_tag(c, now)) {
		c->stats.forgotten++;
		return;
	}
	const struct am_stamp stamp = {now->moment, now->event->value, now->tag};
	if (gives_way(c, &e->read, now->slot)) {
		put_stamp(&e->read, now->moment, now->event->value, now->tag);
		if (e->more)
			am_readers_trim(c, e);
	} else if (e->cell & AM_TWO_READS ? gives_way(c, &e->write, now->slot) : am_is_stale(c, e->write.moment)) {
		e->write = stamp;
		e->cell |= AM_TWO_READS;
		am_readers_trim(c, e);
	} else {
		am_readers_add(c, e, &stamp);
	}
}

static void note_write(struct am_checker *c, struct am_now *now, struct am_entity *e)
{
	if (e->more)
		am_readers_drop(c, e);
	e->read.moment = 0;
	e->cell &= ~(uint32_t)AM_TWO_READS;
	if (!am_matters(c, now->slot)) {
		am_table_remove(c, e);
	} else if (!am_now_tag(c, now)) {
		c->stats.forgotten++;
		am_table_remove(c, e);
	} else {
		put_stamp(&e->write, now->moment, now->event->value, now->tag);
	}
}

/* One that commutes leaves the others where they are, as a read does. */
static void note_update(struct am_checker *c, struct am_now *now, struct am_entity *e)
{
	if (!am_matters(c, now->slot))
		return;
	if (!am_now_tag(c, now)) {
		c->stats.forgotten++;
		return;
	}
	const struct am_stamp stamp = {now->moment, now->event->value, now->tag};
	am_updates_add(c, e, &stamp, now->commutes);
}

/* An access to a cell of exactly these bytes that others touched. */
static void meet(struct am_checker *c, struct am_now *now, struct am_entity *e)
{
	am_access_edges(c, now, e, am_mask_of(e));
	if (now->commutes)
		note_update(c, now, e);
	else if (now->writes)
		note_write(c, now, e);
	else if (!is_mine(e->read.moment, now->begin, now->slot) && !is_mine(e->write.moment, now->begin, now->slot))
		note_read(c, now, e);
}

/* The word's cells and the bytes of the access do not match: cells are cut, or merged by a write. */
static void mismatch_once(struct am_checker *c, struct am_now *now, uint64_t key, uint8_t mask)
{
	struct am_entity *e;
	uint8_t rest = mask;

	am_table_reserve(c);
	while (rest && (e = am_table_find(c, key, rest))) {
		if (am_table_is_stale(c, e)) {
			am_table_remove(c, e);
			continue;
		}
		if (am_mask_of(e) & ~mask)
			e = am_table_cut(c, e, mask);
		if (now->writes && !now->commutes) {
			am_access_edges(c, now, e, mask);
			am_table_remove(c, e);
		} else {
			rest &= (uint8_t)~am_mask_of(e);
			meet(c, now, e);
		}
	}
	if (!rest || !am_matters(c, now->slot))
		return;
	if (!am_now_tag(c, now)) {
		c->stats.forgotten++;
		return;
	}
	e = am_table_insert(c, key, rest, true);
	if (now->commutes)
		note_update(c, now, e);
	else
		put_stamp(now->writes ? &e->write : &e->read, now->moment, now->event->value, now->tag);
}

/* ---- one word ------------------------------------------------------------------------------ */

struct request {
	const struct am_event *event;
	uint64_t object, size;
	uint32_t slot;
	bool writes;
	uint32_t commutes;
};

static struct am_now now_of(const struct am_checker *c, const struct request *q)
{
	return (struct am_now){
		.event = q->event,
		.moment = AM_MOMENT(q->event->index, q->slot),
		.begin = c->front[q->slot].begin,
		.object = q->object,
		.size = q->size,
		.slot = q->slot,
		.commutes = q->commutes,
		.writes = q->writes,
	};
}

/* All that the fast path leaves: others were here, or the cell is not at home, or is none. */
static __attribute__((noinline)) void meet_slowly(struct am_checker *c, const struct request *q, uint64_t key,
						  uint8_t mask)
{
	const bool mattered = am_matters(c, q->slot);
	struct am_now now = now_of(c, q);
	struct am_entity *e = am_table_seek(c, key, mask);

	if (e) {
		meet(c, &now, e);
	} else {
		mismatch_once(c, &now, key, mask);
		if (!mattered && am_matters(c, q->slot)) /* the first cells were not remembered */
			mismatch_once(c, &now, key, mask);
	}
	if (unlikely(c->chained > c->chained_limit))
		am_table_shuffle(c);
}

static void touch_or_meet(struct am_checker *c, const struct request *q, uint64_t key, uint8_t mask)
{
	struct am_entity *e = &c->table[am_table_home(c, key, mask)];

	am_table_note(c, mask);
	if (q->commutes || !am_touch(c, q->event, q->slot, q->writes, AM_MOMENT(q->event->index, q->slot), key, mask, e,
		      (struct am_touch_case){.has_halves = true}))
		meet_slowly(c, q, key, mask);
}

/* ---- events -------------------------------------------------------------------------------- */

static void touch_words(struct am_checker *c, const struct request *q)
{
	const uint64_t most = UINT64_MAX - q->object < AM_ACCESS_MAX ? UINT64_MAX - q->object : AM_ACCESS_MAX;
	const uint64_t size = q->size < most ? q->size : most, last = q->object + size - 1;

	if (!size)
		return;
	for (uint64_t word = q->object >> 3; word <= last >> 3; word++) {
		const unsigned from = word == q->object >> 3 ? q->object & 7 : 0, to = word == last >> 3 ? last & 7 : 7;
		const uint8_t mask = (uint8_t)(0xff << from & 0xff >> (7 - to));
		touch_or_meet(c, q, word + 1, mask);
	}
}

static __attribute__((noinline)) void span(struct am_checker *c, const struct request *q)
{
	const bool mattered = am_matters(c, q->slot);

	c->stats.forgotten += q->size > AM_ACCESS_MAX;
	touch_words(c, q);
	if (!mattered && am_matters(c, q->slot)) /* the first words were not remembered */
		touch_words(c, q);
}

void am_access_slowly(struct am_checker *c, uint32_t slot, const struct am_event *ev, struct am_entity *e)
{
	const struct request q = {ev, ev->object, ev->size, slot, ev->kind != AM_READ, 0};
	const uint64_t low = ev->object & 7, key = (ev->object >> 3) + 1;
	const uint8_t mask = (uint8_t)(((1u << (ev->size & 15)) - 1) << low);

	if (low + ev->size > 8 || !ev->size) {
		span(c, &q);
	} else if (e->key == key && am_mask_of(e) == mask) {
		struct am_now now = now_of(c, &q);
		meet(c, &now, e);
	} else {
		meet_slowly(c, &q, key, mask);
	}
	am_cycle_report(c);
}

void am_access_data(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	const struct request q = {ev, ev->object, ev->size, slot, ev->kind != AM_READ, am_commutes(ev)};
	const uint64_t low = ev->object & 7;

	am_access_count(c, slot, ev->index);
	if (low + ev->size <= 8 && ev->size)
		touch_or_meet(c, &q, (ev->object >> 3) + 1, (uint8_t)(((1u << ev->size) - 1) << low));
	else
		span(c, &q);
	am_cycle_report(c);
}

void am_access_freed(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	const struct request q = {ev, ev->object, ev->aux, slot, true, 0};

	am_access_count(c, slot, ev->index);
	span(c, &q);
	am_cycle_report(c);
}

/* At lock level both ends of a section are accesses of the lock; a wait ends one, a wake begins one.
 * Of several in one region the first is remembered: sections are told by their acquire. */
void am_access_lock(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	const bool waits = ev->kind == AM_WAIT || ev->kind == AM_WAKE;
	const uint64_t lock = waits ? ev->aux : ev->object, begin = c->front[slot].begin;

	if (!lock) /* a wait that keeps its mutex */
		return;
	am_access_count(c, slot, ev->index);
	const struct request q = {ev, lock, 1, slot, waits || ev->mode != AM_SHARED, 0};
	const uint64_t key = (AM_LOCK_SPACE | lock >> 3) + 1;
	const uint8_t mask = (uint8_t)(1u << (lock & 7));
	const struct am_entity *e = &c->table[am_table_home(c, key, mask)];
	const bool wrote = is_mine(e->write.moment, begin, slot) && e->read.moment < e->write.moment;
	if (e->key == key && (e->cell & 0x3ff) == mask && wrote)
		return;
	touch_or_meet(c, &q, key, mask);
	am_cycle_report(c);
}

