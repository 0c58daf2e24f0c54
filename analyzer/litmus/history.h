/* SPDX-License-Identifier: MIT */
/*
 * What a finished run shows: the properties, judged on the list of its steps by definition, the
 * slowest and plainest way. A later step never takes a property back, so judging maximal runs is
 * enough. `marks` are positions in the run.
 */
#ifndef ATOMMON_LITMUS_HISTORY_H
#define ATOMMON_LITMUS_HISTORY_H

#include "vm.h"

enum am_hist_prop {
	AM_HIST_RACE,
	AM_HIST_THREE,
	AM_HIST_SERIAL,
	AM_HIST_STRONG,
	AM_HIST_WINDOW,
	AM_HIST_PROPS,
};

enum { AM_HIST_STEPS_MAX = 96, AM_HIST_MARKS_MAX = 32 };

struct am_history {
	const struct am_lit *lit;
	const struct am_vm_step *steps;
	uint32_t n;
};

struct am_finding {
	uint32_t block; /* of atomicity: which block is broken */
	uint32_t n;
	uint32_t marks[AM_HIST_MARKS_MAX];
};

/* Calls `each` for every finding (atomicity: at least once per broken block; race: every pair). */
void am_hist_judge(const struct am_history *h, enum am_hist_prop prop,
		   void (*each)(void *arg, const struct am_finding *finding), void *arg);

/* Is the conflict graph of the whole run free of cycles? (For tests: the classic definition.) */
bool am_hist_is_serializable(const struct am_history *h);

#endif
