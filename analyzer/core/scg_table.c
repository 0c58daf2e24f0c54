/*
 * Entities of the summarised conflict graph: for each group of bytes with a common history the
 * newest write, and the newest read of each thread since. Older accesses need no place: each has an
 * edge to a newer one, or comes before it in program order, so whoever reaches the older reaches the
 * newer. One open-addressed table, one cache line per entity; the cells of one word have the same
 * key and disjoint masks. Runs wherever the checker runs; no I/O, no globals.
 *
 * The table holds only what an open region reaches (R4 in scg.h): before it grows, it is purged of
 * the rest, so its size follows the open regions and not the program's memory.
 */
/* SPDX-License-Identifier: MIT */
#include "scg.h"

#include <assert.h>
#include <string.h>

/* A test builds this file with a tiny table, so that it is purged and widened all the time. */
#ifndef AM_SCG_FIRST_LOG
#define AM_SCG_FIRST_LOG 11
#define AM_SCG_SCRATCH_LOG 16
#endif

enum { FIRST_READERS = 4, CELLS_MAX = 8, SCRATCH_LOG = AM_SCG_SCRATCH_LOG };

_Static_assert(sizeof(struct am_entity) == 64, "one cache line");

static inline uint32_t mask_of(const struct am_checker *c)
{
	return (1u << c->log) - 1;
}

/* Four neighbouring words lie side by side: arrays are walked in order. */
static inline uint32_t home_of(const struct am_checker *c, uint64_t key)
{
	const uint64_t hash = (key >> 2) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(hash >> (64 - c->log)) ^ (uint32_t)(key & 3);
}

/* How full: small tables, which stay in the cache, are kept sparse. */
static inline uint64_t limit_of(uint32_t log)
{
	return (UINT64_C(1) << log) / 8 * (log < SCRATCH_LOG ? 3 : 5);
}

/* Room for the entities that a purge of a small table keeps. */
static size_t scratch_of(uint32_t log)
{
	return log < SCRATCH_LOG ? (size_t)1 << (log - 2) : 0;
}

bool am_table_init(struct am_checker *c)
{
	c->log = AM_SCG_FIRST_LOG;
	c->table = am_mem_alloc(c->mem, sizeof *c->table << c->log);
	c->limit = limit_of(c->log);
	if (scratch_of(c->log))
		c->scratch = am_mem_alloc(c->mem, sizeof *c->table * scratch_of(c->log));
	return c->table;
}

/* ---- readers ------------------------------------------------------------------------------- */

static void readers_drop(struct am_checker *c, struct am_entity *e)
{
	if (!e->more)
		return;
	struct am_readers *r = &c->readers[e->more];
	if (r->cap == FIRST_READERS) { /* kept for the next one */
		memset(r->at, 0, sizeof *r->at * FIRST_READERS);
		r->n = 0;
	} else {
		am_mem_free(c->mem, r->at, sizeof *r->at * r->cap);
		*r = (struct am_readers){0};
	}
	r->next_free = c->free_readers;
	c->free_readers = e->more;
	e->more = 0;
}

static uint32_t readers_new(struct am_checker *c, uint32_t cap)
{
	if (!c->free_readers) {
		const uint32_t n = c->cap_readers ? c->cap_readers * 2 : 64;
		struct am_readers *p = am_mem_resize(c->mem, c->readers, sizeof *p * c->cap_readers,
						     sizeof *p * n);
		if (!p)
			return 0;
		for (uint32_t i = n - 1; i >= c->cap_readers && i > 0; i--) {
			p[i].next_free = c->free_readers;
			c->free_readers = i;
		}
		c->readers = p;
		c->cap_readers = n;
	}
	const uint32_t id = c->free_readers;
	struct am_readers *r = &c->readers[id];
	if (r->cap != cap) {
		struct am_stamp *at = am_mem_alloc(c->mem, sizeof *at * cap);
		if (!at)
			return 0;
		am_mem_free(c->mem, r->at, sizeof *r->at * r->cap);
		r->at = at;
		r->cap = cap;
	}
	c->free_readers = r->next_free;
	return id;
}

static struct am_stamp *readers_place(const struct am_readers *r, uint32_t slot)
{
	uint32_t i = slot & (r->cap - 1);

