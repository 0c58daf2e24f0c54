/*
 * The entry and the exit of functions in watched code by clang that has a byte for each of its functions, and does not call when it
 * is set (instrument/pass/entry.h). The caller finds its registers as they were, but %r11 and those for floating-point numbers and
 * vectors; compiled without those (-mgeneral-regs-only). Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/enter.h"

#include "preload/export.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* All that is unusual: am_tsan_entry, am_tsan_exit (tsan_func.c), by way of ask_kept.S. */
void am_tsan_entry_kept(uint8_t *is_none, uintptr_t pc, uintptr_t cfa) __attribute__((no_caller_saved_registers, visibility("hidden")));
void am_tsan_exit_kept(const uint8_t *is_none, uintptr_t pc, uintptr_t cfa) __attribute__((no_caller_saved_registers, visibility("hidden")));

AM_EXPORT __attribute__((no_caller_saved_registers)) void __atommon_entry(uint8_t *is_none)
{
	const struct am_here here = AM_HERE;

	if (!am_enter_shortly(am_function_known(here.pc), here))
		am_tsan_entry_kept(is_none, here.pc, here.cfa);
}

AM_EXPORT __attribute__((no_caller_saved_registers)) void __atommon_exit(const uint8_t *is_none)
{
	const struct am_here here = AM_HERE;

	if (!am_leave_shortly(here))
		am_tsan_exit_kept(is_none, here.pc, here.cfa);
}
