/* SPDX-License-Identifier: MIT */
/*
 * The direct encoding (Wang et al., section 4), the lazy engine's twin: one formula, satisfiable iff
 * the query is feasible. Integer order variables O(e); every use of a shared variable is a
 * pi-function; locks, semaphores and barriers are variables with guarded assignments, too. Sequential
 * consistency only.
 *
 * Prefixes: the paper relaxes pi-functions behind the last event of a triplet (section 5). Here an
 * integer of its own is the end of the prefix: X_e is O(e) < end, and every constraint is conditional
 * on it: the same for triplets, and it serves the other properties. So an event that is not in the
 * prefix lies behind all that are.
 */
#ifndef ATOMMON_PREDICT_DIRECT_H
#define ATOMMON_PREDICT_DIRECT_H

#include "analyzer/predict/engine_priv.h"

struct am_direct {
	struct am_engine *engine;
	struct am_ctp *ctp;
	struct am_smt *smt;
	int32_t *order; /* O(e) */
	int32_t *x;	/* X_e */
	int32_t *run;	/* executed: X_e and its guard */
	int32_t *node;	/* terms by node */
	uint32_t node_room;
	int32_t *old;	/* pi-function of e: value of its place (accesses) or object (others) before e */
	int32_t *hb;	/* race: happens-before by pair of events; NULL until asked for */
	bool *regular;	/* by object: a lock that each thread takes and gives back in turn */
	uint32_t clauses;
};

/* direct.c: order, values */
int32_t am_direct_node(struct am_direct *d, uint32_t node); /* width 1: a literal */
int32_t am_direct_before(struct am_direct *d, uint32_t a, uint32_t b);
int32_t am_direct_old(struct am_direct *d, uint32_t e);
int32_t am_direct_and(struct am_direct *d, const int32_t *lits, uint32_t count);
int32_t am_direct_or(struct am_direct *d, const int32_t *lits, uint32_t count);
void am_direct_assert(struct am_direct *d, int32_t lit);
void am_direct_clause(struct am_direct *d, const int32_t *lits, uint32_t count);

#define AM_DIRECT_AND(d, ...)                                                                      \
	am_direct_and(d, (const int32_t[]){ __VA_ARGS__ },                                         \
		      sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t))
#define AM_DIRECT_CLAUSE(d, ...)                                                                   \
	am_direct_clause(d, (const int32_t[]){ __VA_ARGS__ },                                      \
			 sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t))

/* direct_sync.c: locks, semaphores, barriers, conditions */
enum { AM_DIRECT_SYNC_WIDTH = 32 };
uint32_t am_direct_sync_variable(const struct am_ctp_event *e); /* AM_CTP_NONE: none */
int32_t am_direct_sync_initial(struct am_direct *d, const struct am_ctp_event *e);
int32_t am_direct_sync_value(struct am_direct *d, uint32_t e); /* what e leaves there */
bool am_direct_takes(const struct am_ctp_event *e);		/* a lock, exclusively */
void am_direct_sync(struct am_direct *d);			/* all constraints */

/* direct_props.c: the property as a formula */
int32_t am_direct_property(struct am_direct *d, const struct am_query *query);

#endif
