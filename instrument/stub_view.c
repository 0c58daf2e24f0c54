/*
 * libatommon-stub.so: what watched code with the fast path in it (instrument/pass/access.c) needs to be linked with. The
 * preload library's come first when it is there. A layout that it does not know any more is found here, and makes
 * the program ask for each access; so a name that was once here stays.
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/inlined.h"
#include "preload/fast.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define EXPORT __attribute__((visibility("default")))

static const uint64_t none_open;

/* Asks always: idle is not what open points to, and no stretch is fast. */
#define ASKS                                                                                               \
	{                                                                                                  \
		.fast = AM_STRETCH_NONE, .idle = ~UINT64_C(0), .n_giants = 0, .open = &none_open           \
	}
EXPORT __thread struct am_fast AM_FAST_VIEW = ASKS;
EXPORT __thread struct am_fast __atommon_view2 = ASKS; /* until a cell told that there is more in a table */
EXPORT __thread struct am_fast __atommon_view1 = ASKS; /* until cells could be lent */

/* They change no register, by contract. */
#define NOTHING(name)                                                                                      \
	EXPORT __attribute__((naked)) void name(void)                                                      \
	{                                                                                                  \
		__asm__("ret");                                                                            \
	}
#define ACCESS(name, size, w) NOTHING(__atommon_##name##size)
AM_FAST_ACCESSES(ACCESS)
NOTHING(__atommon_entry)
NOTHING(__atommon_exit)
