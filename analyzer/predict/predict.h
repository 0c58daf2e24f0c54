/* SPDX-License-Identifier: MIT */
/*
 * The predictor: for each region of a recorded run, is there another schedule of the same events that
 * breaks it? Stages, each counting what it settles: proofs by order and locks, segment, static check,
 * search or solver, witness, validation. Results depend on the run and the options alone, never on
 * the clock, the number of jobs or the order of work.
 */
#ifndef ATOMMON_PREDICT_PREDICT_H
#define ATOMMON_PREDICT_PREDICT_H

#include "engine.h"
#include "model.h"
#include "prove.h"
#include "search.h"
#include "vpath.h"

enum am_predict_engine { AM_ENGINE_AUTO, AM_ENGINE_SMT, AM_ENGINE_DPOR, AM_ENGINE_PLAIN };

struct am_predict_options {
	enum am_predict_model model;
	enum am_predict_engine engine;
	uint32_t context_bound; /* dpor; UINT32_MAX: none */
	uint32_t max_segment;	/* events of a segment handed to search or solver */
	uint64_t steps;		/* of the explicit search, per region */
	uint64_t rounds;	/* of the solver, per region */
	bool no_segments;	/* search the whole run (for comparison) */
	bool no_static;		/* skip proofs and the static check (for comparison) */
	const struct am_outline *outline; /* of the whole run, if this one is a window of it */
	const char *smt2_dir;	/* dump each solver query there; NULL: no */
};

enum am_outcome {
	AM_OUT_PROVED,
	AM_OUT_PREDICTED,
	AM_OUT_SAME,	  /* another instance of the same code was predicted */
	AM_OUT_OBSERVED,  /* broken in the recorded run already */
	AM_OUT_UNDECIDED,
	AM_OUT_SKIPPED,	  /* not asked for (region filter, shard) */
	AM_OUT_ELSEWHERE, /* another window's */
	AM_OUTCOMES
};

enum am_how {
	AM_HOW_NONE,
	AM_HOW_EMPTY, /* proofs: see prove.h */
	AM_HOW_ORDER,
	AM_HOW_LOCKS,
	AM_HOW_STATIC, /* static check of the segment */
	AM_HOW_SEARCH, /* every schedule tried */
	AM_HOW_SOLVER, /* refuted */
};

struct am_region_result {
	uint32_t region;
	uint8_t outcome, how;
	enum am_predict_model model; /* predicted: under which it is certain */
	const char *reason;	     /* undecided: why (static storage) */
	uint32_t segment_events;
	uint64_t steps, interleavings, rounds;
	uint32_t *witness; /* predicted: events of the segment in their new order */
	uint32_t witness_n;
	uint64_t *value;   /* predicted: what each step reads or writes in the witness */
	uint8_t *is_known; /* predicted: is that known? */
	uint32_t *from; /* predicted: per thread, what runs before in recorded order (eid < from) */
};

struct am_predict;

/* The run must be finished and outlive the predictor. */
struct am_predict *am_predict_new(const struct am_run *run, const struct am_predict_options *options);
void am_predict_free(struct am_predict *p);

/* Decide one region by itself. The result's arrays are the caller's to free. */
void am_predict_region(struct am_predict *p, uint32_t region, struct am_region_result *result);

void am_region_result_free(struct am_region_result *result);

struct am_predict_counts {
	uint64_t events, threads, cells, shared_cells, regions;
	uint64_t candidates, after_order, after_locks; /* three-access triplets */
	uint64_t feasible, infeasible, undecided;      /* of after_order, if asked */
	uint64_t program_events;		       /* events the solver saw */
};
/*
 * Counts three-access candidates of all regions (Wang et al. §3): all, those that must-happen-before
 * leaves, and those that nested locks leave too ("without data"). With `asks`, each that is left is
 * put to the solver under the model. Quadratic in the worst case: `limit` caps the work.
 */
void am_predict_triplets(struct am_predict *p, uint64_t limit, bool asks,
			 struct am_predict_counts *counts);

const char *am_outcome_name(enum am_outcome outcome);
const char *am_how_name(enum am_how how);

#endif
