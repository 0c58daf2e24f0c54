/* SPDX-License-Identifier: MIT */
/*
 * Inside the predictor: what its stages share. predict.c leads a region through them, by_search.c and by_solver.c
 * decide what the proofs leave, verdict.c fills the result, triplets.c counts candidates.
 */
#ifndef ATOMMON_PREDICT_PREDICT_PRIV_H
#define ATOMMON_PREDICT_PREDICT_PRIV_H

#include "predict.h"
#include "validate.h"

struct am_predict {
	const struct am_run *run;
	struct am_predict_options options;
	struct am_index index;
	struct am_order sync, coupled;
	struct am_locksets locks;
	struct am_prover *prover;
	struct am_machine machine;
	/* one program for the whole run, if it is small: what one region teaches helps the next */
	struct am_segment whole;
	struct am_program program;
	struct am_engine *engine;
	bool has_whole;
	const char *no_whole; /* why not */
};

/* The search can do with segments that are too large for the solver. */
enum { AM_SEARCH_FACTOR = 16 };

/* verdict.c */
void am_verdict_proved(struct am_region_result *r, enum am_how how);
void am_verdict_undecided(struct am_region_result *r, const char *reason);
void am_verdict_predicted(struct am_region_result *r, const struct am_segment *segment, enum am_predict_model model,
			  enum am_how how, const uint32_t *witness, uint32_t n);
/* Does the schedule break the region when updates that commute do not count? If not, that is the reason. */
bool am_verdict_breaks(const struct am_predict *p, uint32_t region, const uint32_t *witness, uint32_t n);
extern const char am_only_commutes[];
void am_verdict_keep_values(struct am_predict *p, const struct am_segment *segment, struct am_region_result *r);
void am_verdict_take_values(const struct am_program *program, const struct am_validation *v,
			    struct am_region_result *r);

/* by_search.c: sync and avp by search on the step machine. True when the region is decided. */
bool am_by_search(struct am_predict *p, const struct am_segment *segment, uint64_t steps,
		  enum am_predict_model model, struct am_region_result *r);

/* by_solver.c */
void am_by_solver(struct am_predict *p, struct am_segment *segment, struct am_region_result *r);
/* The program of the whole run, and its engine; p->no_whole says why there is none. */
void am_by_solver_whole(struct am_predict *p);

#endif
