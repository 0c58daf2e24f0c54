/* SPDX-License-Identifier: MIT */
/*
 * Where a tool gets its events from: a trace file (.atm), the rings of a killed process (.ring,
 *also found beside the trace by itself), the text form, or the STD form of RAPID; which one is
 *found out from the first bytes. Events come one by one in the merged order.
 *
 *	char why[AM_SOURCE_ERROR_MAX];
 *	struct am_source *s = am_source_open("run.atm", NULL, why);
 *	struct am_event e;
 *	int r;
 *	while ((r = am_source_next(s, &e)) > 0)
 *		...
 *	if (r < 0)
 *		fprintf(stderr, "%s\n", am_source_error(s));
 *
 * What a source gives is a run that happened, or the beginning of one. If the file was cut, or the
 * recording ended at a limit, records whose predecessors are missing are left out; lost events at
 *the end say how many. After a kill the rings complete the trace.
 *
 * Memory: tables and expressions of the part read so far, plus the records that cannot go yet. A
 * writer that keeps to AM_ATM_WINDOW (trace.h) holds the latter below 100 MiB. At `reorder_limit` a
 * number that no record carries is taken for lost with its record; if there is none, the file ends
 * in an error there.
 */
#ifndef ATOMMON_TRACE_SOURCE_H
#define ATOMMON_TRACE_SOURCE_H

#include "atommon/event.h"
#include "atommon/expr.h"
#include "atommon/tables.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { AM_SOURCE_ERROR_MAX = 512 };

enum am_source_format { AM_SOURCE_ATM, AM_SOURCE_RING, AM_SOURCE_TEXT, AM_SOURCE_STD };

struct am_source_config {
	uint64_t reorder_limit; /* bytes for records that wait for others; 0: 1 GiB */
	bool ignore_ring;	/* do not look for PATH.ring */
	bool no_exprs;		/* do not build expression tables */
};

/* What is known so far; all of it after the last event. */
struct am_source_info {
	enum am_source_format format;
	uint64_t features; /* AM_ATM_F_* */
	uint64_t start_ns;
	uint32_t clock;
	bool has_footer;     /* the recording ended regularly */
	bool is_cut;	     /* the file ends inside a chunk */
	uint64_t file_bytes; /* read from the trace itself */
	uint64_t units;	     /* taken in, from chunks and rings */
	uint64_t recovered;  /* units that came from rings */
	uint64_t holes;	     /* numbers that nobody carried: records in progress at a kill */
	uint64_t dropped; /* records behind a cut or gap, of which others before them are missing */
	uint64_t lost[8]; /* by enum am_lost, as the footer or the rings of a dead process say */
	uint64_t events;  /* passed on */
	char note[256];	  /* something a person should know, or "" */
};

struct am_source;

/* "-" is standard input. NULL on failure; then why[] says what, about which file. */
struct am_source *am_source_open(const char *path, const struct am_source_config *config,
				 char why[AM_SOURCE_ERROR_MAX]);
/* From streams that the source closes; ring may be NULL. For tests and fuzzing. */
struct am_source *am_source_open_stream(FILE *trace, FILE *ring, const char *name,
					const struct am_source_config *config,
					char why[AM_SOURCE_ERROR_MAX]);

/* 1: an event; 0: the end; -1: malformed input, see am_source_error. */
int am_source_next(struct am_source *s, struct am_event *event);
/* Names the file, the offset or line, and the reason. */
const char *am_source_error(const struct am_source *s);

/* The tables as of the newest event; valid until the next call of am_source_next. */
const struct am_tables *am_source_tables(const struct am_source *s);

/* Table entries in the order in which they became known or changed: what changed since the caller
 * last looked is log[seen .. n). `what` is an enum am_atm_tag of trace.h; an entry that changed
 * again later is old. */
struct am_change {
	uint16_t what;
	bool is_old;
	uint32_t id;
};
const struct am_change *am_source_changes(const struct am_source *s, size_t *n);

/* Expression nodes of a thread so far: node i is array[i], node 0 is none; a node that was lost has
 * op AM_OP_NONE. NULL and 0 when there is none. Valid until the next call of am_source_next. */
const struct am_expr *am_source_exprs(const struct am_source *s, uint32_t thread, uint32_t *n);

const struct am_source_info *am_source_info(const struct am_source *s);
void am_source_close(struct am_source *s);

#endif
