/*
 * What the access filter drops or tells late must not change a verdict: random runs go, unfiltered
 * and filtered, through a full conflict graph; the first cycle must be closed by the same event, or
 * there is none in both. The filtered stream also goes through the live checker and its twin, which
 * must say the same. Runs hand memory over, free it and use it again, and nest regions. In some, threads stop between taking a cell
 * from a region and telling what waits there, as others do under the lock of the slot: there may then be no cycle that the full
 * graph has not, and without that lock there are.
 * Usage: instrument_filter [seed [runs]].
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atommon/checker.h"
#include "atommon/mem.h"
#include "preload/filter.h"
#include "tests/property/cases.h"

enum { THREADS = 5, WORDS = 5, EVENTS = 96, NODES = 3 * EVENTS, ENTRIES = 8 * EVENTS, ITEMS = 4, LENT = 3, NONE = -1 };

struct access {
	int tx, word;
	uint64_t bytes;
	bool writes;
	bool commutes; /* with those of the same bytes that do */
};

/* The full graph: transactions are nodes, closed over by Floyd and Warshall after each event. */
struct graph {
	int n_tx, n_access;
	int last_tx[THREADS]; /* newest transaction of a thread */
	struct access access[ENTRIES];
	uint64_t reach[NODES][NODES / 64]; /* bit sets */
};

static bool reaches(const struct graph *g, int from, int to)
{
	return g->reach[from][to / 64] >> (to % 64) & 1;
}

static void add_edge(struct graph *g, int from, int to)
{
	if (from == to || reaches(g, from, to))
		return;
	for (int a = 0; a < g->n_tx; a++) {
		if (a != from && !reaches(g, a, from))
			continue;
		for (int i = 0; i < NODES / 64; i++)
			g->reach[a][i] |= g->reach[to][i];
		g->reach[a][to / 64] |= UINT64_C(1) << (to % 64);
	}
}

static int new_tx(struct graph *g, int thread)
{
	const int tx = g->n_tx++;

	if (g->last_tx[thread] != NONE)
		add_edge(g, g->last_tx[thread], tx);
	return g->last_tx[thread] = tx;
}

/* Returns whether a cycle goes through tx now. */
static bool add_access(struct graph *g, int tx, int word, uint64_t bytes, bool writes, bool commutes)
{
	for (int i = 0; i < g->n_access; i++) {
		const struct access *a = &g->access[i];
		if (a->word == word && (a->bytes & bytes) && (a->writes || writes) &&
		    !(commutes && a->commutes && a->bytes == bytes))
			add_edge(g, a->tx, tx);
	}
	g->access[g->n_access++] = (struct access){tx, word, bytes, writes, commutes};
	return reaches(g, tx, tx);
}

/* The memory is used anew: what was there is another entity. */
static void renew(struct graph *g, int word)
{
	int kept = 0;

	for (int i = 0; i < g->n_access; i++)
		if (g->access[i].word != word)
			g->access[kept++] = g->access[i];
	g->n_access = kept;
}

static void graph_init(struct graph *g)
{
	memset(g, 0, sizeof *g);
	for (int t = 0; t < THREADS; t++)
		g->last_tx[t] = NONE;
}

/* ---- the filtered side ------------------------------------------------------------------------ */

/* The filter's state as preload/view.c keeps it, and where its events go. */
static struct {
	struct am_cell cell[WORDS];
	uint64_t stretch[THREADS], first[THREADS], open_stretch[THREADS];
	uint32_t open, generation, reached[THREADS], log_generation[THREADS];
	int depth[THREADS], told_depth[THREADS], region_tx[THREADS];
	bool is_exposed[THREADS], is_dirty[THREADS];
	struct graph graph;
	struct {
		uint64_t stretch;
		int tx;
	} mark[NODES];
	struct access item[THREADS][ITEMS]; /* of the open region, which is not exposed */
	int n_items[THREADS];
	int n_marks, n_late, n_untold;
	/* Of the newest stretch that read there: bytes by exact reads, and by others. */
	struct {
		uint64_t stretch, exact, plain;
	} reads[THREADS][WORDS];
	/* Has a cell, which held `old`, and has not told that yet. */
	struct pause {
		bool is_on, writes;
		int word;
		uint64_t bytes;
		struct am_cell old;
	} pause[THREADS];
	/* Newest stretch of a thread from which an edge leads to another: [to][from]. */
	uint64_t linked[THREADS][THREADS];
	struct lent {
		int word; /* + 1 */
		uint64_t read;
	} lent[THREADS][LENT];
	struct am_mem mem, twin_mem;
	struct am_checker *checker;
	struct am_fullgraph *twin;
	uint64_t index;
	bool found, twin_found;
} thin;

