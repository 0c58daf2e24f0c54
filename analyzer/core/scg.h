/*
 * Inside the summarised conflict graph: its data structures, shared by scg.c (events), scg_reach.c
 * (vertices and edges), scg_table.c (entities), scg_readers.c (their further readers), scg_access.c
 * (accesses; the usual one in scg_touch.h), scg_many.c (many events at a time), scg_block.c (memory that
 * comes and goes), scg_late.c (accesses told late), scg_ended.c (threads that ended) and scg_cycle.c
 * (telling a cycle). Everybody else uses include/atommon/checker.h. Runs in the drain thread of somebody else's process and in tools:
 * memory only from am_mem, no I/O, no globals, no threads. doc/notes/checker.md has the argument.
 *
 * Farzan & Madhusudan (CAV'08, section 3.1) keep for each active transaction a the edges to other
 * active ones, and the set C(a) of accesses in completed transactions that must come after a. We
 * store C(a) implicitly. All transactions of one thread are ordered, so those that must come after a
 * are, in each thread X, all from a first one on: *first(a, X)*, a moment. An access at moment m of
 * X lies in S or C of a or of what a reaches iff first(a, X) <= m. Hence, for k live threads:
 *   - k x k moments, each with the edge that made it (the path back to a follows from these);
 *   - per entity the newest write, and the newest read of each thread since;
 *   - the end of a transaction touches no entity: its row of moments is dropped, nothing else.
 *
 * Invariants (R1..R4, asserted in scg_reach.c):
 *   R1  for a other than X, bit a of anc[X] is set iff first(a, X) is defined; then the vertex a has
 *       an open region.
 *   R2  a region that is open in thread T has first(T, T) = the moment of its begin.
 *   R3  closure: if a reaches the open region of X, first(a, Y) <= first(X, Y) wherever defined.
 *   R4  what no open region reaches is never reached again: such accesses may be dropped.
 *   R5  horizon[X] <= first(a, X) of every open region a: an access before it is stale, as by R4.
 */
/* SPDX-License-Identifier: MIT */
#ifndef ATOMMON_CORE_SCG_H
#define ATOMMON_CORE_SCG_H

#include "map.h"
#include "atommon/checker.h"
#include "atommon/mem.h"

#include <stddef.h>
#include <string.h>

/*
 * A moment: (index in the merged order + 1) << 16, the slot of its thread in the low bits. Moments
 * of one thread compare as plain numbers. Zero: never.
 */
#define AM_SLOT_OF(moment) ((uint32_t)((moment) & 0xffff))
#define AM_MOMENT(index, slot) ((((uint64_t)(index) + 1) << 16) | (slot))
#define AM_INDEX_OF(moment) (((moment) >> 16) - 1)
#define AM_NEVER ((uint64_t)INT64_MAX) /* moments are less: differences of two have a sign */
enum { AM_VERTICES_MAX = 0xffff };
#define AM_INDEX_MAX ((UINT64_C(1) << 47) - 3)

/* Lock entities have a name space of their own. */
#define AM_LOCK_SPACE (UINT64_C(1) << 62)

/* An access as an entity remembers it. */
struct am_stamp {
	uint64_t moment; /* 0: none */
	uint64_t value;
	uint64_t tag; /* number of the transaction (0: outside any region), context << 32 */
};
#define AM_TRANSACTION_OF(tag) ((uint32_t)(tag))
#define AM_CONTEXT_OF(tag) ((uint32_t)((tag) >> 32))

/* One end of an edge. */
struct am_end {
	struct am_stamp stamp;
	uint64_t object;
	uint32_t size;
	uint32_t thread; /* its id: the slot may be another's by the time a cycle is told */
};

/* first(a, x), and the last edge of a path from a to that transaction of x. For a ghost (scg_ended.c)
 * there is no such edge: from.stamp.moment is 0. */
struct am_reach {
	uint64_t first;
	uint32_t x;
	struct am_end from, to;
};

/*
 * Context of an access: where and what it is. Contexts come from program text, so there are few, and
 * they are numbered. Bits 0..5 kind, 6 mode, 7..13 flags, 14..31 place of the region, 32..63 site.
 * A place is where and as what a region begins; place 0 is outside any region.
 */
