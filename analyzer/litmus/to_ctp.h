/* SPDX-License-Identifier: MIT */
/*
 * A litmus program as a concurrent trace program: loops unrolled, branches turned into guards, locals
 * into expressions (Wang et al. 2009, section 4.1; 2010, section 2).
 */
#ifndef ATOMMON_LITMUS_TO_CTP_H
#define ATOMMON_LITMUS_TO_CTP_H

#include "analyzer/predict/ctp.h"
#include "ast.h"

enum am_lit_origin { /* what an event stands for */
	AM_LIT_O_PROGRAM,
	AM_LIT_O_ASSERT, /* assert() of the text */
	AM_LIT_O_FAULT,	 /* assertion: the address is one of a variable */
	AM_LIT_O_BOUND,	 /* assertion: the loop ends within the bound */
	AM_LIT_O_CONTROL, /* a condition is evaluated here; no effect */
	AM_LIT_O_OBSERVER,
};

struct am_lit_event {
	uint8_t origin; /* enum am_lit_origin */
	struct am_lit_pos pos;
	struct am_lit_type type; /* of an access */
	uint32_t cell; /* of an access with a constant address; n_cells else */
	uint32_t cond; /* control: the condition's node */
};

struct am_lit_ctp {
	struct am_ctp *ctp;
	const char *unsupported; /* NULL: fine; else why there is no (finished) program */
	struct am_lit_pos unsupported_pos;
	struct am_lit_event *events; /* by event */
	uint32_t observer; /* the branch that holds iff the condition is as asked; AM_CTP_NONE */
	uint32_t *blocks;  /* by region: block of the text */
	bool has_bound;	   /* some loop may go beyond the bound */
	bool lock_data;	   /* locks are variables (trylock, is_locked): only states can be asked */
	uint32_t memory;   /* merged: the one object of all variables; AM_CTP_NONE: one each */
	uint32_t *object_cell; /* by object: its cell, n_cells: none */
	uint32_t **finals; /* by thread: nodes of the locals at its end */
	uint32_t n_threads;
};

struct am_lit_ctp_options {
	uint32_t unroll;
	bool observe;	/* add the observer */
	bool negate;	/* of the condition (forall) */
	bool control;	/* mark where conditions are evaluated */
};

struct am_lit_ctp *am_lit_to_ctp(const struct am_lit *lit, const struct am_lit_ctp_options *options);
void am_lit_ctp_free(struct am_lit_ctp *out);

struct am_validation;

/* One event for people: "write x = 1". Values are those of a validated run; NULL: none known. */
void am_lit_ctp_event_text(const struct am_lit *lit, const struct am_lit_ctp *lc, uint32_t event,
			   const struct am_validation *v, char *text, size_t size);

#endif
