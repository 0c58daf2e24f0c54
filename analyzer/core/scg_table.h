/*
 * Inside the summarised conflict graph: the table of entities (scg_table.c) and their further readers
 * (scg_readers.c). Part of scg.h.
 */
/* SPDX-License-Identifier: MIT */
#ifndef ATOMMON_CORE_SCG_TABLE_H
#define ATOMMON_CORE_SCG_TABLE_H

#include "scg.h"

/* ---- scg_table.c ---- */

bool am_table_init(struct am_checker *c);
void am_table_free(struct am_checker *c);
void am_table_clear(struct am_checker *c);
/* Make room for the new cells of one word. Moves entities. */
void am_table_reserve(struct am_checker *c);
/* A new cell, with no history. Room was made; stale cells may be overwritten if `takes_over`. */
struct am_entity *am_table_insert(struct am_checker *c, uint64_t key, uint8_t mask, bool takes_over);
/* A cell of this word with one of these bytes, or NULL. */
struct am_entity *am_table_find(const struct am_checker *c, uint64_t key, uint8_t mask);
/* The cell of exactly these bytes, or NULL. Drops stale ones on the way. */
struct am_entity *am_table_seek(struct am_checker *c, uint64_t key, uint8_t mask);
/* Another one may move into its place. */
void am_table_remove(struct am_checker *c, struct am_entity *e);
/* Cut a cell in two so that it lies inside or outside of these bytes; the part inside, if any. */
struct am_entity *am_table_cut(struct am_checker *c, struct am_entity *e, uint8_t mask);
/* Other homes for all: too many accesses were to cells that are not at home. */
void am_table_shuffle(struct am_checker *c);
/* No open region reaches any of its accesses. */
bool am_table_is_stale(struct am_checker *c, const struct am_entity *e);

enum { AM_CELLS_MAX = 8 /* of one word */, AM_OTHER_HALF = 1 };

/* Those that may hold something. */
static inline uint32_t am_table_lines(const struct am_checker *c)
{
	return c->fresh;
}

/*
 * Home of a cell. Four neighbouring words lie side by side: arrays are walked in order. A cell that
 * begins in the upper half of its word has another home, so that two integers do not meet.
 */
static inline uint32_t am_table_home_by(uint64_t key, uint8_t mask, uint64_t multiplier, uint32_t shift)
{
	const uint64_t word = key - 1;
	return (uint32_t)(((word >> 2) * multiplier) >> shift) ^ (uint32_t)(word << 1 & 6) ^
	       ((mask & 0x0f) ? 0 : AM_OTHER_HALF);
}

static inline uint32_t am_table_home(const struct am_checker *c, uint64_t key, uint8_t mask)
{
	return am_table_home_by(key, mask, c->multiplier, c->shift);
}

/* The same for the first byte of an access. */
static inline uint64_t am_table_home_of(uint64_t object, uint64_t multiplier, uint32_t shift)
{
	return (((object >> 5) * multiplier) >> shift) ^ (object >> 2 & 7);
}

/* There will be a cell of these bytes. */
static inline void am_table_note(struct am_checker *c, uint8_t mask)
{
	if (!(mask & 0x0f) && !c->has_halves) {
		c->has_halves = true;
		c->version++;
	}
}

/* ---- scg_readers.c ---- */

/* Readers beyond the first, and updates that commute, one after the other: *i from 0 on; NULL when there are no more. */
struct am_stamp *am_readers_next(const struct am_checker *c, const struct am_entity *e, uint32_t *i);
/* The readers only. */
struct am_stamp *am_reads_next(const struct am_checker *c, const struct am_entity *e, uint32_t *i);
/* Did this thread read since `begin`, as a further reader? */
bool am_readers_has(const struct am_checker *c, const struct am_entity *e, uint32_t slot, uint64_t begin);
void am_readers_add(struct am_checker *c, struct am_entity *e, const struct am_stamp *stamp);
void am_readers_drop(struct am_checker *c, struct am_entity *e);
/* An update that commutes with those alike. */
void am_updates_add(struct am_checker *c, struct am_entity *e, const struct am_stamp *stamp, uint32_t alike);
/* The updates that commute, one after the other: *i from 0 on; NULL when there are no more. */
const struct am_update *am_updates_next(const struct am_checker *c, const struct am_entity *e, uint32_t *i);
/* Drop them if they are few and stale. */
void am_readers_trim(struct am_checker *c, struct am_entity *e);
/* `to` gets readers of its own, as `from`. False at the memory ceiling: it has none. */
bool am_readers_copy(struct am_checker *c, struct am_entity *to, const struct am_entity *from);
/* Slots of stamps were changed: put them where they are found. */
void am_readers_rehash(struct am_checker *c, struct am_entity *e);
void am_readers_free(struct am_checker *c);

#endif
