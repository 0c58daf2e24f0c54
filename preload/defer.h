/* SPDX-License-Identifier: MIT */
/*
 * What waits until it is known to matter: the begin of a region, and the lock operations around and in
 * it. As long as nothing in a region has to be logged (filter.h) it leaves no record; when it ends so, it
 * is forgotten. Before anything else of the thread is logged all that waits is told, in its order:
 * limit in am_tls is 0 meanwhile, so that every record goes through log.c, which asks here.
 *
 * The list lies in memory that outlives its thread, for others read it: the thread that comes to a cell
 * of an open region tells the region's begin itself, before its own access. Both may do so at once;
 * analyzer/core/told.c takes the first.
 *
 * Changed by its own thread only, with am_tls.event set, so that signal handlers keep out. Runs in
 * application threads; no lock, no system call, no malloc.
 */
#ifndef ATOMMON_PRELOAD_DEFER_H
#define ATOMMON_PRELOAD_DEFER_H

#include "preload/lane.h"
#include "preload/shadow.h"

enum { AM_DEFER_MAX = 64, AM_DEFER_LINKS = 8 };

struct am_item {
	uint64_t what;	/* kind, object << 16 */
	uint64_t where; /* site << 32 | aux */
};

/* Counts that the thread took the last off (last.h). */
enum { AM_LAST_NOTES = 3 };
struct am_last_notes {
	uintptr_t at[AM_LAST_NOTES]; /* 0: none */
	uint32_t next, has_some;
};

struct am_deferred {
	/* The stretch of the outermost region while it is open, | AM_EXPOSED; else 0. Changed in one
	 * step, by its thread and by those who come to its cells. */
	uint64_t open;
	uint64_t told; /* stretch whose begin and mark others may rely on */
	uint32_t n;    /* items */
	uint32_t begin; /* which of them began the region */
	uint32_t taken; /* locks taken from there on and not released; never 0 again once an older one was released */
	struct am_item item[AM_DEFER_MAX];
	/* Newest stretches of others from which an edge leads to this thread (view_lend.c), by their blocks. */
	uint64_t linked[AM_DEFER_LINKS];
	struct am_last_notes last;
};
#define AM_EXPOSED UINT64_C(1)

/* The thread has none yet, or something else is unusual: false if it cannot be helped. */
bool am_defer_make(struct am_view *v);

/* Each returns false if it cannot wait: the caller logs it, and what waits is told first. */
bool am_defer_acquire_slowly(uintptr_t lock, enum am_mode mode, struct am_here here);
bool am_defer_release_slowly(uintptr_t lock, enum am_mode mode, struct am_here here);
bool am_defer_begin_slowly(enum am_kind kind, uintptr_t object, uint32_t aux, struct am_here here);
bool am_defer_end_slowly(enum am_kind kind, uintptr_t object, uint32_t aux, struct am_here here);

/* Tell what waits. Outside any record. */
void am_defer_tell(struct am_here here);

/* The same of functions that were entered in others that are regions (enter.h): are there any? */
void am_defer_tell_functions(struct am_here here);
static inline bool am_defer_has_functions(void)
{
	const struct am_lane *lane = am_tls.lane;

	return lane->functions_told < lane->n_functions && lane->functions_of == am_tls.id;
}

/* The region `stretch` of another thread, if it is still open: count it and tell its begin. False: it
 * has ended. `word`: whose cell was taken from it. */
bool am_defer_expose(struct am_view *v, struct am_deferred *d, uint32_t thread, uint64_t stretch,
		     uintptr_t word, struct am_here here);

/* ---- the usual case: nothing is unusual, and nothing was logged since the last time ------------ */

