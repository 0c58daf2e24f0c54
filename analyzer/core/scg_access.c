/*
 * Accesses in the summarised conflict graph: which edges an access makes, and what its entity
 * remembers. This is the checker's hot path: straight line for the usual case (a region touches what
 * nobody else touched since), one unlikely jump for everything else. Runs wherever the checker runs;
 * no I/O, no globals.
 */
/* SPDX-License-Identifier: MIT */
#include "scg.h"

#include <assert.h>

#define unlikely(x) __builtin_expect(!!(x), 0)
#define likely(x) __builtin_expect(!!(x), 1)

/* Field by field: a wide copy of what was just written in parts would stall. */
static inline void put_stamp(struct am_stamp *stamp, uint64_t moment, uint64_t value, uint64_t tag)
{
	stamp->moment = moment;
	stamp->value = value;
	stamp->tag = tag;
}

static inline bool is_foreign(uint64_t moment, uint32_t slot)
{
	return moment && AM_SLOT_OF(moment) != slot;
}

/* Of another thread, and perhaps reached by an open region? What none reaches does not count (R4). */
static inline bool is_other(const struct am_checker *c, uint64_t moment, uint32_t slot)
{
	const uint32_t u = AM_SLOT_OF(moment);

	if (!moment || u == slot)
		return false;
	if (moment >= c->vertex[u].begin)
		return true;
	const uint64_t *anc = am_anc(c, u);
	uint64_t any = 0;
	for (uint32_t w = 0; w < c->words; w++)
		any |= anc[w] & ~(w == u >> 6 ? UINT64_C(1) << (u & 63) : 0);
	return any;
}

/* In the open region that began at `begin`? */
static inline bool is_mine(uint64_t moment, uint64_t begin, uint32_t slot)
{
	return moment >= begin && AM_SLOT_OF(moment) == slot;
}

/* ---- edges --------------------------------------------------------------------------------- */

static void edges_of(struct am_checker *c, struct am_now *now, const struct am_entity *e, uint8_t mask)
{
	const uint8_t common = e->mask & mask;

	if (is_foreign(e->write.moment, now->slot))
		am_edge_add(c, now, &e->write, e->key, common);
	if (!now->writes)
		return;
	if (is_foreign(e->read.moment, now->slot))
		am_edge_add(c, now, &e->read, e->key, common);
	if (!e->more)
		return;
	const struct am_readers *r = &c->readers[e->more];
	for (uint32_t i = 0; i < r->cap; i++)
		if (is_foreign(r->at[i].moment, now->slot))
			am_edge_add(c, now, &r->at[i], e->key, common);
}

/* ---- what an entity remembers -------------------------------------------------------------- */

static void note_read(struct am_checker *c, struct am_now *now, struct am_entity *e)
{
	if (e->more && is_mine(am_readers_place(&c->readers[e->more], now->slot)->moment, now->begin, now->slot))
		return;
	if (!am_matters(c, now->slot))
		return;
	if (!am_now_tag(c, now)) {
		c->stats.forgotten++;
		return;
	}
	const struct am_stamp stamp = {now->moment, now->event->value, now->tag};
	if (!is_foreign(e->read.moment, now->slot) || am_stamp_dominated(c, &e->read, now->slot))
		e->read = stamp;
	else
		am_readers_add(c, e, &stamp);
}

static void note_write(struct am_checker *c, struct am_now *now, struct am_entity *e)
{
	if (e->more)
		am_readers_drop(c, e);
	e->read.moment = 0;
	if (!am_matters(c, now->slot)) {
		am_table_remove(c, e);
	} else if (!am_now_tag(c, now)) {
		c->stats.forgotten++;
		am_table_remove(c, e);
	} else {
		put_stamp(&e->write, now->moment, now->event->value, now->tag);
	}
}

/* An access to a cell of exactly these bytes that others touched. */
static void meet(struct am_checker *c, struct am_now *now, struct am_entity *e)
{
	edges_of(c, now, e, (uint8_t)e->mask);
	if (now->writes)
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
	if (now->writes) {
		while ((e = am_table_find(c, key, mask))) {
			if (e->mask & ~mask)
				am_table_cut(c, e, mask);
			edges_of(c, now, e, mask);
			am_table_remove(c, e);
		}
	} else {
		while (rest && (e = am_table_find(c, key, rest))) {
			if (e->mask & ~mask)
				am_table_cut(c, e, mask);
			rest &= (uint8_t)~e->mask;
			meet(c, now, e);
		}
	}
	if (!rest || !am_matters(c, now->slot))
		return;
	if (!am_now_tag(c, now)) {
		c->stats.forgotten++;
		return;
	}
	e = am_table_insert(c, am_table_hole(c, key), key, rest);
	put_stamp(now->writes ? &e->write : &e->read, now->moment, now->event->value, now->tag);
}