enum { AM_CONTEXT_MODE = 6, AM_CONTEXT_FLAGS = 7, AM_CONTEXT_PLACE = 14, AM_CONTEXT_SITE = 32 };
enum { AM_PLACES_MAX = 1 << (AM_CONTEXT_SITE - AM_CONTEXT_PLACE) };

struct am_region_place {
	uint32_t region, site;
};

/* A moment that accesses told late may name (scg_late.c), with the transaction it lies in. */
struct am_mark {
	uint64_t moment;
	uint32_t number, transaction, place;
};

/*
 * What an access needs to know of a thread: half a cache line per slot, so that hundreds of threads
 * fit beside everything else. horizon is a lower bound (R5) and AM_NEVER iff nothing reaches the
 * thread; is_low says that an exact one may be higher.
 */
struct am_front {
	uint64_t horizon;
	uint64_t begin; /* moment at which the open region began; AM_NEVER outside regions */
	uint32_t transaction; /* number of the open region; 0 outside */
	uint32_t place;	      /* its place << AM_CONTEXT_PLACE; 0 outside */
	uint32_t n_anc;	      /* bits set in anc, and one for its own open region */
	bool is_low;
};

/* A live thread, or one that ended and is still reached by an open region. What begins, edges and ends
 * need is in the first cache line. */
struct am_vertex {
	uint32_t depth;	 /* of nested regions */
	uint32_t n_reach; /* 0: no open region; else 1 (itself, not stored) and what it reaches */
	struct am_region_place region; /* the newest, and its number */
	uint32_t region_place;
	bool muted; /* events were lost: its data accesses are not trusted */
	bool blind; /* something was missed at the memory ceiling: nothing is known of its regions */
	bool used : 1, ended : 1, ghost : 1;
	uint32_t id;
	uint64_t begin_index;
	uint32_t cap_reach, cap_reach_at;
	struct am_reach *reach; /* from 1 on */
	uint16_t *reach_at;	/* reach_at[x]: which reach is that of x; valid if anc[x] says so */
	/* ---- the rest ---- */
	uint32_t inner[8];
	struct am_mark *mark; /* by moment */
	uint32_t n_marks, cap_marks;
	uint64_t unused[2];
};
_Static_assert(offsetof(struct am_vertex, inner) == 64 && sizeof(struct am_vertex) == 128, "two cache lines");

/* The bytes `mask` of one 8-byte word, with a common history. One cache line. */
struct am_entity {
	uint64_t key; /* word + 1, 0: empty */
	struct am_stamp write, read; /* AM_TWO_READS: `write` is a read, by another thread than `read` */
	uint32_t more; /* reads by further threads, 0 none: see scg_readers.c */
	uint32_t cell; /* mask in the low bits; flags; the next line of this home, 0 none */
};
enum {
	AM_TWO_READS = 1 << 8,
	AM_HAS_MORE = 1 << 9, /* more is not 0 */
	AM_NEXT_SHIFT = 10,
	AM_LINES_MAX = 1 << (32 - AM_NEXT_SHIFT),
};

static inline uint8_t am_mask_of(const struct am_entity *e)
{
	return (uint8_t)e->cell;
}

/* Two more readers, in a line of their own; or many: open addressing by slot. */
struct am_shelf {
	struct am_stamp at[2];
	uint32_t next_free;
	uint32_t unused[3];
};

struct am_readers {
	struct am_stamp *at;
	uint32_t cap, n;
	uint32_t next_free;
};

enum { AM_RECENT = 256 };

/* What scg_many.c does with a kind of events. */
enum am_way { AM_WAY_NONE, AM_WAY_OTHER, AM_WAY_ACCESS, AM_WAY_BEGIN, AM_WAY_END };

/* The event at hand. */
struct am_now {
	const struct am_event *event;
	uint64_t moment;
	uint64_t begin; /* of the thread's open region, AM_NEVER outside */
	uint64_t object, size;
	uint64_t tag; /* 0: not yet known */
	uint32_t slot;
	bool writes;
};

