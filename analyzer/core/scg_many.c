/*
 * Many events at a time: the checker's hot path. It looks a chunk ahead, so that kinds that do not
 * matter are left out without a branch, and the lines of the others are fetched before their turn.
 * Runs wherever the checker runs; no I/O, no globals.
 */
/* SPDX-License-Identifier: MIT */
#include "scg_touch.h"
#include "scg_turn.h"

/* CROWD: of a chunk, so many accesses beside others'. CROWDED_CHUNKS: then it is tried again without. */
enum { CHUNK = 32, CROWD = 2, CROWDED_CHUNKS = 64, WORDS_MAX = 4 };

/* What of a chunk matters. */
struct ahead {
	struct step {
		const struct am_event *event;
		struct am_entity *home; /* of the cell of an access: its line is on its way */
		uint64_t way;		/* enum am_way */
	} step[CHUNK + 1];
	unsigned n;
	bool is_late; /* too late for the fast path: an index might not fit into a moment */
};

static inline void look_ahead(const struct am_checker *c, const struct am_event *event, unsigned n, struct ahead *ahead)
{
	const uint64_t multiplier = c->multiplier;
	struct am_entity *const table = c->table;
	const uint32_t shift = c->shift;
	const bool has_halves = c->has_halves;
	uint64_t indices = 0;
	size_t m = 0;

	for (const struct am_event *ev = event; ev < event + n; ev++) {
		struct am_entity *home = &table[am_table_home_of(ev->object, multiplier, shift)];
		const uint64_t way = c->way[(ev->kind & 0x3f) | (ev->order & AM_ORDER_COMMUTES) << 2];
		__builtin_prefetch(home, 1);
		/* Where the other half of its word would be: one that has to do with it is looked for there, too. */
		__builtin_prefetch(&table[(size_t)(home - table) ^ (has_halves & (ev->size > 4 || ev->object & 4))]);
		ahead->step[m].event = ev;
		ahead->step[m].home = home;
		ahead->step[m].way = way;
		m += way != 0;
		indices |= ev->index;
	}
	ahead->n = (unsigned)m;
	ahead->is_late = indices > AM_INDEX_MAX / 2;
}

/* An access inside one word, by a region. The usual case; false: nothing was done. */
static __attribute__((always_inline)) inline bool access_fast(struct am_checker *c, const struct am_event *ev,
							       uint32_t slot, uint64_t moment, struct am_entity *home,
							       struct am_touch_case is)
{
	/* By size and address in the word; 0 if the access is not inside one. */
	static const uint8_t masks[9][8] = {
		[1] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80},
		[2] = {0x03, 0x06, 0x0c, 0x18, 0x30, 0x60, 0xc0},
		[3] = {0x07, 0x0e, 0x1c, 0x38, 0x70, 0xe0},
		[4] = {0x0f, 0x1e, 0x3c, 0x78, 0xf0},
		[5] = {0x1f, 0x3e, 0x7c, 0xf8},
		[6] = {0x3f, 0x7e, 0xfc},
		[7] = {0x7f, 0xfe},
		[8] = {0xff},
	};

	if (unlikely(ev->size > 8))
		return false;
	const uint8_t mask = masks[ev->size][ev->object & 7];
	if (unlikely(!(mask & (is.has_halves ? 0xff : 0x0f))))
		return false;
	return am_touch(c, ev, slot, ev->kind != AM_READ, moment, (ev->object >> 3) + 1, mask, home, is);
}

/* An outermost region of a known place begins, or ends. The usual case; false: nothing was done. */
static __attribute__((always_inline)) inline bool turn_fast(struct am_checker *c, const struct am_event *ev,
							     uint32_t slot, bool is_end, uint32_t words)
{
	const struct am_front *f = &c->front[slot];
	const bool can_begin = am_turn_is_known(c, f, ev) & (c->free[c->free_at] != 0) &
			       ((uint32_t)c->n_begun != UINT32_MAX);

	if (unlikely((f->depth != is_end) | !(is_end | can_begin)))
		return false;
	am_turn(c, slot, ev->index, is_end, words);
	return true;
}

/* From this one on, one by one. */
static void rest_slowly(struct am_checker *c, const struct ahead *ahead, unsigned k)
{
	for (; k < ahead->n; k++)
		am_event_slowly(c, ahead->step[k].event);
}

static __attribute__((always_inline)) inline void check_chunk(struct am_checker *c, const struct ahead *ahead,
							       struct am_touch_case is)
{
	const uint32_t version = c->version;
	uint64_t done = 0;

	for (const struct step *step = ahead->step, *end = step + ahead->n; step < end; step++) {
		const struct am_event *ev = step->event;
		const uint32_t at = ev->thread % AM_RECENT, slot = c->recent[at].slot;
		if (unlikely(c->recent[at].id != ev->thread)) {
			am_event_slowly(c, ev);
		} else if ((step->way & AM_WAY_ACCESS) && c->front[slot].transaction) {
			const uint64_t moment = AM_MOMENT(ev->index, slot);
			c->newest = moment;
			done++;
			if (!unlikely(!access_fast(c, ev, slot, moment, step->home, is)))
				continue;
			am_access_slowly(c, slot, ev, step->home);
		} else if ((step->way & AM_WAY_TURN) && turn_fast(c, ev, slot, step->way & AM_WAY_END, is.words)) {
			continue;
		} else {
			am_event_slowly(c, ev);
		}
		if (unlikely(c->version != version)) { /* homes are elsewhere now, or sets have another width */
			rest_slowly(c, ahead, (unsigned)(step - ahead->step) + 1);
			break;
		}
	}
	c->stats.accesses += done;
}

/* The code for this table and these many threads. */
static __attribute__((always_inline)) inline void check_by_words(struct am_checker *c, const struct ahead *ahead,
								  bool is_crowded, uint32_t words)
{
	if (c->has_halves)
		check_chunk(c, ahead, (struct am_touch_case){true, true, is_crowded, words});
	else
		check_chunk(c, ahead, (struct am_touch_case){false, true, is_crowded, words});
}

static __attribute__((always_inline)) inline void check_by_crowd(struct am_checker *c, const struct ahead *ahead,
								  bool is_crowded)
{
	if (c->stride == 1)
		check_by_words(c, ahead, is_crowded, 1);
	else if (c->stride == 2)
		check_by_words(c, ahead, is_crowded, 2);
	else
		check_by_words(c, ahead, is_crowded, 4);
}

/* Where accesses are beside others' all the time, the question who covers them is better asked at once. */
static void check_by_case(struct am_checker *c, const struct ahead *ahead)
{
	const uint32_t met = c->met;

	if (c->stride > WORDS_MAX) {
		check_by_words(c, ahead, false, c->stride);
	} else if (c->crowded) {
		c->crowded--;
		check_by_crowd(c, ahead, true);
	} else {
		check_by_crowd(c, ahead, false);
		c->crowded = c->met - met > CROWD ? CROWDED_CHUNKS : 0;
	}
}

void am_checker_events(struct am_checker *c, const struct am_event *event, size_t n)
{
	struct ahead ahead;

	c->stats.events += n;
	while (n) {
		const unsigned m = n < CHUNK ? (unsigned)n : CHUNK;
		look_ahead(c, event, m, &ahead);
		if (ahead.is_late)
			rest_slowly(c, &ahead, 0);
		else
			check_by_case(c, &ahead);
		event += m;
		n -= m;
	}
}
