/*
 * What waits until it is known to matter (see defer.h). Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/defer.h"

#include "atommon/told.h"
#include "preload/functions.h"
#include "preload/lane.h"
#include "preload/late.h"

_Static_assert(AM_DEFER_MAX <= 0xff, "the place among the items has 8 bits");

static struct am_unit unit(enum am_ext tag, uint64_t w1)
{
	return (struct am_unit){AM_EXT | (uint64_t)tag << AM_R_DETAIL_SHIFT, w1};
}

static uint8_t kind_of(const struct am_item *item)
{
	return (uint8_t)item->what;
}

static uint64_t object_of(const struct am_item *item)
{
	return item->what >> 16;
}

bool am_defer_make(struct am_view *v)
{
	if (am_tls.event || am_tls.muted || am_tls.inside || am_tls.owned || am_tls.ended ||
	    !am_view_is_ready())
		return false;
	return v->defer != NULL && !v->is_telling && v->stretch >> AM_BLOCK_SHIFT != AM_BLOCK_OTHER;
}

/* May this thread let something wait? */
static inline bool is_ready(struct am_view *v)
{
	const struct am_tls *t = &am_tls;

	if (am_likely(v->defer && t->event == 0 && !t->is_apart))
		return !v->is_telling && v->stretch >> AM_BLOCK_SHIFT != AM_BLOCK_OTHER;
	return am_defer_make(v);
}

/* Sections are followed by what was logged; what waits is counted at once, but behind that. */
static inline void catch_up(struct am_view *v)
{
	if (am_after.has_sections && am_unlikely(am_view_others(v) != v->others))
		am_view_follow(v);
}

/* Before the first item: what was logged before must be seen to be before. */
static inline void start(struct am_view *v, struct am_here here)
{
	if (v->defer->n == 0 && am_unlikely(am_tls.head != v->mark_head))
		am_late_mark_now(v, here);
}

static inline bool is_logged(const struct am_view *v)
{
	return v->depth != 0 && !v->is_waiting;
}

/* It was let wait: the next one need not ask, until something is logged. */
static void calm_down(struct am_view *v)
{
	const bool is_calm = v->mark_head == am_tls.head && !is_logged(v) &&
			     (!am_after.has_sections || am_view_others(v) == v->others);

	v->calm = is_calm ? am_tls.head : ~UINT64_C(0);
}

/* ---- locks ------------------------------------------------------------------------------------ */

bool am_defer_acquire_slowly(uintptr_t lock, enum am_mode mode, struct am_here here)
{
	struct am_view *v = &am_view;

	if (!is_ready(v))
		return false;
	catch_up(v);
	if (is_logged(v) || v->defer->n == AM_DEFER_MAX)
		return false;
	start(v, here);
	const uint64_t site = am_site(&am_tls, AM_ACQUIRE, here);
	if (am_unlikely(is_logged(v)) || !am_defer_enter_room(v, here)) /* a handler, meanwhile */
		return false;
	am_defer_append(v, AM_ACQUIRE, lock, site << 32 | mode);
	if (am_after.has_sections && v->held++ == 0)
		am_defer_deepen(v);
	v->defer->taken++;
	calm_down(v);
	am_defer_leave();
	return true;
}

/* The item by which the mutex is held, n if none. */
static inline uint32_t find(const struct am_deferred *d, uintptr_t mutex)
{
	const uint64_t what = AM_ACQUIRE | mutex << 16;
	unsigned released = 0;

	for (uint32_t i = d->n; i-- > 0;) {
		if (d->item[i].what == what && released-- == 0)
			return i;
		released += d->item[i].what == (AM_RELEASE | mutex << 16);
	}
	return d->n;
}

static void take_out(struct am_deferred *d, uint32_t i)
{
	for (d->n--; i < d->n; i++)
		d->item[i] = d->item[i + 1];
}

