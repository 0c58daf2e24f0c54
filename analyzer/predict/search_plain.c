/* Every interleaving of a segment, by plain depth-first search. The twin of dpor.c: no cleverness. */
/* SPDX-License-Identifier: MIT */
#include "search.h"

#include <stdlib.h>
#include <string.h>

static void explore(struct am_search *s, struct am_machine *m)
{
	bool is_leaf = true;

	for (uint32_t t = 0; t < m->run->n_threads; t++) {
		const uint32_t e = am_machine_next(m, t);
		if (e == AM_NONE || !am_machine_enabled(m, e))
			continue;
		if (s->max_steps && s->steps >= s->max_steps) {
			s->verdict = AM_SEARCH_BUDGET;
			return;
		}
		is_leaf = false;
		s->steps++;
		const uint32_t mark = am_machine_mark(m), depth = s->witness.n;
		am_machine_step(m, e);
		*vec_push(&s->witness) = e;
		if (m->broken)
			s->verdict = AM_SEARCH_FOUND;
		else
			explore(s, m);
		if (s->verdict != AM_SEARCH_NONE)
			return;
		s->witness.n = depth;
		am_machine_undo(m, mark);
	}
	s->interleavings += is_leaf;
}

void am_search_plain(struct am_search *s, struct am_machine *machine)
{
	const uint32_t mark = am_machine_mark(machine);

	s->verdict = AM_SEARCH_NONE;
	explore(s, machine);
	s->interleavings += s->verdict == AM_SEARCH_FOUND;
	am_machine_undo(machine, mark);
}

void am_search_free(struct am_search *s)
{
	free(s->witness.at);
	memset(&s->witness, 0, sizeof s->witness);
}
