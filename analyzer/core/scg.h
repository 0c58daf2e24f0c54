/*
 * Inside the summarised conflict graph: its data structures, shared by scg.c (events), scg_reach.c
 * (vertices and edges), scg_table.c (entities) and scg_cycle.c (telling a cycle). Everybody else
 * uses include/atommon/checker.h. Runs in the drain thread of somebody else's process and in tools:
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
 *   R1  bit a of anc[X] is set iff first(a, X) is defined; then the vertex a has an open region.
 *   R2  a region that is open in thread T has first(T, T) = the moment of its begin.
 *   R3  closure: if a reaches the open region of X, first(a, Y) <= first(X, Y) wherever defined.
 *   R4  what no open region reaches is never reached again: such accesses may be dropped.
 */
/* SPDX-License-Identifier: MIT */
#ifndef ATOMMON_CORE_SCG_H
#define ATOMMON_CORE_SCG_H

#include "map.h"
#include "atommon/checker.h"
#include "atommon/mem.h"

#include <stddef.h>

/*
 * A moment: (index in the merged order + 1) << 16, the slot of its thread in the low bits. Moments
 * of one thread compare as plain numbers. Zero: never.
 */
#define AM_SLOT_OF(moment) ((uint32_t)((moment) & 0xffff))
#define AM_MOMENT(index, slot) ((((uint64_t)(index) + 1) << 16) | (slot))
#define AM_INDEX_OF(moment) (((moment) >> 16) - 1)
#define AM_NEVER UINT64_MAX
enum { AM_VERTICES_MAX = 0xffff };
#define AM_INDEX_MAX ((UINT64_C(1) << 48) - 3)

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
	uint64_t size;
};

/* first(a, x), and the last edge of a path from a to that transaction of x. */
struct am_reach {
	uint64_t first;
	uint32_t x;
	struct am_end from, to;
};

/* A live thread, or one that ended and is still reached by an open region. */
struct am_vertex {
	uint64_t begin; /* moment at which the open region began; AM_NEVER outside regions */
	uint64_t newest; /* moment of its newest access */
	struct am_reach *reach; /* reach[0] is the vertex itself, while its region is open */
	uint16_t *place;	/* place[x]: which reach is that of x; valid if anc[x] says so */
	uint32_t n_reach, cap_reach, cap_place;
	uint32_t id, depth;
	uint32_t transaction, region, region_site;
	uint64_t begin_index;
	uint32_t inner[8];
	bool used, ended;
	bool muted; /* events were lost: its data accesses are not trusted */
	bool blind; /* its beginning was missed at the memory ceiling: nothing is known of its regions */
};

/* The bytes `mask` of one 8-byte word, with a common history. One cache line. */
struct am_entity {
	uint64_t key; /* word + 1, 0: empty */
	struct am_stamp write, read;
	uint32_t more; /* reads by further threads: index into readers, 0 none */
	uint32_t mask : 8, kept_at : 24; /* kept_at: scratch of purges */
};

/* Reads of one entity by many threads: open addressing by slot. */
struct am_readers {
	struct am_stamp *at;
	uint32_t cap, n;
	uint32_t next_free;
};

/* Where and what an access is; comes from program text, so there are few of them. */
struct am_context {
	uint64_t where; /* site, region << 32 */
	uint64_t what;	/* region_site, kind << 32, mode << 40, flags << 48 */
};

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
	bool starved; /* there was no memory for some thread */

	/* vertices */
	struct am_vertex *vertex;
	uint64_t *anc;	    /* anc + slot * stride: open regions that reach the thread's present */
	uint64_t *horizon;  /* scratch of purges */
	uint32_t cap, stride; /* slots, words per row */
	uint32_t high, words; /* slots in use lie below high; words that hold them */
	uint32_t n_open, n_ended;
	uint32_t next_transaction;
	struct am_map slot_of; /* thread id + 1 -> slot + 1 */
	struct {
		uint32_t id, slot;
	} recent[256];

	/* entities */
	struct am_entity *table;
	struct am_entity *scratch; /* of purges */
	uint32_t log, n_entities, limit;
	struct am_readers *readers;
	uint32_t n_readers, cap_readers, free_readers;
	struct am_context *context;
	uint32_t n_contexts, cap_contexts;
	uint32_t *context_at;
	struct {
		struct am_context context;
		uint32_t number;
	} recent_context[256];

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
	const uint64_t *anc = am_anc(c, slot);
	uint64_t any = 0;

	for (uint32_t w = 0; w < c->words; w++)
		any |= anc[w];
	return any;
}

