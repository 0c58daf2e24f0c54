/*
 * Atomic and volatile accesses of a region that waits (defer.h) wait with it: they are items of its list, and are told, if the region
 * is, as events of their own before anything else of it. So the stages behind see of them what they see of those that were
 * logged at once: order, value, whether they commute. If the region ends and concerned nobody they are forgotten.
 * Runs in application threads; no system call, no malloc.
 *
 * The cell, the operation and the item, in this order, go together under the lock of the slot. Who takes a cell of the open region of another
 * thread takes that lock before, and tells the list under it (seize in view_late.c): then the item is there, and a third thread that
 * takes the cell next comes behind it. If the region is exposed meanwhile, for another of its cells, the list may have been read without this
 * item; the thread sees that behind its store, and tells the item itself before it lets go of the slot. Either way it is told, with a number of the
 * slot, before whoever comes behind it. Where the cell was lost without a word, the item is not told at all (defer.c).
 *
 * A region that was forgotten leaves nothing in its cells that could be told later. Nobody asks for it: such accesses wait only in
 * a thread that has logged nothing in this generation, so that, once the region is over, they do not matter (filter.h, 6).
 */
/* SPDX-License-Identifier: MIT */
#include "preload/step.h"

#include "atommon/told.h"
#include "preload/defer.h"
#include "preload/exact.h"
#include "preload/late.h"
#include "preload/retry.h"
#include "preload/slot.h"

/* Is it an access to one word, in a region that waits, and nothing unusual? */
static inline bool is_usual(const struct am_view *v, uintptr_t address, unsigned size)
{
	return v->is_waiting && size <= 8 && (address & 7) + size <= 8 && !am_tls.is_apart && !v->is_telling &&
	       v->stretch >> AM_BLOCK_SHIFT != AM_BLOCK_OTHER;
}

static inline bool has_room(const struct am_view *v)
{
	return v->defer->n < AM_DEFER_MAX;
}

/* Is there an item of the same update? One that commutes is known by it, for its cell covers nothing. If it stands for a read, too,
 * it does not commute, and is as good. Of one that may not commute, which its result tells (AM_ORDER_LAST), that is asked behind it. */
static bool has_item(const struct am_deferred *d, uintptr_t address, unsigned size, uint8_t order)
{
	const uint64_t what = AM_UPDATE | (uint64_t)address << 16;
	const uint32_t commutes = am_told_access(size, 0, order & AM_ORDER_COMMUTES);
	const uint32_t mask = am_told_access(0xff, 0xff, AM_ORDER_COMMUTES);

	for (uint32_t i = d->begin; i < d->n && !(order & AM_ORDER_LAST); i++)
		if (d->item[i].what == what && ((uint32_t)d->item[i].where & mask) == commutes)
			return true;
	return false;
}

