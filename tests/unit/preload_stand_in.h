/* SPDX-License-Identifier: MIT */
/* Stand-ins for the compiler's callbacks, which tests of the runtime do not link. */
#ifndef ATOMMON_TESTS_PRELOAD_STAND_IN_H
#define ATOMMON_TESTS_PRELOAD_STAND_IN_H

#include "preload/defer.h"

volatile int __atommon_armed;
struct am_view_open am_view_open;
__thread struct am_view am_view = {.calm = ~UINT64_C(0)};

void am_view_follow(struct am_view *v)
{
	(void)v;
}

void am_shadow_forget(void)
{
}

void am_view_touched(uintptr_t address, size_t size)
{
	(void)address;
	(void)size;
}

void am_view_wait(void)
{
}

void am_view_wake(void)
{
}

void am_view_enroll(const struct am_view *v)
{
	(void)v;
}

void am_view_begin(void)
{
}

void am_view_end(void)
{
}

void am_view_quit(void)
{
}

void am_view_prepare(void)
{
}

void am_view_born(void)
{
}

void am_view_new_block(struct am_view *v)
{
	(void)v;
}

bool am_defer_begin_slowly(enum am_kind kind, uintptr_t object, uint32_t aux, struct am_here here)
{
	(void)kind, (void)object, (void)aux, (void)here;
	return false;
}

bool am_defer_end_slowly(enum am_kind kind, uintptr_t object, uint32_t aux, struct am_here here)
{
	(void)kind, (void)object, (void)aux, (void)here;
	return false;
}

void am_defer_tell(struct am_here here)
{
	(void)here;
}

void am_defer_tell_functions(struct am_here here)
{
	(void)here;
}


void am_view_torn(void)
{
}

#endif
