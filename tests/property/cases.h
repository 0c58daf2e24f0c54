/* SPDX-License-Identifier: MIT */
/*
 * How many random cases a property test makes: its second argument, or else its usual number; a build with
 * a sanitiser, where each takes three to twenty times as long, makes a part of those (AM_CASES_DIVISOR,
 * from the Makefile), the first ones of the same seed, and says so.
 */
#ifndef ATOMMON_TESTS_CASES_H
#define ATOMMON_TESTS_CASES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef AM_CASES_DIVISOR
#define AM_CASES_DIVISOR 1
#endif

static inline uint64_t cases_part(uint64_t usual)
{
	const uint64_t part = usual / AM_CASES_DIVISOR;

	if (AM_CASES_DIVISOR > 1)
		printf("# sanitised: %llu of %llu cases\n", (unsigned long long)(part ? part : 1),
		       (unsigned long long)usual);
	return part ? part : 1;
}

static inline uint64_t cases_wanted(int argc, char **argv, uint64_t usual)
{
	return argc > 2 ? strtoull(argv[2], NULL, 0) : cases_part(usual);
}

#endif
