/* SPDX-License-Identifier: MIT */
/*
 * Cycles that wait for names, first come first told: the cycle and the evidence taken when it closed. Bounded.
 */
#ifndef AM_REPORT_WAITING_H
#define AM_REPORT_WAITING_H

#include "atommon/checker.h"

#include "blame.h"

enum { AM_WAITING_MAX = 256 };

struct am_waiting {
	struct am_waiting *next;
	struct am_arena arena; /* the rest of it */
	struct am_cycle *cycle;
	struct am_evidence evidence;
	struct am_raw_key key;
	uint64_t ticket; /* when so many questions are answered, names are there */
	uint32_t tries;
};

struct am_waitings {
	struct am_mem *mem;
	struct am_waiting *first, *last;
	uint32_t n;
};

/* Not in the queue yet; NULL for want of memory, or when the queue is full. */
struct am_waiting *am_waiting_new(struct am_waitings *q, const struct am_cycle *cycle, struct am_raw_key key);
void am_waiting_free(struct am_waitings *q, struct am_waiting *w);
void am_waiting_add(struct am_waitings *q, struct am_waiting *w);
/* Takes the first one out. */
struct am_waiting *am_waiting_take(struct am_waitings *q);

#endif
