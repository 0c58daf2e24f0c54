/* SPDX-License-Identifier: MIT */
/* A trace, read whole: the run with the regions chosen, its tables, and what the recorded run itself
 * already breaks. */
#ifndef ATOMMON_PREDICT_LOAD_H
#define ATOMMON_PREDICT_LOAD_H

#include "run.h"

#include "analyzer/trace/source.h"
#include "analyzer/trace/symbols.h"
#include "atommon/mem.h"
#include "atommon/report.h"

struct am_loaded {
	struct am_source *source;
	struct am_symbols *symbols;
	struct am_mem mem;
	struct am_run run;
	struct am_tables tables; /* the source's, with names of functions added */
	VEC(char *) names;	 /* added ones */
	VEC(const char *) strings;
	VEC(struct am_event) events; /* as read, for the reporter */
	VEC(struct am_cycle) observed;
	uint64_t n_observed;
	char error[AM_SOURCE_ERROR_MAX];
};

/* `atomic` as ATOMMON_ATOMIC; NULL: what was chosen when the run was recorded, as far as the trace
 * tells (marked regions, and functions that a glob had named). False: error[] says why. */
bool am_loaded_open(struct am_loaded *l, const char *path, const char *atomic);
void am_loaded_close(struct am_loaded *l);

/* Was this region broken in the recorded run? */
bool am_loaded_is_observed(const struct am_loaded *l, uint32_t region);

/* "function file:line" of a site, "" if unknown. */
const char *am_loaded_site(void *loaded, uint32_t site);
const char *am_loaded_string(const struct am_loaded *l, uint32_t id);

#endif
