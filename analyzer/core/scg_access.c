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

static void edges_of(struct am_checker *c, struct am_now *now, const struct am_entity *e, uint8_t mask)
{
	const uint8_t common = am_mask_of(e) & mask;
	const struct am_stamp *s;

	if ((now->writes || !(e->cell & AM_TWO_READS)) && is_foreign(c, e->write.moment, now->slot))
		am_edge_add(c, now, &e->write, e->key, common);
	if (!now->writes)
		return;
	if (is_foreign(c, e->read.moment, now->slot))
		am_edge_add(c, now, &e->read, e->key, common);
	for (uint32_t i = 0; (s = am_readers_next(c, e, &i));)
		if (is_foreign(c, s->moment, now->slot))
			am_edge_add(c, now, s, e->key, common);
}

/* ---- what an entity remembers -------------------------------------------------------------- */

/* May a new read of this thread take the place of this one? */
static bool gives_way(struct am_checker *c, const struct am_stamp *read, uint32_t slot)
{
	return !is_foreign(c, read->moment, slot) || am_is_covered(c, read->moment, slot) ||
	       am_stamp_dominated(c, read, slot);
}

static void note_read(struct am_checker *c, struct am_now *now, struct am_entity *e)
{
	if (am_readers_has(c, e, now->slot, now->begin) || !am_matters(c, now->slot))
		return;
	if (!am_now_tag(c, now)) {
		c->stats.forgotten++;
		return;
	}
	const struct am_stamp stamp = {now->moment, now->event->value, now->tag};
	if (gives_way(c, &e->read, now->slot)) {
		e->read = stamp;
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

/* An access to a cell of exactly these bytes that others touched. */
static void meet(struct am_checker *c, struct am_now *now, struct am_entity *e)
{
	edges_of(c, now, e, am_mask_of(e));
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
	while (rest && (e = am_table_find(c, key, rest))) {
		if (am_table_is_stale(c, e)) {
			am_table_remove(c, e);
			continue;
		}
		if (am_mask_of(e) & ~mask)
			e = am_table_cut(c, e, mask);
		if (now->writes) {
			edges_of(c, now, e, mask);
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
		.begin = c->front[q->slot].begin,
		.object = q->object,
		.size = q->size,
		.slot = q->slot,
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
	if (unlikely(c->chained > c->chained_limit && am_table_is_small(c)))
		am_table_shuffle(c);
}

enum place { NOWHERE, AT_READ, AT_WRITE };

/*
 * Others were here. May the access go the usual way all the same, and where is its place? It may if
 * nobody can learn from theirs what is not to be learned from the one at hand.
 */
static __attribute__((noinline)) enum place place_among(const struct am_checker *c, const struct am_entity *e,
							uint32_t slot, bool is_write)
{
	const uint64_t a = e->write.moment, b = e->read.moment;
	const bool is_a_covered = AM_SLOT_OF(a) == slot || !am_is_live(c, a) || am_is_covered(c, a, slot);
	const bool is_b_covered = AM_SLOT_OF(b) == slot || !am_is_live(c, b) || am_is_covered(c, b, slot);
	const bool two_reads = e->cell & AM_TWO_READS;

	if (is_write)
		return is_a_covered && is_b_covered ? AT_WRITE : NOWHERE;
	if (is_b_covered && (is_a_covered || two_reads))
		return AT_READ;
	return is_a_covered && two_reads ? AT_WRITE : NOWHERE;
}

/*
 * The usual case: at home lies the cell of exactly these bytes, or nothing that matters; and nobody
 * else's access there is of interest. False: it is not so, and nothing was done.
 *
 * Which thread comes next and what it does is hard to predict, so there is one way for first and
 * repeated reads and writes, of known and new cells, selected by arithmetic. A newer access of a
 * thread may always take the place of its older one of the same kind; what is stale is left where it
 * is. A second reader takes the place of the write if that is stale.
 */
static __attribute__((always_inline)) inline bool touch(struct am_checker *c, const struct am_event *ev, uint32_t slot,
							 bool is_update, uint64_t moment, uint64_t key, uint8_t mask,
							 struct am_entity *e, bool has_halves, bool in_region)
{
	/* A claim is true if its number is negative: the cheapest arithmetic there is. */
	const struct am_front *const front = c->front, *const t = &front[slot];
	const uint64_t a = e->write.moment, b = e->read.moment;
	const uint32_t cell = e->cell;
	const int64_t writes = -(int64_t)is_update, two_reads = (int64_t)((uint64_t)cell << (63 - 8));
	const int64_t is_a_stale = (int64_t)(a - front[AM_SLOT_OF(a)].horizon);
	const int64_t is_b_stale = (int64_t)(b - front[AM_SLOT_OF(b)].horizon);
	const int64_t is_a_own = (int64_t)(AM_SLOT_OF(a) ^ slot) - 1, is_b_own = (int64_t)(AM_SLOT_OF(b) ^ slot) - 1;
	const int64_t is_a_quiet = is_a_stale | is_a_own | (two_reads & ~writes), is_b_quiet = is_b_stale | is_b_own;
	const int64_t is_same = (int64_t)((e->key ^ key) | ((cell & (0xff | AM_HAS_MORE)) ^ mask)) - 1;
	/* Free for a new cell: nothing is chained here, nothing of the word where its other half is. */
	int64_t is_free = is_a_stale & is_b_stale & ((int64_t)cell - AM_HAS_MORE);
	int64_t at_write = writes | ~is_b_quiet;

	if (has_halves) {
		const struct am_entity *other = &c->table[(e - c->table) ^ (mask > 0x0f ? AM_OTHER_HALF : 0)];
		is_free &= -(int64_t)((other->key != key) & (other->cell >> AM_NEXT_SHIFT == 0));
	}
	if (unlikely(((is_same & is_a_quiet & (is_b_quiet | (is_a_stale & ~writes))) | is_free) >= 0)) {
		const enum place place = is_same < 0 ? place_among(c, e, slot, is_update) : NOWHERE;
		if (place == NOWHERE)
			return false;
		at_write = place == AT_WRITE ? -1 : 0;
	}
	if (!in_region && t->n_anc == 0) /* nobody will ask */
		return true;
	const uint64_t context = am_context_now(c, t, ev);
	if (unlikely(!context))
		return false;
	struct am_stamp *const stamp = (struct am_stamp *)((char *)&e->read - (at_write >> 63 & sizeof *stamp));
	c->n_entities += e->key == 0;
	e->key = key;
	e->cell = (cell & ~0x1ffu) | mask | ((uint64_t)(~writes & (at_write | (is_same & two_reads))) >> (63 - 8) & AM_TWO_READS);
	stamp->moment = moment;
	stamp->value = ev->value;
	stamp->tag = context << 32 | t->transaction;
	return true;
}
_Static_assert(AM_TWO_READS == 1 << 8 && AM_HAS_MORE == 1 << 9, "as used above");
_Static_assert(offsetof(struct am_entity, read) == offsetof(struct am_entity, write) + sizeof(struct am_stamp),
	       "neighbours");

static void touch_or_meet(struct am_checker *c, const struct request *q, uint64_t key, uint8_t mask)
{
	struct am_entity *e = &c->table[am_table_home(c, key, mask)];

	am_table_note(c, mask);
	if (!touch(c, q->event, q->slot, q->writes, AM_MOMENT(q->event->index, q->slot), key, mask, e, true, false))
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

static inline void count_access(struct am_checker *c, uint32_t slot, uint64_t index)
{
	c->stats.accesses++;
	c->stats.unary += c->front[slot].begin == AM_NEVER;
	c->newest = AM_MOMENT(index, slot);
}

/* What is not by the fast path: an access inside one word whose home is `e`, or any other. */
static __attribute__((noinline)) void access_slowly(struct am_checker *c, uint32_t slot, const struct am_event *ev,
						    struct am_entity *e)
{
	const struct request q = {ev, ev->object, ev->size, slot, ev->kind != AM_READ};
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
	report(c);
}

void am_access_data(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	const struct request q = {ev, ev->object, ev->size, slot, ev->kind != AM_READ};
	const uint64_t low = ev->object & 7;

	count_access(c, slot, ev->index);
	if (low + ev->size <= 8 && ev->size)
		touch_or_meet(c, &q, (ev->object >> 3) + 1, (uint8_t)(((1u << ev->size) - 1) << low));
	else
		span(c, &q);
	report(c);
}

/* At lock level both ends of a section are accesses of the lock; a wait ends one, a wake begins one.
 * Of several in one region the first is remembered: sections are told by their acquire. */
void am_access_lock(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	const bool waits = ev->kind == AM_WAIT || ev->kind == AM_WAKE;
	const uint64_t lock = waits ? ev->aux : ev->object, begin = c->front[slot].begin;

	if (!lock) /* a wait that keeps its mutex */
		return;
	count_access(c, slot, ev->index);
	const struct request q = {ev, lock, 1, slot, waits || ev->mode != AM_SHARED};
	const uint64_t key = (AM_LOCK_SPACE | lock >> 3) + 1;
	const uint8_t mask = (uint8_t)(1u << (lock & 7));
	const struct am_entity *e = &c->table[am_table_home(c, key, mask)];
	const bool wrote = is_mine(e->write.moment, begin, slot) && e->read.moment < e->write.moment;
	if (e->key == key && (e->cell & 0x3ff) == mask && wrote)
		return;
	touch_or_meet(c, &q, key, mask);
	report(c);
}

/* ---- blocks -------------------------------------------------------------------------------- */

static void erase_word(struct am_checker *c, struct am_now *now, uint64_t key, uint8_t mask)
{
	struct am_entity *e;

	while ((e = am_table_find(c, key, mask))) {
		if (am_mask_of(e) & ~mask) {
			am_table_reserve(c);
			e = am_table_find(c, key, mask);
			e = e ? am_table_cut(c, e, mask) : NULL;
		}
		if (e && now)
			edges_of(c, now, e, mask);
		if (e)
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
	if (last_word - first_word < am_table_lines(c)) {
		for (uint64_t word = first_word; word <= last_word; word++)
			erase_word(c, now, (space | word) + 1, MASK_AT(word));
		return;
	}
	for (uint32_t i = 0; i < am_table_lines(c);) { /* the block is larger than the table */
		const uint64_t key = c->table[i].key, word = (key - 1) & ~AM_LOCK_SPACE;
		if (!key || ((key - 1) & AM_LOCK_SPACE) != space || word < first_word || word > last_word ||
		    !(am_mask_of(&c->table[i]) & MASK_AT(word)))
			i++;
		else
			erase_word(c, now, key, MASK_AT(word));
	}
#undef MASK_AT
}

void am_access_block(struct am_checker *c, uint32_t slot, const struct am_event *ev)
{
	const struct am_vertex *v = &c->vertex[slot];
	const bool counts = ev->kind == AM_FREE && c->data && !v->muted && !v->blind && ev->aux;

	if (counts) {
		count_access(c, slot, ev->index);
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

/* ---- many ---------------------------------------------------------------------------------- */

enum { CHUNK = 32 };

/* What of a chunk matters, and for accesses the home of their cell: its line is on its way. */
struct ahead {
	struct {
		const struct am_event *event;
		struct am_entity *home; /* NULL: not by the fast path */
	} at[CHUNK + 1];
	unsigned n;
	uint32_t version;
};

static inline void look_ahead(const struct am_checker *c, const struct am_event *event, unsigned n, struct ahead *ahead)
{
	const uint64_t multiplier = c->multiplier;
	struct am_entity *const table = c->table;
	const uint32_t shift = c->shift;
	uint64_t indices = 0;
	size_t m = 0;

	for (const struct am_event *ev = event; ev < event + n; ev++) {
		struct am_entity *home = &table[am_table_home_of(ev->object, multiplier, shift)];
		const uint64_t how = c->how[ev->kind & 63];
		__builtin_prefetch(home, 1);
		ahead->at[m].event = ev;
		ahead->at[m].home = (struct am_entity *)((uintptr_t)home & -(how >> 1));
		indices |= ev->index;
		m += how & 1;
	}
	ahead->n = (unsigned)m;
	ahead->version = c->version - (indices > AM_INDEX_MAX / 2); /* never by the fast path */
}

/* An access inside one word, by a region. The usual case; false: nothing was done. */
static __attribute__((always_inline)) inline bool access_fast(struct am_checker *c, const struct am_event *ev,
							       uint32_t slot, uint64_t moment, struct am_entity *home,
							       bool has_halves)
{
	/* By size and address in the word; 0 if the access is not inside one. */
	static const uint8_t masks[10][8] = {
		[1] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80},
		[2] = {0x03, 0x06, 0x0c, 0x18, 0x30, 0x60, 0xc0},
		[3] = {0x07, 0x0e, 0x1c, 0x38, 0x70, 0xe0},
		[4] = {0x0f, 0x1e, 0x3c, 0x78, 0xf0},
		[5] = {0x1f, 0x3e, 0x7c, 0xf8},
		[6] = {0x3f, 0x7e, 0xfc},
		[7] = {0x7f, 0xfe},
		[8] = {0xff},
	};
	const uint8_t mask = masks[ev->size < 9 ? ev->size : 9][ev->object & 7];

	if (unlikely(!(mask & (has_halves ? 0xff : 0x0f))))
		return false;
	return touch(c, ev, slot, ev->kind != AM_READ, moment, (ev->object >> 3) + 1, mask, home, has_halves, true);
}

static __attribute__((always_inline)) inline void check_chunk(struct am_checker *c, const struct ahead *ahead,
							       bool has_halves)
{
	uint64_t done = 0;

	for (unsigned k = 0; k < ahead->n; k++) {
		const struct am_event *ev = ahead->at[k].event;
		const uint32_t at = ev->thread % AM_RECENT, slot = c->recent[at].slot;
		if (!((ahead->at[k].home != NULL) & (c->recent[at].id == ev->thread) & (ahead->version == c->version)) ||
		    !c->front[slot].transaction) {
			am_event_slowly(c, ev);
			continue;
		}
		const uint64_t moment = AM_MOMENT(ev->index, slot);
		c->newest = moment;
		done++;
		if (unlikely(!access_fast(c, ev, slot, moment, ahead->at[k].home, has_halves)))
			access_slowly(c, slot, ev, ahead->at[k].home);
	}
	c->stats.accesses += done;
}

void am_checker_events(struct am_checker *c, const struct am_event *event, size_t n)
{
	struct ahead ahead;

	c->stats.events += n;
	while (n) {
		const unsigned m = n < CHUNK ? (unsigned)n : CHUNK;
		look_ahead(c, event, m, &ahead);
		if (c->has_halves)
			check_chunk(c, &ahead, true);
		else
			check_chunk(c, &ahead, false);
		event += m;
		n -= m;
	}
}

void am_checker_event(struct am_checker *c, const struct am_event *event)
{
	c->stats.events++;
	am_event_slowly(c, event);
}
