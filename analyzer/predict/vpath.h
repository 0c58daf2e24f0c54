/* SPDX-License-Identifier: MIT */
/*
 * The violation path of a schedule (Sinha et al. §II.D): from an access of the region, over events of
 * other threads, back to a later access of it; each step a conflict or program order. The shortest
 * one is found and told as a cycle for the reports.
 */
#ifndef ATOMMON_PREDICT_VPATH_H
#define ATOMMON_PREDICT_VPATH_H

#include "run.h"

#include "atommon/checker.h"

/* `schedule`: n events of the run in the order in which they run. False if no path closes in it. */
bool am_vpath_find(const struct am_run *run, uint32_t region, const uint32_t *schedule, uint32_t n,
		   struct am_cycle *cycle);

#endif
