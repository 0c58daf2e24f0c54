/*
 * Inside the classic conflict graph: its data structures, shared by fullgraph.c (events), fullgraph_nodes.c
 * (transactions, edges, cycles), fullgraph_words.c (accesses by word) and fullgraph_late.c (accesses told late).
 * Everybody else uses include/atommon/checker.h. fullgraph.c tells what the graph is.
 */
/* SPDX-License-Identifier: MIT */
#ifndef ATOMMON_CORE_FULLGRAPH_H
#define ATOMMON_CORE_FULLGRAPH_H

#include "map.h"
#include "atommon/checker.h"
#include "atommon/mem.h"

#include <stddef.h>
#include <string.h>

#define AM_FULL_NONE UINT32_MAX
#define AM_FULL_LOCKS (UINT64_C(1) << 63)

struct am_full_node {
	uint32_t out;	   /* first edge, AM_FULL_NONE */
	uint32_t era;	   /* edges never lead from one era to another */
	uint32_t seen;	   /* search that reached it */
	uint32_t via;	   /* edge by which that search reached it */
	uint32_t thread; /* which of g->threads: a thread that ended never comes back */
	uint32_t region, region_site;
	uint64_t begin;
};

struct am_full_arc {
	uint32_t source, target, next;
	struct am_edge edge;
};

struct am_full_entry { /* one access in the list of its word */
	uint32_t node, next;
	uint8_t mask;
	bool writes;
	uint32_t commutes; /* with those of the same number (am_commutes); 0: with none */
	struct am_access access;
};

struct am_full_mark {
	uint32_t number, node, older; /* of the same thread, AM_FULL_NONE */
};

struct am_full_thread {
	uint32_t id;
	uint32_t node; /* of the open region, AM_FULL_NONE outside */
	uint32_t last; /* newest transaction that has an access, AM_FULL_NONE */
	uint32_t depth;
	bool muted;		 /* events were lost: its accesses are not trusted */
	struct am_access newest; /* the newest access, of `last` */
	uint32_t inner[8];
};

struct am_full_vec {
	void *at;
	uint32_t n, cap;
};

struct am_fullgraph {
	struct am_checker_config config;
	struct am_mem *mem;
	struct am_checker_stats stats;
	struct am_full_vec nodes, arcs, entries, threads, queue, mark_list;
	struct am_map words;	/* word + 1 -> first entry + 1 */
	struct am_map thread_of; /* id + 1 -> index + 1 */
	struct am_map pairs;	/* source << 32 | target, + 1 */
	struct am_map marks;	/* thread + 1 -> its newest mark + 1 */
	uint32_t era, search;
	bool data, locks, stopped;
	struct am_cycle cycle;
};

#define NODE(g, i) (&((struct am_full_node *)(g)->nodes.at)[i])
#define ARC(g, i) (&((struct am_full_arc *)(g)->arcs.at)[i])
#define MARK(g, i) (&((struct am_full_mark *)(g)->mark_list.at)[i])
#define ENTRY(g, i) (&((struct am_full_entry *)(g)->entries.at)[i])

/* ---- fullgraph.c ---- */

/* Do accesses count? With AM_CONFLICTS_AUTO from the first one on. */
bool am_full_wants_data(struct am_fullgraph *g);

/* ---- fullgraph_nodes.c ---- */

/* One more element, zeroed; without memory the graph is stopped. */
void *am_full_push(struct am_fullgraph *g, struct am_full_vec *v, size_t bytes);
/* A new transaction of the thread. Its program edge comes with its first access. */
uint32_t am_full_node_new(struct am_fullgraph *g, const struct am_full_thread *t, const struct am_event *ev);
struct am_access am_full_access(const struct am_fullgraph *g, uint32_t node, const struct am_event *ev);
bool am_full_add_arc(struct am_fullgraph *g, uint32_t source, uint32_t target, const struct am_edge *edge);
bool am_full_has_arc(const struct am_fullgraph *g, uint32_t source, uint32_t target);
/* Program order: the transaction before it in its thread comes first. */
void am_full_program_edge(struct am_fullgraph *g, struct am_full_thread *t, uint32_t node, const struct am_access *access);
/* Which nodes does this one reach? Marks them with g->search. */
void am_full_search(struct am_fullgraph *g, uint32_t start);
/* How many edges away, by that search. */
uint32_t am_full_distance(const struct am_fullgraph *g, uint32_t node);
void am_full_report(struct am_fullgraph *g, const struct am_full_thread *t, const struct am_full_entry *closing,
		    const struct am_access *access);

/* ---- fullgraph_words.c ---- */

/* An access of these bytes; `space` tells data and locks apart. */
void am_full_touch(struct am_fullgraph *g, struct am_full_thread *t, const struct am_event *ev, uint64_t space,
		   uint64_t from, uint64_t bytes, bool writes);
/* The bytes are another entity from now on. */
void am_full_erase(struct am_fullgraph *g, uint64_t space, uint64_t from, uint64_t bytes);
/* Which bytes of this word lie in [from, from + bytes)? */
uint8_t am_full_mask(uint64_t word, uint64_t from, uint64_t bytes);

/* ---- fullgraph_late.c ---- */

void am_full_on_mark(struct am_fullgraph *g, struct am_full_thread *t, const struct am_event *ev);
void am_full_on_late(struct am_fullgraph *g, const struct am_event *ev);

#endif
