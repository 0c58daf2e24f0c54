/* SPDX-License-Identifier: MIT */
/*
 * Which accesses the live checker need not see, or need not see yet. Pure decisions on one shadow
 * cell; no state of its own, so that a test can drive it beside a full conflict graph
 * (tests/property/instrument_filter.c).
 *
 * A cell stands for 8 bytes of the application. Its *owner* is the thread whose access to them was
 * the last that counted. Accesses of the owner are remembered in the cell and not logged: *lazy*
 * ones. Only when another thread comes, or when the cell cannot hold them any more, are they told,
 * late, as accesses of the stretch that made them (AM_LATE in event.h). A *stretch* is a region, or a
 * run of accesses outside regions into which no edge leads but at its first access. Stretches have
 * numbers that are never used again, rising within a thread.
 *
 * A region leaves no record at all until one of its accesses has to be logged, or until another
 * thread comes to a cell that the region, still open, holds. Then, and not before, it is *exposed*: its
 * begin is told, and it counts as open. A *cut* is a moment at which no exposed region is open; the
 * time between two cuts is a generation.
 *
 * Why no verdict changes. Transactions are regions, and single accesses outside regions; an edge
 * joins two conflicting accesses in their order, and the transactions of a thread in program order.
 * Going round a cycle, time runs forward along edges, and back only inside a region, from the edge
 * that enters it to the one that leaves it. So a cycle that has something before a moment t and
 * something after it has a region that was left by an edge before t and is entered after t. A region
 * that was left by an edge is exposed: the other end came to its cell. Hence
 *
 *   (C) no cycle spans a cut: all edges of a cycle, program order apart, lead to moments of one
 *       generation. And a transaction none of whose accesses was logged is entered by program order
 *       only, from the logged ones before it.
 *
 *  1. Dropped: an access that this stretch already made, at least as strongly (a write covers a
 *     read), with nobody else's in between. In a region both belong to one transaction, and every
 *     edge of the second is one of the first. Outside regions they are two transactions of a
 *     stretch; every path into the second enters the stretch at its first access and so reaches the
 *     first too, every path on from the second starts from the first too.
 *  2. Dropped: an access outside regions while no exposed region is open, unless its bytes are held
 *     by an open region of another thread, which is thereby exposed: the moment is a cut.
 *  3. Dropped: an access outside regions of a thread that no edge has reached since the last cut,
 *     unless its bytes are another thread's and matter (6). A cycle through it would have to reach
 *     this thread first. A read may also be dropped if the cell is another's and matters, but all
 *     that was done there since it was nobody's, or since what was there was over, is reads of its
 *     owner, none of them logged: reads do not conflict, so that no edge leads to this one either,
 *     and none from the open region that the cell may belong to.
 *  4. Lazy: an access of the owner that no new edge can lead to. *Hidden* bytes are those on which
 *     others were before and that the owner has not written since: a write of them is logged, and a
 *     read unless one was logged since the owner took the cell (*seen*): an edge to the second read
 *     follows from the one to the first, by program order.
 *  5. Forgotten: a lazy access when a later stretch of its thread did the same to at least the same
 *     bytes; a read also when it wrote them. Whatever comes after the older comes after the newer, and the newer after the older in
 *     program order.
 *  6. What does not matter any more: the accesses that a cell holds, if their stretch is no open
 *     region and began before its thread first logged anything in this generation. By (C) an edge
 *     from them is on no cycle: entered by program order only, they would be reached from a logged
 *     transaction before the cut. What others did before (hidden bytes) is older still, or was not
 *     worth a record when this owner came. Such a cell is as good as nobody's: an access of another
 *     thread that is in a region takes it lazily, and nothing is told late.
 *  7. Where a lazy access of a region that was never exposed is told late, it may be placed anywhere
 *     behind the last logged transaction of its thread: what reaches the one reaches the other. So
 *     marks are needed only behind what was logged (scg_late.c takes the newest that is not younger).
 *
 *  8. Kept apart: atomic and volatile reads that were logged (*exact* ones) and lazy reads of their neighbours in the word.
 *     The stage behind (atommon/vain.h) drops an exact read that was made in vain, and it must not come back as part of what
 *     is told late. So a read beside an exact one of its stretch is logged, and what is lazy is told when an exact one
 *     comes beside it. Logging more changes nothing.
 *  9. Lent: a cell of another thread that a region reads, if no new edge leads to that read: the bytes were not written by the
 *     owner, or the writes do not matter (6), or an edge leads already from the owner's stretch that wrote them, or a later one,
 *     to this thread: then there is a path by program order at either end. Nothing is logged, nobody is exposed, and the
 *     cell stays the owner's. The reads are remembered: of one thread in the cell, of more, and of its earlier stretches, in a table of
 *     each reader (preload/lend.h). Reads do not conflict, so that the readers need not know of each other. Whoever comes with
 *     anything else takes the cell, and tells late what the owner and all readers left. The owner reads on as ever, but what
 *     it writes is logged: its written bytes do not say any more that nobody was there since.
 * 10. Kept: what an earlier stretch of the owner did to other bytes of the word, which the cell cannot hold beside the newer one, goes to
 *     the owner's table, too. There it is as good as in the cell: whoever takes the cell tells it late. It matters no longer than the newest
 *     stretch in the cell does, so that a cell which is over (6) has nothing in the table that counts (kept.h).
 *
 * A free is a write of its block, and what was there is over when the memory is allocated again: then the
 * cells are cleaned, and if something here was logged and an exposed region is open, that is told.
 *
 * Dropped accesses of kinds 2 and 3 leave the cell as it is: they are on no cycle, so that nobody's
 * redundant access becomes needed by them. If what it holds does not matter, they may make it nobody's (6): it never
 * will again.
 */