/* ---- one word ------------------------------------------------------------------------------ */

struct request {
	const struct am_event *event;
	uint64_t object, size;
	uint32_t slot;
	bool writes;
};

static struct am_now now_of(const struct am_checker *c, const struct request *q)
{
	return (struct am_now){
		.event = q->event,
		.moment = AM_MOMENT(q->event->index, q->slot),
		.begin = c->vertex[q->slot].begin,
		.object = q->object,
		.size = q->size,
		.slot = q->slot,
		.writes = q->writes,
	};
}

static __attribute__((noinline)) void meet_slowly(struct am_checker *c, const struct request *q, struct am_entity *e)
{
	struct am_now now = now_of(c, q);

	meet(c, &now, e);
}

static __attribute__((noinline)) void mismatch(struct am_checker *c, const struct request *q, uint64_t key, uint8_t mask)
{
	const bool mattered = am_matters(c, q->slot);
	struct am_now now = now_of(c, q);

	mismatch_once(c, &now, key, mask);
	if (!mattered && am_matters(c, q->slot)) /* the first cells were not remembered */
		mismatch_once(c, &now, key, mask);
}

static inline void miss(struct am_checker *c, const struct request *q, uint32_t hole, uint64_t key, uint8_t mask)
{
	const struct am_vertex *v = &c->vertex[q->slot];

	if (v->begin == AM_NEVER && !am_matters(c, q->slot))
		return;
	const uint64_t tag = am_tag(c, v, q->event);
	if (unlikely(!tag)) {
		c->stats.forgotten++;
		return;
	}
	if (unlikely(c->n_entities + AM_CELLS_MAX > c->limit)) {
		am_table_reserve(c);
		hole = am_table_hole(c, key);
	}
	struct am_entity *e = am_table_insert(c, hole, key, mask);
	put_stamp(q->writes ? &e->write : &e->read, AM_MOMENT(q->event->index, q->slot), q->event->value, tag);
}

/* The kind of access is hard to predict: one way for reads and writes, selected by arithmetic. */
static __attribute__((always_inline)) inline void hit(struct am_checker *c, const struct request *q,
						       struct am_entity *e)
{
	const struct am_vertex *v = &c->vertex[q->slot];
	const uint64_t begin = v->begin, write = e->write.moment, read = e->read.moment;
	const bool wrote = is_mine(write, begin, q->slot), did_read = is_mine(read, begin, q->slot);
	const bool reads = !q->writes, untouched = (read | e->more) == 0;
	const bool again = (wrote & (reads | untouched)) | (reads & did_read);

	if (again)
		return;
	if (likely(begin != AM_NEVER && !e->more && !is_other(c, write, q->slot) && !is_other(c, read, q->slot))) {
		const uint64_t tag = am_tag(c, v, q->event), moment = AM_MOMENT(q->event->index, q->slot);
		if (likely(tag)) {
			put_stamp(q->writes ? &e->write : &e->read, moment, q->event->value, tag);
			e->read.moment = q->writes ? 0 : moment;
			return;
		}
	}
	meet_slowly(c, q, e);
}

