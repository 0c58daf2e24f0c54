/* SPDX-License-Identifier: MIT */
/* Stand-ins for the compiler's callbacks, which tests of the runtime do not link. */
#ifndef ATOMMON_TESTS_PRELOAD_STAND_IN_H
#define ATOMMON_TESTS_PRELOAD_STAND_IN_H

#include "preload/shadow.h"

volatile int __atommon_armed;
__thread struct am_view am_view;

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

void am_view_begin(void)
{
}

void am_view_end(void)
{
}

void am_view_prepare(void)
{
}

#endif
