/*
 * The decision on each access that the fast path could not take: is it logged, remembered in its cell, or nothing at all (filter.h)? Runs
 * in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/defer.h"
#include "preload/late.h"
#include "preload/lend.h"
#include "preload/retry.h"
#include "preload/shadow.h"
#include "preload/step.h"

/* Did this thread log anything but accesses since it last asked? */
static bool has_others(struct am_view *v)
{
	const uint64_t others = am_view_others(v);
	const bool is_new = others != v->others;

	v->others = others;
	return is_new;
}

/* ---- decisions ------------------------------------------------------------------------------- */

/* One access to bytes of one word. */
struct touch {
	uintptr_t word;
	uint64_t bytes;
	bool writes, may_be_lazy;
	bool is_exact; /* atomic or volatile */
	bool is_apart; /* covers no other access, not even of its own thread: an update that commutes */
	struct am_here here;
};

/* A local of this thread, as far as anybody knows: in a live frame, and nobody else was here. */
static bool is_private(const struct am_view *v, uint64_t seen, const struct touch *a)
{
	return a->word >= a->here.cfa && a->word < am_tls.lane->stack_top &&
	       !am_filter_foreign(seen & AM_STRETCH_MASK, v->stretch);
}

/* A cell of this thread, from `old` to `next`. What it does not hold after this access is kept elsewhere, or told. False: as below. */
static bool settle(struct am_view *v, const struct touch *a, struct am_cell *cell, struct am_cell old, struct am_cell next)
{
	const struct am_late late = a->writes ? am_filter_late_write(old, v->stretch, a->bytes)
					      : am_filter_late_read(old, v->stretch, a->bytes, a->is_exact);
	enum am_keep kept = AM_KEEP_NOT;

	if (am_unlikely(late.bytes != 0) && am_late_may_tell(v, late.stretch)) {
		kept = am_lend_keep(v, a->word, cell, old.w, next.w, late, a->writes, a->here);
		if (kept == AM_KEEP_NOT && am_late_tell(v, a->word, late, a->writes, AM_LATE_FIND, a->here))
			next.w |= AM_CELL_LOGGED;
	}
	if (kept == AM_KEEP_NOT && next.w != old.w)
		__atomic_store_n(&cell->w, next.w, __ATOMIC_RELAXED);
	if (kept != AM_KEEP_AGAIN && next.r != old.r)
		__atomic_store_n(&cell->r, next.r, __ATOMIC_RELAXED);
	return kept != AM_KEEP_AGAIN;
}

/* From `old` to `next`. A cell that changes hands does so in one step: the thread that comes second
 * sees that the first was here. False: somebody else came, look again. */
static bool replace(struct am_view *v, const struct touch *a, struct am_cell *cell,
		    struct am_cell old, struct am_cell next)
{
	const bool was_lent = old.w & AM_CELL_LENT && !(next.w & AM_CELL_LENT);
	const bool is_foreign = a->is_apart || was_lent || am_filter_foreign(old.w, v->stretch);

	if (is_foreign || old.w >> AM_BLOCK_SHIFT == 0)
		return am_late_seize(v, a->word, cell, old, next, a->here);
	return settle(v, a, cell, old, next);
}

/* The cell as far as it matters. */
static struct am_cell look(const struct am_view *v, struct am_cell c)
{
	return am_view_mode == AM_VIEW_STRETCH || am_late_matters(v, c) ? c : am_filter_over(c, v->stretch);
}

/* Something is about to be logged: what waits comes before it, and from here on this thread matters. */
static void come_forward(struct am_view *v, struct am_here here)
{
	if (v->defer && v->defer->n && am_tls.event == 0 && !v->is_telling)
		am_defer_tell(here);
	am_late_matter(v);
	v->reached = am_view_now().generation;
}

/* The access is logged, whatever the cell says. */
static void force(struct am_view *v, struct am_cell *cell, const struct touch *a)
{
	struct am_cell old;

	do
		old = am_cell_load(cell);
	while (!replace(v, a, cell, old, am_filter_logged(look(v, old), v->stretch, a->bytes, a->writes, a->is_exact)));
	if (am_view_mode != AM_VIEW_STRETCH) /* another's region may have begun to count */
		come_forward(v, a->here);
}

