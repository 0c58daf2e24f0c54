/* SPDX-License-Identifier: MIT */
/*
 * The live checker's contract: events in, cycles out. Implemented by the summarised conflict graph
 * (analyzer/core/scg.c) and by its twin, the full graph (analyzer/core/fullgraph.c).
 */
#ifndef ATOMMON_CHECKER_H
#define ATOMMON_CHECKER_H

#include "event.h"

#include <stddef.h>
#include <string.h>

struct am_mem;

enum am_conflicts { AM_CONFLICTS_DATA, AM_CONFLICTS_LOCKS, AM_CONFLICTS_BOTH, AM_CONFLICTS_AUTO };

/*
 * One end of an edge: an access (or lock operation) as it happened. Of an access that spans several
 * 8-byte words, the older end of an edge may show only the bytes in the word that conflicts.
 */
struct am_access {
	uint64_t index; /* in the merged order */
	/* Of an access that was told late (AM_LATE): the index of the event that told it; `index` is then that of its
	 * thread's mark, not younger than the access. Else 0. */
	uint64_t told;
	uint64_t object;
	uint64_t value;
	uint32_t size;
	uint32_t thread;
	uint32_t site;
	uint32_t region;      /* string id of its outermost region, 0: outside any region */
	uint32_t region_site; /* where that region began */
	uint8_t kind;
	uint8_t mode;
	uint8_t flags;
};

enum am_edge_why {
	AM_EDGE_CONFLICT, /* from and to conflict on a common object, in this order */
	AM_EDGE_PROGRAM,  /* from and to are of one thread, in different transactions */
};

struct am_edge {
	struct am_access from, to;
	uint8_t why;
};

#define AM_CYCLE_MAX 64

/* Of a larger access only the first bytes are looked at, and something counts as forgotten. */
#define AM_ACCESS_MAX (16u << 20)

/*
 * A block that is freed is written by that, and what touches it afterwards meets this write: a use after
 * free. Its bytes are another entity once they are allocated again; those of a block larger than this at
 * once, since nobody could remember so many words.
 */
#define AM_FREED_MAX 512u

/*
 * A cycle: edge[i].to and edge[i+1].from belong to the same transaction; the last edge returns to
 * the first. edge[0].from and edge[n-1].to lie in the region that cannot be serialised (the blamed
 * one). Every edge is real: both accesses happened, in this order, and conflict.
 */
struct am_cycle {
	uint32_t thread;      /* of the blamed region */
	uint32_t region;      /* string id */
	uint32_t region_site; /* where it began */
	uint64_t begin_index;
	uint64_t close_index; /* the event that closed the cycle */
	uint32_t n_edges;
	uint32_t n_inner; /* names of nested regions open in the blamed one at close, outermost first */
	uint32_t inner[8];
	/* How many edges are not told (at least; 0: the cycle is complete), and before which edge they
	 * are missing. With omit_at 0 edge[0].from lies on the way, not in the blamed region. */
	uint32_t omitted, omit_at;
	struct am_edge edge[AM_CYCLE_MAX];
};

/* No more than there is of it: most have two edges, and there is room for many. */
static inline void am_cycle_copy(struct am_cycle *to, const struct am_cycle *from)
{
	memcpy(to, from, offsetof(struct am_cycle, edge) + from->n_edges * sizeof from->edge[0]);
}

typedef void am_cycle_fn(void *ctx, const struct am_cycle *cycle);

struct am_checker_config {
	enum am_conflicts conflicts;
	am_cycle_fn *on_cycle;
	void *ctx;
};

struct am_checker_stats {
	uint64_t events, accesses, regions, unary, cycles;
	uint64_t edges_live, nodes_live, entities_live;
	uint64_t edges_peak, nodes_peak, entities_peak; /* edges: of the summarised graph those kept, also of regions that ended */
	uint64_t bytes_peak;
	uint64_t forgotten; /* entities, edges or accesses dropped at a ceiling */
	uint64_t lost;	    /* events the stream said were lost */
};

struct am_checker;

struct am_checker *am_checker_new(const struct am_checker_config *config, struct am_mem *mem);
void am_checker_event(struct am_checker *checker, const struct am_event *event);
/* The same for many, in order: faster, since it looks ahead. */
void am_checker_events(struct am_checker *checker, const struct am_event *event, size_t n);
void am_checker_stats(const struct am_checker *checker, struct am_checker_stats *stats);
void am_checker_free(struct am_checker *checker);

/* The twin, by the same contract: every transaction stays a node for ever. */
struct am_fullgraph;

struct am_fullgraph *am_fullgraph_new(const struct am_checker_config *config, struct am_mem *mem);
void am_fullgraph_event(struct am_fullgraph *graph, const struct am_event *event);
void am_fullgraph_stats(const struct am_fullgraph *graph, struct am_checker_stats *stats);
void am_fullgraph_free(struct am_fullgraph *graph);

#endif
