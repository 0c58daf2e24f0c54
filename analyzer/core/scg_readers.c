/*
 * Reads of one entity by further threads, beyond the first: two on a shelf, one cache line; more in a
 * table, by slot. A read that no open region reaches, or that a newer one may stand for, gives its
 * place away. Updates that commute are with the table, of each thread the newest of those that are alike. Runs
 * wherever the checker runs; no I/O, no globals.
 *
 * am_entity.more: 0 none; IS_TABLE and the number of a table; else the number of a shelf.
 */
/* SPDX-License-Identifier: MIT */
#include "scg.h"

#include <assert.h>
#include <string.h>

#define IS_TABLE (UINT32_C(1) << 31)
enum { ON_SHELF = 2, FIRST_CAP = 8, FIRST_POOL = 64 };

_Static_assert(sizeof(struct am_shelf) == 64, "one cache line");

static struct am_readers *table_of(const struct am_checker *c, uint32_t more)
{
	return &c->readers[more & ~IS_TABLE];
}

static void set_more(struct am_entity *e, uint32_t more)
{
	e->more = more;
	e->cell = (e->cell & ~(uint32_t)AM_HAS_MORE) | (more ? AM_HAS_MORE : 0);
}

struct am_stamp *am_reads_next(const struct am_checker *c, const struct am_entity *e, uint32_t *i)
{
	const bool is_table = e->more & IS_TABLE;
	struct am_stamp *const at = !e->more ? NULL : is_table ? table_of(c, e->more)->at : c->shelf[e->more].at;
	const uint32_t n = !e->more ? 0 : is_table ? table_of(c, e->more)->cap : ON_SHELF;

	while (*i < n)
		if (at[(*i)++].moment)
			return &at[*i - 1];
	return NULL;
}

const struct am_update *am_updates_next(const struct am_checker *c, const struct am_entity *e, uint32_t *i)
{
	const struct am_readers *r = e->more & IS_TABLE ? table_of(c, e->more) : NULL;

	return r && *i < r->n_updates ? &r->update[(*i)++] : NULL;
}

struct am_stamp *am_readers_next(const struct am_checker *c, const struct am_entity *e, uint32_t *i)
{
	struct am_stamp *s = am_reads_next(c, e, i);

	if (s || !(e->more & IS_TABLE))
		return s;
	const struct am_readers *r = table_of(c, e->more);
	return *i - r->cap < r->n_updates ? &r->update[(*i)++ - r->cap].stamp : NULL;
}

/* Where the read of this slot is, or belongs. There is always a free place. */
static struct am_stamp *place_of(const struct am_readers *r, uint32_t slot)
{
	uint32_t i = slot & (r->cap - 1);

	while (r->at[i].moment && AM_SLOT_OF(r->at[i].moment) != slot)
		i = (i + 1) & (r->cap - 1);
	return &r->at[i];
}

static bool is_since(const struct am_stamp *s, uint32_t slot, uint64_t begin)
{
	return AM_SLOT_OF(s->moment) == slot && s->moment >= begin;
}

bool am_readers_has(const struct am_checker *c, const struct am_entity *e, uint32_t slot, uint64_t begin)
{
	if (!e->more)
		return false;
	if (e->more & IS_TABLE)
		return is_since(place_of(table_of(c, e->more), slot), slot, begin);
	const struct am_shelf *s = &c->shelf[e->more];
	return is_since(&s->at[0], slot, begin) || is_since(&s->at[1], slot, begin);
}

/* ---- pools --------------------------------------------------------------------------------- */

static uint32_t shelf_new(struct am_checker *c)
{
	if (!c->free_shelf) {
		const uint32_t n = c->cap_shelves ? c->cap_shelves * 2 : FIRST_POOL;
		struct am_shelf *p = n < IS_TABLE ? am_mem_resize(c->mem, c->shelf, sizeof *p * c->cap_shelves,
								  sizeof *p * n)
						  : NULL;
		if (!p)
			return 0;
		for (uint32_t i = n - 1; i >= c->cap_shelves && i > 0; i--) {
			p[i].next_free = c->free_shelf;
			c->free_shelf = i;
		}
		c->shelf = p;
		c->cap_shelves = n;
	}
	const uint32_t id = c->free_shelf;
	struct am_shelf *s = &c->shelf[id];
	c->free_shelf = s->next_free;
	s->at[0].moment = s->at[1].moment = 0;
	return id;
}

