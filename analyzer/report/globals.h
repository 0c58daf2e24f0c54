/* SPDX-License-Identifier: MIT */
/*
 * Variables whose extent was learned from a symboliser, so that a cycle about another element of a known
 * array is recognised without asking for a name. Bounded: what does not fit is asked for again.
 */
#ifndef AM_REPORT_GLOBALS_H
#define AM_REPORT_GLOBALS_H

#include <stdbool.h>
#include <stdint.h>

struct am_mem;
struct am_globals;

struct am_globals *am_globals_new(struct am_mem *mem);
void am_globals_free(struct am_globals *g);
void am_globals_note(struct am_globals *g, uint64_t start, uint64_t size);
/* Where the variable begins that has this address. False: not known. */
bool am_globals_find(const struct am_globals *g, uint64_t address, uint64_t *start);

#endif