/* first(a, x) and its edge; only if a is in anc[x]. */
static inline struct am_reach *am_reach_of(const struct am_checker *c, uint32_t a, uint32_t x)
{
	struct am_vertex *v = &c->vertex[a];
	return a == x ? v->reach : &v->reach[v->place[x]];
}

/* Slot of the event's thread; made if unknown. UINT32_MAX at the memory ceiling. */
uint32_t am_vertex_get(struct am_checker *c, const struct am_event *event);
void am_vertex_end(struct am_checker *c, uint32_t thread);
void am_region_open(struct am_checker *c, uint32_t slot, const struct am_event *event);
void am_region_close(struct am_checker *c, uint32_t slot);
/* Every open region loses what it reaches, save itself. */
void am_reach_forget(struct am_checker *c);
/* The access at hand comes after `stamp` (of another thread, on the bytes `mask` of `key`). */
void am_edge_add(struct am_checker *c, struct am_now *now, const struct am_stamp *stamp, uint64_t key,
		 uint8_t mask);
/* Is whatever must come before this access also before the present of `slot`? (see R3) */
bool am_stamp_dominated(const struct am_checker *c, const struct am_stamp *stamp, uint32_t slot);
/* horizon[x]: earlier accesses of x are reached by no open region. */
void am_horizon(struct am_checker *c);
void am_reach_free(struct am_checker *c);

/* ---- scg_table.c ---- */

bool am_table_init(struct am_checker *c);
void am_table_free(struct am_checker *c);
void am_table_clear(struct am_checker *c);
/* One access to the bytes `mask` of one word: edges, then the entity remembers it. */
void am_table_touch(struct am_checker *c, struct am_now *now, uint64_t key, uint8_t mask);
/* The bytes become another entity; with a now, that access (a free) first comes after all of them. */
void am_table_erase(struct am_checker *c, struct am_now *now, uint64_t space, uint64_t from,
		    uint64_t bytes);

/* ---- scg_cycle.c ---- */

/* Number of the context, from 1; 0 at the ceiling. */
uint32_t am_context_number(struct am_checker *c, const struct am_context *x);
void am_context_free(struct am_checker *c);
/* The region at hand reaches `from`, and the access at hand conflicts with it: keep the shortest
 * such cycle of this event. */
void am_cycle_close(struct am_checker *c, struct am_now *now, const struct am_end *from);

/* Find out now->tag; false at the memory ceiling. Contexts count from 1, so no tag is 0. */
static inline bool am_now_tag(struct am_checker *c, struct am_now *now)
{
	if (now->tag)
		return true;
	const struct am_event *e = now->event;
	const struct am_vertex *v = &c->vertex[now->slot];
	const bool is_open = now->begin != AM_NEVER;
	const uint32_t region = is_open ? v->region : 0;
	const struct am_context x = {
		(uint64_t)region << 32 | e->site,
		(uint64_t)e->flags << 48 | (uint64_t)e->mode << 40 | (uint64_t)e->kind << 32 |
			(is_open ? v->region_site : 0),
	};
	const uint32_t h = (e->site + region * 7 + e->kind * 31) & 255;
	uint32_t number = c->recent_context[h].number;
	if (__builtin_expect(c->recent_context[h].context.where != x.where ||
				     c->recent_context[h].context.what != x.what,
			     0)) {
		number = am_context_number(c, &x);
		if (!number)
			return false;
		c->recent_context[h].context = x;
		c->recent_context[h].number = number;
	}
	now->tag = (uint64_t)number << 32 | (is_open ? v->transaction : 0);
	return true;
}

/* Field by field: a wide copy of what was just written in parts would stall. */
static inline void am_now_stamp(const struct am_now *now, struct am_stamp *stamp)
{
	stamp->moment = now->moment;
	stamp->value = now->event->value;
	stamp->tag = now->tag;
}

static inline struct am_end am_now_end(const struct am_now *now)
{
	return (struct am_end){{now->moment, now->event->value, now->tag}, now->object, now->size};
}

static inline struct am_end am_end_of(const struct am_stamp *stamp, uint64_t key, uint8_t mask)
{
	const uint64_t word = (key - 1) & ~AM_LOCK_SPACE;
	const unsigned low = (unsigned)__builtin_ctz(mask);
	return (struct am_end){*stamp, (word << 3) + low,
			       (unsigned)__builtin_popcount(mask)};
}

#endif
