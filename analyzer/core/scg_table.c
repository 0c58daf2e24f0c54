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

enum { FIRST_READERS = 4, SCRATCH_LOG = AM_SCG_SCRATCH_LOG };

_Static_assert(sizeof(struct am_entity) == 64, "one cache line");

static inline uint32_t mask_of(const struct am_checker *c)
{
	return (1u << c->log) - 1;
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
	c->shift = 64 - c->log;
	if (scratch_of(c->log))
		c->scratch = am_mem_alloc(c->mem, sizeof *c->table * scratch_of(c->log));
	return c->table;
}

/* ---- readers ------------------------------------------------------------------------------- */

void am_readers_drop(struct am_checker *c, struct am_entity *e)
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

struct am_stamp *am_readers_place(const struct am_readers *r, uint32_t slot)
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
			*am_readers_place(&wide, AM_SLOT_OF(r->at[i].moment)) = r->at[i];
			wide.n++;
		}
	am_mem_free(c->mem, r->at, sizeof *r->at * r->cap);
	*r = wide;
	return true;
}

void am_readers_add(struct am_checker *c, struct am_entity *e, const struct am_stamp *stamp)
{
	const uint32_t slot = AM_SLOT_OF(stamp->moment);

	if (!e->more && !(e->more = readers_new(c, FIRST_READERS))) {
		c->stats.forgotten++;
		return;
	}
	struct am_readers *r = &c->readers[e->more];
	struct am_stamp *at = am_readers_place(r, slot);
	if (!at->moment) {
		if ((r->n + 1) * 4 > r->cap * 3) {
			if (!readers_widen(c, r, slot)) {
				c->stats.forgotten++;
				return;
			}
			at = am_readers_place(r, slot);
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

	am_readers_drop(c, &t[hole]);
	for (uint32_t i = (hole + 1) & mask; t[i].key; i = (i + 1) & mask)
		if (((i - am_table_home(c, t[i].key)) & mask) >= ((i - hole) & mask)) {
			t[hole] = t[i];
			hole = i;
		}
	t[hole].key = 0;
	c->n_entities--;
}

void am_table_remove(struct am_checker *c, struct am_entity *e)
{
	remove_at(c, (uint32_t)(e - c->table));
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

uint32_t am_table_hole(const struct am_checker *c, uint64_t key)
{
	uint32_t i = am_table_home(c, key);

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
			am_readers_drop(c, &c->table[i]);
	memset(c->table, 0, sizeof *c->table << c->log);
	for (size_t k = 0; k < kept; k++)
		c->table[am_table_hole(c, c->scratch[k].key)] = c->scratch[k];
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
	c->shift = 64 - c->log;
	c->scratch = scratch_of(c->log) ? am_mem_alloc(c->mem, sizeof *c->scratch * scratch_of(c->log)) : NULL;
	const uint32_t mask = mask_of(c);
	for (uint32_t i = 0; i < old_size; i++) {
		if (!old[i].key)
			continue;
		uint32_t at = am_table_home(c, old[i].key);
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

void am_table_reserve(struct am_checker *c)
{
	if (c->n_entities + AM_CELLS_MAX <= c->limit)
		return;
	if (c->n_entities > c->stats.entities_peak)
		c->stats.entities_peak = c->n_entities;
	purge(c);
	if (c->n_entities > c->limit / 3 && !widen(c) && c->n_entities + AM_CELLS_MAX > c->limit)
		forget_half(c);
}

/* A cell of this word with one of these bytes. */
struct am_entity *am_table_find(const struct am_checker *c, uint64_t key, uint8_t mask)
{
	for (uint32_t i = am_table_home(c, key); c->table[i].key; i = (i + 1) & mask_of(c))
		if (c->table[i].key == key && (c->table[i].mask & mask))
			return &c->table[i];
	return NULL;
}

/* Cut a cell in two so that it lies inside or outside of these bytes. */
void am_table_cut(struct am_checker *c, struct am_entity *e, uint8_t mask)
{
	const struct am_entity whole = *e;

	e->mask = whole.mask & mask;
	struct am_entity *rest = am_table_insert(c, am_table_hole(c, whole.key), whole.key, whole.mask & (uint8_t)~mask);
	const uint8_t rest_mask = rest->mask;
	*rest = whole;
	rest->mask = rest_mask;
	if (!readers_copy(c, rest, &whole))
		c->stats.forgotten++;
}

void am_table_clear(struct am_checker *c)
{
	for (uint32_t i = 0; i <= mask_of(c); i++)
		if (c->table[i].key)
			am_readers_drop(c, &c->table[i]);
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