#ifndef ATOMMON_PRELOAD_FILTER_H
#define ATOMMON_PRELOAD_FILTER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Both words: bits 21..63 a stretch, the upper 16 of it a block of numbers that belongs to one
 * thread; 17 lazy: not all of these accesses were logged. Block 0 is nobody's, the last one always
 * another's, the one before it no cell's; a thread's earlier blocks look like another thread's.
 *   w   bits 0..7 bytes that the stretch wrote, 8..15 hidden bytes, 16 something here was ever logged, 18 lent (then all bytes
 *       are hidden), 19 there is more in tables: of the owner's, or, if it is lent, of all readers'; 20 the owner logged something here, or
 *       the tables have writes. Its block is the owner.
 *   r   bits 0..7 bytes that the stretch read, 8..15 seen bytes, 16 exact reads are among them, and no
 *       lazy ones. Counts only if its block is the owner's, or the cell is lent.
 */
struct am_cell {
	uint64_t w, r;
};

enum { AM_MORE_SHIFT = 8, AM_STRETCH_SHIFT = 21, AM_BLOCK_SHIFT = 48 };
#define AM_CELL_BYTES UINT64_C(0xff)
#define AM_CELL_MORE (AM_CELL_BYTES << AM_MORE_SHIFT)
#define AM_CELL_EVER (UINT64_C(1) << 16)
#define AM_CELL_EXACT (UINT64_C(1) << 16)
#define AM_CELL_LAZY (UINT64_C(1) << 17)
#define AM_CELL_LENT (UINT64_C(1) << 18)
#define AM_CELL_MANY (UINT64_C(1) << 19)
#define AM_CELL_NOW (UINT64_C(1) << 20)
#define AM_CELL_LOGGED (AM_CELL_EVER | AM_CELL_NOW)
/* What stays in w as long as the owner does. */
#define AM_CELL_STAYS (AM_CELL_LOGGED | AM_CELL_MANY)
#define AM_STRETCH_MASK (~UINT64_C(0) << AM_STRETCH_SHIFT)
/* By these bits a stretch is known to be the newest here: no lent one is. */
#define AM_NEWEST_MASK (AM_STRETCH_MASK | AM_CELL_LENT)
#define AM_BLOCK_OTHER UINT64_C(0xffff)
/* A stretch that no cell has. */
#define AM_STRETCH_NONE ((AM_BLOCK_OTHER - 1) << AM_BLOCK_SHIFT)
/* The owner of what was logged without asking here: everybody's next access is logged. */
#define AM_STRETCH_OTHER (AM_BLOCK_OTHER << AM_BLOCK_SHIFT)

/* The bytes [offset, offset + size) of a word, as bits. */
static inline uint64_t am_filter_bytes(unsigned offset, unsigned size)
{
	return ((UINT64_C(1) << size) - 1) << offset & AM_CELL_BYTES;
}

static inline bool am_filter_has(uint64_t word, uint64_t stretch, uint64_t bytes)
{
	return ((word ^ (stretch | bytes)) & (AM_NEWEST_MASK | bytes)) == 0;
}

