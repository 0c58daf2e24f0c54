/* SPDX-License-Identifier: MIT */
/*
 * Names of addresses, asked of a helper process (atommon-symbolize), so that no debug-information
 * library is ever loaded into the host. Drain thread only.
 */
#ifndef ATOMMON_PRELOAD_SYMBOLIZER_H
#define ATOMMON_PRELOAD_SYMBOLIZER_H

#include "atommon/report.h"

struct am_mem;

/* Remember where the helper is (helper.h) and where memory comes from. Call it before the program has
 * threads. Starts nothing. */
void am_symbolizer_init(const char *path, struct am_mem *mem);

/* To be called now and then while answers are waited for: the helper needs a moment to start. */
void am_symbolizer_meanwhile(void (*fn)(void));

/* What a reporter calls; the helper is started by the first question. */
struct am_symbolizer am_symbolizer_get(void);

/* The process ends: from here on answers are waited for a few seconds in all. Any thread. */
void am_symbolizer_last(void);

/* The helper may go. Also for a forked child, whose helper is the parent's. */
void am_symbolizer_stop(void);

#endif
