/* SPDX-License-Identifier: MIT */
/* What the parts of the live checker know of each other: live.c, live_control.c. */
#ifndef ATOMMON_PRELOAD_LIVE_H
#define ATOMMON_PRELOAD_LIVE_H

#include "atommon/checker.h"
#include "atommon/report.h"

struct am_mem;

/* The files of ATOMMON_SUPPRESSIONS; NULL if there are none. Messages go to the log. */
struct am_suppressions *am_live_suppressions(struct am_mem *mem);
/* ATOMMON_ON_VIOLATION, after the report was written. */
void am_live_react(const struct am_violation *v);
/* ATOMMON_VERBOSE: the settings, at the start. */
void am_live_settings(void);

struct am_live_totals {
	struct am_checker_stats checker;
	struct am_reporter_stats reporter;
	uint64_t events, threads, memory;
};
/* ATOMMON_VERBOSE: one line, or one JSON object, at the end. */
void am_live_summary(const struct am_live_totals *t);

#endif
