/*
 * Inside the summarised conflict graph: its data structures, shared by scg.c (events), scg_many.c (many
 * at a time), scg_access.c (accesses; the usual one in scg_touch.h), scg_table.c (entities), scg_readers.c
 * (their further readers), scg_region.c (open regions; begin and end in scg_turn.h), scg_vertex.c
 * (threads), scg_reach.c (edges), scg_ended.c (threads that ended), scg_block.c (memory that comes and
 * goes), scg_late.c (accesses told late) and scg_cycle.c (telling a cycle). Everybody else uses
 * include/atommon/checker.h. Runs in the drain thread of somebody else's process and in tools: memory
 * only from am_mem, no I/O, no globals, no threads. doc/notes/checker.md has the argument.
 *
 * Farzan & Madhusudan (CAV'08, section 3.1) keep for each active transaction a the edges to other
 * active ones, and the set C(a) of accesses in completed transactions that must come after a. We
 * store C(a) implicitly. All transactions of one thread are ordered, so those that must come after a
 * are, in each thread X, all from a first one on: *first(a, X)*, a moment. An access at moment m of
 * X lies in S or C of a or of what a reaches iff first(a, X) <= m. Hence, for k live threads:
 *   - for each thread X the moments first(a, X), those that are alike together with the set of their a
 *     and the edge that made them (the path back to a follows from these): one edge is recorded once,
 *     however many regions it lets reach X;
 *   - per entity the newest write, and the newest read of each thread since;
 *   - the end of a transaction touches no entity and no other thread: it is not open any more.
 *
 * Invariants (asserted in scg_reach.c):
 *   R1  for an open region a of another thread than X, its bit in anc[X] is set iff first(a, X) is
 *       defined, and then it is in the set of exactly one am_reach of X. Bits of regions that are not
 *       open mean nothing.
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

/*
 * Some open regions a with the same first(a, x) for a thread x, and the last edge of a path from them
 * to that transaction of x; the set of them lies beside it (am_reach_set). For a ghost (scg_ended.c)
 * there is no such edge: from.stamp.moment is 0.
 */
struct am_reach {
	uint64_t first;
	uint32_t next; /* of the same thread, or of the free ones; 0: none */
	uint32_t is_vague; /* another edge may take the place of this one (scg_reach.c) */
	struct am_end from, to;
};

/*
 * Context of an access: where and what it is. Contexts come from program text, so there are few, and
 * they are numbered. Bits 0..5 kind, 6 mode, 7..14 flags, 15..31 place of the region, 32..63 site.
 * A place is where and as what a region begins; place 0 is outside any region.
 */
enum { AM_CONTEXT_MODE = 6, AM_CONTEXT_FLAGS = 7, AM_CONTEXT_PLACE = 15, AM_CONTEXT_SITE = 32 };
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
 * A live thread, or one that ended and is still reached by an open region: what accesses, begins, ends
 * and edges need to know of it. One cache line per slot, so that hundreds of threads fit beside
 * everything else.
 */
struct am_front {
	uint64_t horizon; /* R5 */
	uint64_t begin;	  /* moment at which the open region began; AM_NEVER outside regions */
	uint64_t known;	  /* moment of an access of another thread that it came after: am_is_covered */
	uint64_t begin_index; /* of the newest region's begin, or its end */
	uint64_t newest_first;	    /* of those who reach it, at most */
	uint32_t reach, reach_last; /* these, a list; 0: none */
	uint32_t exact_at;	    /* the horizon was made exact when so many regions had ended */
	uint32_t transaction;	    /* number of the open region; 0 outside */
	uint32_t place;	 /* of the newest region, << AM_CONTEXT_PLACE; 0: there was none */
	uint16_t region; /* bit of the newest region in sets */
	uint16_t depth;	 /* of nested regions */
};
_Static_assert(sizeof(struct am_front) == 64, "one cache line");

/* The rest. */
struct am_vertex {
	struct am_mark *mark; /* by moment */
	uint32_t n_marks, cap_marks;
	uint32_t rising; /* from this one on the marks' numbers never fall, nor leave their block */
	uint32_t id;
	bool muted; /* events were lost: its data accesses are not trusted */
	bool blind; /* something was missed at the memory ceiling: nothing is known of its regions */
	bool used : 1, ended : 1, ghost : 1;
	uint32_t inner[8];
	uint32_t found; /* the mark found last, counted from 1: a guess for the next time */
};
_Static_assert(sizeof(struct am_vertex) == 64, "one cache line");

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

/* An update that commutes with those alike (am_commutes), and so is remembered beside them, as reads are. */
struct am_update {
	struct am_stamp stamp;
	uint64_t alike;
};

struct am_readers {
	struct am_stamp *at;
	struct am_update *update; /* in no order */
	uint32_t cap, n;
	uint32_t cap_updates, n_updates;
	uint32_t next_free;
};

enum { AM_RECENT = 256 };

/* What scg_many.c does with a kind of events: a step, or a turn, or nothing. */
enum am_way { AM_WAY_STEP = 1, AM_WAY_TURN = 2, AM_WAY_ACCESS = 4, AM_WAY_END = 8 };

/* The event at hand. */
struct am_now {
	const struct am_event *event;
	uint64_t moment;
	uint64_t begin; /* of the thread's open region, AM_NEVER outside */
	uint64_t object, size;
	uint64_t tag; /* 0: not yet known */
	uint32_t slot;
	uint32_t commutes; /* with updates of the same number (am_commutes); 0: with none */
	bool writes;
};

struct am_checker {
	struct am_checker_config config;
	struct am_mem *mem;
	struct am_checker_stats stats;
	uint64_t vague; /* begin of the region into which the newest edge leads that may be none (scg_reach.c); 0: there was none */
	bool data, locks;
	uint64_t kinds; /* of events that matter at this level: a bit each */
	uint8_t way[256];    /* by kind, and AM_ORDER_COMMUTES << 2: enum am_way */
	uint64_t newest;     /* moment of the newest access */
	bool starved;	     /* there was no memory for some thread */
	uint32_t met, crowded; /* scg_many.c: accesses beside others', chunks in which these are looked for at once */

	/* vertices */
	struct am_front *front;
	struct am_vertex *vertex;
	uint64_t *anc;	    /* anc + slot * stride: open regions of others that reach the thread's present */
	uint32_t cap, high; /* slots; those in use lie below high */
	uint32_t n_ended, ended_limit;
	struct am_map slot_of; /* thread id + 1 -> slot + 1 */
	struct {
		uint32_t id, slot; /* of thread id, at id % AM_RECENT */
	} recent[AM_RECENT];

	/* open regions: 64 * stride bits, `stride` words per set */
	uint32_t stride;
	uint64_t *open;	    /* those that are open */
	uint64_t *reaching; /* those that are in some set */
	uint64_t *free;	    /* those that are neither; the next one is taken from word free_at on */
	uint64_t *scratch;  /* two sets */
	uint32_t free_at;
	uint64_t n_begun, n_closed;
	struct am_reach *reach;
	uint64_t *reach_set;
	uint32_t cap_reach, free_reach, high_reach; /* those that were ever in use lie below high_reach */

	/* entities: 2^log homes, and behind them lines for what does not fit into its home */
	struct am_entity *table;
	uint32_t log, shift, over; /* over: lines behind the homes */
	uint32_t n_entities, n_free, free_line;
	uint32_t fresh; /* lines from here on were never used: their memory is not touched */
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

#include "scg_cycle.h"
#include "scg_reach.h"
#include "scg_table.h"

#endif
