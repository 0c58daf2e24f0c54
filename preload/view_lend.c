/*
 * Cells that several threads read, and what cells do not hold (lend.h). Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/lend.h"

#include <string.h>

#include "preload/defer.h"
#include "preload/lane.h"

/*
 * What one thread did to words. Written by that thread, in an order by which others see whole ones; emptied by all. The words of a set and the
 * newest of each are one line of the cache, the older ones another.
 */
enum { SETS_LOG2 = 11, WAYS = 4 };
struct set {
	uint64_t word[WAYS]; /* 0: empty */
	uint64_t kept[AM_FILTER_KEPT][WAYS];
	uintptr_t pc[AM_FILTER_KEPT][WAYS];
} __attribute__((aligned(64)));
struct am_lents {
	struct set at[1 << SETS_LOG2];
};

/* One of its words. No set: none. */
struct lent {
	struct set *set;
	unsigned way;
};

/* In the order in which they were made, never given back. */
static struct am_lents *tables[AM_LEND_TABLES];
static uint32_t n_tables;

static struct set *set_of(struct am_lents *table, uintptr_t word)
{
	return &table->at[word * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SETS_LOG2)];
}

/* `table` may be NULL. */
static struct lent find(struct am_lents *table, uintptr_t word)
{
	struct set *set = table ? set_of(table, word) : NULL;

	for (unsigned i = 0; set && i < WAYS; i++)
		if (__atomic_load_n(&set->word[i], __ATOMIC_ACQUIRE) == word) /* partner: put */
			return (struct lent){set, i};
	return (struct lent){NULL, 0};
}

static void get(struct lent l, struct am_kept kept[AM_FILTER_KEPT])
{
	for (unsigned k = 0; k < AM_FILTER_KEPT; k++) {
		kept[k].what = __atomic_load_n(&l.set->kept[k][l.way], __ATOMIC_ACQUIRE); /* partner: put, which empties it first */
		kept[k].pc = __atomic_load_n(&l.set->pc[k][l.way], __ATOMIC_RELAXED);
	}
}

/* This thread's, made if need be; NULL: too many have one, or no memory. */
static struct am_lents *own_table(void)
{
	struct am_lane *lane = am_tls.lane;

	if (am_likely(lane->lents != NULL))
		return lane->lents;
	const uint32_t n = __atomic_load_n(&n_tables, __ATOMIC_RELAXED);
	if (n >= AM_LEND_TABLES)
		return NULL;
	const uint32_t mine = __atomic_fetch_add(&n_tables, 1, __ATOMIC_RELAXED);
	struct am_lents *table = mine < AM_LEND_TABLES ? am_shadow_memory(sizeof *table) : NULL;
	if (!table)
		return NULL;
	__atomic_store_n(&tables[mine], table, __ATOMIC_RELEASE); /* partner: table_at */
	__atomic_store_n(&lane->lents, table, __ATOMIC_RELEASE); /* partner: tables_of */
	return table;
}

/* NULL: not made yet, or there are not so many. */
static struct am_lents *table_at(uint32_t i)
{
	return __atomic_load_n(&tables[i], __ATOMIC_ACQUIRE); /* partner: own_table */
}

static uint32_t count_tables(void)
{
	const uint32_t n = __atomic_load_n(&n_tables, __ATOMIC_RELAXED);

	return n < AM_LEND_TABLES ? n : AM_LEND_TABLES;
}

/* Which tables may have something of a word whose w that is: the owner's, unless it is lent. */
struct range {
	uint32_t i, end;
	struct am_lents *only;
};

static struct range tables_of(uint64_t w)
{
	if (w & AM_CELL_LENT)
		return (struct range){0, count_tables(), NULL};
	struct am_lents *only = __atomic_load_n(&am_late_lane(w & AM_STRETCH_MASK)->lents, __ATOMIC_ACQUIRE); /* partner: own_table */
	return (struct range){0, only != NULL, only};
}

static struct am_lents *next_table(struct range *r)
{
	const uint32_t i = r->i++;

