/* SPDX-License-Identifier: MIT */
/*
 * The decisions on each access in the test of the access filter, as preload/view_access.c, view_lend.c and view_exact.c make them.
 */
#ifndef ATOMMON_TESTS_FILTER_ACCESS_H
#define ATOMMON_TESTS_FILTER_ACCESS_H

#include "tests/property/filter_thin.h"

/* ---- lent cells, as in preload/view_lend.c ----------------------------------------------------- */

static uint64_t n_lent, n_lent_many, n_lent_linked, n_lent_again, n_lent_left, n_kept, n_kept_writes, n_kept_told;

/* The owner's table, or all if the cell is lent. */
static bool may_have(int i, uint64_t w)
{
	return w & AM_CELL_LENT || w >> AM_BLOCK_SHIFT == (uint64_t)(i + 1);
}

/* What no cell holds. */
static bool tell_many(int t, int word, uint64_t w)
{
	bool is_told = false;

	for (int i = 0; i < THREADS; i++) {
		struct lent *l = &thin.lent[i][word % LENT];
		if (l->word != word + 1 || !may_have(i, w))
			continue;
		l->word = 0;
		for (int k = 0; k < AM_FILTER_KEPT; k++) {
			const bool was_told = tell_late(t, word, am_filter_rest(l->kept[k].what), l->kept[k].what & AM_KEPT_WRITE);
			n_kept_told += was_told && !(w & AM_CELL_LENT);
			is_told |= was_told;
		}
	}
	return is_told;
}

/* All that a cell holds which another takes. */
static bool tell_all(int t, int word, struct am_cell c)
{
	bool is_told = tell_late(t, word, am_filter_last_write(c), true);

	is_told |= tell_late(t, word, am_filter_last_read(c), false);
	return is_told | (c.w & AM_CELL_MANY ? tell_many(t, word, c.w) : 0);
}

/* An edge leads from what was told of the cell to an access that is logged. */
static void link_to(int t, struct am_cell c, uint64_t bytes)
{
	const int owner = (int)(c.w >> AM_BLOCK_SHIFT) - 1;
	const uint64_t stretch = c.w & AM_STRETCH_MASK;

	if (owner >= 0 && owner < THREADS && owner != t && c.w & AM_CELL_LAZY && c.w & bytes && matters_of(owner, stretch) &&
	    thin.linked[t][owner] < stretch)
		thin.linked[t][owner] = stretch;
}

/* What no place holds any longer: then something there was logged. */
static uint64_t tell_left(int t, int word, struct am_kept kept)
{
	return tell_late(t, word, am_filter_rest(kept.what), kept.what & AM_KEPT_WRITE) ? AM_CELL_EVER : 0;
}

/* Into the table, of this or an earlier stretch. */
static void put_lent(int t, int word, struct am_late late, bool writes)
{
	struct lent *l = &thin.lent[t][word % LENT];

	for (int k = AM_FILTER_KEPT; l->word && l->word != word + 1 && k-- > 0;)
		thin.cell[l->word - 1].w |= tell_left(t, l->word - 1, l->kept[k]);
	if (l->word != word + 1)
		*l = (struct lent){.word = word + 1};
	thin.cell[word].w |= am_filter_many(writes) | tell_left(t, word, am_filter_keep(l->kept, am_filter_kept(late, writes, 0)));
}

/* The usual case in one go, as am_lend_again does it. */
static bool lends_again(int t, int word, uint64_t bytes)
{
	struct am_cell *c = &thin.cell[word];
	uint64_t r;

	if (thin.depth[t] == 0 || !am_filter_borrows_again(*c, thin.stretch[t], bytes, &r))
		return false;
	n_lent_again++;
	c->r = r;
	note_read(t, word, bytes, false);
	return true;
}