bool am_defer_release_slowly(uintptr_t lock, enum am_mode mode, struct am_here here)
{
	struct am_view *v = &am_view;

	if (!is_ready(v))
		return false;
	catch_up(v);
	struct am_deferred *d = v->defer;
	if (d->n == 0)
		return false;
	const uint64_t site = v->depth != 0 ? am_site(&am_tls, AM_RELEASE, here) : 0;
	bool is_done = true;
	am_defer_enter(here);
	/* As it is now, for a handler may have come meanwhile. */
	const uint32_t at = find(d, lock);
	if (at == d->n || is_logged(v) || (v->depth != 0 && d->n == AM_DEFER_MAX)) {
		am_defer_leave();
		return false;
	}
	const bool ends = am_after.has_sections && v->held == 1;
	if (ends && v->depth == 1) {
		is_done = am_defer_forget(v);
		if (is_done)
			am_defer_cut(v, 0);
	} else if (v->depth != 0) {
		am_defer_append(v, AM_RELEASE, lock, site << 32 | mode);
		d->taken += at >= d->begin ? UINT32_MAX : 1u << 16;
		v->depth -= ends;
	} else {
		take_out(d, at);
		if (d->n == 0)
			am_defer_cut(v, 0);
	}
	v->held -= is_done && v->held > 0;
	am_defer_leave();
	return is_done;
}

/* ---- regions ---------------------------------------------------------------------------------- */

bool am_defer_begin_slowly(enum am_kind kind, uintptr_t object, uint32_t aux, struct am_here here)
{
	struct am_view *v = &am_view;

	if (am_state() != AM_DEFER || !is_ready(v))
		return false;
	catch_up(v);
	if (is_logged(v) || v->defer->n == AM_DEFER_MAX)
		return false;
	start(v, here);
	const uint64_t site = am_site(&am_tls, kind, here);
	if (am_unlikely(is_logged(v)) || !am_defer_enter_room(v, here))
		return false;
	am_defer_append(v, kind, object, site << 32 | aux);
	am_defer_deepen(v);
	calm_down(v);
	am_defer_leave();
	return true;
}

/* Without the region that began at d->begin: a lock that is still held stays. */
static void shrink(struct am_view *v)
{
	struct am_deferred *d = v->defer;
	uint32_t n = d->begin;

	for (uint32_t i = d->begin; i < d->n; i++) {
		const struct am_item item = d->item[i];
		if (kind_of(&item) == AM_ACQUIRE) {
			d->item[n++] = item;
		} else if (kind_of(&item) == AM_RELEASE) {
			uint32_t k = n;
			while (k > 0 && d->item[k - 1].what != (AM_ACQUIRE | object_of(&item) << 16))
				k--;
			if (k > 0) {
				for (n--; k <= n; k++)
					d->item[k - 1] = d->item[k];
			}
		}
	}
	am_defer_cut(v, n);
}

bool am_defer_end_slowly(enum am_kind kind, uintptr_t object, uint32_t aux, struct am_here here)
{
	struct am_view *v = &am_view;
	bool is_done = true;

	if (!v->is_waiting || !is_ready(v))
		return false;
	catch_up(v);
	const uint64_t site = v->depth > 1 ? am_site(&am_tls, kind, here) : 0;
	am_defer_enter(here);
	if (!v->is_waiting || (v->depth > 1 && v->defer->n == AM_DEFER_MAX)) {
		am_defer_leave();
		return false;
	}
	if (v->depth > 1) {
		am_defer_append(v, kind, object, site << 32 | aux);
		v->depth--;
	} else {
		is_done = am_defer_forget(v);
		if (is_done)
			shrink(v);
	}
	am_defer_leave();
	return is_done;
}

static bool is_access(const struct am_item *item)
{
	return kind_of(item) == AM_READ || kind_of(item) == AM_WRITE || kind_of(item) == AM_UPDATE;
}

/* ---- telling ---------------------------------------------------------------------------------- */

#define NOWHERE ((uintptr_t)1) /* no word */

/*
 * May an access be told as one that happens now? Not if another thread has the cell, unless we just took it: that one may have
 * logged what it did there. It took the cell as the fast paths do, which look and store in two steps; or is telling this item.
 */
