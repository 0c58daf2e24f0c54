/* SPDX-License-Identifier: MIT */
/*
 * Where reports go: standard error, a file, or nowhere. A report is collected whole and written in
 * one piece. Drain thread only.
 */
#ifndef ATOMMON_PRELOAD_OUTPUT_H
#define ATOMMON_PRELOAD_OUTPUT_H

#include "atommon/report.h"

struct am_mem;

/* `log`: stderr, none, or a path (expanded already). Call it before the program has threads: it
 * looks at the environment and at descriptor 2. */
void am_output_init(const char *log, struct am_mem *mem);
struct am_style am_output_style(void);
void am_output_write(void *ctx, const char *bytes, size_t n); /* collect */
void am_output_flush(void *ctx);			      /* write what was collected */
/* One line "atommon: text", at once. */
void am_output_line(const char *text);

#endif
