/*
 * The classic conflict graph, the stupid twin of the summarised one: every transaction stays a node
 * for ever, every access stays in its word's list, and a search looks for the cycle. Same contract
 * and the same verdicts as am_checker (include/atommon/checker.h); time and memory grow with the
 * run. At the memory ceiling it stops looking (stats.forgotten becomes non-zero).
 */
/* SPDX-License-Identifier: MIT */
#ifndef ATOMMON_CORE_FULLGRAPH_H
#define ATOMMON_CORE_FULLGRAPH_H

#include "atommon/checker.h"

#endif
