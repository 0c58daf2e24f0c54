/* SPDX-License-Identifier: MIT */
/*
 * gcc makes two callbacks of x += 1: __tsan_readN before the load, __tsan_writeN before the store. A pair is two such calls of one
 * size, the second in the same straight line of code as the first (no label that code jumps to, no other call, no assembler
 * of the program's between them), for the same address in every run (as_value.h). One callback, __tsan_read_writeN in the
 * read's place, tells the same two accesses. Volatile and atomic accesses are never part of a pair.
 */
#ifndef ATOMMON_INSTRUMENT_AS_PAIR_H
#define ATOMMON_INSTRUMENT_AS_PAIR_H

#include <stdbool.h>
#include <stddef.h>

struct am_as_pairs {
	struct am_as_pair {
		const char *read, *write; /* the lines of the calls */
	} *v;
	size_t n;
};

/* All pairs of a file, in its order; v is the caller's to free. None in a file that is not gcc's. False: out of memory. */
bool am_as_pairs_find(const char *text, struct am_as_pairs *pairs);

#endif
