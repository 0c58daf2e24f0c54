/*
 * Entities of the summarised conflict graph: for each group of bytes with a common history the
 * newest write, and the newest read of each thread since. Older accesses need no place: each has an
 * edge to a newer one, or comes before it in program order, so whoever reaches the older reaches the
 * newer. One cache line per entity; the cells of one word have the same key and disjoint masks. Runs
 * wherever the checker runs; no I/O, no globals.
 *
 * Every cell has a home among 2^log lines. The line there holds a cell of this home, or nothing;
 * further ones are chained behind it, in lines kept for that. What no open region reaches (R4 in
 * scg.h) is stale, which its line tells by itself, so a stale line is simply overwritten by the next
 * cell of its home: nothing is swept while lines are left. When they run out, what is stale is
 * purged, and only then the table grows: its size follows the open regions, not the program's memory.
 */
/* SPDX-License-Identifier: MIT */
#include "scg.h"

#include <assert.h>
#include <string.h>

/* A test builds this file with a tiny table, so that it is purged and widened all the time. */
#ifndef AM_SCG_FIRST_LOG
#define AM_SCG_FIRST_LOG 8
#endif

enum { FIRST_OVER = (1 << AM_SCG_FIRST_LOG) / 8 < 2 * AM_CELLS_MAX ? 2 * AM_CELLS_MAX
								   : (1 << AM_SCG_FIRST_LOG) / 8 };

/* LOOK_AHEAD, DROP: lines of a table that is built anew. */
enum { SMALL_LOG = 12, MIDDLE_LOG = 16, MULTIPLIERS = 4, LOOK_AHEAD = 16, DROP = (4 << 20) / 64 };

/* Spreads what lies side by side most evenly (Knuth, vol. 3, section 6.4); others are for what does not. */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

_Static_assert(sizeof(struct am_entity) == 64, "one cache line");

/* ---- lines --------------------------------------------------------------------------------- */

static inline uint32_t next_of(const struct am_entity *e)
{
	return e->cell >> AM_NEXT_SHIFT;
}

static inline void set_next(struct am_entity *e, uint32_t next)
{
	e->cell = next << AM_NEXT_SHIFT | (e->cell & ((1 << AM_NEXT_SHIFT) - 1));
}

static bool is_home(const struct am_checker *c, const struct am_entity *e)
{
	return e - c->table < 1 << c->log;
}

static void line_free(struct am_checker *c, uint32_t line)
{
	assert(line >= 1u << c->log);
	c->table[line].key = 0;
	c->table[line].more = c->free_line;
	c->free_line = line;
	c->n_free++;
}

static uint32_t line_new(struct am_checker *c)
{
	const uint32_t line = c->free_line ? c->free_line : c->fresh++;

	assert(c->n_free > 0 && c->fresh <= (1u << c->log) + c->over);
	if (c->free_line)
		c->free_line = c->table[line].more;
	c->n_free--;
	return line;
}

/* All are empty. */
static void lines_reset(struct am_checker *c)
{
	c->n_entities = c->free_line = 0;
	c->n_free = c->over;
	c->fresh = 1u << c->log;
}

static size_t table_bytes(uint32_t log, uint32_t over)
{
	return sizeof(struct am_entity) * ((size_t)1 << log) + sizeof(struct am_entity) * over;
}

/* An empty table of this size becomes the table. */
static bool lines_new(struct am_checker *c, uint32_t log, uint32_t over)
{
	const uint64_t lines = (UINT64_C(1) << log) + over;
	struct am_entity *t = lines <= AM_LINES_MAX ? am_mem_alloc(c->mem, table_bytes(log, over)) : NULL;

	if (!t)
		return false;
	c->table = t;
	c->log = log;
	c->shift = 64 - log;
	c->over = over;
	c->version++;
	lines_reset(c);
	return true;
}

bool am_table_init(struct am_checker *c)
{
	c->multiplier = c->random = GOLDEN;
	c->chained_limit = 1 << AM_SCG_FIRST_LOG;
	return lines_new(c, AM_SCG_FIRST_LOG, FIRST_OVER);
}

/* ---- cells --------------------------------------------------------------------------------- */

bool am_table_is_stale(struct am_checker *c, const struct am_entity *e)
{
	const struct am_stamp *s;

	if (!am_is_stale(c, e->write.moment) || !am_is_stale(c, e->read.moment))
		return false;
	for (uint32_t i = 0; (s = am_readers_next(c, e, &i));)
		if (!am_is_stale(c, s->moment))
			return false;
	return true;
}

static void cell_init(struct am_checker *c, struct am_entity *e, uint64_t key, uint8_t mask, uint32_t next)
{
	e->key = key;
	e->write.moment = e->read.moment = 0;
	e->more = 0;
	e->cell = next << AM_NEXT_SHIFT | mask;
	am_table_note(c, mask);
}

struct am_entity *am_table_insert(struct am_checker *c, uint64_t key, uint8_t mask, bool takes_over)
{
	struct am_entity *home = &c->table[am_table_home(c, key, mask)];

