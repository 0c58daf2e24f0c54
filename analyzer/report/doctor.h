/* SPDX-License-Identifier: MIT */
/*
 * Can this program be watched? Looks at a file as the dynamic linker would: reads it, never runs it.
 * Runs in tools (atommon-doctor, and atommon-run when the library turned out not to be loaded).
 */
#ifndef AM_REPORT_DOCTOR_H
#define AM_REPORT_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

enum am_finding {
	AM_FINDING_OK,	 /* good to know */
	AM_FINDING_NOTE, /* works, with a limit */
	AM_FINDING_NO,	 /* cannot be watched */
};

typedef void am_finding_fn(void *ctx, enum am_finding finding, const char *text);

/* True if nothing speaks against it. `program` is looked up in PATH when it has no slash. */
bool am_doctor(const char *program, am_finding_fn *tell, void *ctx);

/* The sanitiser runtime that must come before every other preload ("libasan.so.8"), or "". */
bool am_doctor_first_library(const char *program, char *out, size_t size);

#endif