static void on_cycle(void *ctx, const struct am_cycle *cycle)
{
	(void)cycle;
	*(bool *)ctx = true;
}

/* Checking is the slower part: only if asked for. */
static void thin_init(bool checks)
{
	memset(&thin, 0, sizeof thin);
	graph_init(&thin.graph);
	thin.generation = 1;
	for (unsigned t = 0; t < THREADS; t++)
		thin.stretch[t] = ((uint64_t)(t + 1) << AM_BLOCK_SHIFT) +
				  (UINT64_C(1) << AM_STRETCH_SHIFT);
	if (!checks)
		return;
	am_mem_init(&thin.mem, 64 << 20);
	am_mem_init(&thin.twin_mem, 64 << 20);
	const struct am_checker_config fast = {AM_CONFLICTS_AUTO, on_cycle, &thin.found};
	const struct am_checker_config full = {AM_CONFLICTS_AUTO, on_cycle, &thin.twin_found};
	thin.checker = am_checker_new(&fast, &thin.mem);
	thin.twin = am_fullgraph_new(&full, &thin.twin_mem);
}

static void thin_free(void)
{
	if (!thin.checker)
		return;
	am_checker_free(thin.checker);
	am_fullgraph_free(thin.twin);
	am_mem_destroy(&thin.mem);
	am_mem_destroy(&thin.twin_mem);
}

static void send(struct am_event e, int t)
{
	if (!thin.checker)
		return;
	e.thread = (uint32_t)t;
	e.index = thin.index++;
	am_checker_event(thin.checker, &e);
	am_fullgraph_event(thin.twin, &e);
}

static uint32_t number_of(uint64_t stretch)
{
	return (uint32_t)(stretch >> AM_STRETCH_SHIFT);
}

static uint64_t next_stretch(int t)
{
	return thin.stretch[t] += UINT64_C(1) << AM_STRETCH_SHIFT;
}

/* Stretches from here on may have to be told late: the first thing logged in this generation. */
static void count(int t)
{
	thin.is_dirty[t] = true;
	if (thin.log_generation[t] == thin.generation)
		return;
	thin.log_generation[t] = thin.generation;
	thin.first[t] = thin.stretch[t];
}

static int tx_of(int t)
{
	return thin.depth[t] ? thin.region_tx[t] : new_tx(&thin.graph, t);
}

static void put_mark(int t, uint64_t stretch)
{
	thin.is_dirty[t] = false;
	thin.mark[thin.n_marks].stretch = stretch;
	thin.mark[thin.n_marks++].tx = tx_of(t);
	send((struct am_event){.kind = AM_MARK,
			       .object = AM_THREAD_OBJECT(t),
			       .site = number_of(stretch)},
	     t);
}

/* Behind what was logged, before something that may be told late. */
static void mark(int t)
{
	if (thin.is_dirty[t])
		put_mark(t, thin.stretch[t]);
}

static uint64_t n_items, n_items_told;

static bool log_access(int t, const struct access *a)
{
	const enum am_kind kind = a->commutes ? AM_UPDATE : a->writes ? AM_WRITE : AM_READ;

	send((struct am_event){.kind = (uint8_t)kind,
			       .order = a->commutes ? 1 | AM_ORDER_ADDS : 0,
			       .object = 0x1000 + (uint64_t)a->word * 8 + (unsigned)__builtin_ctzll(a->bytes),
			       .size = (uint32_t)__builtin_popcountll(a->bytes)},
	     t);
	return add_access(&thin.graph, a->tx, a->word, a->bytes, a->writes, a->commutes);
}

