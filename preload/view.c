/*
 * Where each thread stands among stretches and regions: its numbers, what it needs before it can show accesses, and the begin and end of
 * regions that are told. Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "atommon/checker.h"
#include "preload/defer.h"
#include "preload/late.h"
#include "preload/runtime.h"
#include "preload/shadow.h"

uint32_t am_view_mode;
struct am_view_open am_view_open;
__thread struct am_view am_view = AM_VIEW_NEW;
/* The same to compiled code. */
extern __thread struct am_view AM_FAST_VIEW __attribute__((alias("am_view"), visibility("default"), tls_model("initial-exec")));

static uint64_t last_block;

void am_view_choose_mode(void)
{
	uint32_t mode = AM_VIEW_REGIONS;

	if (am_opt.mode != AM_MODE_CHECK)
		mode = AM_VIEW_RECORD;
	else if (am_opt.conflicts == AM_CONFLICTS_LOCKS)
		mode = AM_VIEW_NONE;
	else if (am_opt.conflicts == AM_CONFLICTS_BOTH)
		mode = AM_VIEW_STRETCH;
	__atomic_store_n(&am_view_mode, mode, __ATOMIC_RELAXED);
}

void am_view_prepare(void)
{
	am_after.has_sections = am_opt.mode == AM_MODE_CHECK && strstr(am_opt.atomic, "sections") &&
				am_opt.conflicts != AM_CONFLICTS_LOCKS &&
				am_opt.conflicts != AM_CONFLICTS_BOTH;
}

/* ---- stretches ------------------------------------------------------------------------------- */

void am_view_new_block(struct am_view *v)
{
	const uint64_t block = __atomic_add_fetch(&last_block, 1, __ATOMIC_RELAXED);

	v->calm = ~UINT64_C(0);
	if (am_likely(block < AM_BLOCK_OTHER - 1)) {
		v->stretch = (block << AM_BLOCK_SHIFT) + (UINT64_C(1) << AM_STRETCH_SHIFT);
		v->mark_head = ~UINT64_C(0); /* a mark must come before what is told late of it */
		v->counted = 0;
		am_late_block(v);
	} else {
		v->stretch = AM_BLOCK_OTHER << AM_BLOCK_SHIFT; /* no numbers left: am_view_has_numbers */
	}
}

/* What is kept with the lane: places, and what waits. It may have been another thread's; the last of
 * the places tells whose they are. */
static void take_memory(struct am_view *v)
{
	struct am_lane *lane = am_tls.lane;

	if (!lane->places)
		lane->places = am_shadow_memory(AM_PLACES_BYTES);
	else
		memset(lane->places, 0, AM_PLACES_BYTES);
	if (!lane->defer)
		lane->defer = am_shadow_memory(sizeof *lane->defer);
	if (!lane->places || !lane->defer)
		return;
	lane->places[AM_PLACES_OWNER] = am_tls.id - 1;
	lane->defer->n = 0;
	__atomic_store_n(&lane->defer->open, 0, __ATOMIC_RELAXED);
	v->places = lane->places;
	v->defer = lane->defer;
	if (am_view_has_numbers(v))
		am_late_block(v);
}

/*
 * The program shows its accesses: from here on lock operations that concern nobody are not logged. The
 * mark tells the checker that it is data that counts.
 */
