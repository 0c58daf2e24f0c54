/*
 * Accesses that were not logged when they were made (filter.h): marks, by which they can be told
 * late, and the telling. Runs in application threads, in compiler callbacks and when memory is given
 * back; no lock, no malloc.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/late.h"

#include <string.h>

#include "preload/defer.h"
#include "preload/lane.h"
#include "preload/lend.h"
#include "preload/slot.h"

/* Whose numbers these are, and what of them may still have to be told late. */
static struct block {
	uint32_t thread;
	uint32_t generation; /* in which it last logged something that matters */
	uint64_t first;	     /* the first stretch that matters in that generation */
	uint64_t *places;
	struct am_deferred *defer;
	struct am_lane *lane;
} blocks[AM_BLOCK_OTHER];

void am_late_block(const struct am_view *v)
{
	struct block *b = &blocks[v->stretch >> AM_BLOCK_SHIFT];

	b->thread = am_tls.id - 1;
	b->places = v->places;
	b->defer = v->defer;
	b->lane = am_tls.lane;
}

struct am_lane *am_late_lane(uint64_t stretch)
{
	return blocks[stretch >> AM_BLOCK_SHIFT].lane;
}

/* ---- marks, and accesses told late ------------------------------------------------------------ */

/* A mark in one unit, its number where the site would be; see event.h. */
static void log_mark(struct am_view *v, uint32_t thread, uint32_t number, uintptr_t cfa)
{
	const uint64_t object = AM_THREAD_OBJECT(thread), others = am_view_others(v);
	struct am_tls *t = &am_tls;

	if (am_likely(am_log_is_ready())) {
		t->event = cfa;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		const uint64_t w1 = (uint64_t)number << 32 | am_number(object);
		const uint64_t i = am_reserve(t, 1);
		struct am_unit *u = &am_caches(t)->units[i & t->mask];
		__atomic_store_n(&u->w1, w1, __ATOMIC_RELAXED);
		__atomic_store_n(&u->w0, am_log_w0(AM_MARK, 0, object) | am_phase(t, i),
				 __ATOMIC_RELEASE); /* partner: am_ring_has */
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		t->event = 0;
		if (am_drain_is_asleep())
			am_drain_wake();
	} else {
		struct am_record r = {.kind = AM_MARK, .n_ext = 1, .has_seq = true,
				      .object = object, .ordered = object};
		r.ext[0] = (struct am_unit){AM_EXT | (uint64_t)AM_X_AUX << AM_R_DETAIL_SHIFT, number};
		am_log_record(&r, (struct am_here){0, cfa});
	}
	am_view_count_own(v, others);
}

void am_late_mark_now(struct am_view *v, struct am_here here)
{
	log_mark(v, am_tls.id - 1, am_late_number(v->stretch), here.cfa);
	v->mark_head = am_tls.head;
}

void am_late_follow_thread(struct am_view *v, uint32_t thread, struct am_here here)
{
	log_mark(v, thread, 0, here.cfa);
}

void am_late_mark_stretch(struct am_view *v, struct am_here here)
{
	if (v->marked == v->stretch || v->is_waiting)
		return;
	if (v->depth != 0 || v->mark_head != am_tls.head)
		am_late_mark_now(v, here);
	v->marked = v->stretch;
	if (v->depth != 0)
		__atomic_store_n(&v->defer->told, v->stretch, __ATOMIC_RELEASE); /* partner: am_defer_expose */
	am_late_matter(v);
}

void am_late_matter(struct am_view *v)
{
	struct block *b = &blocks[v->stretch >> AM_BLOCK_SHIFT];
	const uint32_t generation = am_view_now().generation;

	if (v->stretch == 0 || v->stretch >> AM_BLOCK_SHIFT == AM_BLOCK_OTHER ||
	    b->generation == generation)
		return;
	__atomic_store_n(&b->first, v->stretch, __ATOMIC_RELAXED);
	/* partner: the load in does_matter */
	__atomic_store_n(&b->generation, generation, __ATOMIC_RELEASE);
	v->counted = generation;
}

/* Of a stretch that is not an open region. */
static bool does_matter(const struct block *b, uint64_t stretch)
{
	const struct am_open now = am_view_now();

	return now.open != 0 &&
	       __atomic_load_n(&b->generation, __ATOMIC_ACQUIRE) == now.generation &&
	       stretch >= __atomic_load_n(&b->first, __ATOMIC_RELAXED);
}

