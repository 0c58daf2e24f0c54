/*
 * Counts that this thread took the last off (see last.h). Runs in hooks; allocates nothing.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/last.h"

#include "preload/shadow.h"

void am_last_note(uintptr_t count)
{
	struct am_last_notes *notes = am_view.defer ? &am_view.defer->last : NULL;

	if (!notes)
		return;
	notes->at[notes->next % AM_LAST_NOTES] = count;
	notes->next++;
	notes->has_some = 1;
}

void am_last_forget(uintptr_t address, size_t size)
{
	struct am_last_notes *notes = &am_view.defer->last;
	uintptr_t rest = 0;

	for (uint32_t i = 0; i < AM_LAST_NOTES; i++) {
		const uintptr_t count = notes->at[i];
		if (!count || count - address >= size) {
			rest |= count;
			continue;
		}
		notes->at[i] = 0;
		/* In a region that waits, the update itself goes with its block (am_exact_gone). */
		if (!am_view.is_waiting && am_view_mode != AM_VIEW_RECORD)
			am_view_touched(count, 1);
	}
	notes->has_some = rest != 0;
}
