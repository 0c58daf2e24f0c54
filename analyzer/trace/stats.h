/* SPDX-License-Identifier: MIT */
/* Counts of a trace: by kind, thread, lock and region. Tools only. */
#ifndef ATOMMON_TRACE_STATS_H
#define ATOMMON_TRACE_STATS_H

#include "analyzer/trace/source.h"

struct am_stats;

/* A name for an address, or NULL. */
typedef const char *am_stats_name_fn(void *ctx, uint64_t address);

struct am_stats *am_stats_new(void);
/* False: out of memory. */
bool am_stats_event(struct am_stats *s, const struct am_event *event);
void am_stats_print(const struct am_stats *s, FILE *out, const struct am_source *source,
		    am_stats_name_fn *name, void *ctx);
void am_stats_free(struct am_stats *s);

#endif