static inline bool am_filter_same_block(uint64_t word, uint64_t stretch)
{
	return (word ^ stretch) >> AM_BLOCK_SHIFT == 0;
}

static inline bool am_filter_same_stretch(uint64_t word, uint64_t stretch)
{
	return ((word ^ stretch) & AM_STRETCH_MASK) == 0;
}

/* Case 1. `stretch` has its lower bits clear, here and below. */
static inline bool am_filter_known(struct am_cell c, uint64_t stretch, uint64_t bytes, bool writes)
{
	if (am_filter_has(c.w, stretch, bytes))
		return true;
	return !writes && am_filter_has(c.r, stretch, bytes) && am_filter_same_block(c.w, stretch);
}

/* Does the cell belong to another thread? */
static inline bool am_filter_foreign(uint64_t w, uint64_t stretch)
{
	return w >> AM_BLOCK_SHIFT != 0 && (!am_filter_same_block(w, stretch) ||
					    w >> AM_BLOCK_SHIFT == AM_BLOCK_OTHER);
}

/* Has the owner, and nobody before whom it matters, done nothing here but read, unlogged? */
static inline bool am_filter_is_only_read(uint64_t w)
{
	return (w & (AM_CELL_BYTES | AM_CELL_NOW)) == 0 && ((w & AM_CELL_MORE) == 0 || (w & AM_CELL_LENT) != 0);
}

/* The newest stretch of the owner here. */
static inline uint64_t am_filter_newest(struct am_cell c)
{
	const uint64_t w = c.w & AM_STRETCH_MASK, r = c.r & AM_STRETCH_MASK;

	return am_filter_same_block(c.r, c.w) && r > w ? r : w;
}

/* Case 6: the same cell when what it holds does not matter. That something was logged here, though
 * it is over, is kept for the one who frees the memory. */
static inline struct am_cell am_filter_over(struct am_cell c, uint64_t stretch)
{
	if (c.w & AM_CELL_LENT && am_filter_same_stretch(c.w, stretch))
		return (struct am_cell){c.w & ~(AM_CELL_MORE | AM_CELL_LENT | AM_CELL_MANY),
					am_filter_same_block(c.r, stretch) ? c.r & ~AM_CELL_MORE : 0};
	/* This region is not over, nor what waits with it (am_filter_waits). */
	if (am_filter_same_stretch(c.w, stretch))
		return c;
	if (am_filter_foreign(c.w, stretch) || c.w >> AM_BLOCK_SHIFT == 0 || c.w & AM_CELL_LENT)
		return (struct am_cell){c.w & AM_CELL_EVER, 0};
	return (struct am_cell){c.w & ~(AM_CELL_MORE | AM_CELL_MANY), c.r & ~AM_CELL_MORE};
}

/* The first word of that for a thread outside regions, which leaves the cell to nobody; the second does not count then. */
static inline uint64_t am_filter_vacant(uint64_t w)
{
	return w & AM_CELL_EVER;
}

/* Case 8: did the owner's stretch make exact reads here, or lazy ones (`what`)? */
static inline bool am_filter_reads(struct am_cell c, uint64_t stretch, uint64_t what)
{
	return (c.r & what) != 0 && am_filter_same_stretch(c.r, stretch) && am_filter_same_block(c.w, stretch);
}

enum am_filter_answer {
	AM_FILTER_DROP,
	AM_FILTER_LAZY,
	AM_FILTER_LOG,
	AM_FILTER_NEW_STRETCH, /* begin a stretch, count the thread as reached, then log */
};

/*
 * The decision, for an access that am_filter_known() did not already answer. The cell is that of
 * am_filter_over() if what it holds does not matter. `open`: exposed regions open in the process;
 * `reached`: an edge may have come to this thread since `open` was last 0.
 */
