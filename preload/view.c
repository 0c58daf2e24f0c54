/*
 * Where each thread stands among stretches and regions, and the decision on each access that the
 * fast path did not already know to be redundant. Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "atommon/checker.h"
#include "preload/runtime.h"
#include "preload/shadow.h"

uint32_t am_view_mode;
struct am_view_open am_view_open;
__thread struct am_view am_view;

static uint64_t last_block;

static void choose_mode(void)
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

static void new_stretch(struct am_view *v)
{
	const uint64_t one = UINT64_C(1) << AM_STRETCH_SHIFT;
	const uint64_t next = v->stretch + one;

	if (v->stretch != 0 && next >> AM_BLOCK_SHIFT == v->stretch >> AM_BLOCK_SHIFT) {
		v->stretch = next;
		return;
	}
	const uint64_t block = __atomic_add_fetch(&last_block, 1, __ATOMIC_RELAXED);
	if (am_likely(block < AM_BLOCK_OTHER))
		v->stretch = (block << AM_BLOCK_SHIFT) + one;
	else
		v->stretch = AM_BLOCK_OTHER << AM_BLOCK_SHIFT; /* no numbers left: has_numbers() */
}

/* Without numbers of its own a thread logs everything, and leaves the mark of a stranger. */
static bool has_numbers(const struct am_view *v)
{
	return am_likely(v->stretch >> AM_BLOCK_SHIFT != AM_BLOCK_OTHER);
}

/* A lane, a block of numbers, the mode. False: this access cannot be logged. */
static bool is_ready(struct am_view *v)
{
	if (am_unlikely(am_view_mode == AM_VIEW_UNSET))
		choose_mode();
	if (am_unlikely(am_tls.muted || am_tls.inside || am_tls.owned || !am_tls.lane))
		if (am_tls.muted || am_tls.inside || am_tls.owned ||
		    am_thread_self() == AM_NO_THREAD)
			return false;
	if (am_unlikely(v->stretch == 0)) {
		new_stretch(v);
		if (am_tls.lane->index != 0)
			am_alloc_stack(am_tls.lane->stack_top);
	}
	return am_view_mode != AM_VIEW_NONE;
}

/* Did this thread log anything but accesses since it last asked? */
static bool has_others(struct am_view *v)
{
	const uint64_t others = am_tls.head - v->own_units;
	const bool is_new = others != v->others;

	v->others = others;
	return is_new;
}

/* ---- regions --------------------------------------------------------------------------------- */

void am_view_begin(uintptr_t cfa)
{
	struct am_view *v = &am_view;

	if (v->depth++ != 0)
		return;
	v->region_cfa = cfa;
	new_stretch(v);
	if (__atomic_fetch_add(&am_view_open.open, 1, __ATOMIC_SEQ_CST) == 0)
		__atomic_fetch_add(&am_view_open.generation, 1, __ATOMIC_SEQ_CST);
}

void am_view_end(void)
{
	struct am_view *v = &am_view;

	if (v->depth == 0 || --v->depth != 0)
		return;
	v->reached = __atomic_load_n(&am_view_open.generation, __ATOMIC_RELAXED);
	new_stretch(v);
	__atomic_fetch_sub(&am_view_open.open, 1, __ATOMIC_SEQ_CST);
}

/* ---- decisions ------------------------------------------------------------------------------- */

/* A local of this thread, as far as anybody knows: in a live frame, and nobody else was here. In a
 * region, only locals that are younger than the region. */
static bool is_private(const struct am_view *v, uint64_t shadow, uintptr_t address,
		       struct am_here here)
{
	const uintptr_t top = am_tls.lane->stack_top;

	if (address < here.cfa || address >= top || am_filter_foreign(shadow, v->stretch) ||
	    (shadow >> AM_HIDDEN_SHIFT & 0xff) != 0)
		return false;
	return v->depth == 0 || am_view_mode != AM_VIEW_REGIONS || address < v->region_cfa;
}

/*
 * For a trace nothing may be missing that a prediction could turn on: an access is left out only if
 * this thread did the same to the same bytes twice already since it last logged anything but
 * accesses (no lock, no region boundary in between), and no other thread came here meanwhile. Two
 * are kept so that "something happens between two of them" can still be predicted.
 */
static bool record_wants(struct am_view *v, uint64_t *word, uint64_t shadow, uint64_t bits)
{
	const bool writes = bits >> 8 != 0;
	const uint64_t kind = writes ? bits & 0xff00 : bits & 0xff;
	const uint64_t twice = UINT64_C(1) << (AM_HIDDEN_SHIFT + writes);

	if (has_others(v))
		new_stretch(v);
	if (!am_filter_same_stretch(shadow, v->stretch)) {
		__atomic_store_n(word, v->stretch | kind, __ATOMIC_RELAXED);
		return true;
	}
	if ((kind & ~shadow) != 0) {
		__atomic_store_n(word, (shadow | kind) & ~twice, __ATOMIC_RELAXED);
		return true;
	}
	if (shadow & twice)
		return false;
	__atomic_store_n(word, shadow | twice, __ATOMIC_RELAXED);
	return true;
}

