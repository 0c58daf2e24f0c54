/*
 * The same comparison with an entity table so small that it is purged, copied, widened and emptied
 * in place all the time. usage: checker_tiny [SEED [COUNT]]
 */
/* SPDX-License-Identifier: MIT */
#define AM_SCG_FIRST_LOG 5
#define AM_SCG_SCRATCH_LOG 6
#include "analyzer/core/scg_table.c"

#define TWINS_COUNT 40000
#include "checker_twins.c"