	if (home->key && takes_over && am_table_is_stale(c, home)) {
		am_readers_drop(c, home);
		cell_init(c, home, key, mask, next_of(home));
		return home;
	}
	c->n_entities++;
	if (!home->key) {
		cell_init(c, home, key, mask, 0);
		return home;
	}
	const uint32_t line = line_new(c);
	cell_init(c, &c->table[line], key, mask, next_of(home));
	set_next(home, line);
	return &c->table[line];
}

void am_table_remove(struct am_checker *c, struct am_entity *e)
{
	const uint32_t next = next_of(e);

	am_readers_drop(c, e);
	c->n_entities--;
	if (!is_home(c, e)) {
		const uint32_t line = (uint32_t)(e - c->table);
		struct am_entity *p = &c->table[am_table_home(c, e->key, am_mask_of(e))];
		while (next_of(p) != line)
			p = &c->table[next_of(p)];
		set_next(p, next);
		line_free(c, line);
	} else if (next) {
		*e = c->table[next];
		line_free(c, next);
	} else {
		e->key = 0;
		e->cell = 0;
		e->write.moment = e->read.moment = 0;
	}
}

static struct am_entity *find_at(const struct am_checker *c, uint32_t home, uint64_t key, uint8_t mask)
{
	struct am_entity *e = &c->table[home];

	for (;; e = &c->table[next_of(e)]) {
		if (e->key == key && (am_mask_of(e) & mask))
			return e;
		if (!next_of(e))
			return NULL;
	}
}

struct am_entity *am_table_find(const struct am_checker *c, uint64_t key, uint8_t mask)
{
	struct am_entity *e = find_at(c, am_table_home(c, key, 0x01), key, mask);

	return e || !(c->has_halves && (mask & 0xf0)) ? e : find_at(c, am_table_home(c, key, 0x10), key, mask);
}

struct am_entity *am_table_seek(struct am_checker *c, uint64_t key, uint8_t mask)
{
	struct am_entity *e = &c->table[am_table_home(c, key, mask)];

	if (e->key == key && am_mask_of(e) == mask)
		return e;
	while (next_of(e) && am_table_is_stale(c, e))
		am_table_remove(c, e); /* the next one moves up */
	for (;;) {
		if (e->key == key && am_mask_of(e) == mask)
			return e;
		const uint32_t next = next_of(e);
		if (!next)
			return NULL;
		if (am_table_is_stale(c, &c->table[next]))
			am_table_remove(c, &c->table[next]);
		else
			e = &c->table[next];
		c->chained++;
	}
}

struct am_entity *am_table_cut(struct am_checker *c, struct am_entity *e, uint8_t mask)
{
	const struct am_entity whole = *e;
	const uint8_t part[2] = {am_mask_of(&whole) & mask, am_mask_of(&whole) & (uint8_t)~mask};
	struct am_entity *inside = NULL;

	e->more = 0; /* now whole's */
	am_table_remove(c, e);
	for (int i = 0; i < 2; i++) {
		if (!part[i])
			continue;
		struct am_entity *p = am_table_insert(c, whole.key, part[i], false);
		p->write = whole.write;
		p->read = whole.read;
		p->cell |= whole.cell & AM_TWO_READS;
		if (i == 0)
			inside = p;
		if (!am_readers_copy(c, p, &whole))
			c->stats.forgotten++;
	}
	struct am_entity rest = whole;
	am_readers_drop(c, &rest);
	return inside;
}

/* ---- size ---------------------------------------------------------------------------------- */

/* Drop what no open region reaches: such an access is on no cycle to come (R4). */
static void purge(struct am_checker *c)
{
	for (uint32_t i = 0; i < am_table_lines(c);)
		if (c->table[i].key && am_table_is_stale(c, &c->table[i]))
			am_table_remove(c, &c->table[i]); /* another one may have moved here: look again */
		else
			i++;
}

/* How many cells will not be at home, by this hash. */
static uint32_t count_chained(const struct am_checker *c, uint64_t multiplier, uint32_t log, uint64_t *taken)
{
	const uint32_t lines = am_table_lines(c);
	uint32_t chained = 0;

	for (uint32_t i = 0; i < lines; i++) {
		const struct am_entity *e = &c->table[i];
		if (!e->key)
			continue;
		const uint32_t home = am_table_home_by(e->key, am_mask_of(e), multiplier, 64 - log);
		chained += taken[home >> 6] >> (home & 63) & 1;
		taken[home >> 6] |= UINT64_C(1) << (home & 63);
	}
	return chained;
}

/*
 * The best of some hashes for what is in the table now; UINT32_MAX: no memory to find out. A table that grows keeps its
 * own unless that is worse than chance: then cells stay in order, and old and new table are walked through side
 * by side.
 */
