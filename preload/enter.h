/* SPDX-License-Identifier: MIT */
/*
 * A function that is a region is entered and left, as it usually is: what is unusual is left to tsan_func.c. Nothing is called.
 *
 * A function in another one that is a region changes nothing but a report, where it is named: it is told before the next record of its
 * thread, and one in which nothing is logged never is.
 *
 * Which of them a thread is in stands in its lane, innermost last, by the stack pointer of their frames, so that frames left by a
 * jump are noticed. Below the outermost is one that is older than any frame; so is what has been taken off, and what has not been
 * written yet: a signal handler may enter functions at any time. Runs in application threads.
 */
#ifndef ATOMMON_PRELOAD_ENTER_H
#define ATOMMON_PRELOAD_ENTER_H

#include "preload/defer.h"
#include "preload/functions.h"
#include "preload/lane.h"

static inline void am_enter_push(struct am_lane *lane, uint32_t number, uintptr_t cfa)
{
	const uint32_t n = lane->n_functions + 1;

	lane->n_functions = n;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	lane->functions[n].number = number;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	lane->functions[n].cfa = cfa;
}

static inline void am_enter_pop(struct am_lane *lane)
{
	const uint32_t n = lane->n_functions;

	lane->functions[n].cfa = AM_FUNCTION_NONE;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	lane->n_functions = n - 1;
}

/* The frame of the newest, if the lane is this thread's; else 0. */
static inline uintptr_t am_enter_newest(const struct am_lane *lane)
{
	return am_likely(lane->functions_of == am_tls.id) ? lane->functions[lane->n_functions].cfa : 0;
}

/* It is in another one. */
static inline void am_enter_nested(struct am_lane *lane, uint32_t number, uintptr_t cfa)
{
	am_enter_push(lane, number, cfa);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	am_view.depth++;
	am_tls.limit = 0; /* log.c is asked before the next record */
}

/* The outermost stays open, whatever was left by a jump in between. */
static inline void am_leave_nested(struct am_lane *lane)
{
	am_view.depth -= am_view.depth > 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	am_enter_pop(lane);
}

static inline bool am_enter_outermost(struct am_lane *lane, uint32_t number, struct am_here here)
{
	struct am_view *v = &am_view;
	const struct am_function *f = &am_functions[number - 1];
	bool is_done = false;

	if (!am_defer_enter_calm(v, here))
		return false;
	if (am_defer_begin_shortly(v, AM_ENTER, f->start, f->name, here)) {
		am_enter_push(lane, number, here.cfa);
		lane->functions_told = 1;
		is_done = true;
	}
	am_defer_leave();
	return is_done;
}

static inline bool am_leave_outermost(struct am_lane *lane, struct am_here here)
{
	struct am_view *v = &am_view;
	bool is_done = false;

	if (!am_defer_enter_calm(v, here))
		return false;
	if (am_defer_end_shortly(v)) {
		lane->functions_told = 0;
		am_enter_pop(lane);
		is_done = true;
	}
	am_defer_leave();
	return is_done;
}

/* Deeper than the array holds, calls are only counted. The next one is then not the newest. */
static inline bool am_enter_shortly(uint32_t number, struct am_here here)
{
	struct am_lane *lane = am_tls.lane;

	if (number == 0 || am_unlikely(am_state() != AM_DEFER) || !lane)
		return false;
	const uintptr_t newest = am_enter_newest(lane);
	if (am_unlikely(newest <= here.cfa || lane->n_functions >= AM_FUNCTIONS_MAX))
		return false;
	if (newest == AM_FUNCTION_NONE)
		return lane->n_functions == 0 && am_enter_outermost(lane, number, here);
	if (am_unlikely(am_view.depth == 0))
		return false;
	am_enter_nested(lane, number, here.cfa);
	return true;
}

static inline bool am_leave_shortly(struct am_here here)
{
	struct am_lane *lane = am_tls.lane;

	if (am_unlikely(am_state() != AM_DEFER) || !lane || am_enter_newest(lane) != here.cfa)
		return false;
	if (lane->n_functions <= lane->functions_told)
		return lane->n_functions == 1 && am_leave_outermost(lane, here);
	am_leave_nested(lane);
	return true;
}

#endif
