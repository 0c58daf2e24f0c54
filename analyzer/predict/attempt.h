/* SPDX-License-Identifier: MIT */
/*
 * Regions that look, prepare and then exchange, if what they looked at is still there; else they look again
 * (a stack without locks). What others did between the look and an exchange that fails breaks nothing: a
 * schedule counts only if the region's last exchange can still succeed as recorded. Tool side.
 */
#ifndef ATOMMON_PREDICT_ATTEMPT_H
#define ATOMMON_PREDICT_ATTEMPT_H

#include "analyzer/predict/engine.h"

/* The last update of a region of the program whose condition compares with what the region read of the same
 * bytes before; AM_CTP_NONE. */
uint32_t am_attempt_of(const struct am_ctp *ctp, uint32_t region);

/* Can the thread of event `attempt` go on to it after the answer's run: at once, or when the others have gone
 * on as far as they can? */
bool am_attempt_succeeds(const struct am_ctp *ctp, const struct am_answer *answer, uint32_t attempt);

#endif