/* A read in a region of what is another's, or lent: does it need no record? */
static bool lends(int t, int word, uint64_t bytes)
{
	struct am_cell *c = &thin.cell[word];
	const uint64_t stretch = thin.stretch[t], wrote = c->w & AM_STRETCH_MASK;
	const int owner = (int)(c->w >> AM_BLOCK_SHIFT) - 1;
	const struct lent *l = &thin.lent[t][word % LENT];

	if (thin.depth[t] == 0 || owner < 0 || owner >= THREADS || (owner == t && !(c->w & AM_CELL_LENT)))
		return false;
	if (c->w & AM_CELL_LENT &&
	    (am_filter_borrowed(*c, stretch, bytes) || (l->word == word + 1 && am_filter_has(l->kept[0].what, stretch, bytes))))
		return true;
	const bool is_linked = thin.linked[t][owner] >= wrote;
	const bool is_behind = owner == t || !matters_of(owner, wrote) || is_linked;
	if (!am_filter_may_lend(*c, bytes, is_behind, owner != t && thin.open_stretch[owner] == wrote))
		return false;
	n_lent++;
	n_lent_linked += owner != t && (c->w & bytes) && matters_of(owner, wrote);
	struct am_cell next = am_filter_lend(*c);
	if (am_filter_has_room(next, stretch) || !matters_of((int)(next.r >> AM_BLOCK_SHIFT) - 1, next.r & AM_STRETCH_MASK)) {
		const struct am_late left = am_filter_left(next.r, stretch, bytes);
		if (left.bytes && matters_to(t, left.stretch)) {
			put_lent(t, word, left, false);
			n_lent_left++;
		}
		next.w |= c->w;
		next.r = am_filter_borrow(next, stretch, bytes);
	} else {
		put_lent(t, word, (struct am_late){stretch, bytes}, false);
		next.w |= c->w;
		n_lent_many++;
	}
	*c = next;
	note_read(t, word, bytes, false);
	return true;
}

/* What the cell will not hold after this access is kept, or told: what is to be in w of it then. `is_taken`: all of it. */
static uint64_t settle(int t, int word, uint64_t bytes, bool writes, bool is_exact, bool is_taken)
{
	struct am_cell *c = &thin.cell[word];

	if (is_taken)
		return tell_all(t, word, *c) ? AM_CELL_LOGGED : 0;
	const struct am_late late = writes ? am_filter_late_write(*c, thin.stretch[t], bytes)
					   : am_filter_late_read(*c, thin.stretch[t], bytes, is_exact);
	if (!late.bytes || am_filter_same_stretch(late.stretch, thin.stretch[t]) || !matters_to(t, late.stretch) || ++thin.n_settled % 4 == 0) /* no place */
		return tell_late(t, word, late, writes) ? AM_CELL_LOGGED : 0;
	const uint64_t before = c->w;
	put_lent(t, word, late, writes);
	n_kept++;
	n_kept_writes += writes;
	const uint64_t more = c->w & AM_CELL_STAYS;
	c->w = before;
	return more;
}

/* The cell as far as it matters. */
static struct am_cell look(int t, int word)
{
	const struct am_cell c = thin.cell[word];

	return matters(t, c) ? c : am_filter_over(c, thin.stretch[t]);
}

/* Another thread's access here may wait in the list of its open region: whose? */
static int waits_in(int t, struct am_cell c)
{
	const int owner = (int)(c.w >> AM_BLOCK_SHIFT) - 1;
	const bool may_wait = owner >= 0 && owner < THREADS && owner != t && thin.open_stretch[owner] &&
			      am_filter_may_wait(c, thin.open_stretch[owner]);

	return may_wait ? owner : NONE;
}

static void meet(int t, int word, struct am_cell c)
{
	const int owner = waits_in(t, c);

	if (owner != NONE)
		expose(owner, word);
}

/* The access is logged because of another of its words. */
static void force(int t, int word, uint64_t bytes, bool writes, bool is_exact)
{
	const struct am_cell c = look(t, word);
	const uint64_t w = thin.cell[word].w;

	if (am_filter_foreign(c.w, thin.stretch[t]))
		meet(t, word, thin.cell[word]);
	const uint64_t more =
		settle(t, word, bytes, writes, is_exact, am_filter_foreign(w, thin.stretch[t]) || w & AM_CELL_LENT);
	thin.cell[word] = am_filter_logged(c, thin.stretch[t], bytes, writes, is_exact);
	thin.cell[word].w |= more;
	if (!writes)
		note_read(t, word, bytes, is_exact);
	flush(t); /* another's region may have begun to count */
	thin.reached[t] = thin.generation;
}

