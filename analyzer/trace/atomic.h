/* SPDX-License-Identifier: MIT */
/*
 * --atomic for tools that read traces: the stage of atommon/regions.h with names from the trace and
 * from symbols. A section is called after its lock, or after the function that took it; a function
 * region after the function. Names that the trace does not have get string ids of their own.
 */
#ifndef ATOMMON_TRACE_ATOMIC_H
#define ATOMMON_TRACE_ATOMIC_H

#include "analyzer/trace/names.h"
#include "atommon/regions.h"

struct am_atomic;

/* `names` follows the events by itself (am_names_event before am_atomic_event). `atomic` NULL: what was a
 * region when the run was recorded, by mark or by name of the function. Returns NULL: no memory. */
struct am_atomic *am_atomic_new(const char *atomic, const struct am_source *source,
				struct am_names *names, am_event_fn *out, void *ctx);
void am_atomic_event(struct am_atomic *a, const struct am_event *event);
/* The source's tables with the made names added; valid until the next event. */
void am_atomic_tables(struct am_atomic *a, struct am_tables *tables);
void am_atomic_free(struct am_atomic *a);

#endif