/* The open region of a thread is told, by itself or by another, and counts from here on. `taken`: the word whose cell was taken from it. */
static void expose(int t, int taken)
{
	if (!thin.open_stretch[t] || thin.is_exposed[t])
		return;
	thin.is_exposed[t] = true;
	thin.generation += thin.open++ == 0;
	thin.region_tx[t] = new_tx(&thin.graph, t);
	for (; thin.told_depth[t] < thin.depth[t]; thin.told_depth[t]++)
		send((struct am_event){.kind = AM_BEGIN, .object = 1}, t);
	for (int i = 0; i < thin.n_items[t]; i++) {
		struct am_cell *c = &thin.cell[thin.item[t][i].word];
		if (thin.item[t][i].word != taken && !am_filter_same_stretch(c->w, thin.open_stretch[t]))
			continue;
		thin.item[t][i].tx = thin.region_tx[t];
		c->w |= AM_CELL_LOGGED;
		log_access(t, &thin.item[t][i]);
	}
	n_items_told += (uint64_t)thin.n_items[t];
	thin.n_items[t] = 0;
	put_mark(t, thin.open_stretch[t]);
}

/* Before anything is logged. */
static void flush(int t)
{
	expose(t, NONE);
	count(t);
}

/* Case 6. */
static bool matters_of(int owner, uint64_t stretch)
{
	return stretch == thin.open_stretch[owner] ||
	       (thin.open && thin.log_generation[owner] == thin.generation &&
		stretch >= thin.first[owner]);
}

/* What thread t does not have to know of itself: an open region of its own. */
static bool matters_to(int t, uint64_t stretch)
{
	const int owner = (int)(stretch >> AM_BLOCK_SHIFT) - 1;

	if (owner != t)
		return matters_of(owner, stretch);
	return thin.open && thin.log_generation[t] == thin.generation && stretch >= thin.first[t];
}

static bool matters(int t, struct am_cell c)
{
	const int owner = (int)(c.w >> AM_BLOCK_SHIFT) - 1;

	if (owner < 0)
		return false;
	if (c.w >> AM_BLOCK_SHIFT == AM_BLOCK_OTHER)
		return thin.open != 0;
	if (c.w & AM_CELL_LENT)
		return c.w & AM_CELL_MANY || (am_filter_left_in_w(c.w) && matters_to(t, c.w & AM_STRETCH_MASK)) ||
		       (c.r && matters_to(t, c.r & AM_STRETCH_MASK));
	if (owner != t && thin.open_stretch[owner] &&
	    (am_filter_same_stretch(c.w, thin.open_stretch[owner]) ||
	     am_filter_same_stretch(c.r, thin.open_stretch[owner])))
		return true;
	return thin.open && thin.log_generation[owner] == thin.generation &&
	       am_filter_newest(c) >= thin.first[owner];
}

/* Exact reads that were logged must not be told late, as part of other reads of their word. */
static uint64_t n_exact, bad_exact;

static void note_read(int t, int word, uint64_t bytes, bool is_exact)
{
	if (thin.reads[t][word].stretch != thin.stretch[t])
		thin.reads[t][word].exact = thin.reads[t][word].plain = 0;
	thin.reads[t][word].stretch = thin.stretch[t];
	*(is_exact ? &thin.reads[t][word].exact : &thin.reads[t][word].plain) |= bytes;
	n_exact += is_exact;
}

static void check_exact(int owner, int word, struct am_late late)
{
	if (thin.reads[owner][word].stretch == late.stretch)
		bad_exact += (late.bytes & thin.reads[owner][word].exact & ~thin.reads[owner][word].plain) != 0;
}