static uint32_t choose_multiplier(struct am_checker *c, uint32_t log, uint64_t *multiplier)
{
	const size_t bytes = ((size_t)1 << log) / 8 + 8;
	const uint32_t few = c->n_entities / 32;
	const uint64_t chance = ((uint64_t)c->n_entities * c->n_entities) >> (log + 1);
	uint64_t *taken = am_mem_alloc(c->mem, bytes), candidate = log > c->log ? c->multiplier : GOLDEN;
	uint32_t best = UINT32_MAX;

	for (int i = 0; taken && i < MULTIPLIERS && best > few && !(i == 1 && log > c->log && best <= chance); i++) {
		memset(taken, 0, bytes);
		const uint32_t chained = count_chained(c, candidate, log, taken);
		if (chained < best) {
			best = chained;
			*multiplier = candidate;
		}
		c->random = c->random * UINT64_C(6364136223846793005) + 2; /* odd as before */
		candidate = c->random;
	}
	am_mem_free(c->mem, taken, bytes);
	return best;
}

/* Into a table of 2^log homes, with at least `over` lines behind. */
static bool rebuild(struct am_checker *c, uint32_t log, uint32_t over)
{
	struct am_entity *old = c->table;
	const uint32_t lines = am_table_lines(c);
	const size_t old_bytes = table_bytes(c->log, c->over);
	uint64_t multiplier = c->multiplier;
	const uint32_t chained = choose_multiplier(c, log, &multiplier);
	const uint32_t least = chained / 2 * 3 + 3 * AM_CELLS_MAX;

	if (chained == UINT32_MAX || !lines_new(c, log, least > over ? least : over))
		return false;
	c->multiplier = multiplier;
	for (uint32_t i = 0; i < lines; i++) {
		const struct am_entity *ahead = &old[i + LOOK_AHEAD < lines ? i + LOOK_AHEAD : i];
		__builtin_prefetch(&c->table[am_table_home(c, ahead->key, am_mask_of(ahead))], 1);
		/* What was read may go: the new table can have these very pages, which no other need be found for. */
		if (i && i % DROP == 0)
			am_mem_drop(old, old_bytes, (i - DROP) * sizeof *old, i * sizeof *old);
		if (!old[i].key)
			continue;
		struct am_entity *e = am_table_insert(c, old[i].key, am_mask_of(&old[i]), false);
		e->write = old[i].write;
		e->read = old[i].read;
		e->more = old[i].more;
		e->cell |= old[i].cell & (AM_TWO_READS | AM_HAS_MORE);
	}
	am_mem_free(c->mem, old, old_bytes);
	return true;
}

static bool rebuild_wider(struct am_checker *c)
{
	if (!rebuild(c, c->log + 1, 1u << (c->log - 2)))
		return false;
	c->chained = 0;
	c->chained_limit = 1u << c->log; /* so many cost as much as to build the table again */
	return true;
}

/* Too full, or with many chains: larger. What fits into the cache may be sparser. */
static bool widen(struct am_checker *c)
{
	if (c->n_entities > (c->log < MIDDLE_LOG ? 3u << (c->log - 3) : 1u << (c->log - 1)))
		return rebuild_wider(c);
	return c->n_free > c->over / 2 || rebuild(c, c->log, c->over * 2);
}

void am_table_shuffle(struct am_checker *c)
{
	c->chained = 0;
	c->chained_limit = c->chained_limit < UINT32_MAX / 2 ? c->chained_limit * 2 : UINT32_MAX;
	purge(c);
	const bool is_full = c->n_entities > 1u << (c->log < SMALL_LOG ? c->log - 4 : c->log - 2);
	if (!(is_full && rebuild_wider(c)))
		rebuild(c, c->log, c->over);
}

/* At the ceiling: forget the older half. What is not known makes no edge, hence no false cycle. */
static void forget_half(struct am_checker *c)
{
	const uint32_t before = c->n_entities;
	long double sum = 0;

	for (uint32_t i = 0; i < am_table_lines(c); i++)
		if (c->table[i].key)
			sum += (long double)(c->table[i].write.moment | c->table[i].read.moment);
	const uint64_t middle = (uint64_t)(sum / (before ? before : 1));
	for (uint32_t i = 0; i < am_table_lines(c);)
		if (c->table[i].key && (c->table[i].write.moment | c->table[i].read.moment) <= middle)
			am_table_remove(c, &c->table[i]);
		else
			i++;
	if (c->n_entities > before / 2 + 1 || c->n_free < AM_CELLS_MAX + 1)
		am_table_clear(c);
	c->stats.forgotten += before - c->n_entities;
}

void am_table_reserve(struct am_checker *c)
{
	if (c->n_free > AM_CELLS_MAX)
		return;
	if (c->n_entities > c->stats.entities_peak)
		c->stats.entities_peak = c->n_entities;
	purge(c);
	if (!widen(c) && c->n_free <= AM_CELLS_MAX)
		forget_half(c);
}

void am_table_clear(struct am_checker *c)
{
	for (uint32_t i = 0; i < am_table_lines(c); i++)
		if (c->table[i].key)
			am_readers_drop(c, &c->table[i]);
	memset(c->table, 0, sizeof *c->table * am_table_lines(c));
	lines_reset(c);
}

void am_table_free(struct am_checker *c)
{
	am_table_clear(c);
	am_readers_free(c);
	am_mem_free(c->mem, c->table, table_bytes(c->log, c->over));
}
