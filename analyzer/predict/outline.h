/* SPDX-License-Identifier: MIT */
/*
 * What must be known of a whole run that is too long to be held at once: which words of memory threads
 * share, and under which locks. Filled by one pass over the trace; grows with the memory that the
 * program touches, not with the length of the run.
 *
 * Words are 8 bytes, whatever lives there one after the other counts as one: a word may so be called
 * shared, or a lock be thought not to guard it, where a closer look would know better; never the
 * other way round.
 */
#ifndef ATOMMON_PREDICT_OUTLINE_H
#define ATOMMON_PREDICT_OUTLINE_H

#include "atommon/event.h"

struct am_outline;

struct am_outline *am_outline_new(void);
void am_outline_free(struct am_outline *outline);
void am_outline_add(struct am_outline *outline, const struct am_event *event);

/* Do two threads touch a word of this access, one of them writing? */
bool am_outline_is_shared(const struct am_outline *outline, const struct am_event *access);

/* Was every access of the run to the words of this one made by a thread that held the lock alone? */
bool am_outline_guards(const struct am_outline *outline, const struct am_event *access, uint64_t lock);

#endif
