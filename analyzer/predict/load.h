/* SPDX-License-Identifier: MIT */
/*
 * A trace for the predictor: the run with the regions chosen, its tables, and what the recorded run itself
 * already breaks. A trace of at most `limit` events is one run. A longer one is read twice: first for
 * its outline, then in windows of that size that overlap by half, without the accesses to memory that one
 * thread has to itself. Each region is asked about in the window in which it has a quarter
 * of the window before it and behind it.
 */
#ifndef ATOMMON_PREDICT_LOAD_H
#define ATOMMON_PREDICT_LOAD_H

#include "outline.h"
#include "run.h"

#include "analyzer/trace/source.h"
#include "analyzer/trace/symbols.h"
#include "atommon/mem.h"
#include "atommon/merge.h"
#include "atommon/report.h"

struct am_loaded {
	struct am_source *source;
	struct am_symbols *symbols;
	struct am_mem mem;
	struct am_tables tables; /* the source's, with names of functions added */
	VEC(char *) names;	 /* added ones */
	VEC(const char *) strings;
	VEC(struct am_cycle) observed; /* so far */
	uint64_t n_observed;
	bool has_accesses, has_functions;
	char error[AM_SOURCE_ERROR_MAX];

	/* the window */
	struct am_run run;
	uint64_t core_from, core_to; /* regions that begin at these places of the trace are its own */
	struct am_outline *outline;  /* NULL: the run is whole */
	struct am_reading *reading;
};

/* `atomic` as ATOMMON_ATOMIC; NULL: what was chosen when the run was recorded, as far as the trace
 * tells (marked regions, and functions that a glob had named). False: error[] says why. */
bool am_loaded_open(struct am_loaded *l, const char *path, const char *atomic, uint32_t limit);
void am_loaded_close(struct am_loaded *l);

/* Was the last window the last one? */
bool am_loaded_is_over(const struct am_loaded *l);

/* The next window, or the whole run, into l->run. `seen` is shown each event once, before that. False: there
 * is none, or error[] says why. */
bool am_loaded_next(struct am_loaded *l, am_event_fn *seen, void *ctx);

static inline bool am_loaded_is_own(const struct am_loaded *l, const struct am_run_region *region)
{
	return region->begin_index >= l->core_from && region->begin_index < l->core_to;
}

/* Was this region broken in the recorded run? */
bool am_loaded_is_observed(const struct am_loaded *l, uint32_t region);

/* "function file:line" of a site, "" if unknown. */
const char *am_loaded_site(void *loaded, uint32_t site);
const char *am_loaded_string(const struct am_loaded *l, uint32_t id);

#endif
