/* SPDX-License-Identifier: MIT */
/* Ids of call stacks; see site.c. */
#ifndef ATOMMON_PRELOAD_SITE_H
#define ATOMMON_PRELOAD_SITE_H

#include <stddef.h>
#include <stdint.h>

#include "preload/unwind.h"

/* Id of the stack, the same for the same stack; 0 when the table is full. */
uint32_t am_site_intern(const struct am_frame *frames, size_t n);
void am_site_forget(void);
/* Nothing remembered. */
struct am_lane;
void am_site_clear(struct am_lane *lane);
void am_intern_forget(void);

#endif
