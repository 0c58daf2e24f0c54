/* SPDX-License-Identifier: MIT */
/*
 * What every run keeps: the part of program order that the memory model keeps, fork, join, explicit
 * orders; and its transitive closure, must-happen-before. Pure functions over the program.
 */
#ifndef ATOMMON_PREDICT_MUST_H
#define ATOMMON_PREDICT_MUST_H

#include "analyzer/predict/engine.h"

struct am_must {
	const struct am_ctp *ctp;
	enum am_model model;
	/* direct edges a -> b, grouped by a: out[first[a] .. first[a + 1]) */
	uint32_t *out, *first;
	uint32_t *clock;    /* sc: by event and thread: how many of its events come before */
	uint64_t *bits;	    /* others: closure, row per event */
	uint32_t words;
	bool too_large;	    /* closure not computed: nothing but direct edges is known */
	bool *never;	    /* by event: lies on a cycle of demands, cannot happen */
};

struct am_must_edges {
	struct am_ctp_edge *list;
	uint32_t count, room;
};

void am_must_init(struct am_must *m, const struct am_ctp *ctp, enum am_model model);
/* The same, and the orders that values force (sc). No happens-before in the sense of a race. */
void am_must_init_with_values(struct am_must *m, const struct am_ctp *ctp, enum am_model model);
void am_must_clear(struct am_must *m);
/* In every run in which both happen a is before b; if b happens, so has a. */
bool am_must_before(const struct am_must *m, uint32_t a, uint32_t b);
/* Does the model keep the program order of a and b (a earlier in the same thread)? */
bool am_must_keeps(const struct am_ctp *ctp, enum am_model model, uint32_t a, uint32_t b);

/* must_value.c: edges from a write to a condition that needs it */
void am_must_by_values(const struct am_ctp *ctp, struct am_must_edges *edges);

#endif
