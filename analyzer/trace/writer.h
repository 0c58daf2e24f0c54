/* SPDX-License-Identifier: MIT */
/* Writes the events of a source into a trace file, in the order they have: a file of ordered
 * chunks. Tools only; the recorder inside a program writes for itself. */
#ifndef ATOMMON_TRACE_WRITER_H
#define ATOMMON_TRACE_WRITER_H

#include "analyzer/trace/source.h"

struct am_writer;

/* The stream stays the caller's. NULL: out of memory. */
struct am_writer *am_writer_new(FILE *out, const struct am_source *source);
/* NULL, or what is wrong. */
const char *am_writer_event(struct am_writer *w, const struct am_event *event);
/* Flush and, if has_footer, mark the recording as ended. Frees the writer. */
const char *am_writer_end(struct am_writer *w, bool has_footer);

#endif
