/* SPDX-License-Identifier: MIT */
/*
 * Atomic loads and stores in regions, the usual cases in line: the first of a region that waits to a word that is this thread's or nobody's
 * (view_exact.c), and those of a region that is told for which nothing else has to be told. Whatever is unusual is left to
 * the steps of tsan_atomic.c, which say the same at more length. Runs in application threads; nothing is called between am_exact_enter and the operation
 * that could log, so that all that stands in between is under the lock of the slot and inside one record.
 */
#ifndef ATOMMON_PRELOAD_EXACT_H
#define ATOMMON_PRELOAD_EXACT_H

#include "atommon/told.h"
#include "preload/defer.h"
#include "preload/late.h"
#include "preload/retry.h"
#include "preload/slot.h"
#include "preload/step.h"

struct am_exact {
	struct am_slot *slot;
	uint64_t site; /* id << 32, of one that waits */
	bool waits;
};

/* Under the lock, before the operation: as take_cell in view_exact.c. */
static inline __attribute__((always_inline)) bool am_exact_take(const struct am_view *v, struct am_cell *c, uint64_t bytes, bool writes)
{
	struct am_cell old = am_cell_load(c), next;

	if (am_unlikely(!am_filter_waits_first(old, v->stretch, bytes, writes, false, &next)) ||
	    !__atomic_compare_exchange_n(&c->w, &old.w, next.w, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&c->r, next.r, __ATOMIC_RELAXED);
	return true;
}

/* Inside a record: does it wait? */
static inline __attribute__((always_inline)) bool am_exact_waits(struct am_exact *x, const struct am_view *v, struct am_cell *c, uint64_t bytes,
								 bool writes, struct am_here here)
{
	const uint64_t key = am_site_key(here);
	const struct am_site_cached *e = am_site_entry(&am_tls, key);

	if (!am_view_has_numbers(v) || v->defer->n >= AM_DEFER_MAX || am_view_counts(v) || !am_site_is_hit(e, key) ||
	    !am_slot_try(x->slot))
		return false;
	x->site = e->site;
	if (am_likely(am_exact_take(v, c, bytes, writes)))
		return true;
	am_slot_unlock(x->slot);
	return false;
}

/* The same: is it logged, in a region that is told, by a thread that counts (filter.h, 6)? While anything waits there is no room. */
static inline __attribute__((always_inline)) bool am_exact_logs(struct am_exact *x, struct am_view *v, struct am_cell *c, uint64_t bytes,
								bool writes)
{
	if (v->depth == 0 || am_state() != AM_DEFER || !am_view_counts(v) || !am_view_has_numbers(v) ||
	    am_tls.head + 1 + AM_R_EXT_MAX > am_tls.limit || am_retry.watched || !am_slot_try(x->slot))
		return false;
	if (am_unlikely(!am_late_take_logged(v, c, bytes, writes))) {
		am_slot_unlock(x->slot);
		return false;
	}
	v->reached = v->counted;
	return true;
}

/* An access of so many bytes, to one word whose cell does not know it. True: it is performed, and am_exact_finish follows. False: nothing is done, or
 * it would have to be logged and may not. */
static inline __attribute__((always_inline)) bool am_exact_enter(struct am_exact *x, struct am_cell *c, uintptr_t address, unsigned size,
								 bool writes, bool may_log, struct am_here here)
{
	struct am_view *v = &am_view;
	const uint64_t bytes = am_fast_bytes(address, size);

	if (v->is_waiting)
		am_retry_check(here);
	if (am_tls.event || am_tls.is_apart || !c || !am_fast_is_in_word(address, size))
		return false;
	am_defer_enter(here);
	x->slot = &am_slots[am_slot_of(address)];
	x->waits = v->is_waiting;
	x->site = 0;
	if (am_likely(!v->is_telling &&
		      (x->waits ? am_exact_waits(x, v, c, bytes, writes, here) : may_log && am_exact_logs(x, v, c, bytes, writes))))
		return true;
	am_defer_leave();
	return false;
}

/* `flags`: of one that waits. `order`: without what is known of the loads before it. */
static inline __attribute__((always_inline)) void am_exact_finish(const struct am_exact *x, enum am_kind kind, uintptr_t address, unsigned size,
								  uint8_t flags, uint8_t order, uint64_t value, struct am_here here)
{
	struct am_view *v = &am_view;

	if (x->waits) {
		if (kind == AM_READ)
			order |= am_retry_load(address, here.pc, value);
		am_defer_append(v, kind, address, x->site | am_told_access(size, flags, order));
		/* partner: the exchange in am_defer_expose, before it reads the list */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (am_unlikely(__atomic_load_n(&v->defer->open, __ATOMIC_RELAXED) & AM_EXPOSED))
			am_exact_tell(here);
		am_slot_unlock(x->slot);
		am_defer_leave();
		return;
	}
	const uint32_t number = __atomic_fetch_add(&x->slot->next, 1, __ATOMIC_SEQ_CST); /* as am_number */
	am_slot_unlock(x->slot);
	if (kind == AM_READ)
		order |= am_retry_load(address, here.pc, value);
	const uint64_t others = am_view_others(v);
	am_log_step(kind, (unsigned)__builtin_ctz(size), address, number, am_retry_order(order), here);
	am_view_count_own(v, others);
}

#endif