static void start_deferring(struct am_view *v)
{
	uint32_t expected = AM_ON;

	if (am_tls.event || !v->defer)
		return;
	am_late_mark_now(v, (struct am_here){0, (uintptr_t)__builtin_dwarf_cfa()});
	__atomic_compare_exchange_n(&am_wiped.state, &expected, AM_DEFER, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

void am_view_born(void)
{
	if (am_view.has_stack)
		return;
	am_view.has_stack = 1;
	if (am_state() >= AM_ON && am_tls.lane)
		am_alloc_stack(am_tls.lane->stack_top);
}

bool am_view_is_ready(void)
{
	struct am_view *v = &am_view;

	if (am_unlikely(am_view_mode == AM_VIEW_UNSET))
		am_view_choose_mode();
	if (am_unlikely(am_tls.muted || am_tls.inside || am_tls.owned || !am_tls.lane))
		if (am_tls.muted || am_tls.inside || am_tls.owned ||
		    am_thread_self() == AM_NO_THREAD)
			return false;
	if (am_unlikely(v->stretch == 0))
		am_view_new_block(v);
	if (am_unlikely(!v->has_memory)) {
		v->has_memory = 1;
		if (am_view_mode == AM_VIEW_REGIONS)
			take_memory(v);
		if (am_tls.lane->index != 0)
			am_view_born();
	}
	if (am_unlikely(am_state() == AM_ON) && am_view_mode == AM_VIEW_REGIONS)
		start_deferring(v);
	return am_view_mode != AM_VIEW_NONE;
}

/* ---- regions --------------------------------------------------------------------------------- */

void am_view_count_open(void)
{
	struct am_open old = am_view_now(), next;

	do {
		next = old;
		next.generation += next.open++ == 0;
	} while (!__atomic_compare_exchange(&am_view_open.now, &old, &next, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED));
}

void am_view_enroll(const struct am_view *v)
{
	uint64_t none = 0;

	if (!__atomic_compare_exchange_n(&am_view_open.only, &none, v->stretch & AM_STRETCH_OTHER, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_RELAXED))
		__atomic_store_n(&am_view_open.only, AM_STRETCH_OTHER, __ATOMIC_SEQ_CST);
}

void am_view_begin(void)
{
	struct am_view *v = &am_view;

	if (am_tls.muted) /* what is open is the parent's */
		return;
	if (v->depth++ != 0)
		return;
	am_view_new_stretch(v);
	am_view_note_begin(v);
	if (v->defer)
		__atomic_store_n(&v->defer->open, v->stretch | AM_EXPOSED, __ATOMIC_RELEASE);
	am_view_count_open();
}

void am_view_end(void)
{
	struct am_view *v = &am_view;

	if (am_tls.muted || v->depth == 0 || --v->depth != 0)
		return;
	am_late_matter(v);
	v->reached = am_view_now().generation;
	am_view_new_stretch(v);
	/* One that began before there was room to say so has 0 there, and was counted. */
	const uint64_t open = v->defer ? __atomic_exchange_n(&v->defer->open, 0, __ATOMIC_SEQ_CST) : 0;
	if (am_unlikely(v->is_waiting)) { /* ends inside a record, in a handler: could not be told */
		v->is_waiting = 0;
		v->defer->n = 0;
		am_tls.limit = v->limit;
	}
	if (open == 0 || open & AM_EXPOSED)
		__atomic_fetch_sub(&am_view_open.now.open, 1, __ATOMIC_SEQ_CST);
}

/* A region that was left by ending the thread is over. */
void am_view_quit(void)
{
	struct am_view *v = &am_view;

	if (v->depth == 0)
		return;
	v->depth = 1;
	am_view_end();
}

void am_view_torn(void)
{
	struct am_view *v = &am_view;
	struct am_lane *lane = am_tls.lane;
	const bool was_logged = v->depth != 0 && !v->is_waiting;
	const uint64_t open = v->defer ? __atomic_exchange_n(&v->defer->open, 0, __ATOMIC_SEQ_CST) : was_logged;

	if (open & AM_EXPOSED) {
		am_late_matter(v);
		v->reached = am_view_now().generation;
		__atomic_fetch_sub(&am_view_open.now.open, 1, __ATOMIC_SEQ_CST);
	}
	if (v->defer)
		__atomic_store_n(&v->defer->n, 0, __ATOMIC_RELEASE); /* partner: am_defer_expose */
	v->is_waiting = v->is_telling = 0;
	v->depth = v->held = v->parked = 0;
	v->calm = ~UINT64_C(0);
	lane->n_functions = lane->functions_told = lane->functions_beyond = 0;
	for (unsigned i = 0; i <= AM_FUNCTIONS_MAX; i++)
		lane->functions[i].cfa = AM_FUNCTION_NONE;
	if (v->stretch != 0)
		am_view_new_stretch(v);
}

/* A condition wait ends a region, and its return begins another (regions.h). A handler that runs while
 * we wait may have regions of its own. */
void am_view_wait(void)
{
	struct am_view *v = &am_view;

	v->waiting += v->depth;
	if (v->depth == 0)
		return;
	v->depth = 1;
	am_view_end();
}

void am_view_wake(void)
{
	struct am_view *v = &am_view;

	if (v->waiting == 0)
		return;
	am_view_begin();
	v->depth += v->waiting - 1;
	v->waiting = 0;
}