	while (r->at[i].moment && AM_SLOT_OF(r->at[i].moment) != slot)
		i = (i + 1) & (r->cap - 1);
	return &r->at[i];
}

/* Make room, leaving out the reads that the reader at hand may stand for. */
static bool readers_widen(struct am_checker *c, struct am_readers *r, uint32_t slot)
{
	struct am_readers wide = {.cap = r->cap * 2};

	wide.at = am_mem_alloc(c->mem, sizeof *wide.at * wide.cap);
	if (!wide.at)
		return false;
	for (uint32_t i = 0; i < r->cap; i++)
		if (r->at[i].moment && !am_stamp_dominated(c, &r->at[i], slot)) {
			*readers_place(&wide, AM_SLOT_OF(r->at[i].moment)) = r->at[i];
			wide.n++;
		}
	am_mem_free(c->mem, r->at, sizeof *r->at * r->cap);
	*r = wide;
	return true;
}

static void readers_add(struct am_checker *c, struct am_entity *e, const struct am_stamp *stamp)
{
	const uint32_t slot = AM_SLOT_OF(stamp->moment);

	if (!e->more && !(e->more = readers_new(c, FIRST_READERS))) {
		c->stats.forgotten++;
		return;
	}
	struct am_readers *r = &c->readers[e->more];
	struct am_stamp *at = readers_place(r, slot);
	if (!at->moment) {
		if ((r->n + 1) * 4 > r->cap * 3) {
			if (!readers_widen(c, r, slot)) {
				c->stats.forgotten++;
				return;
			}
			at = readers_place(r, slot);
		}
		r->n++;
	}
	*at = *stamp;
}

static bool readers_copy(struct am_checker *c, struct am_entity *to, const struct am_entity *from)
{
	to->more = 0;
	if (!from->more)
		return true;
	const uint32_t id = readers_new(c, c->readers[from->more].cap);
	if (!id)
		return false;
	const struct am_readers *old = &c->readers[from->more];
	memcpy(c->readers[id].at, old->at, sizeof *old->at * old->cap);
	c->readers[id].n = old->n;
	to->more = id;
	return true;
}

/* ---- table --------------------------------------------------------------------------------- */

static void remove_at(struct am_checker *c, uint32_t hole)
{
	const uint32_t mask = mask_of(c);
	struct am_entity *t = c->table;

	readers_drop(c, &t[hole]);
	for (uint32_t i = (hole + 1) & mask; t[i].key; i = (i + 1) & mask)
		if (((i - home_of(c, t[i].key)) & mask) >= ((i - hole) & mask)) {
			t[hole] = t[i];
			hole = i;
		}
	t[hole].key = 0;
	c->n_entities--;
}

static bool is_stale(const struct am_checker *c, const struct am_stamp *s)
{
	return s->moment < c->horizon[AM_SLOT_OF(s->moment)];
}

static bool is_entity_stale(const struct am_checker *c, const struct am_entity *e)
{
	if (!is_stale(c, &e->write) || !is_stale(c, &e->read))
		return false;
	const struct am_readers *r = &c->readers[e->more];
	for (uint32_t i = 0; e->more && i < r->cap; i++)
		if (!is_stale(c, &r->at[i]))
			return false;
	return true;
}

static struct am_entity *insert_at(struct am_checker *c, uint32_t i, uint64_t key, uint8_t mask)
{
	struct am_entity *e = &c->table[i];

	assert(!e->key);
	e->key = key;
	e->write.moment = e->read.moment = 0;
	e->more = 0;
	e->mask = mask;
	if (++c->n_entities > c->stats.entities_peak)
		c->stats.entities_peak = c->n_entities;
	return e;
}

static uint32_t hole_for(const struct am_checker *c, uint64_t key)
{
	uint32_t i = home_of(c, key);

	while (c->table[i].key)
		i = (i + 1) & mask_of(c);
	return i;
}

