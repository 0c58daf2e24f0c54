/* SPDX-License-Identifier: MIT */
/*
 * Where a run stands at some moment, told by a few of its events: those whose effect lasts. Locks that are
 * held, waits that go on and the signals since, arrivals at a barrier that is not complete, counts of
 * semaphores, regions that are open. A window of a long run begins with them (its *prologue*): whatever
 * schedule follows is one of the whole run that has all before the window in the recorded order.
 */
#ifndef ATOMMON_PREDICT_WINDOW_H
#define ATOMMON_PREDICT_WINDOW_H

#include "atommon/event.h"

#include "vec.h"

struct am_window {
	VEC(struct am_event) live; /* in recorded order */
};

/* The window moves on past this event. */
void am_window_pass(struct am_window *window, const struct am_event *event);
void am_window_free(struct am_window *window);

#endif