/* One thread tells what the owner of a cell has not logged. */
static bool tell_late(int t, int word, struct am_late late, bool writes)
{
	const int owner = (int)(late.stretch >> AM_BLOCK_SHIFT) - 1;

	if (!late.bytes || !matters_of(owner, late.stretch)) {
		thin.n_untold += late.bytes != 0;
		return false;
	}
	if (late.stretch == thin.open_stretch[owner])
		expose(owner, word);
	flush(t);
	if (!writes)
		check_exact(owner, word, late);
	thin.n_late++;
	int at = thin.n_marks;
	while (at-- > 0 && !(am_filter_same_block(thin.mark[at].stretch, late.stretch) &&
			     thin.mark[at].stretch <= late.stretch))
		;
	if (at >= 0)
		thin.graph.access[thin.graph.n_access++] =
			(struct access){thin.mark[at].tx, word, late.bytes, writes, false};
	for (unsigned b = 0; b < 8;) {
		unsigned n = 0;
		while (b + n < 8 && late.bytes >> (b + n) & 1)
			n++;
		if (n)
			send((struct am_event){.kind = AM_LATE,
					       .object = 0x1000 + (uint64_t)word * 8 + b,
					       .size = n,
					       .mode = writes,
					       .aux = (uint64_t)owner << 32 | number_of(late.stretch)},
			     t);
		b += n ? n : 1;
	}
	return true;
}

/* ---- lent cells, as in preload/view_lend.c ----------------------------------------------------- */

static uint64_t n_lent, n_lent_many, n_lent_linked;

/* Reads of others that no cell holds. */
static bool tell_lent(int t, int word)
{
	bool is_told = false;

	for (int i = 0; i < THREADS; i++) {
		struct lent *l = &thin.lent[i][word % LENT];
		if (l->word != word + 1)
			continue;
		l->word = 0;
		is_told |= tell_late(t, word, am_filter_rest(l->read), false);
	}
	return is_told;
}

/* All that a cell holds which another takes. */
static bool tell_all(int t, int word, struct am_cell c)
{
	bool is_told = tell_late(t, word, am_filter_last_write(c), true);

	is_told |= tell_late(t, word, am_filter_last_read(c), false);
	return is_told | (c.w & AM_CELL_MANY ? tell_lent(t, word) : 0);
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

/* Into the table, unless it is there. */
static void put_lent(int t, int word, uint64_t bytes)
{
	struct lent *l = &thin.lent[t][word % LENT];
	const uint64_t stretch = thin.stretch[t];

	if (l->word && l->word != word + 1)
		tell_late(t, l->word - 1, am_filter_rest(l->read), false);
	else if (l->word)
		tell_late(t, word, am_filter_left(l->read, stretch, bytes), false);
	const bool is_more = l->word == word + 1 && am_filter_same_stretch(l->read, stretch);
	*l = (struct lent){word + 1, stretch | bytes | AM_CELL_LAZY | (is_more ? l->read & AM_CELL_BYTES : 0)};
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
	    (am_filter_borrowed(*c, stretch, bytes) || (l->word == word + 1 && am_filter_has(l->read, stretch, bytes))))
		return true;
	const bool is_linked = thin.linked[t][owner] >= wrote;
	const bool is_behind = owner == t || !matters_of(owner, wrote) || is_linked;
	if (!am_filter_may_lend(*c, bytes, is_behind, owner != t && thin.open_stretch[owner] == wrote))
		return false;
	n_lent++;
	n_lent_linked += owner != t && (c->w & bytes) && matters_of(owner, wrote);
	struct am_cell next = am_filter_lend(*c);
	if (am_filter_has_room(next, stretch) || !matters_of((int)(next.r >> AM_BLOCK_SHIFT) - 1, next.r & AM_STRETCH_MASK)) {
		tell_late(t, word, am_filter_left(next.r, stretch, bytes), false);
		next.r = am_filter_borrow(next, stretch, bytes);
	} else {
		put_lent(t, word, bytes);
		next.w |= AM_CELL_MANY;
		n_lent_many++;
	}
	*c = next;
	note_read(t, word, bytes, false);
	return true;
}

