/* SPDX-License-Identifier: MIT */
/*
 * The id of a violation: AV- and 32 bits over names only (functions, regions, objects, kinds of
 * operation), so that it is the same in another run, at other addresses, with other thread
 * numbers, and after a rebuild that moved lines. Where a name is unknown, module and offset stand
 * in; such an id lasts until the next rebuild.
 *
 * The blamed region's two accesses count in order; what the other transactions did counts as a set:
 * the same mistake met through one, two or five further threads is one mistake.
 */
#ifndef AM_REPORT_FINGERPRINT_H
#define AM_REPORT_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

/* One end of an edge, in names. */
struct am_print_end {
	const char *operation; /* name of the kind */
	const char *object;    /* key of the object: what it is called, not where it is */
	const char *function;
};

/* Another transaction of the cycle: how the cycle enters and leaves it. */
struct am_print_hop {
	const char *region;
	struct am_print_end in, out;
};

struct am_print {
	const char *region;
	const char *function;		/* where it begins */
	struct am_print_end out, in;	/* the blamed region's two accesses */
	const struct am_print_hop *hop; /* the others, any order, repeats allowed */
	size_t n_hops;
};

uint32_t am_fingerprint(const struct am_print *print);
void am_fingerprint_id(uint32_t fingerprint, char id[12]); /* AV-xxxxxxxx */

#endif
