/*
 * The compilers' callbacks at function entry and exit: regions by function name (ATOMMON_ATOMIC=
 * fn:GLOB). Runs in application threads. Entering a function that is no region costs one load without
 * fn: globs, and one look-up with them; in code by clang, which does not ask twice, one load.
 */
/* SPDX-License-Identifier: MIT */
#include <signal.h>

#include "preload/enter.h"
#include "preload/export.h"
#include "preload/runtime.h"
#include "preload/shadow.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* The lane may have been another thread's. */
static struct am_lane *own_lane(void)
{
	struct am_lane *lane = am_tls.lane;

	if (!lane && am_thread_self() == AM_NO_THREAD)
		return NULL;
	lane = am_tls.lane;
	if (am_unlikely(lane->functions_of != am_tls.id)) {
		lane->n_functions = lane->functions_beyond = lane->functions_told = 0;
		for (unsigned i = 0; i <= AM_FUNCTIONS_MAX; i++)
			lane->functions[i].cfa = AM_FUNCTION_NONE;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		lane->functions_of = am_tls.id;
	}
	return lane;
}

static void leave_newest(struct am_lane *lane, struct am_here here)
{
	const struct am_function *f = &am_functions[lane->functions[lane->n_functions].number - 1];

	if (lane->n_functions > lane->functions_told) {
		am_leave_nested(lane);
		return;
	}
	am_enter_pop(lane);
	lane->functions_told = lane->n_functions;
	am_function_event(AM_LEAVE_FN, f->start, f->name, here);
}

/* Frames that a jump left. */
static void leave_older(struct am_lane *lane, uintptr_t cfa, struct am_here here)
{
	while (am_enter_newest(lane) < cfa) {
		lane->functions_beyond = 0;
		leave_newest(lane, here);
	}
}

/* Frames of the alternate signal stack, if a jump leaves it for one that lies below. */
static void leave_alternate(struct am_lane *lane, uintptr_t sp, struct am_here here)
{
	stack_t ss;

	if (sigaltstack(NULL, &ss) != 0 || !(ss.ss_flags & SS_ONSTACK))
		return;
	const uintptr_t low = (uintptr_t)ss.ss_sp;
	if (sp - low < ss.ss_size)
		return;
	while (lane->n_functions > 0 && am_enter_newest(lane) - low < ss.ss_size) {
		lane->functions_beyond = 0;
		leave_newest(lane, here);
	}
}

void am_function_jump(uintptr_t sp, struct am_here here)
{
	struct am_lane *lane = am_tls.lane;

	am_log_jump(sp);
	if (!lane || lane->functions_of != am_tls.id)
		return;
	leave_older(lane, sp, here);
	if (am_unlikely(sp < here.cfa)) /* to another stack */
		leave_alternate(lane, sp, here);
}

/* Deeper than the array holds, calls are only counted: they are inside a region anyway. */
static __attribute__((noinline)) void enter_slowly(uint32_t number, struct am_here here)
{
	struct am_lane *lane = own_lane();
	const struct am_function *f = &am_functions[number - 1];

	if (!lane || am_tls.muted)
		return;
	am_log_bury(here);
	leave_older(lane, here.cfa + 1, here);
	if (lane->n_functions == AM_FUNCTIONS_MAX) {
		lane->functions_beyond++;
		return;
	}
	if (lane->n_functions > 0 && am_state() == AM_DEFER && am_view.depth != 0) {
		am_enter_nested(lane, number, here.cfa);
		return;
	}
	am_enter_push(lane, number, here.cfa);
	lane->functions_told = lane->n_functions;
	am_function_event(AM_ENTER, f->start, f->name, here);
}

/* The stack pointer at an exit is that of the entry, or lower if the function grew its frame. */
static __attribute__((noinline)) void leave_slowly(struct am_here here)
{
	struct am_lane *lane = own_lane();

	if (!lane || am_tls.muted)
		return;
	am_log_bury(here);
	/* What was not written, or was being taken off, when a handler left it by a jump. */
	while (lane->n_functions > 0 && am_enter_newest(lane) == AM_FUNCTION_NONE)
		lane->n_functions--;
	leave_older(lane, here.cfa, here);
	/* Of those left by a jump the count may still tell. */
	if (lane->functions_beyond && lane->n_functions == AM_FUNCTIONS_MAX)
		lane->functions_beyond--;
	else if (lane->n_functions > 0)
		leave_newest(lane, here);
}

static __attribute__((noinline)) void entry_slowly(struct am_here here)
{
	if (!am_watching())
		return;
	const uint32_t number = am_function_at(here.pc);
	if (number && !am_enter_shortly(number, here))
		enter_slowly(number, here);
}

static __attribute__((noinline)) void exit_slowly(struct am_here here)
{
	if (am_watching() && am_function_at(here.pc))
		leave_slowly(here);
}

AM_EXPORT void __tsan_func_entry(void *caller)
{
	const struct am_here here = AM_HERE;

	(void)caller;
	if (am_has_functions && !am_function_is_none(here.pc) && !am_enter_shortly(am_function_known(here.pc), here))
		entry_slowly(here);
}

AM_EXPORT void __tsan_func_exit(void)
{
	const struct am_here here = AM_HERE;

	if (am_has_functions && !am_function_is_none(here.pc) && !(am_function_known(here.pc) && am_leave_shortly(here)))
		exit_slowly(here);
}

/* The same for watched code by clang (enter.c). Which functions are regions does not change while their code is loaded. */
void am_tsan_entry(uint8_t *is_none, uintptr_t pc, uintptr_t cfa)
{
	if (!am_watching())
		return;
	const uint32_t number = am_has_functions ? am_function_at(pc) : 0;
	if (number)
		enter_slowly(number, (struct am_here){pc, cfa});
	else
		__atomic_store_n(is_none, 1, __ATOMIC_RELAXED);
}

void am_tsan_exit(const uint8_t *is_none, uintptr_t pc, uintptr_t cfa)
{
	(void)is_none;
	if (am_has_functions)
		exit_slowly((struct am_here){pc, cfa});
}
