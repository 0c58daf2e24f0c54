/*
 * Once routines: pthread_once and call_once. Runs in application threads.
 *
 * The real function gets our trampoline instead of the routine, so that once-end is logged before
 * libc announces that the routine is done; who finds it done logs once-end after the real call. A
 * routine left by cancellation, pthread_exit or an exception logs once-end too, marked as
 * abandoned: libc lets another thread run it anew. (A routine left by longjmp hangs every later
 * caller, with us or without.)
 */
/* SPDX-License-Identifier: MIT */
#include "preload/hook.h"

struct frame {
	struct frame *outer;
	void (*routine)(void);
	uintptr_t control;
	struct am_here here;
	bool began, ended;
};

/* The innermost call of this thread whose routine has not been called yet. */
static __thread struct frame *top;

static void routine_left(struct frame **slot)
{
	struct frame *f = *slot;

	if (f->ended)
		return;
	am_log_note(AM_ONCE_END, AM_ONCE_ABANDONED, f->control, f->here);
	f->ended = true;
}

static void trampoline(void)
{
	struct frame *f __attribute__((cleanup(routine_left))) = top;

	f->began = true;
	am_log_note(AM_ONCE_BEGIN, 0, f->control, f->here);
	f->routine();
	am_log_note(AM_ONCE_END, 0, f->control, f->here);
	f->ended = true;
}

static void call_left(struct frame *f)
{
	top = f->outer;
}

AM_EXPORT int pthread_once(pthread_once_t *control, void (*routine)(void))
{
	if (!am_on())
		return am_real.pthread_once(control, routine);

	struct frame f __attribute__((cleanup(call_left))) = {
		.outer = top, .routine = routine, .control = (uintptr_t)control, .here = AM_HERE};
	top = &f;
	const int r = am_real.pthread_once(control, trampoline);
	if (r == 0 && !f.began)
		am_log_note(AM_ONCE_END, 0, f.control, f.here);
	return r;
}

AM_EXPORT void call_once(once_flag *flag, void (*routine)(void))
{
	if (!am_on()) {
		am_real.call_once(flag, routine);
		return;
	}
	struct frame f __attribute__((cleanup(call_left))) = {
		.outer = top, .routine = routine, .control = (uintptr_t)flag, .here = AM_HERE};
	top = &f;
	am_real.call_once(flag, trampoline);
	if (!f.began)
		am_log_note(AM_ONCE_END, 0, f.control, f.here);
}