/* Few are kept: set them aside, empty the table, put them back. False if they are too many. */
static bool purge_by_copy(struct am_checker *c)
{
	const size_t room = c->scratch ? scratch_of(c->log) : 0;
	size_t kept = 0;

	for (uint32_t i = 0; i <= mask_of(c); i++)
		if (c->table[i].key && !is_entity_stale(c, &c->table[i])) {
			if (kept == room)
				return false;
			c->scratch[kept++] = c->table[i];
			c->scratch[kept - 1].kept_at = i;
		}
	for (size_t k = 0; k < kept; k++)
		c->table[c->scratch[k].kept_at].more = 0;
	for (uint32_t i = 0; i <= mask_of(c); i++)
		if (c->table[i].key)
			readers_drop(c, &c->table[i]);
	memset(c->table, 0, sizeof *c->table << c->log);
	for (size_t k = 0; k < kept; k++)
		c->table[hole_for(c, c->scratch[k].key)] = c->scratch[k];
	c->n_entities = (uint32_t)kept;
	return true;
}

/* Drop what no open region reaches: such an access is on no cycle to come (R4). */
static void purge(struct am_checker *c)
{
	am_horizon(c);
	if (purge_by_copy(c))
		return;
	for (uint32_t i = 0; i <= mask_of(c);)
		if (c->table[i].key && is_entity_stale(c, &c->table[i]))
			remove_at(c, i); /* another one may have moved here: look again */
		else
			i++;
}

static bool widen(struct am_checker *c)
{
	const uint32_t old_size = 1u << c->log;
	struct am_entity *old = c->table;
	struct am_entity *t = am_mem_alloc(c->mem, sizeof *t << (c->log + 1));

	if (!t)
		return false;
	am_mem_free(c->mem, c->scratch, sizeof *c->scratch * scratch_of(c->log));
	c->table = t;
	c->log++;
	c->limit = limit_of(c->log);
	c->scratch = scratch_of(c->log) ? am_mem_alloc(c->mem, sizeof *c->scratch * scratch_of(c->log)) : NULL;
	const uint32_t mask = mask_of(c);
	for (uint32_t i = 0; i < old_size; i++) {
		if (!old[i].key)
			continue;
		uint32_t at = home_of(c, old[i].key);
		while (t[at].key)
			at = (at + 1) & mask;
		t[at] = old[i];
	}
	am_mem_free(c->mem, old, sizeof *old * old_size);
	return true;
}

/* At the ceiling: forget the older half. What is not known makes no edge, hence no false cycle. */
static void forget_half(struct am_checker *c)
{
	long double sum = 0;

	for (uint32_t i = 0; i <= mask_of(c); i++)
		if (c->table[i].key)
			sum += (long double)(c->table[i].write.moment | c->table[i].read.moment);
	const uint64_t middle = (uint64_t)(sum / (c->n_entities ? c->n_entities : 1));
	const uint32_t before = c->n_entities;
	for (uint32_t i = 0; i <= mask_of(c);)
		if (c->table[i].key && (c->table[i].write.moment | c->table[i].read.moment) <= middle)
			remove_at(c, i);
		else
			i++;
	if (c->n_entities > before / 2 + 1)
		am_table_clear(c);
	c->stats.forgotten += before - c->n_entities;
}

/* Room for one more access: up to CELLS_MAX new cells. Moves entities. */
static inline void reserve(struct am_checker *c)
{
	if (__builtin_expect(c->n_entities + CELLS_MAX <= c->limit, 1))
		return;
	purge(c);
	if (c->n_entities > c->limit / 2 && !widen(c) && c->n_entities + CELLS_MAX > c->limit)
		forget_half(c);
}

static struct am_entity *insert(struct am_checker *c, uint64_t key, uint8_t mask)
{
	return insert_at(c, hole_for(c, key), key, mask);
}

/* A cell of this word with one of these bytes. */
static struct am_entity *find_any(const struct am_checker *c, uint64_t key, uint8_t mask)
{
	for (uint32_t i = home_of(c, key); c->table[i].key; i = (i + 1) & mask_of(c))
		if (c->table[i].key == key && (c->table[i].mask & mask))
			return &c->table[i];
	return NULL;
}

/* ---- accesses ------------------------------------------------------------------------------ */

/* By this thread? */
static inline bool is_own(const struct am_now *now, const struct am_stamp *s)
{
	return AM_SLOT_OF(s->moment) == now->slot;
}

