/* SPDX-License-Identifier: MIT */
/*
 * Explicit search over the schedules of a segment for one that breaks its region.
 *
 * am_search_plain tries every interleaving: the twin. am_search_dpor explores one interleaving per
 * class of equivalent ones (Flanagan & Godefroid, POPL'05, with sleep sets), which is enough because
 * the violation path, the locks and the couples depend only on the order of dependent events.
 */
#ifndef ATOMMON_PREDICT_SEARCH_H
#define ATOMMON_PREDICT_SEARCH_H

#include "machine.h"

enum am_search_verdict { AM_SEARCH_NONE, AM_SEARCH_FOUND, AM_SEARCH_BUDGET };

struct am_search {
	/* in */
	uint64_t max_steps;	/* 0: no limit; counted work, so that results repeat */
	uint32_t context_bound; /* preemptive switches; UINT32_MAX: no bound */
	/* out */
	enum am_search_verdict verdict;
	uint64_t steps, interleavings, pruned;
	bool was_bounded;	/* the context bound cut something off: `none` proves nothing */
	VEC(uint32_t) witness;	/* found: events of the segment in order; the last closes the path */
};

/* The machine must be loaded; it is left as it was. */
void am_search_plain(struct am_search *search, struct am_machine *machine);
void am_search_dpor(struct am_search *search, struct am_machine *machine);
/* Tries the five patterns one by one, each once: found, or out of budget; proves nothing. */
void am_search_intrude(struct am_search *search, struct am_machine *machine);
void am_search_free(struct am_search *search);

#endif
