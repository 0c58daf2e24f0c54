/* SPDX-License-Identifier: MIT */
/* Events and tables as JSON, one object a line. Tools only. */
#ifndef ATOMMON_TRACE_JSON_H
#define ATOMMON_TRACE_JSON_H

#include "analyzer/trace/source.h"
#include "analyzer/trace/symbols.h"

struct am_json {
	FILE *out;
	const struct am_source *source;
	struct am_symbols *symbols; /* NULL: no functions and lines */
	bool has_header;
	size_t changes;
};

void am_json_begin(struct am_json *j, FILE *out, const struct am_source *source,
		   struct am_symbols *symbols);
void am_json_event(struct am_json *j, const struct am_event *event);
void am_json_end(struct am_json *j);

#endif