static uint64_t open_stretch(const struct block *b)
{
	/* partner: the store in deepen */
	return b->defer ? __atomic_load_n(&b->defer->open, __ATOMIC_ACQUIRE) & ~AM_EXPOSED : 0;
}

bool am_late_is_open(uint64_t stretch)
{
	return open_stretch(&blocks[stretch >> AM_BLOCK_SHIFT]) == stretch;
}

bool am_late_matters_of(uint64_t stretch)
{
	return am_late_is_open(stretch) || does_matter(&blocks[stretch >> AM_BLOCK_SHIFT], stretch);
}

/* To this thread, which need not know of its own open region. */
static bool does_matter_to(const struct am_view *v, uint64_t word)
{
	const uint64_t stretch = word & AM_STRETCH_MASK;

	if (am_filter_same_block(stretch, v->stretch))
		return does_matter(&blocks[stretch >> AM_BLOCK_SHIFT], stretch);
	return am_late_matters_of(stretch);
}

bool am_late_matters(const struct am_view *v, struct am_cell c)
{
	const uint64_t owner = c.w >> AM_BLOCK_SHIFT;

	if (owner == 0)
		return false;
	if (owner == AM_BLOCK_OTHER)
		return am_view_now().open != 0;
	if (am_unlikely(c.w & AM_CELL_LENT))
		return c.w & AM_CELL_MANY || (am_filter_left_in_w(c.w) && does_matter_to(v, c.w)) ||
		       (c.r != 0 && does_matter_to(v, c.r));
	const struct block *b = &blocks[owner];
	if (!am_filter_same_block(c.w, v->stretch)) {
		const uint64_t open = open_stretch(b);
		if (open && (am_filter_same_stretch(c.w, open) || am_filter_same_stretch(c.r, open)))
			return true;
	}
	return does_matter(b, am_filter_newest(c));
}

bool am_late_may_tell(const struct am_view *v, uint64_t stretch)
{
	return stretch == v->stretch || does_matter(&blocks[stretch >> AM_BLOCK_SHIFT], stretch);
}

static uintptr_t place_of(const struct block *b, uintptr_t word, uint64_t stretch, bool writes)
{
	return b->places && b->places[AM_PLACES_OWNER] == b->thread ? am_place_find(b->places, word, stretch, writes) : 0;
}

/* Nothing is said of accesses that do not matter. */
bool am_late_tell(struct am_view *v, uintptr_t word, struct am_late late, bool writes, uintptr_t pc, struct am_here here)
{
	const struct block *b = &blocks[late.stretch >> AM_BLOCK_SHIFT];

	if (!late.bytes)
		return false;
	const bool is_open = b->thread != am_tls.id - 1 && open_stretch(b) == late.stretch &&
			     am_defer_expose(v, b->defer, b->thread, late.stretch, word, here);
	if (!is_open && !does_matter(b, late.stretch))
		return false;
	if (b->thread != am_tls.id - 1 &&
	    !(am_filter_same_block(am_tls.lane->synced, late.stretch) && am_tls.lane->synced >= late.stretch)) {
		log_mark(v, b->thread, 0, here.cfa); /* from here on we come behind its mark */
		am_tls.lane->synced = late.stretch;
	}
	for (unsigned at = 0; at < 8;) {
		unsigned n = 0;
		while (at + n < 8 && late.bytes >> (at + n) & 1)
			n++;
		if (n) {
			const struct am_unit more = {AM_EXT | (uint64_t)AM_X_AUX << AM_R_DETAIL_SHIFT,
						     (uint64_t)b->thread << 32 | am_late_number(late.stretch)};
			const uint64_t others = am_view_others(v);
			am_log_late((n - 1) | (unsigned)writes << 3, word + at, more,
				    (struct am_here){pc == AM_LATE_FIND ? place_of(b, word, late.stretch, writes) : pc, here.cfa});
			am_view_count_own(v, others);
		}
		at += n ? n : 1;
	}
	return true;
}

/* Another thread's region that is open, if what the cell holds may wait in its list (view_exact.c); else 0. */
static uint64_t waiting_in(struct am_cell c)
{
	const uint64_t owner = c.w >> AM_BLOCK_SHIFT;
	const struct block *b = &blocks[owner < AM_BLOCK_OTHER ? owner : 0];
	const uint64_t open = b->thread != am_tls.id - 1 ? open_stretch(b) : 0;

	return open && am_filter_may_wait(c, open) ? open : 0;
}