/* In one step. False: somebody came. */
static bool put_cell(struct am_cell *cell, struct am_cell old, struct am_cell next)
{
	if (!__atomic_compare_exchange_n(&cell->w, &old.w, next.w, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&cell->r, next.r, __ATOMIC_RELAXED);
	return true;
}

void am_exact_leave(struct am_step *s)
{
	if (s->is_locked)
		am_slot_unlock(s->slot);
	s->waits = s->is_locked = false;
	am_defer_leave();
}

/* Has the region made the access already, and nobody been there since? */
static __attribute__((noinline)) bool is_known(const struct am_view *v, struct am_cell c, enum am_kind kind, uintptr_t address,
					       unsigned size, unsigned commutes)
{
	const uint64_t bytes = am_filter_bytes(address & 7, size);

	return am_filter_known(c, v->stretch, bytes, kind != AM_READ) ||
	       (commutes && am_filter_is_apart(c, v->stretch, bytes) && has_item(v->defer, address, size, (uint8_t)commutes));
}

/* Under the lock, before the operation: whoever looks at the cell from here on knows that this thread is here. */
static __attribute__((noinline)) bool take_cell_slowly(struct am_step *s, enum am_kind kind, uintptr_t address, unsigned size,
						       unsigned commutes)
{
	const struct am_view *v = &am_view;
	const uint64_t bytes = am_filter_bytes(address & 7, size);

	s->is_known = commutes && am_filter_is_apart(s->old, v->stretch, bytes) && has_item(v->defer, address, size, (uint8_t)commutes);
	if (s->is_known)
		return true;
	const struct am_cell seen = am_late_matters(v, s->old) ? s->old : am_filter_over(s->old, v->stretch);
	return am_filter_waits(seen, v->stretch, bytes, kind != AM_READ, commutes, &s->next) &&
	       put_cell(s->cell, s->old, s->next);
}

/* The same. This thread has logged nothing in the generation, so that nothing of its own matters here. */
static inline bool take_cell(struct am_step *s, const struct am_view *v, enum am_kind kind, uintptr_t address, unsigned size,
			     unsigned commutes)
{
	s->old = am_cell_load(s->cell);
	if (am_likely(am_filter_waits_first(s->old, v->stretch, am_filter_bytes(address & 7, size), kind != AM_READ, commutes, &s->next)))
		return put_cell(s->cell, s->old, s->next);
	return take_cell_slowly(s, kind, address, size, commutes);
}

bool am_exact_begin(struct am_step *s, enum am_kind kind, uintptr_t address, unsigned size, unsigned commutes, struct am_here here)
{
	struct am_view *v = &am_view;

	if (!v->is_waiting)
		return false;
	am_retry_check(here);
	if (!is_usual(v, address, size) || am_tls.event)
		return false;
	s->cell = am_shadow_find(address);
	if (am_unlikely(!s->cell) && !(s->cell = am_shadow_make(address)))
		return false;
	const struct am_cell c = am_cell_load(s->cell);
	const bool was_here = am_filter_same_stretch(c.w, v->stretch) || am_filter_same_stretch(c.r, v->stretch);
	s->is_known = am_unlikely(was_here) && is_known(v, c, kind, address, size, commutes);
	if (s->is_known || !has_room(v))
		return false;
	s->site = am_site(&am_tls, AM_READ, here); /* one with callers, of all kinds that come here */
	am_defer_enter(here);
	/* a handler may have come meanwhile, and told what waits, or added to it */
	if (!v->is_waiting || !has_room(v) || am_view_counts(v)) {
		am_defer_leave();
		return false;
	}
	s->is_locked = am_slot_lock(s->slot);
	s->waits = take_cell(s, v, kind, address, size, commutes);
	if (!s->waits)
		am_exact_leave(s);
	return s->waits;
}

/*
 * In a region that is told: it is known, or logged, if nothing else has to be told for that. The cell is taken under the lock of the slot, so that nobody
 * comes between it and the operation; in begin_slowly (tsan_atomic.c), where it is taken before, that is asked again.
 */
static bool begin_logged(struct am_step *s, struct am_view *v, enum am_kind kind, uintptr_t address, unsigned size, struct am_here here)
{
	struct am_exact x = {.slot = s->slot};
	const uint64_t bytes = am_filter_bytes(address & 7, size);
	const bool writes = kind != AM_READ;

	if (v->depth == 0 || v->is_telling || (address & 7) + size > 8 || am_tls.event || am_tls.is_apart ||
	    !(s->cell = am_shadow_find(address)))
		return false;
	if (am_filter_known(am_cell_load(s->cell), v->stretch, bytes, writes))
		return true;
	am_defer_enter(here);
	s->is_logged = s->is_locked = am_exact_logs(&x, v, s->cell, bytes, writes);
	if (!s->is_logged)
		am_defer_leave();
	return s->is_logged;
}

bool am_exact_start(struct am_step *s, enum am_kind kind, uintptr_t address, unsigned size, unsigned commutes, struct am_here here)
{
	struct am_view *v = &am_view;

	if (am_state() != AM_DEFER || (am_after.has_sections && am_view_others(v) != v->others))
		return false;
	if (v->is_waiting)
		return am_exact_begin(s, kind, address, size, commutes, here) || s->is_known;
	return !commutes && begin_logged(s, v, kind, address, size, here);
}

void am_exact_undo(struct am_step *s)
{
	if (!s->is_known)
		put_cell(s->cell, s->next, s->old);
}

void am_exact_tell(struct am_here here)
{
	am_defer_leave();
	am_defer_tell(here);
}

/* Tell all that waits, if somebody may have read the list without the newest item. */
static void tell_if_exposed(const struct am_view *v, struct am_here here)
{
	/* partner: the exchange in am_defer_expose, before it reads the list */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (am_likely(!(__atomic_load_n(&v->defer->open, __ATOMIC_RELAXED) & AM_EXPOSED)))
		return;
	am_exact_tell(here);
}

void am_exact_end(struct am_step *s, enum am_kind kind, uintptr_t address, unsigned size, unsigned flags, uint8_t order,
		  struct am_here here)
{
	struct am_view *v = &am_view;
	const bool is_again = kind == AM_UPDATE && order & AM_ORDER_COMMUTES &&
			      am_filter_is_apart(s->old, v->stretch, am_filter_bytes(address & 7, size)) &&
			      has_item(v->defer, address, size, order);

	if (!s->is_known && !is_again) {
		am_defer_append(v, kind, address, (uint64_t)s->site << 32 | am_told_access(size, (uint8_t)flags, order));
		tell_if_exposed(v, here);
	}
	am_exact_leave(s);
}

/* Memory goes: the free is a write of it, and covers what waits; what comes there next is something else. */
void am_exact_gone(uintptr_t address, size_t size)
{
	struct am_view *v = &am_view;
	struct am_deferred *d = v->defer;

	if (am_likely(!v->is_waiting) || am_tls.event)
		return;
	for (uint32_t i = d->begin; i < d->n; i++) {
		const uint8_t kind = (uint8_t)d->item[i].what;
		/* Others may be reading the list, so in its place stands something that says nothing. */
		if (kind >= AM_READ && kind <= AM_UPDATE && (d->item[i].what >> 16) - address < size)
			__atomic_store_n(&d->item[i].what, AM_FENCE, __ATOMIC_RELAXED);
	}
}
