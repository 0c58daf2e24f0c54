/* SPDX-License-Identifier: MIT */
/* What the stress program and its judge share: a mapped file of counts, one cell per thread. */
#ifndef ATOMMON_TESTS_STRESS_SHM_H
#define ATOMMON_TESTS_STRESS_SHM_H

#include <stdint.h>

#define STRESS_THREADS_MAX 256
#define STRESS_MAGIC UINT64_C(0x737265737361746d)

/*
 * cell[i].count: events that thread i (0: main, in the order of their creation) has surely logged:
 * a thread adds to its own cell after each call has returned. What it has logged on top of that
 * belongs to the one call in progress.
 */
struct stress_shm {
	uint64_t magic;
	uint64_t n_threads;
	uint64_t finished;
	uint64_t pad[5];
	struct {
		volatile uint64_t count;
		uint64_t pad[7];
	} cell[STRESS_THREADS_MAX + 1];
};

/* At most so many events belong to one call: once (begin, end), wait and wake, ... */
#define STRESS_IN_PROGRESS 2

#endif