static void shelf_free(struct am_checker *c, uint32_t id)
{
	c->shelf[id].next_free = c->free_shelf;
	c->free_shelf = id;
}

/* A table of its own; 0 at the memory ceiling. */
static uint32_t table_new(struct am_checker *c, uint32_t cap)
{
	struct am_stamp *at = am_mem_alloc(c->mem, sizeof *at * cap);

	if (at && !c->free_readers) {
		const uint32_t n = c->cap_readers ? c->cap_readers * 2 : FIRST_POOL;
		struct am_readers *p = am_mem_resize(c->mem, c->readers, sizeof *p * c->cap_readers,
						     sizeof *p * n);
		for (uint32_t i = n - 1; p && i >= c->cap_readers && i > 0; i--) {
			p[i].next_free = c->free_readers;
			c->free_readers = i;
		}
		c->readers = p ? p : c->readers;
		c->cap_readers = p ? n : c->cap_readers;
	}
	if (!at || !c->free_readers) {
		am_mem_free(c->mem, at, sizeof *at * cap);
		return 0;
	}
	const uint32_t id = c->free_readers;
	c->free_readers = c->readers[id].next_free;
	c->readers[id] = (struct am_readers){.at = at, .cap = cap};
	return id | IS_TABLE;
}

static void table_empty(struct am_checker *c, const struct am_readers *r)
{
	am_mem_free(c->mem, r->at, sizeof *r->at * r->cap);
	am_mem_free(c->mem, r->update, sizeof *r->update * r->cap_updates);
}

static void table_free(struct am_checker *c, uint32_t more)
{
	struct am_readers *r = table_of(c, more);

	table_empty(c, r);
	*r = (struct am_readers){.next_free = c->free_readers};
	c->free_readers = more & ~IS_TABLE;
}

void am_readers_drop(struct am_checker *c, struct am_entity *e)
{
	if (e->more & IS_TABLE)
		table_free(c, e->more);
	else if (e->more)
		shelf_free(c, e->more);
	set_more(e, 0);
}

/* ---- reads --------------------------------------------------------------------------------- */

static void put(struct am_readers *r, const struct am_stamp *stamp)
{
	struct am_stamp *at = place_of(r, AM_SLOT_OF(stamp->moment));

	r->n += !at->moment;
	if (at->moment < stamp->moment)
		*at = *stamp;
	assert(r->n < r->cap);
}

/* The updates go to another table. */
static void hand_over(struct am_checker *c, const struct am_entity *e, uint32_t to)
{
	struct am_readers *old = e->more & IS_TABLE ? table_of(c, e->more) : NULL, *new = table_of(c, to);

	if (!old)
		return;
	new->update = old->update;
	new->cap_updates = old->cap_updates;
	new->n_updates = old->n_updates;
	old->update = NULL;
	old->cap_updates = old->n_updates = 0;
}

#define NOBODY UINT32_MAX

/* All readers into another table, leaving out those that the reader at hand may stand for, if it is one. */
static bool move(struct am_checker *c, struct am_entity *e, uint32_t cap, uint32_t slot)
{
	const uint32_t to = table_new(c, cap);
	const struct am_stamp *s;

	if (!to)
		return false;
	for (uint32_t i = 0; (s = am_reads_next(c, e, &i));)
		if (!am_is_stale(c, s->moment) && (slot == NOBODY || !am_stamp_dominated(c, s, slot)))
			put(table_of(c, to), s);
	hand_over(c, e, to);
	am_readers_drop(c, e);
	set_more(e, to);
	return true;
}

static bool shelf_add(struct am_checker *c, struct am_entity *e, const struct am_stamp *stamp)
{
	const uint32_t slot = AM_SLOT_OF(stamp->moment);
	struct am_stamp *at = c->shelf[e->more].at;

	for (uint32_t i = 0; i < ON_SHELF; i++)
		if (AM_SLOT_OF(at[i].moment) == slot || am_is_stale(c, at[i].moment) ||
		    am_stamp_dominated(c, &at[i], slot)) {
			at[i] = *stamp;
			return true;
		}
	return false;
}

static bool table_add(struct am_checker *c, struct am_entity *e, const struct am_stamp *stamp)
{
	struct am_readers *r = table_of(c, e->more);

	if (!place_of(r, AM_SLOT_OF(stamp->moment))->moment && (r->n + 1) * 4 > r->cap * 3 &&
	    !move(c, e, r->cap * 2, AM_SLOT_OF(stamp->moment)))
		return false;
	put(table_of(c, e->more), stamp);
	return true;
}

