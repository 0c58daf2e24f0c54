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

enum { PLACES = 8192, REGIONS = 32 };

/* Places met: address of the callback's return << 16, above the region's name (0: no region). Two
 * places of one bucket take turns; a look-up is one load. */
static uint64_t places[PLACES];

/* Regions of this thread that functions made, innermost last: by the stack pointer of their frames,
 * so that frames left by longjmp are noticed. */
struct am_frames {
	uintptr_t cfa[REGIONS];
	uint32_t n;
};
static __thread struct am_frames frames __attribute__((tls_model("initial-exec")));

static uint32_t look_up(uintptr_t pc)
{
	uint64_t *place = &places[(pc * UINT64_C(0x9e3779b97f4a7c15)) >> 51];
	const uint64_t seen = __atomic_load_n(place, __ATOMIC_RELAXED);
	uintptr_t start;

	if (am_likely(seen >> 16 == pc && (seen & 0xffff) != 0xffff))
		return seen & 0xffff;
	am_function_learn(pc);
	const uint32_t id = am_function_at(pc, &start);
	if (id < 0xffff)
		__atomic_store_n(place, (uint64_t)pc << 16 | id, __ATOMIC_RELAXED);
	return id;
}

static void leave_older(uintptr_t cfa, struct am_here here)
{
	while (frames.n > 0 && frames.cfa[frames.n - 1] < cfa) {
		frames.n--;
		am_region_end(here);
	}
}

static void enter(uint32_t id, struct am_here here)
{
	leave_older(here.cfa + 1, here);
	if (frames.n < REGIONS) {
		frames.cfa[frames.n++] = here.cfa;
		am_region_begin(id, here);
	}
}

/* The stack pointer at an exit is that of the entry, or lower if the function grew its frame. */
static void leave(struct am_here here)
{
	leave_older(here.cfa, here);
	if (frames.n > 0) {
		frames.n--;
		am_region_end(here);
	}
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
	if (am_unlikely(look_up((uintptr_t)__builtin_return_address(0))))
		leave(AM_HERE);
}