/* What the cell will not hold after this access is told; then something here was logged. `is_taken`: all of it. */
static uint64_t settle(int t, int word, uint64_t bytes, bool writes, bool is_exact, bool is_taken)
{
	const struct am_cell *c = &thin.cell[word];
	bool is_told;

	if (is_taken) {
		is_told = tell_all(t, word, *c);
	} else {
		is_told = tell_late(t, word,
				    writes ? am_filter_late_write(*c, thin.stretch[t], bytes)
					   : am_filter_late_read(*c, thin.stretch[t], bytes, is_exact),
				    writes);
	}
	return is_told ? AM_CELL_LOGGED : 0;
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
	settle(t, word, bytes, writes, is_exact, am_filter_foreign(w, thin.stretch[t]) || w & AM_CELL_LENT);
	thin.cell[word] = am_filter_logged(c, thin.stretch[t], bytes, writes, is_exact);
	if (!writes)
		note_read(t, word, bytes, is_exact);
	flush(t); /* another's region may have begun to count */
	thin.reached[t] = thin.generation;
}

/* The usual cases in one go must be what the long way says: known, or lazy with nothing to tell. */
static uint64_t n_short, bad_short;

static __attribute__((always_inline)) inline void compare_short(int t, int word, uint64_t bytes, bool writes)
{
	const uint64_t stretch = thin.stretch[t];
	const struct am_cell c = thin.cell[word];
	struct am_cell next = c;
	const enum am_filter_short answer = am_filter_short(&thin.cell[word], stretch | AM_CELL_LAZY, bytes, writes,
							    writes ? &next.w : &next.r);

	n_short += answer != AM_SHORT_ASK;
	if (answer == AM_SHORT_ASK)
		return;
	if (am_filter_known(c, stretch, bytes, writes)) {
		bad_short += answer != AM_SHORT_KNOWN;
		return;
	}
	const struct am_late late = writes ? am_filter_late_write(c, stretch, bytes) : am_filter_late_read(c, stretch, bytes, false);
	const struct am_cell lazy = am_filter_lazy(c, stretch, bytes, writes);
	bad_short += answer != AM_SHORT_LAZY || late.bytes != 0 || next.w != lazy.w || next.r != lazy.r ||
		     am_filter_decide(c, stretch, bytes, writes, true, true, 1) != AM_FILTER_LAZY;
}

enum wait { WAITS, WAITS_NOT };

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
	if (!am_filter_waits(look(t, word), thin.stretch[t], bytes, writes, is_apart, &next))
		return WAITS_NOT;
	*c = next;
	thin.item[t][thin.n_items[t]++] = a;
	n_items++;
	if (!writes)
		note_read(t, word, bytes, true);
	return WAITS;
}

/* Of one word: is the access to be logged? As in preload/view.c. */
static bool wants(int t, int word, uint64_t bytes, bool writes, bool may_be_lazy, bool is_exact, bool is_apart)
{
	struct am_cell *c = &thin.cell[word];

	compare_short(t, word, bytes, writes);
	if (bytes == AM_CELL_BYTES)
		compare_short(t, word, AM_CELL_BYTES, writes);
	if (am_filter_known(*c, thin.stretch[t], bytes, writes))
		return false;
	if (!writes && may_be_lazy && !is_exact && matters(t, *c) && lends(t, word, bytes))
		return false;
	const struct am_cell seen = look(t, word);
	enum am_filter_answer answer =
		am_filter_decide(seen, thin.stretch[t], bytes, writes, thin.depth[t] != 0,
				 thin.reached[t] == thin.generation, thin.open);
	if (answer == AM_FILTER_LAZY && !may_be_lazy)
		answer = AM_FILTER_LOG;
	if (answer == AM_FILTER_DROP)
		return false;
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

	thin.cell[word] = (struct am_cell){0, 0};
	for (int i = 0; i < THREADS; i++)
		if (thin.lent[i][word % LENT].word == word + 1)
			thin.lent[i][word % LENT].word = 0;
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

/* ---- runs ------------------------------------------------------------------------------------- */

static uint64_t state;
static unsigned pick(unsigned n)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(state >> 33) % n;
}

struct result {
	int full, filtered, live, twin; /* event that closed the first cycle */
	int logged, accesses, late;
};

/* How threads stop between two steps. */
enum pausing { PAUSES_NOT, PAUSES_LOCKED, PAUSES_UNLOCKED };