void am_readers_add(struct am_checker *c, struct am_entity *e, const struct am_stamp *stamp)
{
	bool done = false;

	if (!e->more)
		set_more(e, shelf_new(c));
	if (e->more && !(e->more & IS_TABLE))
		done = shelf_add(c, e, stamp) || (move(c, e, FIRST_CAP, AM_SLOT_OF(stamp->moment)) && table_add(c, e, stamp));
	else if (e->more)
		done = table_add(c, e, stamp);
	c->stats.forgotten += !done;
}

/* Room for one more update in a table. */
static bool widen(struct am_checker *c, struct am_readers *r)
{
	const uint32_t cap = r->cap_updates ? r->cap_updates * 2 : FIRST_CAP;
	void *p = r->n_updates < r->cap_updates ? r->update
						: am_mem_resize(c->mem, r->update, sizeof *r->update * r->cap_updates,
								sizeof *r->update * cap);
	if (!p)
		return false;
	r->cap_updates = r->n_updates < r->cap_updates ? r->cap_updates : cap;
	r->update = p;
	return true;
}

void am_updates_add(struct am_checker *c, struct am_entity *e, const struct am_stamp *stamp, uint32_t alike)
{
	if (!e->more)
		set_more(e, table_new(c, FIRST_CAP));
	else if (!(e->more & IS_TABLE))
		move(c, e, FIRST_CAP, NOBODY);
	struct am_readers *r = e->more & IS_TABLE ? table_of(c, e->more) : NULL;
	uint32_t at = 0;
	while (r && at < r->n_updates && !am_is_stale(c, r->update[at].stamp.moment) &&
	       (r->update[at].alike != alike || AM_SLOT_OF(r->update[at].stamp.moment) != AM_SLOT_OF(stamp->moment)))
		at++;
	if (!r || (at == r->n_updates && !widen(c, r))) {
		c->stats.forgotten++;
		return;
	}
	r->n_updates += at == r->n_updates;
	r->update[at] = (struct am_update){*stamp, alike};
}

void am_readers_trim(struct am_checker *c, struct am_entity *e)
{
	if (e->more && !(e->more & IS_TABLE) && am_is_stale(c, c->shelf[e->more].at[0].moment) &&
	    am_is_stale(c, c->shelf[e->more].at[1].moment))
		am_readers_drop(c, e);
}

bool am_readers_copy(struct am_checker *c, struct am_entity *to, const struct am_entity *from)
{
	set_more(to, 0);
	if (!from->more)
		return true;
	if (!(from->more & IS_TABLE)) {
		set_more(to, shelf_new(c));
		if (to->more)
			memcpy(c->shelf[to->more].at, c->shelf[from->more].at, sizeof c->shelf->at);
		return to->more;
	}
	const uint32_t cap = table_of(c, from->more)->cap;
	set_more(to, table_new(c, cap));
	if (!to->more)
		return false;
	const struct am_readers *old = table_of(c, from->more);
	struct am_readers *new = table_of(c, to->more);
	memcpy(new->at, old->at, sizeof(struct am_stamp) * cap);
	new->n = old->n;
	if (!old->n_updates)
		return true;
	new->update = am_mem_alloc(c->mem, sizeof *new->update * old->n_updates);
	if (!new->update)
		return false;
	new->cap_updates = new->n_updates = old->n_updates;
	memcpy(new->update, old->update, sizeof *new->update * old->n_updates);
	return true;
}

void am_readers_rehash(struct am_checker *c, struct am_entity *e)
{
	if (!(e->more & IS_TABLE))
		return;
	const uint32_t to = table_new(c, table_of(c, e->more)->cap);
	const struct am_stamp *s;
	if (!to) {
		c->stats.forgotten++;
		am_readers_drop(c, e);
		return;
	}
	for (uint32_t i = 0; (s = am_reads_next(c, e, &i));)
		put(table_of(c, to), s);
	hand_over(c, e, to);
	am_readers_drop(c, e);
	set_more(e, to);
}

void am_readers_free(struct am_checker *c)
{
	for (uint32_t i = 0; i < c->cap_readers; i++)
		table_empty(c, &c->readers[i]);
	am_mem_free(c->mem, c->readers, sizeof *c->readers * c->cap_readers);
	am_mem_free(c->mem, c->shelf, sizeof *c->shelf * c->cap_shelves);
}