static inline enum am_filter_answer am_filter_decide(struct am_cell c, uint64_t stretch,
						     uint64_t bytes, bool writes, bool in_region,
						     bool reached, uint32_t open)
{
	const uint64_t hidden = c.w >> AM_MORE_SHIFT & bytes;
	const uint64_t seen = am_filter_same_block(c.r, c.w) ? c.r >> AM_MORE_SHIFT : 0;
	const bool has_edge =
		am_filter_foreign(c.w, stretch) || (writes ? hidden : hidden & ~seen) != 0;
	const bool is_beside = !writes && am_filter_reads(c, stretch, AM_CELL_EXACT);

	if (in_region)
		return has_edge || is_beside ? AM_FILTER_LOG : AM_FILTER_LAZY;
	const bool is_reached = open != 0 && reached;
	const bool is_own_lent = c.w & AM_CELL_LENT && am_filter_same_block(c.w, stretch); /* others only read */
	if (!writes && !is_reached && (am_filter_is_only_read(c.w) || is_own_lent)) /* 3 */
		return AM_FILTER_DROP;
	if (has_edge)
		return AM_FILTER_NEW_STRETCH;
	if (!is_reached)
		return AM_FILTER_DROP;
	return is_beside ? AM_FILTER_NEW_STRETCH : AM_FILTER_LAZY;
}

/* ---- what must be told late -------------------------------------------------------------------
 */

/* Lazy accesses of one kind that the next state of a cell will not hold; bytes 0: none. */
struct am_late {
	uint64_t stretch, bytes;
};

static inline struct am_late am_filter_rest(uint64_t word)
{
	if (!(word & AM_CELL_LAZY))
		return (struct am_late){0, 0};
	return (struct am_late){word & AM_STRETCH_MASK, word & AM_CELL_BYTES};
}

/* Of the writes, when the owner's `stretch` comes to write `bytes`. */
static inline struct am_late am_filter_late_write(struct am_cell c, uint64_t stretch,
						  uint64_t bytes)
{
	if (am_filter_same_stretch(c.w, stretch) || (c.w & AM_CELL_BYTES & ~bytes) == 0)
		return (struct am_late){0, 0};
	return am_filter_rest(c.w);
}

/* The reads that no write covers which the owner made then or later, whose bits are in `w`. */
static inline uint64_t am_filter_uncovered(struct am_cell c)
{
	const bool is_older = (c.r & AM_STRETCH_MASK) <= (c.w & AM_STRETCH_MASK);

	return c.r & AM_CELL_BYTES & (is_older ? ~c.w : ~UINT64_C(0));
}

/* Of the reads, when the owner's `stretch` comes to read `bytes`. */
static inline struct am_late am_filter_late_read(struct am_cell c, uint64_t stretch, uint64_t bytes, bool is_exact)
{
	const bool is_kept = am_filter_same_stretch(c.r, stretch) ? !is_exact : (am_filter_uncovered(c) & ~bytes) == 0;

	if (!am_filter_same_block(c.r, c.w) || is_kept)
		return (struct am_late){0, 0};
	return am_filter_rest(c.r);
}

/* Of both, when another thread comes. */
static inline struct am_late am_filter_last_write(struct am_cell c)
{
	return am_filter_rest(c.w);
}

static inline struct am_late am_filter_last_read(struct am_cell c)
{
	if (c.w & AM_CELL_LENT && !am_filter_same_block(c.r, c.w))
		return am_filter_rest(c.r);
	if (!am_filter_same_block(c.r, c.w) || am_filter_uncovered(c) == 0)
		return (struct am_late){0, 0};
	return am_filter_rest(c.r);
}

/* ---- the next state --------------------------------------------------------------------------- */

/* One word after an access of the owner; `kept` are bits beyond bytes, stretch and lazy. */
static inline uint64_t am_filter_add(uint64_t word, uint64_t stretch, uint64_t bytes, uint64_t kept,
				     uint64_t lazy)
{
	if (am_filter_same_stretch(word, stretch))
		return word | kept | bytes | lazy;
	return stretch | kept | bytes | lazy;
}

/* After a lazy access. */
static inline struct am_cell am_filter_lazy(struct am_cell c, uint64_t stretch, uint64_t bytes,
					    bool writes)
{
	const uint64_t seen = am_filter_same_block(c.r, c.w) ? c.r & AM_CELL_MORE : 0;

	if (writes) {
		c.w = am_filter_add(c.w, stretch, bytes, c.w & (AM_CELL_MORE | AM_CELL_STAYS),
				    AM_CELL_LAZY);
		return c;
	}
	c.r = am_filter_add(c.r, stretch, bytes, seen, AM_CELL_LAZY);
	if (c.w >> AM_BLOCK_SHIFT == 0)
		c.w |= stretch;
	return c;
}