static struct result run(bool checks, enum pausing pausing)
{
	static struct graph full;
	struct result r = {NONE, NONE, NONE, NONE, 0, 0, 0};
	int tx[THREADS], depth[THREADS] = {0};
	const unsigned threads = 2 + pick(THREADS - 1), words = 1 + pick(WORDS);
	const unsigned eagerness = 2 + pick(8); /* how often a region begins or ends */
	const unsigned home = pick(5), whole = pick(3), frees = pick(2) ? 12 : 1000;
	const unsigned exact = pausing != PAUSES_NOT ? 2 : pick(2) ? 2 + pick(3) : 12; /* one access in so many is atomic */
	const unsigned adds = pick(2) ? pick(5) : 0; /* of four writes so many commute */
	const unsigned reads = pick(3) ? 2 + pick(6) : 8 + pick(24); /* one access in so many writes */
	/* Mostly, or always, as if regions locked what they use: runs without a cycle for long. */
	const unsigned rudeness = pick(3) ? 2 + pick(40) : 1;
	bool uses[THREADS][WORDS + 1] = {{false}};

	graph_init(&full);
	thin_init(checks);
	for (int e = 0; e < EVENTS && r.full == NONE && r.filtered == NONE && r.live == NONE &&
			r.twin == NONE;
	     e++) {
		const int t = (int)pick(threads);
		if (thin.pause[t].is_on) {
			const struct pause p = thin.pause[t];
			if (add_access(&full, depth[t] ? tx[t] : new_tx(&full, t), p.word, p.bytes, p.writes, false))
				r.full = e;
			r.filtered = thin_go_on(t) ? e : NONE;
			r.live = thin.found ? e : NONE;
			r.twin = thin.twin_found ? e : NONE;
			continue;
		}
		if (pick(eagerness) == 0) {
			if (depth[t] && pick(3)) {
				if (--depth[t] == 0)
					memset(uses[t], 0, sizeof uses[t]);
				region_end(t);
			} else if (depth[t] < 3) {
				if (depth[t]++ == 0)
					tx[t] = new_tx(&full, t);
				region_begin(t);
			}
			continue;
		}
		/* Mostly a word of one's own. */
		const int word = home && pick(5) < home ? t % (int)words : (int)pick(words);
		bool full_cycle = false, thin_cycle = false, is_used = false;
		for (unsigned other = 0; other < threads; other++)
			is_used |= other != (unsigned)t && (uses[other][word] || uses[other][word + 1]);
		if (is_used && pick(rudeness) != 0)
			continue;
		if (pausing == PAUSES_LOCKED && (is_locked(word) || is_locked(word + 1))) /* waits for the lock of the slot */
			continue;
		if (depth[t])
			uses[t][word] = uses[t][word + 1] = true;
		if (pick(frees) == 0) {
			renew(&full, word);
			thin_alloc_word(t, word);
		} else {
			const bool is_free = pick(frees) == 0, may_be_lazy = pick(exact) != 0;
			const bool writes = pick(reads) == 0 || is_free;
			const unsigned size = whole ? 8 : 1u << pick(4);
			uint64_t bytes[2] = {am_filter_bytes(pick(8 / size) * size, size), 0};
			if (word + 1 < (int)words && pick(6) == 0) {
				bytes[0] = am_filter_bytes(4, 4);
				bytes[1] = am_filter_bytes(0, 1 + pick(8));
			}
			const bool commutes = writes && !is_free && !bytes[1] && pick(4) < adds;
			if (pausing != PAUSES_NOT && !may_be_lazy && !is_free && !bytes[1] && !commutes &&
			    thin_pause(t, word, bytes[0], writes))
				continue;
			const int me = depth[t] ? tx[t] : new_tx(&full, t);
			full_cycle = add_access(&full, me, word, bytes[0], writes, commutes);
			if (bytes[1])
				full_cycle |= add_access(&full, me, word + 1, bytes[1], writes, false);
			thin_cycle = thin_access(t, word, bytes, writes, is_free, may_be_lazy, commutes);
			r.accesses++;
			r.logged += thin.n_late >> 20 & 1;
			thin.n_late &= ~(1 << 20);
		}
		r.full = full_cycle ? e : NONE;
		r.filtered = thin_cycle ? e : NONE;
		r.live = thin.found ? e : NONE;
		r.twin = thin.twin_found ? e : NONE;
	}
	r.late = thin.n_late;
	thin_free();
	return r;
}

