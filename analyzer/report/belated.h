/* SPDX-License-Identifier: MIT */
/* Where in the told order an access stands that was told late: see belated.c. */
#ifndef AM_REPORT_BELATED_H
#define AM_REPORT_BELATED_H

#include "atommon/violation.h"
#include "history.h"
#include "places.h"

struct am_belated {
	struct am_places *places;
	const struct am_place *place;
	uint64_t mark, before; /* it lies between these events */
	uint32_t thread;       /* as in am_vstep */
};

/* By the text of the innermost function that both stacks have: below 0, a comes first; 0, nobody knows. */
int am_text_order(const struct am_place *a, const struct am_place *b);

bool am_belated_lies_in(const struct am_belated *x, const struct am_section *section);

/* The order of the step that it comes behind, 0: the mark. */
uint64_t am_belated_order(const struct am_belated *x, const struct am_vstep *step, const uint64_t *order, uint32_t n);

#endif
