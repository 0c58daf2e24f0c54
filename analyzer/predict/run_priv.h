/* SPDX-License-Identifier: MIT */
/* What the parts of the builder of recorded runs share: run.c and run_sync.c. */
#ifndef ATOMMON_PREDICT_RUN_PRIV_H
#define ATOMMON_PREDICT_RUN_PRIV_H

#include "run.h"

/* Sorted numbers, each once: how many are left; the first that is not below the key. */
uint32_t am_run_sort(uint64_t *at, uint32_t n);
uint32_t am_run_find(const uint64_t *at, uint32_t n, uint64_t key);

void am_run_number_objects(struct am_run *run);
void am_run_derive_counts(struct am_run *run);
void am_run_find_peers(struct am_run *run); /* of finished threads and objects */

#endif