/* After a logged one. A foreign cell changes hands: all of it counts as touched before. `is_exact`: of a read. */
static inline struct am_cell am_filter_logged(struct am_cell c, uint64_t stretch, uint64_t bytes,
					      bool writes, bool is_exact)
{
	const uint64_t written = writes ? bytes : 0, more = bytes << AM_MORE_SHIFT;
	const uint64_t exact = is_exact && !writes ? AM_CELL_EXACT : 0;
	const bool is_foreign = am_filter_foreign(c.w, stretch) || c.w & AM_CELL_LENT;

	if (is_foreign || c.w >> AM_BLOCK_SHIFT == 0) {
		const uint64_t hidden = is_foreign ? AM_CELL_MORE & ~(written << AM_MORE_SHIFT) : 0;
		return (struct am_cell){stretch | AM_CELL_LOGGED | hidden | written,
					stretch | more | exact | (writes ? 0 : bytes)};
	}
	const uint64_t seen = am_filter_same_block(c.r, c.w) ? c.r & AM_CELL_MORE : 0;
	if (writes)
		c.w = am_filter_add(c.w & ~more, stretch, bytes,
				    (c.w & ((AM_CELL_MORE & ~more) | AM_CELL_MANY)) | AM_CELL_LOGGED, 0);
	else
		c.w |= AM_CELL_LOGGED;
	if (exact) /* what was lazy has been told */
		c.r &= ~AM_CELL_LAZY;
	if (!writes)
		c.r = am_filter_add(c.r, stretch, bytes, seen | more | exact, 0);
	else if (am_filter_same_block(c.r, c.w))
		c.r |= more;
	else
		c.r = stretch | more;
	return c;
}

/*
 * Atomic and volatile accesses of a region that is not exposed may wait in its list (preload/view_exact.c) instead of being logged:
 * the next state of the cell. `is_apart`: an update that commutes; it covers nothing, so its bytes look like others'. False: it
 * must be logged.
 */
static inline bool am_filter_waits(struct am_cell c, uint64_t stretch, uint64_t bytes, bool writes, bool is_apart,
				   struct am_cell *next)
{
	const bool is_ours = am_filter_same_block(c.w, stretch);
	const bool has_reads = is_ours && am_filter_same_stretch(c.r, stretch);

	if (c.w & AM_CELL_LENT) /* the others' reads would be lost */
		return false;
	/* What this thread did here before the region does not matter any more (view_exact.c). That it is here now must be seen in w,
	 * by which cells change hands. */
	if (is_ours && !am_filter_same_stretch(c.w, stretch))
		c = (struct am_cell){c.w & AM_CELL_EVER, has_reads ? c.r : 0};
	if (is_apart) {
		*next = (struct am_cell){c.w | stretch | bytes << AM_MORE_SHIFT, has_reads ? c.r : 0};
		return !am_filter_foreign(c.w, stretch) && !(c.w & (AM_CELL_BYTES | AM_CELL_LAZY));
	}
	/* Beside other exact ones is as good as alone: each has an item of its own. Nothing is hidden but those that commute. */
	const struct am_cell alone = {c.w & ~AM_CELL_MORE, c.r & ~AM_CELL_EXACT};
	if (am_filter_decide(alone, stretch, bytes, writes, true, true, 1) != AM_FILTER_LAZY)
		return false;
	*next = am_filter_lazy(c, stretch, bytes, writes);
	if (writes) {
		next->w &= ~AM_CELL_LAZY;
		return !(c.w & AM_CELL_LAZY) || !is_ours || !am_filter_same_stretch(c.w, stretch);
	}
	next->r = (next->r & ~AM_CELL_LAZY) | AM_CELL_EXACT;
	return !has_reads || !(c.r & AM_CELL_LAZY);
}

/*
 * The usual cases of am_filter_waits(), in one go, if nothing that this thread did before the region matters (6): the region's first access to a word that
 * is this thread's or nobody's, or its first read of one that it changed, of other bytes or by an update that commutes. False: ask as above.
 */
