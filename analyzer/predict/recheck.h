/* SPDX-License-Identifier: MIT */
/*
 * Regions that read, then ask whether what they read first is still so, and read again if not: sequence locks, a second
 * look under another lock. The question is a condition (a branch, or a read that a branch follows at once) on two reads of the same
 * bytes by the region. If the answer is no, what was read from the first of the two on was in vain: a schedule that closes its
 * cycle by such a read counts only if it goes on to the question and the answer is the recorded one. Tool side.
 */
#ifndef ATOMMON_PREDICT_RECHECK_H
#define ATOMMON_PREDICT_RECHECK_H

#include "analyzer/predict/engine.h"

/*
 * Asks for a schedule that breaks the region of *q (serial), and in which the region gets past its questions as above; q->too is
 * the last of these that was demanded. True: there is none in this program, all others break it by reads in vain alone.
 */
bool am_recheck_ask(struct am_engine *engine, const struct am_ctp *ctp, struct am_query *q,
		    struct am_answer *answer, uint64_t *rounds);

#endif
