/* SPDX-License-Identifier: MIT */
/*
 * The filtered side in the test of the access filter: what preload/view.c, defer.c and view_late.c remember of each thread,
 * and what they tell, sequentially. It goes into a full graph of its own, the live checker and its twin.
 */
#ifndef ATOMMON_TESTS_FILTER_THIN_H
#define ATOMMON_TESTS_FILTER_THIN_H

#include "atommon/checker.h"
#include "atommon/mem.h"
#include "preload/kept.h"
#include "tests/property/filter_graph.h"

enum { ITEMS = 4, LENT = 3 }; /* that wait; places of a table (preload/lend.h) */

/* The filter's state as preload/view.c keeps it, and where its events go. */
static struct {
	struct am_cell cell[WORDS];
	uint64_t stretch[THREADS], first[THREADS], open_stretch[THREADS];
	bool past_is_over[THREADS];
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
	unsigned n_settled;
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
		struct am_kept kept[AM_FILTER_KEPT];
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
	thin.past_is_over[t] = false;
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

#endif