static __attribute__((always_inline)) inline void touch(struct am_checker *c, const struct request *q, uint64_t key,
							 uint8_t mask)
{
	const uint32_t wrap = (1u << c->log) - 1;

	for (uint32_t i = am_table_home(c, key);; i = (i + 1) & wrap) {
		struct am_entity *e = &c->table[i];
		if (likely(e->key == key)) {
			if (likely(e->mask == mask)) {
				hit(c, q, e);
				return;
			}
			if (e->mask & mask) {
				mismatch(c, q, key, mask);
				return;
			}
		} else if (!e->key) {
			miss(c, q, i, key, mask);
			return;
		}
	}
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
		touch(c, q, word + 1, (uint8_t)(0xff << from & 0xff >> (7 - to)));
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

static __attribute__((noinline)) void tell(struct am_checker *c)
{
	c->found = false;
	c->stats.cycles++;
	if (c->config.on_cycle)
		c->config.on_cycle(c->config.ctx, &c->best);
}

/* The event is done: one report, if it closed a cycle. */
static inline void report(struct am_checker *c)
{
	if (unlikely(c->found))
		tell(c);
}

/* Counts the access; is there anything to do? Without an open region no order matters. */
static inline bool begin_access(struct am_checker *c, uint32_t slot, uint64_t index)
{
	struct am_vertex *v = &c->vertex[slot];

	c->stats.accesses++;
	c->stats.unary += v->begin == AM_NEVER;
	v->newest = AM_MOMENT(index, slot);
	return c->n_open && !v->blind;
}

void am_access_data(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	if (!begin_access(c, slot, ev->index))
		return;
	const struct request q = {ev, ev->object, ev->size, slot, ev->kind != AM_READ};
	const uint64_t low = ev->object & 7;
	if (likely(low + ev->size <= 8 && ev->size))
		touch(c, &q, (ev->object >> 3) + 1, (uint8_t)(((1u << ev->size) - 1) << low));
	else
		span(c, &q);
	report(c);
}

/* At lock level both ends of a section are accesses of the lock; a wait ends one, a wake begins one. */
void am_access_lock(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	const bool waits = ev->kind == AM_WAIT || ev->kind == AM_WAKE;
	const uint64_t lock = waits ? ev->aux : ev->object;

	if (!lock || !begin_access(c, slot, ev->index)) /* 0: a wait that keeps its mutex */
		return;
	const struct request q = {ev, lock, 1, slot, waits || ev->mode != AM_SHARED};
	touch(c, &q, (AM_LOCK_SPACE | lock >> 3) + 1, (uint8_t)(1u << (lock & 7)));
	report(c);
}

/* ---- blocks -------------------------------------------------------------------------------- */

static void erase_word(struct am_checker *c, struct am_now *now, uint64_t key, uint8_t mask)
{
	struct am_entity *e;

	while ((e = am_table_find(c, key, mask))) {
		if (now)
			edges_of(c, now, e, mask);
		if (!(e->mask &= (uint8_t)~mask))
			am_table_remove(c, e);
	}
}

static void erase(struct am_checker *c, struct am_now *now, uint64_t space, uint64_t from, uint64_t bytes)
{
	if (!bytes || !c->n_entities)
		return;
	const uint64_t last = from + (bytes - 1 < UINT64_MAX - from ? bytes - 1 : UINT64_MAX - from);
	const uint64_t first_word = from >> 3, last_word = last >> 3;
	const uint8_t head = (uint8_t)(0xff << (from & 7)), tail = (uint8_t)(0xff >> (7 - (last & 7)));

#define MASK_AT(word) ((uint8_t)(((word) == first_word ? head : 0xff) & ((word) == last_word ? tail : 0xff)))
	if (last_word - first_word < UINT64_C(1) << c->log) {
		for (uint64_t word = first_word; word <= last_word; word++)
			erase_word(c, now, (space | word) + 1, MASK_AT(word));
		return;
	}
	for (uint32_t i = 0; i < 1u << c->log;) { /* the block is larger than the table */
		const uint64_t key = c->table[i].key, word = (key - 1) & ~AM_LOCK_SPACE;
		if (!key || ((key - 1) & AM_LOCK_SPACE) != space || word < first_word || word > last_word ||
		    !(c->table[i].mask & MASK_AT(word)))
			i++;
		else
			erase_word(c, now, key, MASK_AT(word));
	}
#undef MASK_AT
}

void am_access_block(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	const bool counts = ev->kind == AM_FREE && c->data && !c->vertex[slot].muted && ev->aux;

	if (counts && begin_access(c, slot, ev->index)) {
		const struct request q = {ev, ev->object, ev->aux, slot, true};
		struct am_now now = now_of(c, &q);
		erase(c, &now, 0, ev->object, ev->aux);
		report(c);
	} else {
		erase(c, NULL, 0, ev->object, ev->aux);
	}
	if (c->locks)
		erase(c, NULL, AM_LOCK_SPACE, ev->object, ev->aux);
}

void am_access_erase(struct am_checker *c, uint64_t space, uint64_t from, uint64_t bytes)
{
	erase(c, NULL, space, from, bytes);
}