struct am_checker {
	struct am_checker_config config;
	struct am_mem *mem;
	struct am_checker_stats stats;
	bool data, locks;
	uint64_t kinds; /* of events that matter at this level: a bit each */
	uint8_t way[64];     /* by kind: enum am_way */
	uint64_t newest;     /* moment of the newest access */
	bool starved;	     /* there was no memory for some thread */
	uint32_t met, crowded; /* scg_many.c: accesses beside others', chunks in which these are looked for at once */

	/* vertices */
	struct am_front *front;
	struct am_vertex *vertex;
	uint64_t *anc; /* anc + slot * stride: open regions of others that reach the thread's present */
	uint32_t cap, stride; /* slots, words per row */
	uint32_t high, words; /* slots in use lie below high; words that hold them */
	uint32_t n_open, n_ended, ended_limit;
	uint32_t next_transaction;
	struct am_map slot_of; /* thread id + 1 -> slot + 1 */
	struct {
		uint32_t id, slot; /* of thread id, at id % AM_RECENT */
	} recent[AM_RECENT];

	/* entities: 2^log homes, and behind them lines for what does not fit into its home */
	struct am_entity *table;
	uint32_t log, shift, over; /* over: lines behind the homes */
	uint32_t n_entities, n_free, free_line;
	bool has_halves;     /* some cell begins in the upper half of its word */
	uint32_t chained, chained_limit; /* accesses to cells that are not at home; when they are too many */
	uint32_t version;    /* of the table, its hash, has_halves, and stride: what scg_many.c relies on */
	uint64_t multiplier; /* of the hash */
	uint64_t random;     /* the next one to try */
	struct am_shelf *shelf;
	uint32_t cap_shelves, free_shelf;
	struct am_readers *readers;
	uint32_t cap_readers, free_readers;
	uint64_t *context; /* by number - 1 */
	uint32_t n_contexts, cap_contexts;
	struct am_map context_number;
	struct {
		uint32_t site, place, what, number;
	} recent_context[1024];
	struct am_region_place *place; /* by number - 1 */
	uint32_t n_places, cap_places;
	struct am_map place_number;

	/* cycles */
	bool found; /* the event at hand closed a cycle: `best` */
	struct am_cycle best, other;
};

/* ---- scg_reach.c ---- */

static inline uint64_t *am_anc(const struct am_checker *c, uint32_t slot)
{
	return c->anc + (size_t)slot * c->stride;
}

static inline bool am_has(const uint64_t *set, uint32_t slot)
{
	return set[slot >> 6] >> (slot & 63) & 1;
}

/* Does any open region reach the thread's present? If not, its accesses need not be remembered. */
static inline bool am_matters(const struct am_checker *c, uint32_t slot)
{
	return c->front[slot].n_anc != 0;
}

/* first(a, x), for a in anc[x]. */
static inline uint64_t am_first(const struct am_checker *c, uint32_t a, uint32_t x)
{
	const struct am_vertex *v = &c->vertex[a];
	return v->reach[v->reach_at[x]].first;
}

/* No (false), or perhaps: may an open region reach this access? For moment 0: no. */
static inline bool am_is_live(const struct am_checker *c, uint64_t moment)
{
	return moment >= c->front[AM_SLOT_OF(moment)].horizon;
}

/*
 * Does every open region that reaches this access of another thread also reach the thread of `slot`,
 * and is its own open region not among them? Then an edge between them tells nothing new and closes
 * nothing, and a newer read may stand for an older one: nobody learns less from the newer one, now or
 * later (a region that comes to reach the older access does so through one that reaches both). False
 * may also mean: perhaps (am_stamp_dominated is exact).
 */
static inline bool am_is_covered(const struct am_checker *c, uint64_t moment, uint32_t slot)
{
	const uint32_t u = AM_SLOT_OF(moment);
	const uint64_t *anc_u = am_anc(c, u), *anc_t = am_anc(c, slot);
	/* In the open region of its thread: that one reaches it, too. */
	uint64_t rest = (moment >= c->front[u].begin) & ~(anc_t[u >> 6] >> (u & 63));

	for (uint32_t w = 0; w < c->words; w++)
		rest |= anc_u[w] & ~anc_t[w];
	return !rest;
}