static void meet(struct am_view *v, uintptr_t word, uint64_t open, struct am_here here)
{
	const struct block *b = &blocks[open >> AM_BLOCK_SHIFT];

	if (open)
		am_defer_expose(v, b->defer, b->thread, open, word, here);
}

/*
 * What waits in another's list is told under the lock of its slot, taken before the cell is. So the item is there, and who takes the
 * cell next, from us, comes behind what we tell: it waits for the lock. `more`: what tables have of the word.
 */
static inline __attribute__((always_inline)) bool seize(struct am_view *v, uintptr_t word, struct am_cell *cell, struct am_cell old,
							 struct am_cell next, const struct am_kept *more, unsigned n_more,
							 struct am_here here)
{
	struct am_slot *slot = &am_slots[am_slot_of(word)];
	const uint64_t open = waiting_in(old);
	bool is_locked = open && am_slot_lock(slot);
	const bool is_ours = __atomic_compare_exchange_n(&cell->w, &old.w, next.w, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);

	if (is_ours) {
		__atomic_store_n(&cell->r, next.r, __ATOMIC_RELAXED);
		if (!is_locked && __atomic_load_n(&slot->lock, __ATOMIC_ACQUIRE) != 0) /* partner: am_slot_unlock */
			is_locked = am_slot_lock(slot);
		meet(v, word, open, here);
		am_late_tell(v, word, am_filter_last_write(old), true, AM_LATE_FIND, here);
		am_late_tell(v, word, am_filter_last_read(old), false, AM_LATE_FIND, here);
		if (more)
			am_lend_purge(word, old.w);
		for (unsigned i = 0; i < n_more; i++)
			am_late_tell_kept(v, word, more[i], here);
	}
	if (is_locked)
		am_slot_unlock(slot);
	return is_ours;
}

/* Apart, for the list is long. Who reads there from the exchange on reads what we do. */
static __attribute__((noinline)) bool seize_many(struct am_view *v, uintptr_t word, struct am_cell *cell, struct am_cell old,
						 struct am_cell next, struct am_here here)
{
	struct am_kept more[AM_LEND_READS];
	const unsigned n = am_lend_collect(word, old.w, more);

	return seize(v, word, cell, old, next, more, n, here);
}

bool am_late_seize(struct am_view *v, uintptr_t word, struct am_cell *cell, struct am_cell old, struct am_cell next,
		   struct am_here here)
{
	return am_unlikely(old.w & AM_CELL_MANY) ? seize_many(v, word, cell, old, next, here)
						 : seize(v, word, cell, old, next, NULL, 0, here);
}

/* Does it matter what another thread left there? False: what it may have waiting in its list has to be told first. */
static inline bool can_take(struct am_cell c, bool *matters)
{
	const uint64_t owner = c.w >> AM_BLOCK_SHIFT;
	const struct block *b = &blocks[owner];

	*matters = owner == AM_BLOCK_OTHER; /* an exposed region is open: ours */
	if (owner == 0 || owner == AM_BLOCK_OTHER)
		return true;
	const struct am_deferred *d = b->defer;
	const uint64_t open = d ? __atomic_load_n(&d->open, __ATOMIC_ACQUIRE) : 0; /* as in open_stretch */
	const bool is_open = open && am_filter_same_stretch(c.w, open);
	if (is_open && (!(open & AM_EXPOSED) || __atomic_load_n(&d->told, __ATOMIC_ACQUIRE) != (open & ~AM_EXPOSED)))
		return false; /* partners: as in am_defer_expose, which has nothing to do else */
	*matters = is_open || (open && am_filter_same_stretch(c.r, open)) || does_matter(b, am_filter_newest(c));
	return true;
}

