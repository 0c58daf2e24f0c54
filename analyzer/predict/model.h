/* SPDX-License-Identifier: MIT */
/*
 * From a segment of a recorded run to a concurrent trace program, under one of four models. They
 * differ only in what a read may return without cutting its thread off:
 *
 *  sync   anything: data is ignored. What follows may not be feasible, so the verdict is "potential".
 *  avp    the recorded writer's value. Every write writes a number of its own, every read is followed
 *         by the assumption that it saw the recorded one; a broken assumption ends the thread there,
 *         which is the almost view-preserving set of Sinha et al. (§II.C).
 *  value  the recorded value, whoever wrote it (maximal causal model). Where the trace has expressions,
 *         the assumption stands before the first use of what was read; a read that nothing depends on
 *         may change.
 *  ctp    any value for which the recorded branches, assertions, addresses and calls come out as
 *         recorded; writes are computed by their expressions (Wang et al. §2).
 */
#ifndef ATOMMON_PREDICT_MODEL_H
#define ATOMMON_PREDICT_MODEL_H

#include "ctp.h"
#include "segment.h"

enum am_predict_model { AM_PREDICT_SYNC, AM_PREDICT_AVP, AM_PREDICT_VALUE, AM_PREDICT_CTP };

const char *am_predict_model_name(enum am_predict_model model);

/* The strongest model that the run has the events for. */
enum am_predict_model am_predict_model_strongest(const struct am_run *run);

struct am_program {
	struct am_ctp *ctp;
	uint32_t *region; /* of each region of the run: its region in the program, AM_NONE */
	uint32_t *event;  /* of events low..high-1 of the run: its (first) event in the program */
	uint32_t low, high;
};

/* NULL, or why the segment cannot be expressed (static storage; nothing to free then). Regions that
 * lie within the segment are marked; only the segment's own if `only_own`. */
const char *am_program_build(struct am_program *program, const struct am_index *index,
			   const struct am_segment *segment, enum am_predict_model kind,
			   bool only_own);
void am_program_free(struct am_program *program);

/* The event of the run that an event of the program stands for, AM_NONE for assumptions. */
uint32_t am_program_origin(const struct am_program *program, uint32_t ctp_event);

#endif
