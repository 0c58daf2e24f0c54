/* SPDX-License-Identifier: MIT */
/*
 * Blame: a cycle of accesses becomes a violation with names, steps, reasons and a remedy. Reads the
 * tables, the object registry and the recent critical sections; changes nothing but its arena.
 */
#ifndef AM_REPORT_BLAME_H
#define AM_REPORT_BLAME_H

#include "atommon/report.h"

#include "arena.h"
#include "evidence.h"
#include "globals.h"
#include "places.h"

struct am_blame {
	const struct am_tables *tables;
	const struct am_symbolizer *symbolizer;
	struct am_places *places;
	struct am_globals *globals;
	struct am_evidence *evidence;
	struct am_arena *arena; /* everything of the violation lives here */
};

/* False for want of memory; `v` is then not to be used. Sets everything but count and next. */
bool am_blame_cycle(struct am_blame *b, const struct am_cycle *cycle,
		    const struct am_witness *witness, struct am_violation *v);

/* Leave out what a direct conflict makes needless (simplify.c). For cycles that happened: it goes by
 * the order of the indices. */
void am_cycle_simplify(struct am_cycle *cycle);

/*
 * Numbers that are equal for cycles which certainly get the same id, without symbolising; never 0. Only what the id
 * has: that suffices, unless a violation is vague and may stand for another one because of who else is on the
 * way. And everything.
 */
struct am_raw_key {
	uint64_t id, all;
};
struct am_raw_key am_blame_raw_key(const struct am_blame *b, const struct am_cycle *cycle);

#endif
