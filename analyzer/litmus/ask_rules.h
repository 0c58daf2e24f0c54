/* SPDX-License-Identifier: MIT */
/*
 * Questions to the memory model as a set of named rules (Yang et al.): what if a rule did not hold, why
 * is an outcome impossible, which orders does a possible one fix.
 */
#ifndef ATOMMON_LITMUS_ASK_RULES_H
#define ATOMMON_LITMUS_ASK_RULES_H

#include "analyzer/predict/rules.h"
#include "ask.h"

struct am_lit_rules_options {
	uint32_t without; /* mask of 1 << enum am_rule */
	bool explain, matrix;
};

/* The outcome without some rules. */
void am_lit_ask_rules(const struct am_lit *lit, const struct am_lit_options *options,
		      const struct am_lit_rules_options *rules, struct am_lit_report *report);
/* Explanation or matrix of the outcome, as text. */
void am_lit_print_rules(const struct am_lit *lit, const struct am_lit_options *options,
			const struct am_lit_rules_options *rules, FILE *out);

#endif
