/* SPDX-License-Identifier: MIT */
/* The inside of a source, shared by the readers of the formats (atm_read.c, ring_read.c,
 * text_read.c, std_read.c). Tools only. */
#ifndef ATOMMON_TRACE_SOURCE_STATE_H
#define ATOMMON_TRACE_SOURCE_STATE_H

#include "analyzer/core/decode.h"
#include "analyzer/trace/source.h"
#include "analyzer/trace/tablebuild.h"
#include "atommon/mem.h"
#include "atommon/merge.h"
#include "atommon/trace.h"

enum { LOST_CAUSES = 8 }; /* as many as a footer has */

struct source_thread {
	uint64_t position; /* units of this thread read so far */
	struct am_expr_count count;
	struct am_expr *expr;
	uint32_t n_exprs, cap; /* nodes, node 0 included */
	bool has_lost;
};

struct chunk_model; /* analyzer/core/chunk.h */

struct atm_reader {
	uint8_t *payload, *raw; /* grow to the largest chunk */
	size_t payload_cap, raw_cap;
	struct chunk_model *model;
	struct am_unit *units; /* AM_ATM_UNITS_MAX */
	uint64_t offset;       /* in the file */
	uint64_t ordered;      /* units of ordered chunks so far */
};

struct std_name; /* std_read.c */

struct line_reader {
	char *line;
	size_t cap;
	uint64_t number;
	bool has_line;		/* the line read while finding out the format is still to be used */
	struct std_name **name; /* STD: hash table of the names seen */
	size_t n_names, name_cap;
	uint32_t n_strings, n_sites, n_threads, n_objects;
};

struct am_source {
	FILE *in, *ring;
	char *name;
	struct am_source_config config;
	struct am_source_info info;
	struct tablebuild tables;
	struct source_thread *thread;
	size_t n_threads;
	struct am_mem mem;
	struct am_merge *merge;
	struct am_event *queue; /* [head, tail) of cap: passed on by the merge, not yet taken */
	size_t head, tail, cap;
	/* Read more: 1 something was read, 0 the end, -1 malformed (source_fail was called). */
	int (*fill)(struct am_source *s);
	struct atm_reader atm;
	struct line_reader lines;
	uint64_t told[LOST_CAUSES]; /* lost events by cause, as the stream has told them */
	bool has_gap; /* units of a thread are missing in between */
	bool has_ended, has_failed;
	char error[AM_SOURCE_ERROR_MAX];
};

/* Note what is wrong; always returns -1. */
__attribute__((format(printf, 2, 3))) int source_fail(struct am_source *s, const char *format, ...);

/* The row of a thread, or NULL: the id is out of range or memory is (source_fail was called). */
struct source_thread *source_thread(struct am_source *s, uint32_t id);
/* Put an event into the queue; its index is given here. False: no memory. */
bool source_push(struct am_source *s, struct am_event event);
/* Units of a thread into the merge, in pieces that it passes on at once. */
int source_feed(struct am_source *s, uint32_t thread, const struct am_unit *units, size_t n);

int atm_open(struct am_source *s, const uint8_t magic[8]);
int atm_fill(struct am_source *s);
void atm_close(struct am_source *s);
/* Pass on the rest. is_whole: at most records in progress are missing. */
void source_finish(struct am_source *s, bool is_whole);
/* Take what the rings hold beyond the trace: 1, 0 if they are of no use, -1. */
int ring_recover(struct am_source *s);
int ring_fill(struct am_source *s); /* a ring file without a trace */
int text_fill(struct am_source *s);
int std_fill(struct am_source *s);
void std_close(struct am_source *s);

/* The next line without its end, in s->lines.line; 1, 0 at the end, -1. */
int line_next(struct am_source *s);

#endif
