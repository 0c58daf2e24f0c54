/* SPDX-License-Identifier: MIT */
/*
 * Reads in vain (vain.h) that carry an expression. If nothing that their thread did after its next step
 * depends on what they read, the iteration they belong to may as well not have run: each becomes a
 * definition of its expression by the recorded value. So it does if the thread's next step is a compare-and-exchange that
 * expects what was read: then that one sees to it. Otherwise it stays a read like any other: what was read has had an effect
 * after all.
 */
#ifndef ATOMMON_PREDICT_UNUSED_H
#define ATOMMON_PREDICT_UNUSED_H

#include "atommon/event.h"

/* `mode` of a read that was in vain. */
enum { AM_UNUSED_MARK = 1 };

/* Events in their order; no mark is left. */
void am_unused_replace(struct am_event *events, uint32_t n);

#endif