/* The usual cases in one go must be what the long way says: known, or lazy with nothing to tell. */
static uint64_t n_short, n_short_over, bad_short, n_vacant;

static __attribute__((always_inline)) inline void compare_short(int t, int word, uint64_t bytes, bool writes)
{
	const uint64_t stretch = thin.stretch[t];
	const struct am_cell c = thin.cell[word];
	struct am_cell next = c;
	const enum am_filter_short answer = am_filter_short(&thin.cell[word], stretch | AM_CELL_LAZY, bytes, writes,
							    thin.past_is_over[t], writes ? &next.w : &next.r);

	n_short += answer != AM_SHORT_ASK;
	if (answer == AM_SHORT_ASK)
		return;
	if (am_filter_known(c, stretch, bytes, writes)) {
		bad_short += answer != AM_SHORT_KNOWN;
		return;
	}
	const struct am_late late = writes ? am_filter_late_write(c, stretch, bytes) : am_filter_late_read(c, stretch, bytes, false);
	const struct am_cell lazy = am_filter_lazy(c, stretch, bytes, writes);
	const bool is_told = late.bytes != 0 && matters_to(t, late.stretch);
	n_short_over += late.bytes != 0 && !is_told;
	bad_short += answer != AM_SHORT_LAZY || is_told || next.w != lazy.w || next.r != lazy.r ||
		     am_filter_decide(c, stretch, bytes, writes, true, true, 1) != AM_FILTER_LAZY;
}

enum wait { WAITS, WAITS_NOT };

/* The same of accesses that wait; `next`: NULL if this one may not. */
static uint64_t n_first, n_first_read;

static void compare_first(int t, struct am_cell c, const struct access *a, const struct am_cell *next)
{
	struct am_cell first;

	if (!am_filter_waits_first(c, thin.stretch[t], a->bytes, a->writes, a->commutes, &first))
		return;
	n_first++;
	n_first_read += am_filter_same_stretch(c.w, thin.stretch[t]);
	bad_short += !next || first.w != next->w || first.r != next->r;
}

/* As in preload/view_exact.c: does the access wait, or is it known? */
static enum wait waits(int t, int word, uint64_t bytes, bool writes, bool is_apart)
{
	struct am_cell *c = &thin.cell[word], next;
	const struct access a = {NONE, word, bytes, writes, is_apart};
	bool is_known = !is_apart && am_filter_known(*c, thin.stretch[t], bytes, writes);

	if (!thin.open_stretch[t] || thin.is_exposed[t] || thin.n_items[t] == ITEMS ||
	    (thin.open && thin.log_generation[t] == thin.generation))
		return WAITS_NOT;
	for (int i = 0; i < thin.n_items[t] && is_apart; i++)
		is_known |= thin.item[t][i].commutes && thin.item[t][i].word == word && thin.item[t][i].bytes == bytes &&
			    am_filter_is_apart(*c, thin.stretch[t], bytes);
	if (is_known)
		return WAITS;
	const bool may_wait = am_filter_waits(look(t, word), thin.stretch[t], bytes, writes, is_apart, &next);
	compare_first(t, *c, &a, may_wait ? &next : NULL);
	if (!may_wait)
		return WAITS_NOT;
	*c = next;
	thin.item[t][thin.n_items[t]++] = a;
	n_items++;
	if (!writes)
		note_read(t, word, bytes, true);
	return WAITS;
}