static void remember_place(const struct am_view *v, const struct am_cell *cell, const struct touch *a)
{
	if (v->places)
		am_view_put_place(am_view_place(v->places, cell, a->writes), a->word, a->here.pc);
}

/* A read in a region of what is another's, or lent already: is it left there (filter.h, 9)? */
static enum am_lend lend(struct am_view *v, struct am_cell *cell, struct am_cell old, const struct touch *a)
{
	const bool is_others = am_filter_foreign(old.w, v->stretch) || old.w & AM_CELL_LENT;

	if (!is_others || a->writes || a->is_exact || !a->may_be_lazy || v->depth == 0 || !v->defer ||
	    am_view_mode == AM_VIEW_STRETCH)
		return AM_LEND_NOT;
	if (old.w & AM_CELL_LENT) {
		am_late_mark_stretch(v, a->here);
		if (am_lend_again(v, cell, a->word, a->bytes, a->here.pc))
			return AM_LEND_SAME;
	}
	if (!am_late_matters(v, old))
		return AM_LEND_NOT;
	return am_lend_read(v, a->word, cell, old, a->bytes, a->here);
}

/* As tests/property/instrument_filter.c does it, with threads. */
static bool check_wants(struct am_view *v, struct am_cell *cell, const struct touch *a)
{
	const bool is_stretched = am_view_mode == AM_VIEW_STRETCH;

	if (is_stretched && has_others(v))
		am_view_new_stretch(v);
	for (;;) {
		const struct am_cell old = am_cell_load(cell);
		if (am_filter_known(old, v->stretch, a->bytes, a->writes))
			return false;
		switch (lend(v, cell, old, a)) {
		case AM_LEND_NOT:
			break;
		case AM_LEND_DONE:
			remember_place(v, cell, a);
			return false;
		case AM_LEND_SAME:
			return false;
		case AM_LEND_AGAIN:
			continue;
		}
		const struct am_cell seen = look(v, old);
		switch (am_filter_decide(seen, v->stretch, a->bytes, a->writes,
					 v->depth != 0 && !is_stretched,
					 is_stretched || am_view_is_reached(v),
					 is_stretched ? 1 : am_view_now().open)) {
		case AM_FILTER_DROP:
			return false;
		case AM_FILTER_NEW_STRETCH:
			am_view_new_stretch(v);
			break;
		case AM_FILTER_LAZY:
			if (is_stretched || !a->may_be_lazy)
				break;
			if (am_likely(v->defer != NULL)) {
				am_late_mark_stretch(v, a->here);
				if (!replace(v, a, cell, old,
					     am_filter_lazy(seen, v->stretch, a->bytes, a->writes)))
					continue;
				remember_place(v, cell, a);
				return false;
			}
			break;
		case AM_FILTER_LOG:
			break;
		}
		/* What waits is told while its cells say that nobody else was there since. */
		if (!is_stretched)
			come_forward(v, a->here);
		if (!replace(v, a, cell, old,
			     a->is_apart ? (struct am_cell){AM_STRETCH_OTHER | AM_CELL_LOGGED, 0}
					 : am_filter_logged(seen, v->stretch, a->bytes, a->writes, a->is_exact)))
			continue;
		if (!a->is_exact && !a->is_apart)
			am_lend_link(v, old, a->bytes);
		if (!is_stretched) /* another's region may have begun to count */
			come_forward(v, a->here);
		return true;
	}
}

/* Everybody's next access is logged, and what was there is told. */
static void estrange(struct am_view *v, uintptr_t word, struct am_cell *cell, struct am_here here)
{
	while (!am_late_seize(v, word, cell, am_cell_load(cell), (struct am_cell){AM_STRETCH_OTHER | AM_CELL_LOGGED, 0}, here))
		;
}

static bool wants(struct am_view *v, const struct touch *a)
{
	struct am_cell *cell = am_shadow_find(a->word);

	if (am_view_mode == AM_VIEW_RECORD && is_private(v, cell ? cell->w : 0, a))
		return false;
	/* Nobody was here and nothing leads here: no cell is needed for that (filter.h, 3). */
	if (!cell && am_view_mode == AM_VIEW_REGIONS && v->depth == 0 && !am_view_is_reached(v))
		return false;
	if (!cell)
		cell = am_shadow_make(a->word);
	if (!cell)
		return true;
	if (am_view_mode == AM_VIEW_RECORD)
		return am_view_record_wants(v, cell, a->word, a->bytes, a->writes, a->is_exact, a->here.pc);
	if (am_view_has_numbers(v))
		return check_wants(v, cell, a);
	estrange(v, a->word, cell, a->here);
	return true;
}

