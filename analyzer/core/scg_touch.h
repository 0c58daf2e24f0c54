/*
 * The usual access, in line: at home lies the cell of exactly these bytes, or nothing that matters;
 * and nobody can learn from others' accesses there what is not to be learned from this one. Shared by
 * scg_access.c (one event) and scg_many.c (many). Runs wherever the checker runs; no I/O, no globals.
 */
/* SPDX-License-Identifier: MIT */
#ifndef ATOMMON_CORE_SCG_TOUCH_H
#define ATOMMON_CORE_SCG_TOUCH_H

#include "scg.h"

#define unlikely(x) __builtin_expect(!!(x), 0)

/* What a caller knows when it is compiled: the code for the rest is left out. */
struct am_touch_case {
	bool has_halves; /* some cell may begin in the upper half of its word */
	bool in_region;
	bool is_crowded; /* look at others' accesses at once, not only if there are some */
	uint32_t words;	 /* of a set of regions */
};

/* As am_is_covered, a claim (below), for sets of so many words. */
static __attribute__((always_inline)) inline int64_t am_covered(const struct am_checker *c, uint64_t moment,
								 uint32_t slot, uint32_t words)
{
	const struct am_front *u = &c->front[AM_SLOT_OF(moment)];
	const uint64_t *anc_u = c->anc + (size_t)AM_SLOT_OF(moment) * words, *anc_t = c->anc + (size_t)slot * words;
	uint64_t rest = (moment >= u->begin) & ~(anc_t[words == 1 ? 0 : u->region >> 6] >> (u->region & 63));

	for (uint32_t w = 0; w < words; w++)
		rest |= anc_u[w] & ~anc_t[w] & c->open[w];
	return -(int64_t)(rest == 0);
}

/*
 * False: it is not the usual case, and nothing was done.
 *
 * Which thread comes next and what it does is hard to predict, so there is one way for first and
 * repeated reads and writes, of known and new cells, selected by arithmetic. A newer access of a
 * thread may always take the place of its older one of the same kind, or of one that it covers; what
 * is stale is left where it is. A second reader takes the place of the write if that is stale.
 */
static __attribute__((always_inline)) inline bool am_touch(struct am_checker *c, const struct am_event *ev,
							    uint32_t slot, bool is_update, uint64_t moment,
							    uint64_t key, uint8_t mask, struct am_entity *e,
							    struct am_touch_case is)
{
	/* A claim is true if its number is negative: the cheapest arithmetic there is. */
	const struct am_front *const front = c->front, *const t = &front[slot];
	const uint64_t a = e->write.moment, b = e->read.moment;
	/* 64 bits: gcc spills 32 and reads 64 back, for which the processor waits until the store is done. */
	const uint64_t cell = e->cell;
	const int64_t writes = -(int64_t)is_update, two_reads = (int64_t)(cell << (63 - 8));
	const int64_t is_a_stale = (int64_t)(a - front[AM_SLOT_OF(a)].horizon);
	const int64_t is_b_stale = (int64_t)(b - front[AM_SLOT_OF(b)].horizon);
	const int64_t is_a_own = (int64_t)(AM_SLOT_OF(a) ^ slot) - 1, is_b_own = (int64_t)(AM_SLOT_OF(b) ^ slot) - 1;
	const int64_t is_a_covered = is.is_crowded ? am_covered(c, a, slot, is.words) : -(int64_t)(a == t->known);
	const int64_t is_b_covered = is.is_crowded ? am_covered(c, b, slot, is.words) : 0;
	const int64_t is_a_gone = is_a_stale | is_a_own | is_a_covered, is_b_gone = is_b_stale | is_b_own | is_b_covered;
	const int64_t is_same = (int64_t)((e->key ^ key) | ((cell & (0xff | AM_HAS_MORE)) ^ mask)) - 1;
	const int64_t second_read = ~writes & (is_a_stale | (is_a_gone & two_reads));
	/* Free for a new cell: nothing is chained here, nothing of the word where its other half is. */
	int64_t is_free = is_a_stale & is_b_stale & ((int64_t)cell - AM_HAS_MORE);
	const int64_t at_write = writes | ~is_b_gone;

	if (is.has_halves) {
		const struct am_entity *other = &c->table[(e - c->table) ^ (mask > 0x0f ? AM_OTHER_HALF : 0)];
		is_free &= -(int64_t)((other->key != key) & (other->cell >> AM_NEXT_SHIFT == 0));
	}
	if (unlikely(((is_same & (is_a_gone | (two_reads & ~writes)) & (is_b_gone | second_read)) | is_free) >= 0))
		return false;
	if (!is.in_region && !am_matters(c, slot)) /* nobody will ask */
		return true;
	const uint64_t context = am_context_now(c, is.in_region ? t->place : am_place_now(t), ev);
	if (unlikely(!context))
		return false;
	struct am_stamp *const stamp = (struct am_stamp *)((char *)&e->read - (at_write >> 63 & sizeof *stamp));
	c->n_entities += e->key == 0;
	e->key = key;
	e->cell = (uint32_t)((cell & ~UINT64_C(0x1ff)) | mask |
		  ((uint64_t)(~writes & (at_write | (is_same & two_reads))) >> (63 - 8) & AM_TWO_READS));
	stamp->moment = moment;
	stamp->value = ev->value;
	stamp->tag = context << 32 | t->transaction;
	return true;
}
_Static_assert(AM_TWO_READS == 1 << 8 && AM_HAS_MORE == 1 << 9, "as used above");
_Static_assert(offsetof(struct am_entity, read) == offsetof(struct am_entity, write) + sizeof(struct am_stamp),
	       "neighbours");

#endif
