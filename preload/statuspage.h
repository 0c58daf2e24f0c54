/* SPDX-License-Identifier: MIT */
/* The library's side of the page shared with `atommon run`: see include/atommon/statuspage.h. */
#ifndef ATOMMON_PRELOAD_STATUSPAGE_H
#define ATOMMON_PRELOAD_STATUSPAGE_H

#include "atommon/statuspage.h"

/* Somewhere to count: the shared page, or a private one that nobody reads. */
struct am_statuspage *am_statuspage(void);
void am_statuspage_add(uint64_t *counter, uint64_t n);
void am_statuspage_trace(const char *path);

#endif
