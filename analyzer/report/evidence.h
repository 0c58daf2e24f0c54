/* SPDX-License-Identifier: MIT */
/*
 * What a story asks of the object registry and of the recent critical sections. A story that must wait for
 * names is told again later, when blocks are freed and sections have left the window: then it gets the
 * answers of the first time. Questions do not depend on names, so the second time asks the same ones.
 */
#ifndef AM_REPORT_EVIDENCE_H
#define AM_REPORT_EVIDENCE_H

#include "arena.h"
#include "history.h"
#include "objects.h"

struct am_finding;

struct am_evidence {
	const struct am_objects *objects;
	const struct am_history *history;
	struct am_arena *arena; /* where answers are kept; NULL: they are not */
	struct am_finding *first, *last;
};

/* As am_objects_name, _block and _sync, am_history_held and _between. */
bool am_evidence_name(struct am_evidence *e, uint64_t address, uint64_t index, struct am_extent *out);
bool am_evidence_block(struct am_evidence *e, uint64_t address, uint64_t index, struct am_extent *out);
bool am_evidence_sync(struct am_evidence *e, uint64_t address, struct am_extent *out);
unsigned am_evidence_held(struct am_evidence *e, uint32_t thread, uint64_t index, struct am_section *out,
			  unsigned max);
unsigned am_evidence_between(struct am_evidence *e, uint32_t thread, uint64_t first, uint64_t last,
			     struct am_section *out, unsigned max);

#endif