static bool is_current(const struct am_item *item, uint64_t stretch, uintptr_t taken)
{
	struct am_cell *cell = am_shadow_find(object_of(item));

	if (!cell || (!am_filter_same_stretch(__atomic_load_n(&cell->w, __ATOMIC_RELAXED), stretch) &&
		      (object_of(item) & ~UINT64_C(7)) != taken))
		return false;
	__atomic_fetch_or(&cell->w, AM_CELL_LOGGED, __ATOMIC_RELAXED);
	return true;
}

/* `taken`: the word whose cell this thread took from the region. */
static void tell_item(const struct am_item *item, uint32_t place, uint32_t thread, uint64_t stretch,
		      uintptr_t taken, struct am_here here)
{
	const bool is_told_access = is_access(item) && is_current(item, stretch, taken);
	const bool is_lost = is_access(item) && !is_told_access;
	/* In place of what is lost: a load that does not count, so that what was read for the same attempt is still seen to be; or
	 * what says nothing. */
	const uint8_t kind = is_lost && kind_of(item) != AM_READ ? AM_FENCE : kind_of(item);
	const uint64_t what = kind | (uint64_t)place << 8;
	const uint32_t aux = (uint32_t)item->where | (is_lost ? am_told_access(0, 0, AM_ORDER_FAILED) : 0);
	/* An access is told with a number of its slot, so that whoever comes there later comes behind it. */
	struct am_record r = {.kind = AM_TOLD, .n_ext = 1, .has_seq = is_told_access, .object = object_of(item),
			      .ordered = object_of(item), .site = (uint32_t)(item->where >> 32)};

	if (thread == am_tls.id - 1 && !aux) {
		r.ext[0] = unit(AM_X_AUX, what << 32 | am_late_number(stretch));
	} else {
		r.ext[0] = unit(AM_X_AUX, (uint64_t)thread << 32 | am_late_number(stretch));
		r.ext[1] = unit(AM_X_VALUE, what | (uint64_t)aux << 32);
		r.n_ext = 2;
	}
	am_log_record(&r, (struct am_here){0, here.cfa});
}

/* Nothing but a number of the thread: who takes one later comes behind what was told here. */
static void tell_number(uint32_t thread, uint64_t stretch, struct am_here here)
{
	struct am_record r = {.kind = AM_TOLD, .n_ext = 2, .has_seq = true,
			      .object = AM_THREAD_OBJECT(thread), .ordered = AM_THREAD_OBJECT(thread)};

	r.ext[0] = unit(AM_X_AUX, (uint64_t)thread << 32 | am_late_number(stretch));
	r.ext[1] = unit(AM_X_VALUE, AM_NONE);
	am_log_record(&r, (struct am_here){0, here.cfa});
}

/* Of locks outside regions nobody else tells: as they are. */
static void tell_lock(const struct am_item *item, struct am_here here)
{
	struct am_record r = {.kind = kind_of(item), .detail = (uint8_t)item->where, .object = object_of(item),
			      .site = (uint32_t)(item->where >> 32)};

	am_log_record(&r, (struct am_here){0, here.cfa});
}

void am_defer_tell_functions(struct am_here here)
{
	struct am_view *v = &am_view;
	struct am_lane *lane = am_tls.lane;
	const uint64_t others = am_view_others(v);
	uint32_t i = lane->functions_told, n = i;

	/* Up to one that is not written yet, below a signal handler. */
	while (n < lane->n_functions && lane->functions[n + 1].cfa != AM_FUNCTION_NONE)
		n++;
	lane->functions_told = n;
	v->is_telling = 1;
	for (; i < n; i++) {
		const struct am_function *f = &am_functions[lane->functions[i + 1].number - 1];
		struct am_record r = {.kind = AM_ENTER, .n_ext = 1, .object = f->start};
		r.ext[0] = unit(AM_X_AUX, f->name);
		am_log_record(&r, (struct am_here){0, here.cfa});
	}
	v->is_telling = 0;
	am_view_count_own(v, others);
}