/* In the region at hand? */
static inline bool is_mine(const struct am_now *now, const struct am_stamp *s)
{
	return s->moment >= now->begin && is_own(now, s);
}

static void edges_of_readers(struct am_checker *c, struct am_now *now, const struct am_entity *e, uint8_t mask)
{
	const struct am_readers *r = &c->readers[e->more];

	for (uint32_t i = 0; i < r->cap; i++)
		if (r->at[i].moment && !is_own(now, &r->at[i]))
			am_edge_add(c, now, &r->at[i], e->key, mask);
}

static inline void edges_of(struct am_checker *c, struct am_now *now, const struct am_entity *e, uint8_t mask)
{
	const uint8_t common = e->mask & mask;

	if (e->write.moment && !is_own(now, &e->write))
		am_edge_add(c, now, &e->write, e->key, common);
	if (!now->writes)
		return;
	if (e->read.moment && !is_own(now, &e->read))
		am_edge_add(c, now, &e->read, e->key, common);
	if (e->more)
		edges_of_readers(c, now, e, common);
}

/* Another thread's read is there already: may this one stand for it? */
static void note_further_read(struct am_checker *c, struct am_now *now, struct am_entity *e)
{
	if (e->more && is_mine(now, readers_place(&c->readers[e->more], now->slot)))
		return;
	if (is_own(now, &e->read) || am_stamp_dominated(c, &e->read, now->slot)) {
		am_now_stamp(now, &e->read);
		return;
	}
	struct am_stamp stamp;
	am_now_stamp(now, &stamp);
	readers_add(c, e, &stamp);
}

static inline void note_read(struct am_checker *c, struct am_now *now, struct am_entity *e)
{
	if (!am_matters(c, now->slot))
		return;
	if (!am_now_tag(c, now))
		c->stats.forgotten++;
	else if (!e->read.moment && !e->more)
		am_now_stamp(now, &e->read);
	else
		note_further_read(c, now, e);
}

static inline void note_write(struct am_checker *c, struct am_now *now, struct am_entity *e)
{
	if (e->more)
		readers_drop(c, e);
	e->read.moment = 0;
	if (!am_matters(c, now->slot)) {
		remove_at(c, (uint32_t)(e - c->table));
	} else if (!am_now_tag(c, now)) {
		c->stats.forgotten++;
		remove_at(c, (uint32_t)(e - c->table));
	} else {
		am_now_stamp(now, &e->write);
	}
}

/* An access to a cell of exactly these bytes. */
static inline void hit(struct am_checker *c, struct am_now *now, struct am_entity *e)
{
	if (now->writes) {
		if (is_mine(now, &e->write) && !e->read.moment && !e->more)
			return;
		edges_of(c, now, e, (uint8_t)e->mask);
		note_write(c, now, e);
	} else {
		if (is_mine(now, &e->read) || is_mine(now, &e->write))
			return;
		edges_of(c, now, e, (uint8_t)e->mask);
		note_read(c, now, e);
	}
}

static inline void fresh(struct am_checker *c, struct am_now *now, uint32_t hole, uint64_t key, uint8_t mask)
{
	if (!am_matters(c, now->slot))
		return;
	if (!am_now_tag(c, now)) {
		c->stats.forgotten++;
		return;
	}
	struct am_entity *e = insert_at(c, hole, key, mask);
	am_now_stamp(now, now->writes ? &e->write : &e->read);
}

/* Cut a cell in two so that it lies inside or outside of these bytes. */
static void cut(struct am_checker *c, struct am_entity *e, uint8_t mask)
{
	const struct am_entity whole = *e;

	e->mask = whole.mask & mask;
	struct am_entity *rest = insert(c, whole.key, whole.mask & (uint8_t)~mask);
	const uint8_t rest_mask = rest->mask;
	*rest = whole;
	rest->mask = rest_mask;
	if (!readers_copy(c, rest, &whole))
		c->stats.forgotten++;
}

