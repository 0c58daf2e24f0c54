/* SPDX-License-Identifier: MIT */
/*
 * The direct encoding (Wang et al., section 4), the lazy engine's twin: one formula, satisfiable iff
 * the query is feasible. Integer order variables O(e); every use of a shared variable is a
 * pi-function; locks, semaphores and barriers are variables with guarded assignments, too. Sequential
 * consistency only.
 *
 * Prefixes: the paper relaxes pi-functions behind the last event of a triplet (section 5). Here X_e
 * says that e is in the prefix, and every constraint is conditional on it: the same for triplets, and
 * it serves the other properties.
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
	uint32_t clauses;
};

void am_direct_build(struct am_direct *d, struct am_engine *engine);
void am_direct_clear(struct am_direct *d);
int32_t am_direct_node(struct am_direct *d, uint32_t node); /* width 1: a literal */
int32_t am_direct_before(struct am_direct *d, uint32_t a, uint32_t b);
int32_t am_direct_old(struct am_direct *d, uint32_t e);
int32_t am_direct_and(struct am_direct *d, const int32_t *lits, uint32_t count);
int32_t am_direct_or(struct am_direct *d, const int32_t *lits, uint32_t count);
void am_direct_assert(struct am_direct *d, int32_t lit);
void am_direct_clause(struct am_direct *d, const int32_t *lits, uint32_t count);

/* direct_props.c: the property as a formula */
int32_t am_direct_property(struct am_direct *d, const struct am_query *query);

#endif