/* Runs with pauses: how many have a cycle that is none? */
static unsigned long count_false(uint64_t seed, unsigned long runs, enum pausing pausing)
{
	unsigned long n = 0;

	for (unsigned long i = 0; i < runs; i++) {
		state = seed + i * UINT64_C(0x9e3779b97f4a7c15);
		const struct result r = run(i % 8 == 0, pausing);
		const bool is_false = r.full == NONE && (r.filtered != NONE || r.live != NONE || r.twin != NONE);
		if (is_false && pausing == PAUSES_LOCKED && n < 5)
			printf("# run %lu with pauses: no cycle, filtered at %d, checker at %d, twin at %d\n", i, r.filtered, r.live,
			       r.twin);
		n += is_false;
	}
	return n;
}

int main(int argc, char **argv)
{
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20240607;
	const unsigned long runs = cases_wanted(argc, argv, 60000);
	unsigned long cycles = 0, bad = 0, bad_live = 0;
	uint64_t logged = 0, accesses = 0, late = 0;

	printf("# seed %llu, %lu runs\n", (unsigned long long)seed, runs);
	for (unsigned long i = 0; i < runs && bad + bad_live < 5; i++) {
		state = seed + i * UINT64_C(0x9e3779b97f4a7c15);
		const bool checks = i % 4 == 0;
		const struct result r = run(checks, PAUSES_NOT);
		const bool differs = checks && (r.filtered != r.live || r.filtered != r.twin);
		cycles += r.full != NONE;
		logged += (uint64_t)r.logged;
		accesses += (uint64_t)r.accesses;
		late += (uint64_t)r.late;
		bad += r.full != r.filtered;
		bad_live += differs;
		if (r.full != r.filtered || differs)
			printf("# run %lu: full graph at event %d, filtered at %d, checker at %d, twin at %d\n",
			       i, r.full, r.filtered, r.live, r.twin);
	}
	printf("# %lu runs with a cycle; %llu accesses, %llu logged, %llu told late\n", cycles,
	       (unsigned long long)accesses, (unsigned long long)logged, (unsigned long long)late);
	printf("%s 1 - filtered and unfiltered runs have the same first cycle\n", bad ? "not ok" : "ok");
	printf("%s 2 - the live checker and its twin find it in the filtered run\n",
	       bad_live ? "not ok" : "ok");
	printf("%s 3 - much is not logged, some is told late, and cycles occur\n",
	       logged < accesses - accesses / 20 && late > runs / 10 && cycles > runs / 20 ? "ok"
											   : "not ok");
	printf("%s 4 - the short way, taken %llu times, agrees with the long one\n", bad_short || n_short < accesses / 20 ? "not ok" : "ok",
	       (unsigned long long)n_short);
	printf("%s 5 - none of %llu logged exact reads is told again with its neighbours\n", bad_exact || !n_exact ? "not ok" : "ok",
	       (unsigned long long)n_exact);
	printf("%s 6 - of %llu accesses that waited %llu were told\n", n_items_told && n_items_told < n_items ? "ok" : "not ok",
	       (unsigned long long)n_items, (unsigned long long)n_items_told);
	printf("%s 7 - %llu reads were lent, %llu of them behind an edge, %llu in tables\n", n_lent_linked && n_lent_many ? "ok" : "not ok",
	       (unsigned long long)n_lent, (unsigned long long)n_lent_linked, (unsigned long long)n_lent_many);
	const unsigned long bad_paused = count_false(seed, runs / 2, PAUSES_LOCKED);
	printf("%s 8 - of runs with %llu pauses none has a cycle that is none\n", bad_paused || !n_pauses ? "not ok" : "ok",
	       (unsigned long long)n_pauses);
	const unsigned long unlocked = count_false(seed, runs / 2, PAUSES_UNLOCKED);
	printf("%s 9 - without the lock %lu have\n", unlocked || runs < 10000 ? "ok" : "not ok", unlocked);
	printf("1..9\n");
	return bad + bad_live + bad_short + bad_exact + bad_paused != 0;
}
