/* SPDX-License-Identifier: MIT */
/*
 * Questions about a litmus program and their answers, whatever engine finds them. An answer is plain
 * data; text and JSON are made from it elsewhere. A positive answer of the solver was validated.
 */
#ifndef ATOMMON_LITMUS_ASK_H
#define ATOMMON_LITMUS_ASK_H

#include "analyzer/predict/engine.h"
#include "ast.h"

#include <stdio.h>

/* constant, name on the command line, what is asked */
#define AM_LIT_PROPERTIES(X)                                                                       \
	X(OUTCOME, "outcome", "can the final condition be met (forall: be violated)?")             \
	X(RACE, "race", "can two accesses race?")                                                  \
	X(SERIAL, "serializability", "can a block be broken by a cycle of conflicts?")             \
	X(THREE, "three-access", "can a block be broken by one access between two of its own?")    \
	X(ASSERT, "assert", "can an assertion fail?")                                              \
	X(STRONG, "strong", "can anything of another thread come between?")                        \
	X(WINDOW, "window", "can an access to the block's variables come between?")

enum am_lit_property {
#define X(name, text, meaning) AM_LIT_PROP_##name,
	AM_LIT_PROPERTIES(X)
#undef X
		AM_LIT_PROP_COUNT
};

/* What the model checker can decide. */
#define AM_LIT_MODEL_CHECKED                                                                       \
	(1u << AM_LIT_PROP_OUTCOME | 1u << AM_LIT_PROP_SERIAL | 1u << AM_LIT_PROP_ASSERT)

enum am_lit_engine { AM_LIT_SMT, AM_LIT_ENUMERATE, AM_LIT_MODEL_CHECK };

struct am_lit_options {
	uint32_t properties; /* mask of 1 << enum am_lit_property */
	enum am_lit_engine engine;
	enum am_model model;
	enum am_encoding encoding;
	uint32_t unroll;
	uint64_t budget;     /* steps of the explicit engines, rounds of the solver; 0: default */
	FILE *smt2;	     /* every solver query as SMT-LIB, NULL: none */
	bool is_demoted;     /* internal: an engine asks another */
};

enum am_lit_answer { AM_LIT_CANNOT, AM_LIT_CAN, AM_LIT_UNDECIDED };

struct am_lit_line { /* one step of a witness */
	uint32_t thread; /* index; n_threads: nobody's */
	uint32_t line;	 /* of the text, 0 unknown */
	bool is_mark;	 /* one of the events that show the property */
	char text[100];
};

struct am_lit_verdict {
	enum am_lit_property property;
	enum am_lit_answer answer;
	uint32_t block; /* atomicity: which block, UINT32_MAX: none in the program */
	char reason[200]; /* why undecided; what failed */
	struct am_lit_line *lines;
	uint32_t n_lines;
	char final[200]; /* the named places at the end of the witness */
	uint64_t work;	 /* states, runs or solver rounds */
};

struct am_lit_report {
	struct am_lit_verdict *verdicts;
	uint32_t n;
	const char *internal_error; /* a witness did not pass the validator */
};

void am_lit_ask(const struct am_lit *lit, const struct am_lit_options *options,
		struct am_lit_report *report);
void am_lit_report_clear(struct am_lit_report *report);

/* 0 nothing can happen, 1 something can, 3 undecided. */
int am_lit_report_status(const struct am_lit_report *report);

const char *am_lit_property_name(enum am_lit_property property);
const char *am_lit_property_meaning(enum am_lit_property property);
/* Name and line of a block of the text. */
const struct am_lit_stmt *am_lit_find_block(const struct am_lit *lit, uint32_t block,
					    uint32_t *thread);
bool am_lit_has_assert(const struct am_lit *lit);

/* ---- for the engines ---- */

struct am_lit_verdict *am_lit_report_add(struct am_lit_report *report, enum am_lit_property property,
					 enum am_lit_answer answer);
struct am_lit_line *am_lit_verdict_line(struct am_lit_verdict *verdict);
void am_lit_ask_explicit(const struct am_lit *lit, const struct am_lit_options *options,
			 struct am_lit_report *report);
void am_lit_ask_solver(const struct am_lit *lit, const struct am_lit_options *options,
		       struct am_lit_report *report);
void am_lit_model_check(const struct am_lit *lit, const struct am_lit_options *options,
			struct am_lit_report *report);
/* "0:r0=1; x=2" for the places that the file names. */
void am_lit_final_text(const struct am_lit *lit, const uint64_t *cells,
		       const uint64_t *const *locals, char *text, size_t size);

#endif
