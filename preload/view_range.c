/*
 * Accesses of any number of bytes: memcpy and its kin, string functions, large structs. Words that need no question are
 * passed over in a tight loop; what is left goes line by line. Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/late.h"
#include "preload/shadow.h"

enum { LINE = 64, CHUNK = 1 << AM_SHADOW_CHUNK }; /* bytes: the unit of numbering; what one chunk of cells is for */

/* Outside regions: up to the first word that is another's, and matters. */
static uintptr_t skip_idle(uintptr_t at, uintptr_t end, bool writes)
{
	const uintptr_t chunk = am_shadow_chunk(at);

	if (!chunk)
		return end;
	const struct am_cell *c = am_shadow_cell(chunk, at & ~(uintptr_t)7);
	for (uintptr_t word = at & ~(uintptr_t)7; word < end; word += 8, c++)
		if (am_unlikely(!am_view_is_ours(c)) && !am_late_is_idle(&am_view, am_cell_load(c), writes))
			return word > at ? word : at;
	return end;
}

/* In regions: up to the first word that does not take the fast path, and is not free to be taken. */
static inline __attribute__((always_inline)) uintptr_t pass(uintptr_t at, uintptr_t end, bool writes, uintptr_t pc)
{
	const uintptr_t chunk = am_shadow_chunk(at);
	const struct am_view *v = &am_view;

	if (!chunk)
		return at;
	struct am_cell *c = am_shadow_cell(chunk, at & ~(uintptr_t)7);
	for (; at < end; c++) {
		const uintptr_t next = (at | 7) + 1;
		if (am_likely((at & 7) == 0 && next <= end)) {
			if (!am_view_fast(c, at, AM_CELL_BYTES, writes, pc) &&
			    !am_late_take_free(v, c, at, AM_CELL_BYTES, writes, pc) &&
			    !am_late_take(v, c, at, AM_CELL_BYTES, writes, pc))
				break;
			at = next;
		} else {
			const uintptr_t stop = next < end ? next : end;
			const uint64_t bytes = am_filter_bytes(at & 7, (unsigned)(stop - at));
			if (!am_view_fast(c, at, bytes, writes, pc) && !am_late_take(v, c, at, bytes, writes, pc))
				break;
			at = stop;
		}
	}
	return at;
}

void am_view_range(enum am_kind kind, uintptr_t address, size_t size, struct am_here here)
{
	const struct am_view *v = &am_view;

	if (size == 0 || am_view_sleeps())
		return;
	for (uintptr_t at = address, end = address + size; at < end;) {
		const uintptr_t chunk_end = (at | (CHUNK - 1)) + 1, near = chunk_end < end ? chunk_end : end;
		if (am_view_is_idle())
			at = skip_idle(at, near, kind != AM_READ);
		else if (v->fast != AM_STRETCH_NONE && (kind != AM_FREE || v->depth != 0)) /* as in am_view_line */
			at = kind != AM_READ ? pass(at, near, true, here.pc) : pass(at, near, false, here.pc);
		if (at == near)
			continue;
		const uintptr_t line = (at | (LINE - 1)) + 1, stop = line < end ? line : end;
		am_view_line(kind, at, (unsigned)(stop - at), here);
		am_view_rest();
		at = stop;
	}
}