/* As tests/property/instrument_filter.c does it, with threads. */
static bool check_wants(struct am_view *v, uint64_t *word, uint64_t shadow, uint64_t bits)
{
	const bool is_stretched = am_view_mode == AM_VIEW_STRETCH;
	const uint32_t generation = __atomic_load_n(&am_view_open.generation, __ATOMIC_RELAXED);
	const uint32_t open = __atomic_load_n(&am_view_open.open, __ATOMIC_RELAXED);

	if (is_stretched && has_others(v))
		new_stretch(v);
	for (;;) {
		if (am_filter_known(shadow, v->stretch, bits))
			return false;
		switch (am_filter_decide(shadow, v->stretch, bits, v->depth != 0 && !is_stretched,
					 is_stretched || v->reached == generation,
					 is_stretched ? 1 : open)) {
		case AM_FILTER_DROP:
			return false;
		case AM_FILTER_NEW_STRETCH:
			new_stretch(v);
			v->reached = generation;
			break;
		case AM_FILTER_LOG:
			break;
		}
		/* Taken in one step: the thread that comes second sees that the first was here. */
		if (__atomic_compare_exchange_n(word, &shadow,
						am_filter_next(shadow, v->stretch, bits), false,
						__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			return true;
	}
}

static bool wants(struct am_view *v, uintptr_t address, uint64_t bits, struct am_here here)
{
	uint64_t *word = am_shadow_find(address);
	const uint64_t seen = word ? __atomic_load_n(word, __ATOMIC_RELAXED) : 0;

	if (is_private(v, am_view_mode == AM_VIEW_RECORD ? seen & AM_STRETCH_MASK : seen, address,
		       here))
		return false;
	/* Nobody was here and nothing leads here: no word is needed for that (filter.h, 3). */
	if (!word && am_view_mode == AM_VIEW_REGIONS && v->depth == 0 &&
	    v->reached != __atomic_load_n(&am_view_open.generation, __ATOMIC_RELAXED))
		return false;
	if (!word)
		word = am_shadow_make(address);
	if (!word)
		return true;
	if (!has_numbers(v)) {
		__atomic_store_n(word, AM_STRETCH_OTHER | 0xff, __ATOMIC_RELAXED);
		return true;
	}
	const uint64_t shadow = __atomic_load_n(word, __ATOMIC_RELAXED);
	return am_view_mode == AM_VIEW_RECORD ? record_wants(v, word, shadow, bits)
					      : check_wants(v, word, shadow, bits);
}

/* ---- entry points ---------------------------------------------------------------------------- */

bool am_view_wants(enum am_kind kind, uintptr_t address, unsigned size, struct am_here here)
{
	struct am_view *v = &am_view;
	bool is_wanted = false;

	if (!is_ready(v))
		return false;
	for (uintptr_t at = address; at < address + size;) {
		const unsigned offset = at & 7;
		const unsigned rest = (unsigned)(address + size - at);
		const unsigned n = rest < 8 - offset ? rest : 8 - offset;
		is_wanted |= wants(v, at, am_filter_bits(offset, n, kind != AM_READ), here);
		at += n;
	}
	return is_wanted;
}

static void count_units(struct am_view *v, uint64_t head)
{
	v->own_units += am_tls.head - head;
}

void am_view_access(enum am_kind kind, uintptr_t address, unsigned size, unsigned detail,
		    struct am_here here)
{
	if (!am_view_wants(kind, address, size, here))
		return;
	const uint64_t head = am_tls.head;
	if (am_likely((address & 63) + size <= 64))
		am_log(kind, (unsigned)__builtin_ctz(size) | detail, address, here);
	else
		am_log_access(kind, address, size, here);
	count_units(&am_view, head);
}

/* Lines of 64 bytes: the unit of numbering. */
void am_view_range(enum am_kind kind, uintptr_t address, size_t size, struct am_here here)
{
	if (size == 0 || am_view_sleeps())
		return;
	for (uintptr_t at = address, end = address + size; at < end;) {
		const uintptr_t line = (at | 63) + 1, stop = line < end ? line : end;
		if (am_view_wants(kind, at, (unsigned)(stop - at), here)) {
			const uint64_t head = am_tls.head;
			am_log_access(kind, at, stop - at, here);
			count_units(&am_view, head);
		}
		at = stop;
	}
}

void am_view_counted(void)
{
	struct am_view *v = &am_view;

	if (v->depth != 0)
		return;
	new_stretch(v);
	v->reached = __atomic_load_n(&am_view_open.generation, __ATOMIC_RELAXED);
}

void am_view_touched(uintptr_t address, size_t size)
{
	if (am_view_mode == AM_VIEW_UNSET)
		choose_mode();
	if (am_view_mode == AM_VIEW_NONE)
		return;
	for (uintptr_t at = address & ~(uintptr_t)7; at < address + size; at += 8) {
		uint64_t *s = am_shadow_make(at);
		if (s)
			__atomic_store_n(s, AM_STRETCH_OTHER | 0xff, __ATOMIC_RELAXED);
	}
	am_view_counted();
}
