/* SPDX-License-Identifier: MIT */
/*
 * The witness validator: executes a linearisation of a concurrent trace program event by event and
 * confirms values, guards, conditions, locks, order and the property. It knows ctp.h and the form of
 * a query and nothing of how answers are found; it has its own evaluator, its own memory, its own
 * reading of the memory models. A witness that fails here is an internal error, never a report.
 */
#ifndef ATOMMON_PREDICT_VALIDATE_H
#define ATOMMON_PREDICT_VALIDATE_H

#include "analyzer/predict/engine.h"

struct am_validation {
	const char *wrong; /* NULL: the witness is one. Static storage */
	uint32_t at;	   /* wrong: the event where it was noticed, AM_CTP_NONE: at the end */
	/* by event: */
	uint64_t *reads; /* value read */
	uint64_t *old;	 /* accesses: what memory held just before */
	uint64_t *wrote; /* writes, updates: value written */
	uint64_t *where; /* accesses: offset in the object */
	uint8_t *state;	 /* 0 did not happen, 1 executed, 2 skipped */
	bool *failed;	 /* assertions: did not hold */
	bool *forwarded; /* reads: got a byte from the thread's own store buffer */
};

/* True: valid. *v is filled either way; clear it. */
bool am_validate(const struct am_ctp *ctp, enum am_model model, const struct am_query *query,
		 const struct am_answer *answer, struct am_validation *v);
void am_validation_clear(struct am_validation *v);

/* The property alone, on a run that was executed already (validate_prop.c). NULL: it holds. */
const char *am_validate_property(const struct am_ctp *ctp, const struct am_query *query,
				 const struct am_answer *answer, const struct am_validation *v);

#endif
