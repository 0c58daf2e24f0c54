/* SPDX-License-Identifier: MIT */
/* The STD form of the RAPID project, for exchange with other tools. Tools only. */
#ifndef ATOMMON_TRACE_STD_H
#define ATOMMON_TRACE_STD_H

#include "analyzer/trace/source.h"

/* Addresses given to the names of an STD trace, one line of memory each. */
#define AM_STD_ADDRESS UINT64_C(0x100000000000)
enum { AM_STD_SIZE = 8 };

struct am_std_name {
	uint64_t object;
	uint32_t string;
};

struct am_std {
	FILE *out;
	const struct am_source *source;
	struct am_std_name *name; /* hash table by object */
	size_t n_names, cap;
	uint64_t skipped; /* events that have no STD form */
};

void am_std_begin(struct am_std *w, FILE *out, const struct am_source *source);
/* False: out of memory. */
bool am_std_event(struct am_std *w, const struct am_event *event);
void am_std_end(struct am_std *w);

#endif