/* Slot of the event's thread; made if unknown. UINT32_MAX at the memory ceiling. */
uint32_t am_vertex_get(struct am_checker *c, const struct am_event *event);
void am_vertex_end(struct am_checker *c, uint32_t thread);
/* From now on its regions are not known, or its data accesses not trusted: off the fast path. */
void am_vertex_blind(struct am_checker *c, uint32_t slot);
void am_vertex_mute(struct am_checker *c, uint32_t slot);
/* Of nested regions only the outermost counts. */
void am_region_begin(struct am_checker *c, uint32_t slot, const struct am_event *event);
void am_region_end(struct am_checker *c, uint32_t slot);
/* Whatever is open ends here. */
void am_region_close(struct am_checker *c, uint32_t slot);
/* Every open region loses what it reaches, save itself. */
void am_reach_forget(struct am_checker *c);
/* The access at hand comes after `stamp` (of another thread, on the bytes `mask` of `key`). */
void am_edge_add(struct am_checker *c, struct am_now *now, const struct am_stamp *stamp, uint64_t key,
		 uint8_t mask);
/* As am_is_covered, exactly. */
bool am_stamp_dominated(const struct am_checker *c, const struct am_stamp *stamp, uint32_t slot);
/* Make the horizon of this slot exact. */
void am_horizon(struct am_checker *c, uint32_t slot);
void am_reach_free(struct am_checker *c);

/* As !am_is_live, exactly. */
static inline bool am_is_stale(struct am_checker *c, uint64_t moment)
{
	const uint32_t slot = AM_SLOT_OF(moment);

	if (moment && c->front[slot].is_low && am_is_live(c, moment))
		am_horizon(c, slot);
	return !am_is_live(c, moment);
}

/* ---- scg_ended.c ---- */

/* Too many threads ended while open regions reach them: merge those that are alike. */
void am_ended_merge(struct am_checker *c);

/* Shared with scg_reach.c. */
struct am_reach *am_reach_new(struct am_checker *c, uint32_t a, uint32_t x, uint64_t first);
void am_slot_release(struct am_checker *c, uint32_t slot);

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

