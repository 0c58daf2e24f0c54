/* SPDX-License-Identifier: MIT */
/*
 * All regions of a run, in worker processes. Regions that are the same question (equal signature) go
 * to the same worker in recorded order, so that what is predicted, proved or undecided does not
 * depend on the number of workers.
 */
#ifndef ATOMMON_PREDICT_JOBS_H
#define ATOMMON_PREDICT_JOBS_H

#include "predict.h"

struct am_jobs {
	const struct am_run *run;
	struct am_predict *predict; /* of that run; workers inherit it */
	bool is_whole;		    /* one program of the whole run serves all questions */
	uint32_t jobs;		    /* at least 1 */
	uint32_t shard, shards;	    /* this part of the questions; shards 0: all */
	uint32_t tries;		    /* undecided instances of one question before the rest is given up */
	struct am_known *known;	    /* what earlier windows settled; NULL: none */
	const uint8_t *skip;	    /* per region: enum am_outcome if settled already, else 0xff */
	volatile int *stop;	    /* non-zero: end early with what there is */
	void (*progress)(void *ctx, uint32_t done, uint32_t all); /* may be NULL */
	void *ctx;
};

/* Questions of which an instance was predicted: the others of a later window are the same. */
struct am_known {
	VEC(uint64_t) predicted; /* signatures */
};

/* Results by region; regions not reached are undecided. False: a worker died (told on stderr). */
bool am_jobs_run(const struct am_jobs *jobs, struct am_region_result *results);

#endif
