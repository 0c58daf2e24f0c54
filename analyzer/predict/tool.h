/* SPDX-License-Identifier: MIT */
/* atommon-predict as a tool: what was asked for, and what there is to tell. */
#ifndef ATOMMON_PREDICT_TOOL_H
#define ATOMMON_PREDICT_TOOL_H

#include "jobs.h"
#include "load.h"

#include "atommon/report.h"

enum { AM_STATUS_NONE, AM_STATUS_PREDICTED, AM_STATUS_BAD, AM_STATUS_UNDECIDED };

struct am_predict_tool {
	const char *path, *atomic, *region, *output, *witness_dir;
	const char *suppressions[64];
	unsigned n_suppressions;
	bool is_auto, stats, three, all;
	enum am_report_format format;
	struct am_predict_options options;
	uint32_t jobs, shard, shards, window;
	uint64_t total; /* steps for all regions, 0: no such limit */
	FILE *out;
	struct am_loaded loaded;
	struct am_suppressions *suppressed;
	struct am_reporter *reporter;

	/* of the window */
	struct am_predict *predict;
	struct am_region_result *results;

	/* of all windows so far */
	struct am_known known;
	uint64_t regions, windows, lost, regions_lost;
	uint64_t count[AM_OUTCOMES], how[AM_HOW_SOLVER + 1];
	struct am_tool_sums {
		uint64_t steps, rounds, interleavings, segments, segment_events;
	} sum;
	struct am_predict_counts counts;
	struct am_tool_list {
		FILE *to;
		char *text;
		size_t size;
		uint32_t n;
	} undecided, proved; /* lines */
	uint64_t reported;
};

/* tool_options.c: 0, or -1 if all was said (--help), or a status. */
int am_tool_parse(struct am_predict_tool *j, int argc, char **argv);

/* tool_report.c */
bool am_tool_report_begin(struct am_predict_tool *j);
void am_tool_report_window(struct am_predict_tool *j); /* its predictions, in the chosen format */
void am_tool_report_end(struct am_predict_tool *j);
void am_tool_see(void *tool, const struct am_event *event); /* each event of the trace, for names */

/* tool_sum.c */
void am_tool_sum_window(struct am_predict_tool *j);
void am_tool_count(struct am_predict_tool *j); /* candidates of the window; may take its time */
void am_tool_summarise(struct am_predict_tool *j, FILE *out);
void am_tool_stats(struct am_predict_tool *j, FILE *out, double seconds);

#endif
