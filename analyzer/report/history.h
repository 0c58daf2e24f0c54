/* SPDX-License-Identifier: MIT */
/*
 * Recent critical sections of each thread, so that a report can show which locks were held at a
 * step and where they were let go. Bounded: the last AM_SECTIONS closed sections of a thread and
 * those still open. What fell out of the window is simply not shown; nothing is decided by it.
 */
#ifndef AM_REPORT_HISTORY_H
#define AM_REPORT_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "atommon/event.h"

enum { AM_SECTIONS = 128, AM_HELD = 16 };

#define AM_OPEN UINT64_MAX /* released: not yet */

struct am_section {
	uint64_t lock;
	uint64_t acquired, released; /* event indices; AM_OPEN */
	uint32_t acquire_site, release_site;
	uint8_t mode;
	uint8_t acquire_kind, release_kind; /* acquire or wake, release or wait */
};

struct am_mem;
struct am_history;

struct am_history *am_history_new(struct am_mem *mem);
void am_history_free(struct am_history *h);
void am_history_event(struct am_history *h, const struct am_event *e);

/* Sections of the thread that cover event `index` (its own acquire and release included), outermost
 * first; returns how many, at most max. */
unsigned am_history_held(const struct am_history *h, uint32_t thread, uint64_t index,
			 struct am_section *out, unsigned max);

/* The newest sections of the thread that reach into the events first..last, oldest first. */
unsigned am_history_between(const struct am_history *h, uint32_t thread, uint64_t first, uint64_t last,
			    struct am_section *out, unsigned max);

#endif
