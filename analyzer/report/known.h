/* SPDX-License-Identifier: MIT */
/*
 * What was told already. A violation is known by its id and by coarser marks (fingerprint.h); before that a
 * cycle is recognised by its raw key, which needs no names, so that a program that violates a million
 * times pays for one report and a million look-ups.
 */
#ifndef AM_REPORT_KNOWN_H
#define AM_REPORT_KNOWN_H

#include "atommon/report.h"

#include "arena.h"

struct am_known {
	char id[AM_ID_SIZE];
	uint32_t coarse, core, coarse_core, statement, statement_core;
	uint64_t begin_index; /* of the region, when it was told */
	bool is_suppressed, is_printed;
	uint64_t count;
	const char *region; /* for the list of repeats */
};

/* A raw key. */
struct am_raw {
	uint64_t key; /* 0: empty */
	uint32_t known; /* which violation; or one of these: */
	uint32_t waiting; /* AM_RAW_WAITS: so many came since */
};
enum { AM_RAW_WAITS = UINT32_MAX, AM_RAW_NONE = UINT32_MAX - 1 };

struct am_knowns {
	struct am_mem *mem;
	struct am_arena names; /* for good */
	struct am_known *at;
	uint32_t n, cap;
	struct am_raw *raw; /* open addressing */
	uint32_t n_raw, cap_raw;
};

bool am_knowns_init(struct am_knowns *k, struct am_mem *mem);
void am_knowns_free(struct am_knowns *k);

/* The same violation, or one that stands for it; NULL: none. */
struct am_known *am_knowns_find(struct am_knowns *k, const struct am_violation *v);
/* NULL for want of memory. */
struct am_known *am_knowns_add(struct am_knowns *k, const struct am_violation *v);

/* What is known of a key; NULL: nothing. Good until the next am_knowns_put. */
struct am_raw *am_knowns_raw(const struct am_knowns *k, uint64_t key);
/* A key's entry, made if there is room; else NULL. */
struct am_raw *am_knowns_put(struct am_knowns *k, uint64_t key, uint32_t known);

#endif