void am_defer_tell(struct am_here here)
{
	struct am_view *v = &am_view;
	struct am_deferred *d = v->defer;
	struct am_item item[AM_DEFER_MAX];
	const uint32_t n = d->n;
	const uint64_t others = am_view_others(v), stretch = v->stretch;
	const bool is_region = v->is_waiting;
	bool is_told = false; /* by another, before us */

	v->calm = ~UINT64_C(0);
	__builtin_memcpy(item, d->item, n * sizeof *item);
	v->is_waiting = 0;
	am_tls.limit = v->limit;
	if (is_region) {
		uint64_t open = stretch;
		/* partner: the exchange in am_defer_expose */
		if (__atomic_compare_exchange_n(&d->open, &open, stretch | AM_EXPOSED, false,
						__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			am_view_count_open();
		else
			is_told = true;
		am_late_matter(v);
	}
	v->is_telling = 1;
	if (is_told)
		tell_number(am_tls.id - 1, stretch, here);
	for (uint32_t i = 0; i < n; i++)
		if (is_region)
			tell_item(&item[i], i, am_tls.id - 1, stretch, NOWHERE, here);
		else
			tell_lock(&item[i], here);
	am_view_count_own(v, others);
	if (is_region) {
		am_late_mark_now(v, here);
		v->marked = stretch;
		__atomic_store_n(&d->told, stretch, __ATOMIC_RELEASE); /* partner: am_defer_expose */
	}
	v->is_telling = 0;
	__atomic_store_n(&d->n, 0, __ATOMIC_RELEASE); /* partner: am_defer_expose */
	if (am_defer_has_functions())
		am_defer_tell_functions(here);
}

/* Where among the items accesses are to be shown that will be told late: any place in the region is as
 * good for a verdict, and with the last lock that was taken is where they most likely were. */
static uint32_t place_of_mark(const struct am_item *item, uint32_t n)
{
	uint32_t at = n;

	while (at > 0 && kind_of(&item[at - 1]) != AM_ACQUIRE)
		at--;
	return at ? at : n;
}

bool am_defer_expose(struct am_view *v, struct am_deferred *d, uint32_t thread, uint64_t stretch,
		     uintptr_t word, struct am_here here)
{
	uint64_t open = __atomic_load_n(&d->open, __ATOMIC_ACQUIRE);
	struct am_item item[AM_DEFER_MAX];

	if ((open & ~AM_EXPOSED) != stretch)
		return false;
	if (open == stretch) {
		/* partner: the exchanges of its thread, in forget and am_defer_tell */
		if (__atomic_compare_exchange_n(&d->open, &open, stretch | AM_EXPOSED, false,
						__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			am_view_count_open();
		else if (open != (stretch | AM_EXPOSED))
			return false;
	}
	if (__atomic_load_n(&d->told, __ATOMIC_ACQUIRE) == stretch)
		return true;
	const uint32_t n = __atomic_load_n(&d->n, __ATOMIC_ACQUIRE);
	__builtin_memcpy(item, d->item, (n < AM_DEFER_MAX ? n : AM_DEFER_MAX) * sizeof *item);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	/* If its thread went on it has told all by itself, and the items may be others by now. */
	if (n > AM_DEFER_MAX || __atomic_load_n(&d->open, __ATOMIC_ACQUIRE) != (stretch | AM_EXPOSED) ||
	    __atomic_load_n(&d->told, __ATOMIC_ACQUIRE) == stretch)
		return true;
	const uint64_t others = am_view_others(v);
	const uint8_t was_telling = v->is_telling;
	v->calm = ~UINT64_C(0);
	v->is_telling = 1; /* before what waits here: it happened before */
	am_late_follow_thread(v, thread, here);
	const uint32_t at = place_of_mark(item, n);
	for (uint32_t i = 0; i <= n; i++) {
		if (i == at)
			tell_item(&(struct am_item){AM_MARK | AM_THREAD_OBJECT(thread) << 16, 0}, 0, thread,
				  stretch, word, here);
		if (i < n)
			tell_item(&item[i], i, thread, stretch, word, here);
	}
	tell_number(thread, stretch, here);
	v->is_telling = was_telling;
	if (!was_telling && v->defer && v->defer->n) {
		v->limit = am_tls.limit;
		am_tls.limit = 0;
	} else if (am_defer_has_functions()) {
		am_tls.limit = 0;
	}
	am_view_count_own(v, others);
	__atomic_store_n(&d->told, stretch, __ATOMIC_RELEASE);
	return true;
}
