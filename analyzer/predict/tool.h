/* SPDX-License-Identifier: MIT */
/* atommon-predict as a tool: what was asked for, and what there is to tell. */
#ifndef ATOMMON_PREDICT_TOOL_H
#define ATOMMON_PREDICT_TOOL_H

#include "jobs.h"
#include "load.h"

enum { AM_STATUS_NONE, AM_STATUS_PREDICTED, AM_STATUS_BAD, AM_STATUS_UNDECIDED };

struct am_predict_tool {
	const char *path, *atomic, *region, *output, *witness_dir;
	const char *suppressions[64];
	unsigned n_suppressions;
	bool is_auto, stats, three, all;
	enum am_report_format format;
	struct am_predict_options options;
	uint32_t jobs, shard, shards;
	uint64_t total; /* steps for all regions, 0: no such limit */
	FILE *out;
	struct am_loaded loaded;
	struct am_predict *predict;
	struct am_region_result *results;
	uint64_t count[AM_OUT_SKIPPED + 1], how[AM_HOW_SOLVER + 1];
	uint64_t reported;
};

/* tool_options.c: 0, or -1 if all was said (--help), or a status. */
int am_tool_parse(struct am_predict_tool *j, int argc, char **argv);

/* tool_report.c */
bool am_tool_report(struct am_predict_tool *j); /* each prediction, in the chosen format */
void am_tool_summarise(struct am_predict_tool *j, FILE *out);
void am_tool_stats(struct am_predict_tool *j, FILE *out, double seconds);

#endif