static inline __attribute__((always_inline)) bool am_filter_waits_first(struct am_cell c, uint64_t stretch, uint64_t bytes,
									bool writes, bool is_apart, struct am_cell *next)
{
	const uint64_t w = (c.w & AM_CELL_EVER) | stretch;

	if ((c.w >> AM_BLOCK_SHIFT != 0 && !am_filter_same_block(c.w, stretch)) || c.w & AM_CELL_LENT ||
	    am_filter_same_stretch(c.r, stretch))
		return false;
	if (am_filter_same_stretch(c.w, stretch)) {
		*next = (struct am_cell){c.w, stretch | bytes | AM_CELL_EXACT | (am_filter_same_block(c.r, c.w) ? c.r & AM_CELL_MORE : 0)};
		return !writes;
	}
	*next = (struct am_cell){w | (is_apart ? bytes << AM_MORE_SHIFT : writes ? bytes : 0), writes ? 0 : stretch | bytes | AM_CELL_EXACT};
	return true;
}

/* May the stretch, which waits, have made such an update of these bytes, and nobody been there since? */
static inline bool am_filter_is_apart(struct am_cell c, uint64_t stretch, uint64_t bytes)
{
	return am_filter_has(c.w, stretch, bytes << AM_MORE_SHIFT);
}

/* May something of the open region `open` that the cell holds be in its list? */
static inline bool am_filter_may_wait(struct am_cell c, uint64_t open)
{
	return am_filter_same_stretch(c.w, open);
}

/* ---- lent cells ------------------------------------------------------------------------------- */

/*
 * Case 9: may a region read `bytes` here and leave the cell to its owner, another thread, or be one more that reads what is lent?
 * `is_behind`: no new edge can come from what the owner wrote. `is_open`: the stretch that wrote last is an open region; then
 * what it wrote may wait in its list.
 */
static inline bool am_filter_may_lend(struct am_cell c, uint64_t bytes, bool is_behind, bool is_open)
{
	const uint64_t owner = c.w >> AM_BLOCK_SHIFT;

	if (owner == 0 || owner == AM_BLOCK_OTHER)
		return false;
	if (!(c.w & AM_CELL_LENT) && (c.w & AM_CELL_MORE || (am_filter_same_block(c.r, c.w) && c.r & AM_CELL_EXACT)))
		return false;
	/* What it logged may be of any bytes. */
	return is_behind || !(c.w & (is_open ? AM_CELL_BYTES | AM_CELL_NOW : bytes | AM_CELL_NOW));
}

/* The same cell, lent. What its owner read stays there, unless the written word tells as much. */
static inline struct am_cell am_filter_lend(struct am_cell c)
{
	if (c.w & AM_CELL_LENT)
		return c;
	const bool is_kept = am_filter_last_read(c).bytes != 0 || am_filter_newest(c) != (c.w & AM_STRETCH_MASK);
	return (struct am_cell){c.w | AM_CELL_LENT | AM_CELL_MORE, is_kept ? c.r | AM_CELL_MORE : 0};
}

/* May the reads of this stretch be put into r of a lent cell, or are somebody else's there? */
static inline bool am_filter_has_room(struct am_cell c, uint64_t stretch)
{
	return c.r == 0 || am_filter_same_block(c.r, stretch);
}

/* Has the owner of a lent cell left anything in w that counts, if its stretch does? What it only read is in r. */
static inline bool am_filter_left_in_w(uint64_t w)
{
	return (w & (AM_CELL_BYTES | AM_CELL_NOW)) != 0;
}

/* What r is then. Earlier reads of the same thread of other bytes must be kept elsewhere, or told (am_filter_left). */
static inline uint64_t am_filter_borrow(struct am_cell c, uint64_t stretch, uint64_t bytes)
{
	/* The owner's next reads find that they have seen what is hidden. */
	const uint64_t seen = am_filter_same_block(c.w, stretch) ? AM_CELL_MORE : 0;

	return stretch | seen | bytes | AM_CELL_LAZY | (am_filter_same_stretch(c.r, stretch) ? c.r & AM_CELL_BYTES : 0);
}

/* Reads of this thread, in `read` as in r, that a read of `bytes` by a newer stretch does not stand for. */
static inline struct am_late am_filter_left(uint64_t read, uint64_t stretch, uint64_t bytes)
{
	const bool is_lost = am_filter_same_block(read, stretch) && !am_filter_same_stretch(read, stretch) &&
			     (read & AM_CELL_BYTES & ~bytes) != 0;

	return is_lost ? am_filter_rest(read) : (struct am_late){0, 0};
}

/* Did the stretch read or write all that already, in a lent cell? */
static inline bool am_filter_borrowed(struct am_cell c, uint64_t stretch, uint64_t bytes)
{
	return am_filter_has(c.r, stretch, bytes) || am_filter_has(c.w & ~AM_CELL_LENT, stretch, bytes);
}