/* Of one word: is the access to be logged? As in preload/view_access.c. */
static bool wants(int t, int word, uint64_t bytes, bool writes, bool may_be_lazy, bool is_exact, bool is_apart)
{
	struct am_cell *c = &thin.cell[word];

	compare_short(t, word, bytes, writes);
	if (bytes == AM_CELL_BYTES)
		compare_short(t, word, AM_CELL_BYTES, writes);
	if (am_filter_known(*c, thin.stretch[t], bytes, writes))
		return false;
	if (!writes && may_be_lazy && !is_exact && (lends_again(t, word, bytes) || (matters(t, *c) && lends(t, word, bytes))))
		return false;
	const struct am_cell seen = look(t, word);
	enum am_filter_answer answer =
		am_filter_decide(seen, thin.stretch[t], bytes, writes, thin.depth[t] != 0,
				 thin.reached[t] == thin.generation, thin.open);
	if (answer == AM_FILTER_LAZY && !may_be_lazy)
		answer = AM_FILTER_LOG;
	if (answer == AM_FILTER_DROP) {
		/* as am_late_is_left */
		if (!matters(t, *c) && (am_filter_foreign(c->w, thin.stretch[t]) || c->w & AM_CELL_LENT)) {
			c->w = am_filter_vacant(c->w);
			n_vacant++;
		}
		return false;
	}
	if (answer == AM_FILTER_NEW_STRETCH)
		next_stretch(t);
	if (am_filter_foreign(c->w, thin.stretch[t]))
		meet(t, word, *c);
	if (is_apart) { /* covers nothing: everybody's next access is logged */
		flush(t);
		tell_all(t, word, *c);
		thin.reached[t] = thin.generation;
		*c = (struct am_cell){AM_STRETCH_OTHER | AM_CELL_LOGGED, 0};
		return true;
	}
	const bool stays_lent = answer == AM_FILTER_LAZY && seen.w & AM_CELL_LENT;
	const uint64_t logged = settle(t, word, bytes, writes, is_exact,
				       am_filter_foreign(c->w, thin.stretch[t]) || (c->w & AM_CELL_LENT && !stays_lent));
	if (answer != AM_FILTER_LAZY && !is_exact)
		link_to(t, *c, bytes);
	if (!writes)
		note_read(t, word, bytes, is_exact);
	if (answer == AM_FILTER_LAZY) {
		if (thin.depth[t] == 0)
			mark(t);
		*c = am_filter_lazy(seen, thin.stretch[t], bytes, writes);
		c->w |= logged;
		return false;
	}
	flush(t);
	thin.reached[t] = thin.generation;
	*c = am_filter_logged(seen, thin.stretch[t], bytes, writes, is_exact);
	c->w |= logged;
	return true;
}

static void region_begin(int t)
{
	if (thin.depth[t]++ == 0) {
		if (thin.is_dirty[t]) { /* one of its own, outside */
			thin.depth[t] = 0;
			mark(t);
			thin.depth[t] = 1;
		}
		thin.open_stretch[t] = next_stretch(t);
		thin.past_is_over[t] = !(thin.open && thin.log_generation[t] == thin.generation);
		return;
	}
	if (thin.is_exposed[t]) {
		send((struct am_event){.kind = AM_BEGIN, .object = 1}, t);
		thin.told_depth[t]++;
	}
}

static void region_end(int t)
{
	if (thin.is_exposed[t]) {
		flush(t);
		for (; thin.told_depth[t] < thin.depth[t]; thin.told_depth[t]++) /* begun since */
			send((struct am_event){.kind = AM_BEGIN, .object = 1}, t);
		send((struct am_event){.kind = AM_END, .object = 1}, t);
		thin.told_depth[t]--;
	}
	if (--thin.depth[t] != 0)
		return;
	thin.open_stretch[t] = 0;
	thin.n_items[t] = 0;
	next_stretch(t);
	if (!thin.is_exposed[t])
		return;
	thin.is_exposed[t] = false;
	thin.reached[t] = thin.generation;
	thin.open--;
}

/* As hook_alloc.c and am_view_came do it. */
static void thin_alloc_word(int t, int word)
{
	const bool is_told = (thin.cell[word].w & AM_CELL_EVER) && thin.open;

	for (int i = 0; i < THREADS; i++)
		if (thin.lent[i][word % LENT].word == word + 1 && thin.cell[word].w & AM_CELL_MANY && may_have(i, thin.cell[word].w))
			thin.lent[i][word % LENT].word = 0;
	thin.cell[word] = (struct am_cell){0, 0};
	for (int i = 0; i < THREADS; i++) { /* who freed it told the list, or took it out: am_exact_gone */
		int kept = 0;
		for (int k = 0; k < thin.n_items[i]; k++)
			if (thin.item[i][k].word != word)
				thin.item[i][kept++] = thin.item[i][k];
		thin.n_items[i] = kept;
	}
	if (!is_told)
		return;
	flush(t);
	send((struct am_event){.kind = AM_ALLOC, .object = 0x1000 + (uint64_t)word * 8, .aux = 8}, t);
	renew(&thin.graph, word);
}

