/* SPDX-License-Identifier: MIT */
/*
 * The id of a violation: AV- and 32 bits over names only (functions, regions, objects, kinds of
 * operation), so that it is the same in another run, at other addresses, with other thread
 * numbers, and after a rebuild that moved lines. Where a name is unknown, module and offset stand
 * in; such an id lasts until the next rebuild.
 *
 * The blamed region's two accesses count. Of the others, what a single one between them did counts
 * too; of a longer way only that it is longer: the same mistake met through two, three or seven
 * further threads in ever new patterns is one mistake, with one remedy. At lock level the other one
 * does not count either: whoever takes the lock in between, the remedy is the same.
 */
#ifndef AM_REPORT_FINGERPRINT_H
#define AM_REPORT_FINGERPRINT_H

#include <stdbool.h>
#include <stdint.h>

/* One end of an edge, in names. */
struct am_print_end {
	const char *operation; /* name of the kind */
	const char *object;    /* key of the object: what it is called, not where it is */
	const char *function;
};

struct am_print {
	const char *region;
	const char *function;		/* where it begins */
	struct am_print_end out, in;	/* the blamed region's two accesses */
	const char *other;		/* region of the other transaction */
	struct am_print_end other_in, other_out;
	bool is_chain;			/* several others, or lock level: they do not count */
};

uint32_t am_fingerprint(const struct am_print *print);
/* The same without functions: for cycles whose stacks are not known well enough. */
uint32_t am_fingerprint_coarse(const struct am_print *print);
/* The blamed region and its two accesses alone, whatever the others did. */
uint32_t am_fingerprint_core(const struct am_print *print, bool is_coarse);
/* With the line of the last access instead of its operation. */
uint32_t am_fingerprint_statement(const struct am_print *print, const char *file, uint32_t line);
void am_fingerprint_id(uint32_t fingerprint, char id[12]); /* AV-xxxxxxxx */

#endif
