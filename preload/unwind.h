/* SPDX-License-Identifier: MIT */
/*
 * Return addresses of the callers, from the call-frame information (.eh_frame) that every module
 * carries. Own code because the libraries for this take locks, block signals, call malloc or open
 * descriptors, none of which a guest may do inside a hook; a test compares it with libunwind.
 */
#ifndef ATOMMON_PRELOAD_UNWIND_H
#define ATOMMON_PRELOAD_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct am_frame {
	uintptr_t pc;	/* return address */
	uintptr_t slot; /* where in the stack it lies */
};

/*
 * The frames from the one whose CFA is `cfa` on: out[0] is its return address. Unwinds from here, so
 * it must be called below that frame. Stack words are read only below `top`, the end of this stack.
 * Returns how many were found; stops early rather than guess. No lock, no memory, safe in handlers.
 */
size_t am_unwind(uintptr_t cfa, uintptr_t top, struct am_frame *out, size_t max);

/* The function in which this address lies. False: not known. */
bool am_unwind_function(uintptr_t pc, uintptr_t *start, uintptr_t *end);

/* Does the stack lead from here to the start of the thread, without a signal frame on the way? False
 * also when that cannot be told. */
bool am_unwind_is_whole(uintptr_t top);

#endif
