/*
 * An access that was told late (atommon/event.h) is dated by a mark of its thread that is not younger; its true place is
 * anywhere between that and the access of another thread that its edge leads to. What the thread did in between is told in its order,
 * and the program's text says what of it comes first: a report that tells `count++` before the lock was taken,
 * or before the region began, helps nobody. Runs in the drain thread and in tools.
 */
/* SPDX-License-Identifier: MIT */
#include "belated.h"

#include <string.h>

static bool is_same_function(const struct am_vframe *a, const struct am_vframe *b)
{
	return *a->function && a->line && b->line && strcmp(a->function, b->function) == 0 &&
	       strcmp(a->file, b->file) == 0;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

int am_text_order(const struct am_place *a, const struct am_place *b)
{
	for (uint32_t sum = 0; sum + 1 < a->n_frames + b->n_frames; sum++)
		for (uint32_t i = sum < b->n_frames ? 0 : sum - b->n_frames + 1; i <= sum && i < a->n_frames; i++) {
			const struct am_vframe *f = &a->frame[i], *g = &b->frame[sum - i];
			if (is_same_function(f, g))
				return f->line != g->line ? compare(f->line, g->line)
							  : compare(f->offset, g->offset);
		}
	return 0;
}

static int order_of_site(const struct am_belated *x, uint32_t site)
{
	return site ? am_text_order(am_places_get(x->places, site), x->place) : 0;
}

bool am_belated_lies_in(const struct am_belated *x, const struct am_section *section)
{
	const int release = section->released < x->before ? order_of_site(x, section->release_site) : 1;
	const bool was_held = section->acquired <= x->mark;

	if (section->released < x->mark || section->acquired >= x->before)
		return false;
	return (was_held || order_of_site(x, section->acquire_site) < 0) && (release > 0 || (was_held && release == 0));
}

uint64_t am_belated_order(const struct am_belated *x, const struct am_vstep *step, const uint64_t *order, uint32_t n)
{
	uint64_t after = 0, last = 0;
	bool is_known = false;

	for (uint32_t i = 0; i < n; i++) {
		if (step[i].thread != x->thread || step[i].index < x->mark || step[i].index >= x->before ||
		    step[i].kind == AM_BEGIN)
			continue;
		const int text = am_text_order(step[i].place, x->place);
		is_known |= text != 0;
		if (text < 0 && order[i] > after)
			after = order[i];
		if (step[i].role == AM_ROLE_CYCLE && order[i] > last)
			last = order[i];
	}
	return is_known ? after : last;
}
