/*
 * The oracle: serializability by its definition, for tiny traces only. It tries every serial order
 * of the transactions and asks of each whether it is equivalent to the run, that is, whether every
 * two dependent events keep their order (Farzan & Madhusudan, CAV'08, definitions 2 and 3). Knows
 * nothing of graphs; shares no code with the checkers. For tests.
 */
/* SPDX-License-Identifier: MIT */
#ifndef ATOMMON_CORE_ORACLE_H
#define ATOMMON_CORE_ORACLE_H

#include "atommon/checker.h"

#include <stddef.h>

enum { AM_ORACLE_TRANSACTIONS = 7, AM_ORACLE_ACCESSES = 64 };

#define AM_ORACLE_SERIALIZABLE SIZE_MAX
#define AM_ORACLE_TOO_LARGE (SIZE_MAX - 1)

/* Position of the first event after which the run is not serializable. Not for AM_CONFLICTS_AUTO,
 * nor for traces with lost events. */
size_t am_oracle(const struct am_event *event, size_t n, enum am_conflicts conflicts);

/* Do these two events conflict in this trace: a common byte that is the same entity in both, one of
 * them a write? Also for the independent check of reported cycles. */
bool am_oracle_conflict(const struct am_event *event, size_t n, size_t i, size_t j,
			enum am_conflicts conflicts);

#endif
