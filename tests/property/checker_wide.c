/*
 * The same comparison with threads whose slots lie far apart, as if there were hundreds of them: sets
 * of open regions then have several words. usage: checker_wide [SEED [COUNT]]
 */
/* SPDX-License-Identifier: MIT */
#define AM_SCG_SLOT_STEP 37
#include "analyzer/core/scg_reach.c"

#define TWINS_COUNT 30000
#include "checker_twins.c"
