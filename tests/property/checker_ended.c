/*
 * The same comparison with many threads that end, merged as soon as there are three of them that an
 * open region still reaches. Verdicts must not change. usage: checker_ended [SEED [COUNT]]
 */
/* SPDX-License-Identifier: MIT */
#define AM_SCG_ENDED 2
#include "analyzer/core/scg.c"

#define TRACE_ALLOWS_OMITTED
#define TRACE_THREAD_RATE 250
#define TWINS_COUNT 30000
#include "checker_twins.c"
