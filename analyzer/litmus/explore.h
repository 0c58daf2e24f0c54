/* SPDX-License-Identifier: MIT */
/*
 * Exhaustive exploration of a litmus program: the explicit twin of the solver.
 *
 * Final states and failed assertions depend on the state alone: every reachable state is visited once,
 * so loops over finitely many values need no bound. The other properties depend on the way there:
 * every interleaving is walked, up to `budget` steps in all.
 */
#ifndef ATOMMON_LITMUS_EXPLORE_H
#define ATOMMON_LITMUS_EXPLORE_H

#include "history.h"

struct am_explore_run { /* one run that shows something */
	uint32_t n;
	struct am_vm_step *steps;
	struct am_finding finding;
	uint64_t *state; /* at its end; NULL where it does not matter */
};

struct am_explore_options {
	enum am_vm_model model;
	uint32_t unroll; /* of the walks over interleavings; states: 0 no bound */
	uint64_t budget; /* steps */
	uint64_t max_states;
	bool want[AM_HIST_PROPS];
};

struct am_explored {
	/* states */
	uint64_t states, finals;
	bool can_hold, can_fail;	/* the condition, in some final state that passes the filter */
	struct am_explore_run holds, fails;
	bool has_failed; /* assertion or bad address */
	struct am_lit_pos failed_pos;
	uint32_t failed_thread;
	bool is_fault;
	struct am_explore_run failure;
	bool has_deadlock; /* a state without moves in which some thread has not ended */
	struct am_explore_run deadlock;
	/* histories */
	uint64_t runs;
	bool found[AM_HIST_PROPS];
	/* per property and block of the text; a race is kept as block 0 */
	bool *broken[AM_HIST_PROPS];
	struct am_explore_run *witness[AM_HIST_PROPS];
	uint32_t n_blocks;
	/* why a negative answer may be none */
	bool hit_bound, out_of_budget, left_range;
	uint32_t range_cell;
	struct am_lit_pos bound_pos, range_pos;
};

void am_explore_states(const struct am_code *code, const struct am_explore_options *options,
		       struct am_explored *out);
void am_explore_runs(const struct am_code *code, const struct am_explore_options *options,
		     struct am_explored *out);
/* Judges one run for all wanted properties and keeps what is new. */
void am_explored_judge(struct am_explored *out, const struct am_explore_options *options,
		       const struct am_history *h);
void am_explored_init(struct am_explored *out, const struct am_lit *lit);
void am_explored_clear(struct am_explored *out);

#endif