/* Of all words of an access. If one is logged all are, in their cells too: it is one transaction. */
static bool wants_all(struct am_view *v, enum am_kind kind, uintptr_t address, unsigned size,
		      bool may_be_lazy, bool is_exact, struct am_here here)
{
	struct touch a = {.writes = kind != AM_READ, .may_be_lazy = may_be_lazy, .is_exact = is_exact,
			  .here = here};
	const uintptr_t end = address + size;
	bool is_wanted = false;

	for (unsigned round = 0; round == 0 || (round == 1 && is_wanted); round++)
		for (uintptr_t at = address; at < end;) {
			const unsigned offset = at & 7, rest = (unsigned)(end - at);
			const unsigned n = rest < 8 - offset ? rest : 8 - offset;
			a.word = at - offset;
			a.bytes = am_filter_bytes(offset, n);
			at += n;
			if (round == 0) {
				is_wanted |= wants(v, &a);
				/* No mark between the edge to this access and its record. */
				a.may_be_lazy &= !is_wanted;
				if (at == end && offset + size <= 8)
					return is_wanted;
				continue;
			}
			struct am_cell *cell = am_shadow_find(a.word);
			if (cell && am_view_mode != AM_VIEW_RECORD && am_view_has_numbers(v))
				force(v, cell, &a);
		}
	return is_wanted;
}

/* May the next accesses take the fast path? */
static void refresh(struct am_view *v)
{
	const bool is_fast = am_state() == AM_DEFER && am_view_mode == AM_VIEW_REGIONS && v->defer &&
			     am_view_has_numbers(v) && am_tls.event == 0 &&
			     (v->depth != 0 ? v->is_waiting || v->marked == v->stretch
					    : v->marked == v->stretch && am_view_is_reached(v));

	am_view_set_fast(v, is_fast ? v->stretch | AM_CELL_LAZY : AM_STRETCH_NONE);
}

/*
 * The first access of a stretch, or after something else was logged: true if there is nothing to do
 * but what the fast path does, or nothing at all (filter.h, 2 and 3).
 */
static bool is_simple(struct am_view *v, bool writes, uintptr_t address, unsigned size,
		      struct am_here here)
{
	if (am_view_mode != AM_VIEW_REGIONS || !am_view_has_numbers(v) || (address & 7) + size > 8 || !v->defer)
		return false;
	if (v->depth == 0 && !am_view_is_reached(v)) {
		const struct am_cell *c = am_shadow_find(address);
		return !c || am_view_is_ours(c);
	}
	if (v->fast == AM_STRETCH_NONE) {
		am_late_mark_stretch(v, here);
		refresh(v);
	}
	struct am_cell *c = am_shadow_find(address);
	const uint64_t bytes = am_filter_bytes(address & 7, size);
	return c && v->fast != AM_STRETCH_NONE &&
	       (am_view_fast(c, address, bytes, writes, here.pc) ||
		am_late_take(v, c, address, bytes, writes, here.pc));
}

/* ---- entry points ---------------------------------------------------------------------------- */

bool am_view_wants(enum am_kind kind, uintptr_t address, unsigned size, struct am_here here)
{
	struct am_view *v = &am_view;
	const struct touch a = {.word = address & ~(uintptr_t)7, .bytes = am_filter_bytes(address & 7, size),
				.writes = kind != AM_READ, .is_exact = true, .here = here};

	if (am_likely((address & 7) + size <= 8))
		return am_view_is_ready() && wants(v, &a);
	return am_view_is_ready() && wants_all(v, kind, address, size, false, true, here);
}

bool am_view_wants_apart(uintptr_t address, unsigned size, struct am_here here)
{
	struct am_view *v = &am_view;
	const struct touch a = {.word = address & ~(uintptr_t)7, .bytes = am_filter_bytes(address & 7, size),
				.writes = true, .is_apart = true, .here = here};

	return am_view_is_ready() && wants(v, &a);
}

