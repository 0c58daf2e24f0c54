/*
 * The same comparison with sets of open regions that have several words, as if there were hundreds of
 * threads, and with so few bits and edges to begin with that they are reclaimed all the time. usage:
 * checker_wide [SEED [COUNT]]
 */
/* SPDX-License-Identifier: MIT */
#define AM_SCG_REGION_STEP 37
#define AM_SCG_FIRST_REACH 2
#include "analyzer/core/scg_reach.c"
#include "analyzer/core/scg_region.c"

#define TWINS_COUNT 30000
#include "checker_twins.c"