/* The word's cells and the bytes of the access do not match: cells are cut, or merged by a write. */
static void mismatch_once(struct am_checker *c, struct am_now *now, uint64_t key, uint8_t mask)
{
	struct am_entity *e;
	uint8_t rest = mask;

	if (now->writes) {
		while ((e = find_any(c, key, mask))) {
			if (e->mask & ~mask)
				cut(c, e, mask);
			edges_of(c, now, e, mask);
			remove_at(c, (uint32_t)(e - c->table));
		}
	} else {
		while (rest && (e = find_any(c, key, rest))) {
			if (e->mask & ~mask)
				cut(c, e, mask);
			rest &= (uint8_t)~e->mask;
			hit(c, now, e);
		}
	}
	if (rest)
		fresh(c, now, hole_for(c, key), key, rest);
}

static void mismatch(struct am_checker *c, struct am_now *now, uint64_t key, uint8_t mask)
{
	const bool mattered = am_matters(c, now->slot);

	mismatch_once(c, now, key, mask);
	if (!mattered && am_matters(c, now->slot)) /* the first cells were not remembered */
		mismatch_once(c, now, key, mask);
}

void am_table_touch(struct am_checker *c, struct am_now *now, uint64_t key, uint8_t mask)
{
	reserve(c);
	const uint32_t wrap = mask_of(c);
	for (uint32_t i = home_of(c, key);; i = (i + 1) & wrap) {
		struct am_entity *e = &c->table[i];
		if (e->key == key && (e->mask & mask)) {
			if (e->mask == mask)
				hit(c, now, e);
			else
				mismatch(c, now, key, mask);
			return;
		}
		if (!e->key) {
			fresh(c, now, i, key, mask);
			return;
		}
	}
}

/* ---- blocks -------------------------------------------------------------------------------- */

static void erase_word(struct am_checker *c, struct am_now *now, uint64_t key, uint8_t mask)
{
	struct am_entity *e;

	while ((e = find_any(c, key, mask))) {
		if (now)
			edges_of(c, now, e, mask);
		if (!(e->mask &= (uint8_t)~mask))
			remove_at(c, (uint32_t)(e - c->table));
	}
}

void am_table_erase(struct am_checker *c, struct am_now *now, uint64_t space, uint64_t from, uint64_t bytes)
{
	if (!bytes || !c->n_entities)
		return;
	const uint64_t last = from + (bytes - 1 < UINT64_MAX - from ? bytes - 1 : UINT64_MAX - from);
	const uint64_t first_word = from >> 3, last_word = last >> 3;
	const uint8_t head = (uint8_t)(0xff << (from & 7)), tail = (uint8_t)(0xff >> (7 - (last & 7)));

#define MASK_AT(word) (((word) == first_word ? head : 0xff) & ((word) == last_word ? tail : 0xff))
	if (last_word - first_word < UINT64_C(1) << c->log) {
		for (uint64_t word = first_word; word <= last_word; word++)
			erase_word(c, now, (space | word) + 1, (uint8_t)MASK_AT(word));
		return;
	}
	for (uint32_t i = 0; i <= mask_of(c);) {
		const uint64_t key = c->table[i].key, word = (key - 1) & ~AM_LOCK_SPACE;
		if (!key || ((key - 1) & AM_LOCK_SPACE) != space || word < first_word ||
		    word > last_word || !(c->table[i].mask & MASK_AT(word)))
			i++;
		else
			erase_word(c, now, key, (uint8_t)MASK_AT(word));
	}
#undef MASK_AT
}

void am_table_clear(struct am_checker *c)
{
	for (uint32_t i = 0; i <= mask_of(c); i++)
		if (c->table[i].key)
			readers_drop(c, &c->table[i]);
	memset(c->table, 0, sizeof *c->table << c->log);
	c->n_entities = 0;
}

void am_table_free(struct am_checker *c)
{
	am_table_clear(c);
	for (uint32_t i = 0; i < c->cap_readers; i++)
		am_mem_free(c->mem, c->readers[i].at, sizeof *c->readers[i].at * c->readers[i].cap);
	am_mem_free(c->mem, c->readers, sizeof *c->readers * c->cap_readers);
	am_mem_free(c->mem, c->scratch, sizeof *c->scratch * scratch_of(c->log));
	am_mem_free(c->mem, c->table, sizeof *c->table << c->log);
}