bool am_view_settles(uintptr_t address, unsigned size, bool writes, struct am_here here)
{
	struct am_view *v = &am_view;

	return am_view_sleeps() || (am_view_is_ready() && is_simple(v, writes, address, size, here));
}

/* A volatile load that is known to be made again. */
static void log_again(uintptr_t address, unsigned size, uint8_t again, struct am_here here)
{
	struct am_record r = {.kind = AM_READ,
			      .has_seq = true,
			      .detail = (uint8_t)((unsigned)__builtin_ctz(size) | AM_VIEW_VOLATILE),
			      .n_ext = 1,
			      .object = address,
			      .ordered = address};

	r.ext[0] = am_retry_order(again);
	am_log_record(&r, here);
}

/* In a region that waits, a volatile load may wait. The callback comes before it: there is nothing to perform. */
static bool waits(uintptr_t address, unsigned size, struct am_here here)
{
	struct am_step s = {.slot = &am_slots[am_slot_of(address)]};

	if (!am_exact_begin(&s, AM_READ, address, size, 0, here))
		return false;
	am_exact_end(&s, AM_READ, address, size, AM_VOLATILE, am_retry_load(address, here.pc, 0), here);
	return true;
}

void am_view_access(enum am_kind kind, uintptr_t address, unsigned size, unsigned detail,
		    struct am_here here)
{
	struct am_view *v = &am_view;

	const bool may_repeat = kind == AM_READ && detail & AM_VIEW_VOLATILE;
	uint8_t again = 0;

	if (!am_view_is_ready())
		return;
	/* What may be made again is not told late, so that it can be told which of the two counts. */
	if (may_repeat && waits(address, size, here))
		return;
	if (!may_repeat && is_simple(v, kind != AM_READ, address, size, here))
		return;
	if (wants_all(v, kind, address, size, !may_repeat, detail & AM_VIEW_VOLATILE, here)) {
		am_retry_check(here);
		const uint64_t others = am_view_others(v);
		if (may_repeat)
			again = am_retry_load(address, here.pc, 0);
		if (am_unlikely(again != 0))
			log_again(address, size, again, here);
		else if (am_likely((address & 63) + size <= 64))
			am_log(kind, (unsigned)__builtin_ctz(size) | detail, address, here);
		else
			am_log_access(kind, address, size, here);
		am_view_count_own(v, others);
	} else if (may_repeat) {
		am_retry_dropped(address, size, here);
		am_retry_watch(address, size);
	}
	refresh(v);
}

void am_view_line(enum am_kind kind, uintptr_t address, unsigned size, struct am_here here)
{
	struct am_view *v = &am_view;

	if (!am_view_is_ready())
		return;
	/* Told late, a free would be told as a write. */
	if (wants_all(v, kind, address, size, kind != AM_FREE || v->depth != 0, false, here)) {
		am_retry_check(here);
		const uint64_t others = am_view_others(v);
		if (kind == AM_FREE)
			am_log_block(kind, address, size, here);
		else
			am_log_access(kind, address, size, here);
		am_view_count_own(v, others);
	}
	refresh(v);
}

void am_view_counted(void)
{
	struct am_view *v = &am_view;

	if (v->depth != 0)
		return;
	am_view_new_stretch(v);
	am_late_matter(v);
	v->reached = am_view_now().generation;
}

void am_view_touched(uintptr_t address, size_t size)
{
	struct am_view *v = &am_view;

	if (am_view_mode == AM_VIEW_UNSET)
		am_view_choose_mode();
	if (am_view_mode == AM_VIEW_NONE)
		return;
	if (am_after.has_sections && am_view_others(v) != v->others)
		am_view_follow(v);
	for (uintptr_t at = address & ~(uintptr_t)7; at < address + size; at += 8) {
		struct am_cell *c = am_shadow_make(at);
		if (c && am_view_mode != AM_VIEW_RECORD)
			estrange(v, at, c, (struct am_here){0, (uintptr_t)__builtin_dwarf_cfa()});
		else if (c)
			__atomic_store_n(&c->w, AM_STRETCH_OTHER | AM_CELL_LOGGED, __ATOMIC_SEQ_CST);
	}
	am_view_counted();
}