/* An access to one word, or to the end of one and the start of the next: logged as a whole. */
static bool thin_access(int t, int word, const uint64_t bytes[2], bool writes, bool frees, bool may_be_lazy, bool commutes)
{
	const bool is_exact = !may_be_lazy && !writes;
	if ((!may_be_lazy || commutes) && !frees && !bytes[1] && waits(t, word, bytes[0], writes, commutes) == WAITS)
		return false;
	bool is_wanted = wants(t, word, bytes[0], writes, may_be_lazy && !commutes, is_exact, commutes);

	if (bytes[1]) /* no mark between the edge to this access and its record */
		is_wanted |= wants(t, word + 1, bytes[1], writes, may_be_lazy && !is_wanted, is_exact, false);
	if (!is_wanted)
		return false;
	if (bytes[1]) {
		force(t, word, bytes[0], writes, is_exact);
		force(t, word + 1, bytes[1], writes, is_exact);
	}
	const unsigned low = (unsigned)__builtin_ctzll(bytes[0]);
	const unsigned size = (unsigned)(__builtin_popcountll(bytes[0]) + __builtin_popcountll(bytes[1]));
	const int tx = tx_of(t);
	send((struct am_event){.kind = frees ? AM_FREE : commutes ? AM_UPDATE : writes ? AM_WRITE : AM_READ,
			       .order = commutes ? 1 | AM_ORDER_ADDS : 0,
			       .object = 0x1000 + (uint64_t)word * 8 + low,
			       .size = frees ? 0 : size,
			       .aux = frees ? size : 0},
	     t);
	bool r = add_access(&thin.graph, tx, word, bytes[0], writes, commutes);
	if (bytes[1])
		r |= add_access(&thin.graph, tx, word + 1, bytes[1], writes, false);
	thin.n_late |= 1 << 20; /* logged */
	return r;
}

/* ---- in two steps ----------------------------------------------------------------------------- */

static uint64_t n_pauses;

/* Does an exact access to one word, which is to be logged, stop when it has the cell? */
static bool thin_pause(int t, int word, uint64_t bytes, bool writes)
{
	const struct am_cell old = thin.cell[word], seen = look(t, word);

	if (waits_in(t, old) == NONE || am_filter_known(old, thin.stretch[t], bytes, writes))
		return false;
	const enum am_filter_answer answer = am_filter_decide(seen, thin.stretch[t], bytes, writes, thin.depth[t] != 0,
							      thin.reached[t] == thin.generation, thin.open);
	if (answer == AM_FILTER_DROP)
		return false;
	if (answer == AM_FILTER_NEW_STRETCH)
		next_stretch(t);
	flush(t);
	thin.cell[word] = am_filter_logged(seen, thin.stretch[t], bytes, writes, !writes);
	thin.pause[t] = (struct pause){true, writes, word, bytes, old};
	n_pauses++;
	return true;
}

/* It tells, performs its access and logs it; without a lock, somebody may have taken the cell again. */
static bool thin_go_on(int t)
{
	const struct pause p = thin.pause[t];

	thin.pause[t].is_on = false;
	meet(t, p.word, p.old);
	tell_all(t, p.word, p.old);
	if (!am_filter_same_block(thin.cell[p.word].w, thin.stretch[t]))
		return thin_access(t, p.word, (uint64_t[]){p.bytes, 0}, p.writes, false, false, false);
	flush(t);
	thin.reached[t] = thin.generation;
	if (!p.writes)
		note_read(t, p.word, p.bytes, true);
	return log_access(t, &(struct access){tx_of(t), p.word, p.bytes, p.writes, false});
}

static bool is_locked(int word)
{
	bool is = false;

	for (int t = 0; t < THREADS; t++)
		is |= thin.pause[t].is_on && thin.pause[t].word == word;
	return is;
}

#endif