	return r->only ? r->only : table_at(i);
}

unsigned am_lend_collect(uintptr_t word, uint64_t w, struct am_kept all[AM_LEND_READS])
{
	unsigned n = 0;

	for (struct range r = tables_of(w); r.i < r.end;) {
		const struct lent l = find(next_table(&r), word);
		struct am_kept kept[AM_FILTER_KEPT];
		if (!l.set)
			continue;
		get(l, kept);
		if (__atomic_load_n(&l.set->word[l.way], __ATOMIC_RELAXED) != word)
			continue;
		for (unsigned k = 0; k < AM_FILTER_KEPT; k++)
			if (kept[k].what)
				all[n++] = kept[k];
	}
	return n;
}

void am_lend_purge(uintptr_t word, uint64_t w)
{
	for (struct range r = tables_of(w); r.i < r.end;) {
		const struct lent l = find(next_table(&r), word);
		uint64_t seen = word;
		if (l.set)
			__atomic_compare_exchange_n(&l.set->word[l.way], &seen, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

void am_lend_forget(void)
{
	memset(tables, 0, sizeof tables);
	n_tables = 0;
}

/* ---- links ------------------------------------------------------------------------------------ */

static uint64_t *link_of(const struct am_view *v, uint64_t stretch)
{
	return &v->defer->linked[(stretch >> AM_BLOCK_SHIFT) % AM_DEFER_LINKS];
}

static bool is_linked(const struct am_view *v, uint64_t stretch)
{
	const uint64_t link = *link_of(v, stretch);

	return am_filter_same_block(link, stretch) && link >= stretch;
}

/* Not what was logged at once: it may be an atomic access, and those behind may drop it (atommon/vain.h). */
void am_lend_link(struct am_view *v, struct am_cell old, uint64_t bytes)
{
	const uint64_t stretch = old.w & AM_STRETCH_MASK, owner = stretch >> AM_BLOCK_SHIFT;

	if (owner == 0 || owner == AM_BLOCK_OTHER || am_filter_same_block(stretch, v->stretch) || !v->defer)
		return;
	if (old.w & AM_CELL_LAZY && old.w & bytes && !is_linked(v, stretch) && am_late_matters_of(stretch))
		*link_of(v, stretch) = stretch;
}

/* ---- reads ------------------------------------------------------------------------------------ */

/* What no place holds any longer is told. Then something here was logged, for the one who uses the memory anew: a bit of the cell. */
static uint64_t tell(struct am_view *v, uintptr_t word, struct am_kept kept, struct am_here here)
{
	return am_late_tell_kept(v, word, kept, here) ? AM_CELL_EVER : 0;
}

static void push_out(struct am_view *v, uintptr_t word, const struct am_kept kept[AM_FILTER_KEPT], struct am_here here)
{
	struct am_cell *cell = am_shadow_find(word);
	uint64_t ever = 0;

	for (unsigned i = AM_FILTER_KEPT; i-- > 0;)
		ever |= tell(v, word, kept[i], here);
	if (cell && ever)
		__atomic_fetch_or(&cell->w, ever, __ATOMIC_RELAXED);
}

/* A place for the word; what is pushed out is told. None: it is of this very region, which waits, and so has nothing that is told yet. */
static struct lent make_place(struct am_view *v, struct am_lents *table, uintptr_t word, struct am_here here)
{
	struct lent l = find(table, word);
	struct set *set = set_of(table, word);
	struct am_kept kept[AM_FILTER_KEPT];

	for (unsigned i = 0; i < WAYS && !l.set; i++)
		if (set->word[i] == 0 || !am_late_may_tell(v, set->kept[0][i] & AM_STRETCH_MASK))
			l = (struct lent){set, i};
	if (!l.set && !v->is_waiting) {
		l = (struct lent){set, v->stretch >> AM_STRETCH_SHIFT & (WAYS - 1)};
		get(l, kept);
		push_out(v, set->word[l.way], kept, here);
	}
	return l;
}

/* In steps by which others see nothing beside a word that is not its own, nor lose one that only goes to another place: they look from the
 * first on. */
static void put(struct lent l, uintptr_t word, const struct am_kept kept[AM_FILTER_KEPT])
{
	struct set *set = l.set;

	if (set->word[l.way] != word)
		__atomic_store_n(&set->word[l.way], 0, __ATOMIC_RELAXED);
	for (unsigned k = AM_FILTER_KEPT; k-- > 0;)
		if (set->kept[k][l.way] != kept[k].what) {
			__atomic_store_n(&set->pc[k][l.way], kept[k].pc, __ATOMIC_RELAXED);
			__atomic_store_n(&set->kept[k][l.way], kept[k].what, __ATOMIC_RELEASE); /* partner: get */
		}
	__atomic_store_n(&set->word[l.way], word, __ATOMIC_RELEASE); /* partner: find */
}

/* Of this or an earlier stretch of this thread, into its table. `w`: what the cell's is to be. */
static bool enter(struct am_view *v, uintptr_t word, struct am_kept added, uint64_t *w, struct am_here here)
{
	struct am_lents *table = own_table();

	if (!table)
		return false;
	const struct lent l = make_place(v, table, word, here);
	if (!l.set)
		return false;
	struct am_kept kept[AM_FILTER_KEPT] = {{0, 0}};
	if (l.set->word[l.way] == word)
		get(l, kept);
	*w |= am_filter_many(added.what & AM_KEPT_WRITE) | tell(v, word, am_filter_keep(kept, added), here);
	if (am_tls.event) /* below a handler of this very thread */
		return false;
	am_defer_enter(here);
	put(l, word, kept);
	am_defer_leave();
	return true;
}

static void remove_entry(uintptr_t word)
{
	const struct lent l = find(am_tls.lane->lents, word);

	if (l.set)
		__atomic_store_n(&l.set->word[l.way], 0, __ATOMIC_RELAXED);
}

/*
 * The cell changed before it could say that there is an entry. If it was taken, all but what is read now has been told. If others only read there, the
 * entry stays if the cell said before that there are such; otherwise it has nothing but what is read now, or is still in r.
 */
static void withdraw(const struct am_cell *cell, uint64_t old, uintptr_t word)
{
	const bool is_same = ((__atomic_load_n(&cell->w, __ATOMIC_RELAXED) ^ old) & AM_NEWEST_MASK) == 0;

	if (!(is_same && old & AM_CELL_MANY))
		remove_entry(word);
}

/* What an earlier stretch of this thread did, with its place while that is remembered. */
static struct am_kept kept_of(const struct am_view *v, uintptr_t word, struct am_late late, bool writes)
{
	return am_filter_kept(late, writes, v->places ? am_place_find(v->places, word, late.stretch, writes) : 0);
}

/* Reads of an earlier stretch that r will not hold: into the table, unless they do not matter any more; or they are told. */
static void keep_left(struct am_view *v, uintptr_t word, struct am_late left, uint64_t *w, struct am_here here)
{
	if (!left.bytes || !am_late_may_tell(v, left.stretch))
		return;
	if (!enter(v, word, kept_of(v, word, left, false), w, here) && am_late_tell(v, word, left, false, AM_LATE_FIND, here))
		*w |= AM_CELL_EVER;
}

static bool has_entered(const struct am_view *v, uintptr_t word, uint64_t bytes)
{
	const struct lent l = find(am_tls.lane->lents, word);

	return l.set && am_filter_has(l.set->kept[0][l.way], v->stretch, bytes);
}

/* In one step, unless it stays as it was; then is it still so? A store into the other half comes before. */
static bool put_w(struct am_cell *cell, uint64_t old, uint64_t next)
{
	if (old != next)
		return __atomic_compare_exchange_n(&cell->w, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* partner: the exchange in am_late_seize */
	return __atomic_load_n(&cell->w, __ATOMIC_RELAXED) == old;
}

enum am_lend am_lend_read(struct am_view *v, uintptr_t word, struct am_cell *cell, struct am_cell old, uint64_t bytes,
			  struct am_here here)
{
	const uint64_t stretch = v->stretch, wrote = old.w & AM_STRETCH_MASK;
	const bool is_ours = am_filter_same_block(old.w, stretch), is_lent = old.w & AM_CELL_LENT;

	if ((is_ours && !is_lent) || old.w >> AM_BLOCK_SHIFT == AM_BLOCK_OTHER || am_tls.event)
		return AM_LEND_NOT;
	if (am_lend_is_known(v, old, bytes) || (old.w & AM_CELL_MANY && has_entered(v, word, bytes)))
		return AM_LEND_DONE;
	const bool is_open = !is_ours && am_late_is_open(wrote);
	const bool is_behind = is_ours || is_linked(v, wrote) || !(is_open || am_late_matters_of(wrote));
	if (!am_filter_may_lend(old, bytes, is_behind, is_open))
		return AM_LEND_NOT;
	am_late_mark_stretch(v, here);
	struct am_cell next = am_filter_lend(old);
	if (am_filter_has_room(next, stretch) || !am_late_matters_of(next.r & AM_STRETCH_MASK)) {
		keep_left(v, word, am_filter_left(next.r, stretch, bytes), &next.w, here);
		if (next.w != old.w && !put_w(cell, old.w, next.w)) {
			withdraw(cell, old.w, word);
			return AM_LEND_AGAIN;
		}
		__atomic_store_n(&cell->r, am_filter_borrow(next, stretch, bytes), __ATOMIC_RELAXED);
		return AM_LEND_DONE;
	}
	if (!enter(v, word, am_filter_kept((struct am_late){stretch, bytes}, false, here.pc), &next.w, here))
		return AM_LEND_NOT;
	if (next.r != old.r) /* what the owner has seen */
		__atomic_store_n(&cell->r, next.r, __ATOMIC_RELAXED);
	if (put_w(cell, old.w, next.w))
		return AM_LEND_DONE;
	withdraw(cell, old.w, word);
	return AM_LEND_AGAIN;
}

/* ---- what the owner did before ---------------------------------------------------------------- */

enum am_keep am_lend_keep(struct am_view *v, uintptr_t word, struct am_cell *cell, uint64_t old, uint64_t next, struct am_late late,
			  bool writes, struct am_here here)
{
	if (am_tls.event || am_filter_same_stretch(late.stretch, v->stretch) ||
	    !enter(v, word, kept_of(v, word, late, writes), &next, here))
		return AM_KEEP_NOT;
	if (put_w(cell, old, next))
		return AM_KEEP_DONE;
	/* Who took the cell has told all that it said. Who borrows it leaves the table alone. */
	const bool is_ours = am_filter_same_block(__atomic_load_n(&cell->w, __ATOMIC_RELAXED), old);
	if (!(is_ours && old & AM_CELL_MANY))
		remove_entry(word);
	return AM_KEEP_AGAIN;
}

bool am_lend_beside(struct am_view *v, struct am_cell *cell, uintptr_t address, uint64_t bytes, bool writes, struct am_here here)
{
	const struct am_cell old = am_cell_load(cell);
	const bool is_ours = am_filter_same_block(old.w, v->stretch) && !(old.w & AM_CELL_LENT);

	if (!is_ours || am_filter_decide(old, v->stretch, bytes, writes, v->depth != 0, true, 1) != AM_FILTER_LAZY)
		return false;
	const struct am_late late = writes ? am_filter_late_write(old, v->stretch, bytes)
					   : am_filter_late_read(old, v->stretch, bytes, false);
	const struct am_cell next = am_filter_lazy(old, v->stretch, bytes, writes);
	if (late.bytes == 0 || am_lend_keep(v, address & ~(uintptr_t)7, cell, old.w, next.w, late, writes, here) != AM_KEEP_DONE)
		return false;
	if (!writes)
		__atomic_store_n(&cell->r, next.r, __ATOMIC_RELAXED);
	am_view_put_place(am_view_place(v->places, cell, writes), address, here.pc);
	return true;
}