static inline uint32_t am_table_lines(const struct am_checker *c)
{
	return (1u << c->log) + c->over;
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

/* Readers beyond the first, one after the other: *i from 0 on; NULL when there are no more. */
struct am_stamp *am_readers_next(const struct am_checker *c, const struct am_entity *e, uint32_t *i);
/* Did this thread read since `begin`, as a further reader? */
bool am_readers_has(const struct am_checker *c, const struct am_entity *e, uint32_t slot, uint64_t begin);
void am_readers_add(struct am_checker *c, struct am_entity *e, const struct am_stamp *stamp);
void am_readers_drop(struct am_checker *c, struct am_entity *e);
/* Drop them if they are few and stale. */
void am_readers_trim(struct am_checker *c, struct am_entity *e);
/* `to` gets readers of its own, as `from`. False at the memory ceiling: it has none. */
bool am_readers_copy(struct am_checker *c, struct am_entity *to, const struct am_entity *from);
/* Slots of stamps were changed: put them where they are found. */
void am_readers_rehash(struct am_checker *c, struct am_entity *e);
void am_readers_free(struct am_checker *c);

/* ---- scg.c ---- */

/* No thread is at this place: an id that has another. */
static inline void am_recent_clear(struct am_checker *c, uint32_t at)
{
	c->recent[at].id = at ^ 1;
}

/* Any event, by its kind, if that matters at this level. */
void am_event_slowly(struct am_checker *c, const struct am_event *event);

/* ---- scg_access.c ---- */

void am_access_data(struct am_checker *c, uint32_t slot, const struct am_event *event);
/* The same for one that is not the usual case; `home` is that of its first byte. */
void am_access_slowly(struct am_checker *c, uint32_t slot, const struct am_event *event, struct am_entity *home);
void am_access_lock(struct am_checker *c, uint32_t slot, const struct am_event *event);
/* Edges from the accesses that this cell remembers of the bytes `mask` to the one at hand. */
void am_access_edges(struct am_checker *c, struct am_now *now, const struct am_entity *e, uint8_t mask);

static inline void am_access_count(struct am_checker *c, uint32_t slot, uint64_t index)
{
	c->stats.accesses++;
	c->stats.unary += c->front[slot].begin == AM_NEVER;
	c->newest = AM_MOMENT(index, slot);
}

/* ---- scg_block.c ---- */

/* A free comes after all accesses to its block. The bytes become another entity. */
/* A small block is freed: a write that stays until the memory is used again. */
void am_access_freed(struct am_checker *c, uint32_t slot, const struct am_event *event);
void am_access_block(struct am_checker *c, uint32_t slot, const struct am_event *event);
void am_access_erase(struct am_checker *c, uint64_t space, uint64_t from, uint64_t bytes);

/* ---- scg_late.c ---- */

void am_late_mark(struct am_checker *c, uint32_t slot, const struct am_event *event);
void am_late_access(struct am_checker *c, const struct am_event *event);

/* ---- scg_cycle.c ---- */

/* Number of the context, from 1; 0 at the ceiling. */
uint32_t am_context_number(struct am_checker *c, uint64_t context);
/* Number of the place of the vertex' newest region, from 1; 0 at the ceiling. */
uint32_t am_place_number(struct am_checker *c, struct am_region_place place);
void am_context_free(struct am_checker *c);
/* The region at hand reaches `from`, and the access at hand conflicts with it: keep the shortest
 * such cycle of this event. */
void am_cycle_close(struct am_checker *c, struct am_now *now, const struct am_end *from);
void am_cycle_tell(struct am_checker *c);

/* The event is done: one report, if it closed a cycle. */
static inline void am_cycle_report(struct am_checker *c)
{
	if (__builtin_expect(c->found, 0))
		am_cycle_tell(c);
}

/* kind, mode, order and flags of an event at once. */
static inline uint32_t am_what(const struct am_event *e)
{
	uint32_t what;

	_Static_assert(offsetof(struct am_event, kind) % 4 == 0 && offsetof(struct am_event, flags) % 4 == 3, "a word");
	memcpy(&what, &e->kind, sizeof what);
	return what;
}

uint32_t am_context_learn(struct am_checker *c, const struct am_front *v, const struct am_event *e, uint32_t at);

/* Number of the context of an access that this thread does now; 0 at the memory ceiling. */
static inline uint32_t am_context_now(struct am_checker *c, const struct am_front *v, const struct am_event *e)
{
	const uint32_t h = e->site % 1024, what = am_what(e);

	if (__builtin_expect((c->recent_context[h].site ^ e->site) | (c->recent_context[h].place ^ v->place) |
				     (c->recent_context[h].what ^ what), 0))
		return am_context_learn(c, v, e, h);
	return c->recent_context[h].number;
}

static inline uint64_t am_tag(struct am_checker *c, const struct am_front *v, const struct am_event *e)
{
	return (uint64_t)am_context_now(c, v, e) << 32 | v->transaction;
}

/* Find out now->tag; false at the memory ceiling. */
static inline bool am_now_tag(struct am_checker *c, struct am_now *now)
{
	if (!AM_CONTEXT_OF(now->tag))
		now->tag = am_tag(c, &c->front[now->slot], now->event);
	return AM_CONTEXT_OF(now->tag);
}

static inline struct am_end am_now_end(const struct am_now *now)
{
	return (struct am_end){{now->moment, now->event->value, now->tag},
			       now->object,
			       (uint32_t)now->size,
			       now->event->thread};
}

static inline struct am_end am_end_of(const struct am_checker *c, const struct am_stamp *stamp, uint64_t key,
				      uint8_t mask)
{
	const uint64_t word = (key - 1) & ~AM_LOCK_SPACE;
	const unsigned low = (unsigned)__builtin_ctz(mask);
	const struct am_vertex *v = &c->vertex[AM_SLOT_OF(stamp->moment)];
	return (struct am_end){*stamp, (word << 3) + low, 32 - (unsigned)__builtin_clz(mask) - low,
			       v->ghost ? AM_TRANSACTION_OF(stamp->tag) : v->id};
}

#endif
