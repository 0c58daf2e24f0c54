/* SPDX-License-Identifier: MIT */
/* Answers as text and as JSON: pure functions over the report. */
#ifndef ATOMMON_LITMUS_PRINT_H
#define ATOMMON_LITMUS_PRINT_H

#include "ask.h"

void am_lit_print_text(const struct am_lit *lit, const struct am_lit_options *options,
		       const struct am_lit_report *report, FILE *out);
/* One line, one object. */
void am_lit_print_json(const struct am_lit *lit, const struct am_lit_options *options,
		       const struct am_lit_report *report, FILE *out);
/* A file that could not be parsed. */
void am_lit_print_json_error(const char *file, const struct am_lit_error *error, FILE *out);

#endif
