/* SPDX-License-Identifier: MIT */
/*
 * What a cell does not hold of a word, and how it goes into a table (filter.h, 9 and 10; lend.h has the tables). Pure decisions, as in filter.h.
 */
#ifndef ATOMMON_PRELOAD_KEPT_H
#define ATOMMON_PRELOAD_KEPT_H

#include "preload/filter.h"

/* What one thread did to a word that its cell does not hold. */
struct am_kept {
	uint64_t what; /* as r, or, with AM_KEPT_WRITE, writes; 0: nothing */
	uintptr_t pc;  /* where; 0: not known */
};
enum { AM_FILTER_KEPT = 3 }; /* of a word; the newest stretches first */
#define AM_KEPT_WRITE AM_CELL_EXACT

/* In w of a cell that has such in tables. Writes there are like what the owner logged: of any bytes. */
static inline uint64_t am_filter_many(bool writes)
{
	return AM_CELL_MANY | (writes ? AM_CELL_NOW : 0);
}

static inline struct am_kept am_filter_kept(struct am_late late, bool writes, uintptr_t pc)
{
	return (struct am_kept){late.stretch | late.bytes | AM_CELL_LAZY | (writes ? AM_KEPT_WRITE : 0), pc};
}

/*
 * One more of them. Of older ones stays what it does not stand for (5). The oldest comes back if there is no room: it has to be told.
 */
static inline struct am_kept am_filter_keep(struct am_kept kept[AM_FILTER_KEPT], struct am_kept added)
{
	const uint64_t kind = added.what & AM_KEPT_WRITE, bytes = added.what & AM_CELL_BYTES;
	struct am_kept next[AM_FILTER_KEPT + 1];
	unsigned n = 0, at = 0;

	for (unsigned i = 0; i < AM_FILTER_KEPT && kept[i].what; i++) {
		struct am_kept left = kept[i];
		if (am_filter_same_stretch(left.what, added.what) && (left.what & AM_KEPT_WRITE) == kind) {
			added.what |= left.what;
			continue;
		}
		const bool is_ours = am_filter_same_block(left.what, added.what);
		const bool is_newer = is_ours && (left.what & AM_STRETCH_MASK) > (added.what & AM_STRETCH_MASK);
		const bool is_covered = is_ours && !is_newer && (kind || !(left.what & AM_KEPT_WRITE));
		left.what &= ~(is_covered ? bytes : 0);
		if (left.what & AM_CELL_BYTES)
			next[n++] = left;
		if (is_newer)
			at = n;
	}
	for (unsigned i = n++; i > at; i--)
		next[i] = next[i - 1];
	next[at] = added;
	for (unsigned i = 0; i < AM_FILTER_KEPT; i++)
		kept[i] = i < n ? next[i] : (struct am_kept){0, 0};
	return n > AM_FILTER_KEPT ? next[AM_FILTER_KEPT] : (struct am_kept){0, 0};
}

#endif
