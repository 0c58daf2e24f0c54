/* SPDX-License-Identifier: MIT */
/*
 * Slicing: the smaller program that answers a query like the whole one does. Left out are reads whose
 * value nobody uses, writes of locations that nobody reads any more, locks that one thread alone uses,
 * branches that always hold, and, in sc, fences; as far as the property does not ask for them.
 * Sequential consistency only. Tool side.
 */
#ifndef ATOMMON_PREDICT_SLICE_H
#define ATOMMON_PREDICT_SLICE_H

#include "analyzer/predict/engine.h"

struct am_slice {
	struct am_ctp *whole;
	struct am_ctp *ctp; /* finished; owned */
	uint32_t *from;	    /* by event of the slice: event of the whole program */
	uint32_t *to;	    /* by event of the whole: event of the slice, AM_CTP_NONE */
};

void am_slice_make(struct am_slice *s, struct am_ctp *whole, const struct am_query *query);
/* Does the slice for one query also answer the other? */
bool am_slice_serves(const struct am_ctp *whole, const struct am_query *made,
		     const struct am_query *query);
void am_slice_clear(struct am_slice *s);
struct am_query am_slice_query(const struct am_slice *s, const struct am_query *query);
/* A run of the slice as one of the whole program: what was left out goes in again. */
void am_slice_restore(const struct am_slice *s, struct am_answer *answer);

#endif
