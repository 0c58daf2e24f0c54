/*
 * What a recording leaves out. Nothing may be missing that a prediction could turn on, neither an access that
 * breaks something nor one that holds a schedule back. Runs in application threads.
 *
 * Plain accesses: one is left out if this thread did the same to the same bytes twice already since it last
 * logged anything but accesses (no lock, no region boundary in between), and no other thread came here
 * meanwhile. Two are kept so that "something happens between two of them" can still be predicted. Where it
 * stood among the thread's other accesses is lost; it matters to nobody in a program without data races.
 *
 * Atomic and volatile ones are what others synchronise by: one that wrote is always kept, for whoever finds its
 * value comes after all that was done before it; a read, or an attempt that failed, is left out only if it was made
 * twice from the same place, with nothing written, nothing else logged and nobody here since. That is a
 * thread that waits, which must not fill its ring.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/lane.h"
#include "preload/shadow.h"

enum { ENOUGH = 2 };

static struct am_look *look_at(struct am_looks *looks, uintptr_t address, uintptr_t pc)
{
	const uint64_t key = (address ^ pc * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xc2b2ae3d27d4eb4f);

	_Static_assert(AM_LOOKS == 16, "the four upper bits choose");
	return &looks->at[key >> 60];
}

/* Of the thread that has the lane now: its stretch, in the cell, tells that (is_done). */
static bool is_same(const struct am_looks *looks, const struct am_look *l, uintptr_t address, uintptr_t pc)
{
	return l->address == address && l->pc == pc && l->deeds == looks->deeds;
}

/* Nobody else came, and all of it was done already. `w`: the cell's. */
static bool is_done(const struct am_view *v, uint64_t w, uint64_t kind)
{
	return am_filter_has(w, v->stretch, kind);
}

bool am_view_is_recorded(uintptr_t address, uint64_t bytes, uintptr_t pc)
{
	const struct am_view *v = &am_view;
	const uintptr_t word = address & ~(uintptr_t)7;
	const struct am_cell *c = am_shadow_find(address);

	if (!c || !am_tls.lane)
		return false;
	struct am_looks *looks = &am_tls.lane->looks;
	const struct am_look *l = look_at(looks, word, pc);
	return is_same(looks, l, word, pc) && l->times >= ENOUGH && am_view_others(v) == v->others &&
	       is_done(v, __atomic_load_n(&c->w, __ATOMIC_RELAXED), bytes);
}

/* Has the thread looked here long enough? `is_new`: something changed since. */
static bool is_another_look(struct am_looks *looks, uintptr_t word, uintptr_t pc, bool is_new)
{
	struct am_look *l = look_at(looks, word, pc);

	if (is_new || !is_same(looks, l, word, pc))
		*l = (struct am_look){word, pc, looks->deeds, 0};
	if (l->times >= ENOUGH)
		return false;
	l->times++;
	return true;
}

bool am_view_record_wants(struct am_view *v, struct am_cell *cell, uintptr_t word, uint64_t bytes,
			  bool writes, bool is_exact, uintptr_t pc)
{
	const struct am_cell c = am_cell_load(cell);
	const uint64_t kind = writes ? bytes << AM_MORE_SHIFT : bytes;
	const uint64_t others = am_view_others(v);
	struct am_looks *looks = &am_tls.lane->looks; /* there is one: am_view_is_ready */

	/* Anything but accesses since this was last asked? */
	if (others != v->others)
		am_view_new_stretch(v);
	v->others = others;
	looks->deeds += writes;
	const bool is_ours = am_filter_same_stretch(c.w, v->stretch), is_new = !is_done(v, c.w, kind);
	if (is_new)
		__atomic_store_n(&cell->w, (is_ours ? c.w : v->stretch) | kind, __ATOMIC_RELAXED);
	if (is_exact)
		return writes || is_another_look(looks, word, pc, is_new);
	if (is_new)
		return true;
	/* The other half of the cell: what was done twice. */
	if (is_done(v, c.r, kind))
		return false;
	__atomic_store_n(&cell->r, (am_filter_same_stretch(c.r, v->stretch) ? c.r : v->stretch) | kind,
			 __ATOMIC_RELAXED);
	return true;
}
