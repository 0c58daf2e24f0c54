/* SPDX-License-Identifier: MIT */
/* What the explicit engines share when they fill answers. */
#ifndef ATOMMON_LITMUS_ASK_EXPLICIT_H
#define ATOMMON_LITMUS_ASK_EXPLICIT_H

#include "ask.h"
#include "explore.h"

void am_lit_step_text(const struct am_lit *lit, const struct am_vm_step *s, char *text, size_t size);
void am_lit_fill_run(const struct am_lit *lit, const struct am_code *code,
		     const struct am_explore_run *run, struct am_lit_verdict *verdict);
enum am_lit_answer am_lit_absence(const struct am_lit *lit, const struct am_explored *found,
				  char *reason, size_t size);
void am_lit_fill_states(const struct am_lit *lit, const struct am_code *code,
			const struct am_lit_options *options, enum am_vm_model model,
			const struct am_explored *found, struct am_lit_report *report);
void am_lit_fill_runs(const struct am_lit *lit, const struct am_code *code,
		      const struct am_lit_options *options, const struct am_explored *found,
		      struct am_lit_report *report);
extern const enum am_hist_prop am_lit_history_of[];
/* By brute force over memory orders, any model (relaxed.c). */
void am_lit_ask_orders(const struct am_lit *lit, const struct am_lit_options *options,
			  struct am_lit_report *report);

#endif