/* From here to am_defer_leave() handlers of this thread log in the old way. */
static inline void am_defer_enter(struct am_here here)
{
	am_tls.event = here.cfa;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void am_defer_leave(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	am_tls.event = 0;
}

/* The same, if nothing is unusual, which stays so up to am_defer_leave(). */
static inline bool am_defer_enter_calm(const struct am_view *v, struct am_here here)
{
	const struct am_tls *t = &am_tls;

	if (am_unlikely(t->event != 0))
		return false;
	am_defer_enter(here);
	if (am_likely(t->head == v->calm && !t->is_apart))
		return true;
	am_defer_leave();
	return false;
}

/* The same, to append an item. False: there is no room, for a handler may have come since that was asked. */
static inline bool am_defer_enter_room(const struct am_view *v, struct am_here here)
{
	am_defer_enter(here);
	if (am_likely(v->defer->n < AM_DEFER_MAX))
		return true;
	am_defer_leave();
	return false;
}

static inline void am_defer_append(struct am_view *v, enum am_kind kind, uintptr_t object, uint64_t where)
{
	struct am_deferred *d = v->defer;
	const uint32_t n = d->n;

	if (n == 0) {
		v->limit = am_tls.limit;
		am_tls.limit = 0;
	}
	/* Two stores: together in one register they would take more instructions. */
	__atomic_store_n(&d->item[n].what, (uint64_t)kind | object << 16, __ATOMIC_RELAXED);
	__atomic_store_n(&d->item[n].where, where, __ATOMIC_RELAXED);
	/* partner: the reader in am_defer_expose. On x86 a plain store. */
	__atomic_store_n(&d->n, n + 1, __ATOMIC_RELEASE);
}

/* Forget the items from `n` on. */
static inline void am_defer_cut(struct am_view *v, uint32_t n)
{
	v->defer->n = n;
	if (n == 0)
		am_tls.limit = v->limit;
}

/* The outermost region begins, and waits: its begin is the newest item. */
static inline void am_defer_start(struct am_view *v)
{
	struct am_deferred *d = v->defer;

	d->begin = d->n - 1;
	d->taken = 0;
	v->is_waiting = 1;
	v->past_is_over = !am_view_counts(v);
	__atomic_store_n(&d->open, v->stretch, __ATOMIC_RELEASE); /* partner: am_late_matters */
	am_view_set_fast(v, v->stretch | AM_CELL_LAZY);
	v->idle = ~UINT64_C(0);
}

/* One more level of regions; the outermost waits. */
static inline void am_defer_deepen(struct am_view *v)
{
	if (v->depth++ != 0)
		return;
	am_view_new_stretch(v);
	am_view_note_begin(v);
	am_defer_start(v);
	if (am_unlikely(!am_view_has_numbers(v)))
		am_view_doubt();
}

/* The same if nothing else has to be done for it: false, and nothing is done. */
static inline bool am_defer_deepen_shortly(struct am_view *v, enum am_kind kind, uintptr_t object, uint64_t where)
{
	if (am_unlikely(v->defer->n >= AM_DEFER_MAX))
		return false;
	if (v->depth == 0) {
		const uint64_t next = am_view_next_stretch(v);

		if (am_unlikely(next == 0) || !am_view_is_enrolled(v))
			return false;
		am_defer_append(v, kind, object, where);
		v->stretch = next;
		am_defer_start(v);
	} else {
		am_defer_append(v, kind, object, where);
	}
	v->depth++;
	return true;
}

/* The outermost region ends, and waits: is it over, because nobody came to its cells? */
static inline bool am_defer_close(struct am_view *v)
{
	uint64_t open = v->stretch;

	/* partner: the exchange in am_defer_expose */
	if (!__atomic_compare_exchange_n(&v->defer->open, &open, 0, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_RELAXED))
		return false;
	v->is_waiting = 0;
	v->depth = 0;
	v->n_forgotten++;
	return true;
}

/* Then it is forgotten. */
static inline bool am_defer_forget(struct am_view *v)
{
	if (!am_defer_close(v))
		return false;
	am_view_new_stretch(v);
	if (am_likely(am_tls.head == v->calm))
		v->idle = am_view_idle(v);
	else
		am_view_rest();
	return true;
}

/* The same in the usual case; false, and nothing is done, if it is not. */
static inline bool am_defer_forget_shortly(struct am_view *v)
{
	const uint64_t next = am_view_next_stretch(v);

	if (am_unlikely(next == 0) || !am_defer_close(v))
		return false;
	v->stretch = next;
	am_view_set_fast(v, AM_STRETCH_NONE);
	v->idle = am_view_idle(v);
	v->past_is_over = 0;
	return true;
}

/* Is the newest item the acquire of this lock? */
static inline bool am_defer_is_newest(const struct am_deferred *d, uintptr_t lock)
{
	return d->n != 0 && d->item[d->n - 1].what == (AM_ACQUIRE | lock << 16);
}

/* How a lock is held is where others have their aux. */
static inline __attribute__((always_inline)) bool am_defer_acquire(uintptr_t lock, enum am_mode mode, struct am_here here)
{
	struct am_view *v = &am_view;
	const uint64_t key = am_site_key(here);
	const struct am_site_cached *e;

	if (!am_defer_enter_calm(v, here))
		return am_defer_acquire_slowly(lock, mode, here);
	if ((e = am_site_entry(&am_tls, key), !am_site_is_hit(e, key)) || am_unlikely(v->defer->n >= AM_DEFER_MAX)) {
		am_defer_leave();
		return am_defer_acquire_slowly(lock, mode, here);
	}
	am_defer_append(v, AM_ACQUIRE, lock, e->site | mode);
	if (am_after.has_sections && v->held++ == 0)
		am_defer_deepen(v);
	v->defer->taken++;
	am_defer_leave();
	return true;
}

/* Outside regions, or in one; false, and nothing is done, if something is unusual. */
static inline bool am_defer_release_shortly(struct am_view *v, uintptr_t lock, enum am_mode mode, struct am_here here)
{
	struct am_deferred *d = v->defer;

	if (am_unlikely(!am_defer_is_newest(d, lock)))
		return false;
	if (am_after.has_sections) {
		if (v->held != 1 || v->depth != 1 || !am_defer_forget_shortly(v))
			return false;
		am_defer_cut(v, 0);
		v->held = 0;
		return true;
	}
	if (v->depth == 0) {
		am_defer_cut(v, d->n - 1);
		return true;
	}
	const struct am_pc_cached *p = am_site_pc_entry(&am_tls, here.pc);
	if (am_unlikely(p->pc != here.pc || d->n >= AM_DEFER_MAX))
		return false;
	am_defer_append(v, AM_RELEASE, lock, p->site | mode);
	d->taken--;
	return true;
}

static inline bool am_defer_release(uintptr_t lock, enum am_mode mode, struct am_here here)
{
	struct am_view *v = &am_view;

	if (am_defer_enter_calm(v, here)) {
		const bool is_done = am_defer_release_shortly(v, lock, mode, here);
		am_defer_leave();
		if (am_likely(is_done))
			return true;
	}
	return am_defer_release_slowly(lock, mode, here);
}

/* Between am_defer_enter_calm and am_defer_leave; false, and nothing is done, if something is unusual. */
static inline bool am_defer_begin_shortly(struct am_view *v, enum am_kind kind, uintptr_t object, uint32_t aux, struct am_here here)
{
	const uint64_t key = am_site_key(here);
	const struct am_site_cached *e = am_site_entry(&am_tls, key);

	return am_site_is_hit(e, key) && am_defer_deepen_shortly(v, kind, object, e->site | aux);
}

static inline bool am_defer_end_shortly(struct am_view *v)
{
	if (!v->is_waiting || v->depth != 1 || v->defer->taken != 0 || !am_defer_forget_shortly(v))
		return false;
	am_defer_cut(v, v->defer->begin);
	return true;
}

static inline bool am_defer_begin(enum am_kind kind, uintptr_t object, uint32_t aux, struct am_here here)
{
	struct am_view *v = &am_view;

	if (am_defer_enter_calm(v, here)) {
		const bool is_done = am_defer_begin_shortly(v, kind, object, aux, here);
		am_defer_leave();
		if (am_likely(is_done))
			return true;
	}
	return am_defer_begin_slowly(kind, object, aux, here);
}

static inline bool am_defer_end(enum am_kind kind, uintptr_t object, uint32_t aux, struct am_here here)
{
	struct am_view *v = &am_view;

	if (am_defer_enter_calm(v, here)) {
		const bool is_done = am_defer_end_shortly(v);
		am_defer_leave();
		if (am_likely(is_done))
			return true;
	}
	return am_defer_end_slowly(kind, object, aux, here);
}

#endif
