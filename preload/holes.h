/* SPDX-License-Identifier: MIT */
/* Numbers that were taken and never logged: when it is certain, they are passed over. Consumer only. */
#ifndef ATOMMON_PRELOAD_HOLES_H
#define ATOMMON_PRELOAD_HOLES_H

#include <stdbool.h>
#include <stdint.h>

struct am_merge;

/* Between two passes. True: something waits in the merge, look again before long. */
bool am_holes_look(struct am_merge *merge, uint64_t now_ms);
void am_holes_forget(void);

extern uint32_t am_holes_looks; /* for tests */

#endif
