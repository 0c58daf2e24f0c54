/* SPDX-License-Identifier: MIT */
/*
 * Reads in vain (vain.h) that carry an expression. If nothing that their thread did after its next step
 * depends on what they read, the iteration they belong to may as well not have run: each becomes a
 * definition of its expression by the recorded value. So it does if the thread's next step is a compare-and-exchange that
 * expects what was read: then that one sees to it. Otherwise it stays a read: what was read has had an effect
 * after all. If a later compare-and-exchange expects it, other steps between the two, it is *vouched* for (AM_ORDER_AGAIN): it must
 * still read its value where it stands, but whatever others did until the exchange found that value again breaks nothing,
 * as live (vain.h).
 */
#ifndef ATOMMON_PREDICT_UNUSED_H
#define ATOMMON_PREDICT_UNUSED_H

#include "atommon/event.h"

#include <stdbool.h>

/* `mode` of a read that was in vain. */
enum { AM_UNUSED_MARK = 1 };

/* Is this a read that an exchange vouches for, or an access to a word that threads wait on (waited.h)? Of events that went through
 * am_unused_replace. */
static inline bool am_is_vouched(const struct am_event *e)
{
	return (e->kind == AM_READ || e->kind == AM_WRITE || e->kind == AM_UPDATE) && e->order & AM_ORDER_AGAIN;
}

/* Events in their order; no mark is left. */
void am_unused_replace(struct am_event *events, uint32_t n);

#endif
