/*
 * What watched code calls for a plain access that it cannot settle by itself, or has no room to (instrument/pass/access.c): as the
 * callbacks in tsan_access.c, but the caller finds its registers as they were, all but %r11 and those for floating-point
 * numbers and vectors; LLVM's preserve_most. So hot loops keep what they have in registers, though there is such a call in
 * them. Compiled without those other registers (-mgeneral-regs-only). Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/inlined.h"

#include "preload/export.h"
#include "preload/shadow.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define ACCESS(name, size, writes)                                                                         \
	AM_EXPORT __attribute__((no_caller_saved_registers)) void __atommon_##name##size(void *p)          \
	{                                                                                                  \
		static const unsigned what = size | ((writes) ? AM_ASK_WRITES : 0) |                       \
					     (#name[0] == 'r' ? AM_ASK_READS : 0);                         \
		const uintptr_t pc = (uintptr_t)__builtin_return_address(0);                               \
                                                                                                           \
		if (!am_view_is_done((uintptr_t)p, size, writes, pc))                                      \
			am_tsan_ask_kept(p, what, pc, (uintptr_t)__builtin_dwarf_cfa());                   \
	}
AM_FAST_ACCESSES(ACCESS)
