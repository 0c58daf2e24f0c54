/* SPDX-License-Identifier: MIT */
/*
 * What was told of a thread's regions by others, or afterwards (event.h, `told`): each event once, as
 * an event of that thread. A stage between the merge and the regions; live only.
 */
#ifndef ATOMMON_TOLD_H
#define ATOMMON_TOLD_H

#include "atommon/event.h"

struct am_mem;
struct am_told;

/* NULL at the memory ceiling. */
struct am_told *am_told_new(struct am_mem *mem);
void am_told_free(struct am_told *t);

/* Asked for told, mark and thread-end: the event to go on with, `ev` or *room; NULL: it was told before. */
const struct am_event *am_told_event(struct am_told *t, const struct am_event *ev, struct am_event *room);

/* What is told of an access beside its address: of an event's size, flags and order. Of a lock operation its mode is. */
static inline uint32_t am_told_access(unsigned size, uint8_t flags, uint8_t order)
{
	return size | (uint32_t)flags << 8 | (uint32_t)order << 16;
}

static inline bool am_told_is_asked(const struct am_event *ev)
{
	return ev->kind >= AM_MARK || ev->kind == AM_THREAD_END;
}

#endif
