/*
 * The compilers' callbacks at function entry and exit: regions by function name (ATOMMON_ATOMIC=
 * fn:GLOB). Runs in application threads. A callback knows only where it was called from; which
 * function that is was found out when this place was first met. Entering a function that is no
 * region costs one load without fn: globs, and one look-up with them.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/export.h"
#include "preload/lane.h"
#include "preload/runtime.h"
#include "preload/shadow.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { PLACES = 8192 };

/* Places met: address of the callback's return << 16, above the region's name (0: no region). Two
 * places of one bucket take turns; a look-up is one load. */
static uint64_t places[PLACES];

static uint32_t look_up(uintptr_t pc)
{
	uint64_t *place = &places[(pc * UINT64_C(0x9e3779b97f4a7c15)) >> 51];
	const uint64_t seen = __atomic_load_n(place, __ATOMIC_RELAXED);
	uintptr_t start;

	if (am_likely(seen >> 16 == pc))
		return seen & 0xffff;
	am_function_learn(pc);
	const uint32_t id = am_function_at(pc, &start);
	if (id <= 0xffff)
		__atomic_store_n(place, (uint64_t)pc << 16 | id, __ATOMIC_RELAXED);
	return id;
}

/* Regions of this thread that functions made, innermost last: by the stack pointer of their frames,
 * so that frames left by longjmp are noticed. The lane may have been another thread's. */
static struct am_lane *own_lane(void)
{
	struct am_lane *lane = am_tls.lane;

	if (!lane && am_thread_self() == AM_NO_THREAD)
		return NULL;
	lane = am_tls.lane;
	if (am_unlikely(lane->functions_of != am_tls.id)) {
		lane->functions_of = am_tls.id;
		lane->n_functions = 0;
	}
	return lane;
}

static void leave_top(struct am_lane *lane, uint32_t name, struct am_here here)
{
	am_function_event(AM_LEAVE_FN, lane->functions[--lane->n_functions].start, name, here);
}

static bool is_older(const struct am_lane *lane, uintptr_t cfa)
{
	return lane->n_functions > 0 && lane->functions[lane->n_functions - 1].cfa < cfa;
}

static void enter(uint32_t id, struct am_here here)
{
	struct am_lane *lane = own_lane();
	uintptr_t start = 0;

	if (!lane)
		return;
	while (is_older(lane, here.cfa + 1))
		leave_top(lane, id, here);
	if (lane->n_functions == AM_FUNCTIONS_MAX)
		return;
	am_function_at(here.pc, &start);
	lane->functions[lane->n_functions].cfa = here.cfa;
	lane->functions[lane->n_functions++].start = start;
	am_function_event(AM_ENTER, start, id, here);
}

/* The stack pointer at an exit is that of the entry, or lower if the function grew its frame. */
static void leave(uint32_t id, struct am_here here)
{
	struct am_lane *lane = own_lane();

	if (!lane)
		return;
	while (is_older(lane, here.cfa))
		leave_top(lane, id, here);
	if (lane->n_functions > 0)
		leave_top(lane, id, here);
}

AM_EXPORT void __tsan_func_entry(void *caller)
{
	(void)caller;
	if (am_likely(!am_has_functions) || !am_watching())
		return;
	const uint32_t id = look_up((uintptr_t)__builtin_return_address(0));
	if (am_unlikely(id))
		enter(id, AM_HERE);
}

AM_EXPORT void __tsan_func_exit(void)
{
	if (am_likely(!am_has_functions) || !am_watching())
		return;
	const uint32_t id = look_up((uintptr_t)__builtin_return_address(0));
	if (am_unlikely(id))
		leave(id, AM_HERE);
}
