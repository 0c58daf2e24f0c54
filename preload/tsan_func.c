/*
 * The compilers' callbacks at function entry and exit: regions by function name (ATOMMON_ATOMIC=
 * fn:GLOB). Runs in application threads. Entering a function that is no region costs one load without
 * fn: globs, and one look-up with them; in code by clang, which does not ask twice, one load.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/defer.h"
#include "preload/export.h"
#include "preload/functions.h"
#include "preload/lane.h"
#include "preload/runtime.h"
#include "preload/shadow.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

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
		lane->n_functions = lane->functions_beyond = 0;
	}
	return lane;
}

static void leave_top(struct am_lane *lane, struct am_here here)
{
	const struct am_function *f = &am_functions[lane->functions[--lane->n_functions].number - 1];

	am_function_event(AM_LEAVE_FN, f->start, f->name, here);
}

static bool is_older(const struct am_lane *lane, uintptr_t cfa)
{
	return lane->n_functions > 0 && lane->functions[lane->n_functions - 1].cfa < cfa;
}

/* Nothing to tidy up: the outermost one, or one inside of the newest. */
static bool is_plain(const struct am_lane *lane, uintptr_t cfa)
{
	return am_likely(lane && lane->functions_of == am_tls.id && !lane->functions_beyond) && !is_older(lane, cfa);
}

static void push(struct am_lane *lane, uint32_t number, struct am_here here)
{
	lane->functions[lane->n_functions].cfa = here.cfa;
	lane->functions[lane->n_functions++].number = number;
}

/* Deeper than the array holds, calls are only counted: they are inside a region anyway. */
static __attribute__((noinline)) void enter_slowly(uint32_t number, struct am_here here)
{
	struct am_lane *lane = own_lane();
	const struct am_function *f = &am_functions[number - 1];

	if (!lane)
		return;
	while (is_older(lane, here.cfa + 1)) {
		lane->functions_beyond = 0;
		leave_top(lane, here);
	}
	if (lane->n_functions == AM_FUNCTIONS_MAX) {
		lane->functions_beyond++;
		return;
	}
	push(lane, number, here);
	am_function_event(AM_ENTER, f->start, f->name, here);
}

static inline void enter(uint32_t number, uintptr_t pc, uintptr_t cfa)
{
	struct am_lane *lane = am_tls.lane;
	const struct am_function *f = &am_functions[number - 1];
	const struct am_here here = {pc, cfa};

	if (!am_defer_is_calm(&am_view) || !is_plain(lane, cfa + 1) || lane->n_functions == AM_FUNCTIONS_MAX) {
		enter_slowly(number, here);
		return;
	}
	push(lane, number, here);
	if (am_unlikely(!am_defer_begin(AM_ENTER, f->start, f->name, here)))
		am_function_event(AM_ENTER, f->start, f->name, here);
}

/* The stack pointer at an exit is that of the entry, or lower if the function grew its frame. */
static __attribute__((noinline)) void leave_slowly(struct am_here here)
{
	struct am_lane *lane = own_lane();

	if (!lane)
		return;
	while (is_older(lane, here.cfa)) {
		lane->functions_beyond = 0;
		leave_top(lane, here);
	}
	if (lane->functions_beyond)
		lane->functions_beyond--;
	else if (lane->n_functions > 0)
		leave_top(lane, here);
}

static inline void leave(uintptr_t pc, uintptr_t cfa)
{
	struct am_lane *lane = am_tls.lane;
	const struct am_here here = {pc, cfa};

	if (!am_defer_is_calm(&am_view) || !is_plain(lane, cfa) || lane->n_functions == 0) {
		leave_slowly(here);
		return;
	}
	const struct am_function *f = &am_functions[lane->functions[--lane->n_functions].number - 1];
	if (am_unlikely(!am_defer_end(AM_LEAVE_FN, f->start, f->name, here)))
		am_function_event(AM_LEAVE_FN, f->start, f->name, here);
}

static __attribute__((noinline)) void entry_slowly(uintptr_t pc, uintptr_t cfa)
{
	if (!am_watching())
		return;
	const uint32_t number = am_function_at(pc);
	if (number)
		enter(number, pc, cfa);
}

static __attribute__((noinline)) void exit_slowly(uintptr_t pc, uintptr_t cfa)
{
	if (am_watching() && am_function_at(pc))
		leave(pc, cfa);
}

AM_EXPORT void __tsan_func_entry(void *caller)
{
	(void)caller;
	if (am_has_functions && !am_function_is_none((uintptr_t)__builtin_return_address(0)))
		entry_slowly((uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa());
}

AM_EXPORT void __tsan_func_exit(void)
{
	if (am_has_functions && !am_function_is_none((uintptr_t)__builtin_return_address(0)))
		exit_slowly((uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa());
}

/* The same for watched code that has a byte for each of its functions, and does not call when it is set: by __atommon_entry and
 * __atommon_exit (ask_kept.S). Which functions are regions does not change while their code is loaded. */
void am_tsan_entry(uint8_t *is_none, uintptr_t pc, uintptr_t cfa)
{
	if (!am_watching())
		return;
	const uint32_t number = am_has_functions ? am_function_at(pc) : 0;
	if (number)
		enter(number, pc, cfa);
	else
		__atomic_store_n(is_none, 1, __ATOMIC_RELAXED);
}

void am_tsan_exit(const uint8_t *is_none, uintptr_t pc, uintptr_t cfa)
{
	(void)is_none;
	if (am_has_functions)
		exit_slowly(pc, cfa);
}
