/*
 * String functions of watched code: what they read and wrote (instrument/stub_string.c), as if their
 * callers had done it. A hook: no malloc, no locks, no libc that could come back here.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/export.h"
#include "preload/shadow.h"
#include "preload/symbolic.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

AM_EXPORT void __atommon_range(void *p, size_t n, int writes, void *pc, void *cfa)
{
	const struct am_here here = {(uintptr_t)pc, (uintptr_t)cfa};

	if (!writes && am_sym_reads(p, n, here))
		return;
	am_view_range(writes ? AM_WRITE : AM_READ, (uintptr_t)p, n, here);
}