bool am_late_take_logged(const struct am_view *v, struct am_cell *cell, uint64_t bytes, bool writes)
{
	struct am_cell old = am_cell_load(cell);
	bool matters;

	const bool is_ours = am_filter_same_block(old.w, v->stretch);
	if (am_unlikely((old.w & (AM_CELL_LENT | AM_CELL_LAZY | (is_ours ? 0 : AM_CELL_MANY))) != 0 || (old.r & AM_CELL_LAZY) != 0))
		return false;
	if (is_ours)
		matters = does_matter(&blocks[old.w >> AM_BLOCK_SHIFT], am_filter_newest(old));
	else if (!can_take(old, &matters))
		return false;
	const struct am_cell next =
		am_filter_logged(matters ? old : am_filter_over(old, v->stretch), v->stretch, bytes, writes, true);
	if (is_ours)
		__atomic_store_n(&cell->w, next.w, __ATOMIC_RELAXED);
	else if (!__atomic_compare_exchange_n(&cell->w, &old.w, next.w, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&cell->r, next.r, __ATOMIC_RELAXED);
	return true;
}

/* ---- memory that goes ------------------------------------------------------------------------- */

/* Of each owner but this thread, the newest lazy access counts: the others come before it. */
enum { OWNERS = 8 };
struct going {
	struct {
		struct am_late late;
		uintptr_t word, pc;
		bool writes;
	} owner[OWNERS];
	unsigned n;
	struct am_here here;
	bool is_told;
};

static void tell_left(struct going *g, unsigned i)
{
	g->is_told |= am_late_tell(&am_view, g->owner[i].word, g->owner[i].late, g->owner[i].writes, g->owner[i].pc, g->here);
}

static void leave(struct going *g, uintptr_t word, struct am_late late, bool writes, uintptr_t pc)
{
	unsigned i = 0;

	if (!late.bytes || am_filter_same_block(late.stretch, am_view.stretch))
		return;
	while (i < g->n && !am_filter_same_block(g->owner[i].late.stretch, late.stretch))
		i++;
	if (i < g->n && g->owner[i].late.stretch >= late.stretch)
		return;
	if (i == OWNERS) {
		i--;
		tell_left(g, i);
	} else {
		g->n += i == g->n;
	}
	g->owner[i].late = late;
	g->owner[i].word = word;
	g->owner[i].pc = pc;
	g->owner[i].writes = writes;
}

static void leave_cell(void *ctx, uintptr_t word, struct am_cell c)
{
	struct am_slot *slot = &am_slots[am_slot_of(word)];

	if (!am_filter_foreign(c.w, am_view.stretch) && !(c.w & AM_CELL_LENT))
		return;
	const uint64_t open = waiting_in(c);
	if (open) {
		const bool is_locked = am_slot_lock(slot); /* as in seize */
		meet(&am_view, word, open, ((struct going *)ctx)->here);
		if (is_locked)
			am_slot_unlock(slot);
	}
	leave(ctx, word, am_filter_last_write(c), true, AM_LATE_FIND);
	leave(ctx, word, am_filter_last_read(c), false, AM_LATE_FIND);
	if (c.w & AM_CELL_MANY) {
		struct am_kept more[AM_LEND_READS];
		const unsigned n = am_lend_collect(word, c.w, more);
		for (unsigned i = 0; i < n; i++)
			leave(ctx, word, am_filter_rest(more[i].what), more[i].what & AM_KEPT_WRITE, more[i].pc);
	}
}

bool am_view_gone(uintptr_t address, size_t size, struct am_here here)
{
	struct am_view *v = &am_view;
	struct going g = {.here = here};

	if (am_view_mode == AM_VIEW_RECORD) {
		am_shadow_clear(address, size, AM_STRETCH_NONE, NULL, NULL);
		return true;
	}
	if (am_view_sleeps())
		return false;
	const bool was_logged = am_shadow_clear(address, size, v->stretch, leave_cell, &g);
	for (unsigned i = 0; i < g.n; i++)
		tell_left(&g, i);
	return was_logged || g.is_told;
}

struct coming {
	uintptr_t address, end, line;
	struct am_here here;
};

/* Each line with a number of its own, for what came before may have been logged in any of them. */
static void renew_cell(void *ctx, uintptr_t word, struct am_cell c)
{
	struct coming *k = ctx;
	const uintptr_t line = word & ~(uintptr_t)63, from = line < k->address ? k->address : line;
	const uintptr_t stop = line + 64 < k->end ? line + 64 : k->end;

	if (!(c.w & AM_CELL_EVER) || line == k->line)
		return;
	k->line = line;
	const uint64_t others = am_view_others(&am_view);
	am_log_block(AM_ALLOC, from, stop - from, k->here);
	am_view_count_own(&am_view, others);
}

void am_view_came(uintptr_t address, size_t size, struct am_here here)
{
	struct coming k = {address, address + size, 1, here};

	/* At a cut nothing that was logged matters any more (filter.h, C). */
	if (!am_view_sleeps())
		am_shadow_clear(address, size, AM_STRETCH_NONE, am_view_now().open ? renew_cell : NULL, &k);
}
