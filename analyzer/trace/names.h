/* SPDX-License-Identifier: MIT */
/* Names of addresses: what the program named itself (name events), else global variables. Tools. */
#ifndef ATOMMON_TRACE_NAMES_H
#define ATOMMON_TRACE_NAMES_H

#include "analyzer/trace/source.h"
#include "analyzer/trace/symbols.h"

struct am_names {
	const struct am_source *source;
	struct am_symbols *symbols; /* may be NULL */
	struct am_names_range {
		uint64_t start, size;
		uint32_t string;
	} * range; /* in the order in which they were named */
	size_t n, cap;
	char buf[512];
};

void am_names_init(struct am_names *n, const struct am_source *source, struct am_symbols *symbols);
/* Follow name, alloc and free events; false: out of memory. */
bool am_names_event(struct am_names *n, const struct am_event *event);
/* "name", "name+offset" or NULL; valid until the next call. ctx is a struct am_names. */
const char *am_names_of(void *ctx, uint64_t address);
/* Is this address part of what is called `name`? */
bool am_names_is(struct am_names *n, uint64_t address, const char *name);
void am_names_free(struct am_names *n);

#endif