/*
 * The usual read of a lent cell, in one go: one of this thread is in r. The cell stayed lent since, so that its owner wrote nothing, and what
 * let that read be left there (case 9) stays so. If it was of bytes that the owner wrote, or the owner logged something here, no new edge can come from
 * there whatever is read; else not to bytes that were not written. What r is then; false: ask, also if r would lose bytes.
 */
static inline bool am_filter_borrows_again(struct am_cell c, uint64_t stretch, uint64_t bytes, uint64_t *r)
{
	const bool is_behind = (c.w & (AM_CELL_NOW | (c.r & AM_CELL_BYTES))) != 0;

	if (!(c.w & AM_CELL_LENT) || !am_filter_same_block(c.r, stretch) || (c.r & (AM_CELL_LAZY | AM_CELL_EXACT)) != AM_CELL_LAZY ||
	    (!is_behind && c.w & bytes))
		return false;
	*r = (c.r & ~AM_STRETCH_MASK) | stretch | bytes;
	return am_filter_same_stretch(c.r, stretch) || (c.r & AM_CELL_BYTES & ~bytes) == 0;
}

/* ---- the usual cases in one go ---------------------------------------------------------------- */

enum am_filter_short {
	AM_SHORT_ASK,	/* none of them: ask as above */
	AM_SHORT_KNOWN, /* am_filter_known */
	AM_SHORT_LAZY,	/* lazy, with nothing to tell late: store `next`, the w of a write, the r of a read */
};

/* For an access where lazy ones are remembered without further questions; `fast` is the stretch, | AM_CELL_LAZY. A stretch
 * that no cell has makes it ask. `bytes` may be a constant, and should be then. `past_is_over`: what this thread did before this
 * stretch does not matter any more (6). */
static inline __attribute__((always_inline)) enum am_filter_short
am_filter_short(const struct am_cell *c, uint64_t fast, uint64_t bytes, bool writes, bool past_is_over, uint64_t *next)
{
	const uint64_t w = __atomic_load_n(&c->w, __ATOMIC_RELAXED), wanted = fast | bytes;
	uint64_t differs = w ^ wanted, old = w;

	if ((differs & (AM_NEWEST_MASK | bytes)) == 0)
		return AM_SHORT_KNOWN;
	if (writes) {
		/* Ours, and nothing of others is hidden in what is written. */
		if (__builtin_expect((differs & (AM_BLOCK_OTHER << AM_BLOCK_SHIFT | bytes << AM_MORE_SHIFT)) != 0, 0))
			return AM_SHORT_ASK;
	} else {
		if (__builtin_expect(differs >> AM_BLOCK_SHIFT != 0, 0))
			return AM_SHORT_ASK;
		old = __atomic_load_n(&c->r, __ATOMIC_RELAXED);
		differs = old ^ wanted;
		if ((differs & (AM_STRETCH_MASK | bytes)) == 0)
			return AM_SHORT_KNOWN;
		/* The reads are ours, if any. */
		if (__builtin_expect(differs >> AM_BLOCK_SHIFT != 0, 0) && old != 0)
			return AM_SHORT_ASK;
		/* Nor is anything hidden in what is read, unless it was seen. */
		if (__builtin_expect((w & bytes << AM_MORE_SHIFT) != 0, 0) && (w & ~old & bytes << AM_MORE_SHIFT) != 0)
			return AM_SHORT_ASK;
		/* Nor is it beside an exact one. */
		if (__builtin_expect((old & AM_CELL_EXACT) != 0, 0) && (differs & AM_STRETCH_MASK) == 0)
			return AM_SHORT_ASK;
	}
	/* Of a write of all bytes nothing is hidden any more, as was just seen. */
	const uint64_t kept = (writes ? AM_CELL_STAYS : 0) | AM_CELL_MORE;
	if (__builtin_constant_p(bytes == AM_CELL_BYTES) && bytes == AM_CELL_BYTES) {
		old &= writes ? AM_CELL_STAYS : kept;
	} else if ((differs & AM_STRETCH_MASK) != 0) { /* another stretch of ours: no bytes may be lost */
		if (__builtin_expect((old & AM_CELL_BYTES & ~bytes) != 0, 0) && !past_is_over)
			return AM_SHORT_ASK;
		old &= kept;
	}
	*next = old | wanted;
	return AM_SHORT_LAZY;
}

#endif
