/* SPDX-License-Identifier: MIT */
/* What a prediction tells beyond its cycle: what moved, and the schedule file for a forced re-run. */
#ifndef ATOMMON_PREDICT_SCHEDULE_H
#define ATOMMON_PREDICT_SCHEDULE_H

#include "predict.h"

#include "atommon/tables.h"

#include <stdio.h>

/* One sentence: which events of the cycle run elsewhere than in the recording. Into buf. */
void am_schedule_moved(const struct am_run *run, const struct am_region_result *r,
		       const struct am_cycle *cycle, char *buf, size_t size);

struct am_schedule_head {
	const char *trace;  /* path */
	const char *id;	    /* AV-... */
	const char *region; /* name */
	const char *model;
};

/* Words for a site; "" if unknown. */
typedef const char *am_site_fn(void *ctx, uint32_t site);

/* The schedule in the form of doc/schedule-format.md. False on a write error. */
bool am_schedule_write(const struct am_run *run, const struct am_region_result *r,
		       const struct am_schedule_head *head, am_site_fn *site, void *ctx, FILE *out);

#endif
