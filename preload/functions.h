/* SPDX-License-Identifier: MIT */
/*
 * Which functions are regions, for callbacks that know only where they were called from. Runs in application
 * threads, at every entry and exit of an instrumented function while ATOMMON_ATOMIC names some.
 */
#ifndef ATOMMON_PRELOAD_FUNCTIONS_H
#define ATOMMON_PRELOAD_FUNCTIONS_H

#include "preload/log.h"

extern bool am_has_functions __attribute__((visibility("hidden"))); /* ATOMMON_ATOMIC names some */

/* Places met: the address << 16, above the number of the region function it lies in. A place has two entries, side by side; when both are
 * others', they take turns. */
enum { AM_FUNCTION_PLACES = 32768 };
extern uint64_t am_function_places[AM_FUNCTION_PLACES] __attribute__((visibility("hidden"), aligned(64)));
/* The program itself, which stays where it is, in pieces of 1 << shift bytes: may there be a region function? Without any
 * region function everything is one such piece; before that is known, nothing is. */
enum { AM_FUNCTION_PIECES = 16384 };
extern struct am_function_map {
	uintptr_t code, size;
	uint32_t shift;
	uint8_t may[AM_FUNCTION_PIECES];
} am_function_map __attribute__((visibility("hidden"), aligned(64)));

/* Is it known at once that pc lies in no region function? */
static inline bool am_function_is_none(uintptr_t pc)
{
	const struct am_function_map *m = &am_function_map;
	const uintptr_t at = pc - m->code;

	return am_likely(at < m->size && !m->may[at >> m->shift]);
}

uint32_t am_function_learn(uintptr_t pc, uint64_t *place);

static inline uint64_t *am_function_place(uintptr_t pc)
{
	return &am_function_places[(pc * UINT64_C(0x9e3779b97f4a7c15)) >> 49];
}

/* The number, from 1, of the region function that pc lies in (16 bits), 0 if it is in none or was not met yet. */
static inline uint32_t am_function_known(uintptr_t pc)
{
	const uint64_t seen = __atomic_load_n(am_function_place(pc), __ATOMIC_RELAXED);

	return am_likely(seen >> 16 == pc) ? seen & 0xffff : 0;
}

/* The same, else 0. */
static inline uint32_t am_function_at(uintptr_t pc)
{
	uint64_t *place = am_function_place(pc);
	const uint64_t seen = __atomic_load_n(place, __ATOMIC_RELAXED);

	return am_likely(seen >> 16 == pc) ? seen & 0xffff : am_function_learn(pc, place);
}

/* tsan_func.c: a jump to where the stack pointer is that; frames below are gone. */
void am_function_jump(uintptr_t sp, struct am_here here);

/* By that number: what it is called and where it starts. */
struct am_function {
	uintptr_t start, end;
	uint32_t name; /* string id */
};
enum { AM_REGION_FUNCTIONS = 16384 };
extern struct am_function am_functions[AM_REGION_FUNCTIONS] __attribute__((visibility("hidden")));

#endif
