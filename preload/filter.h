/* SPDX-License-Identifier: MIT */
/*
 * Which accesses the live checker need not see. Pure decisions on one shadow word; no state of its
 * own, so that a test can drive it beside a full conflict graph
 * (tests/property/instrument_filter.c).
 *
 * A shadow word stands for 8 bytes of the application and names the last access that was logged for
 * them: the stretch of its thread, and which bytes it read and wrote. A *stretch* is a region, or a
 * run of accesses outside regions into which no edge leads but at its first access. Stretches have
 * numbers that are never used again.
 *
 * What is dropped, and why no verdict changes. Transactions are regions, and single accesses
 * outside regions; an edge joins two conflicting accesses in their order, and the transactions of a
 * thread in program order.
 *
 *  1. An access that this stretch already made, at least as strongly (a write covers a read), with
 *     no logged access of another thread in between. In a region both belong to one transaction,
 * and every edge of the second is one of the first. Outside regions they are two transactions of a
 *     stretch; every path into the second enters the stretch at its first access and so reaches the
 *     first too, every path on from the second starts from the first too.
 *  2. An access outside regions while no region is open anywhere. Going round a cycle, time runs
 *     forward along edges, and back only inside a region, from the edge that enters it to the one
 *     that leaves it. To return to a single access at time t some region must be left before t and
 *     entered after t: it is open at t.
 *  3. An access outside regions of a thread that no edge has reached since the last moment when no
 *     region was open, unless another thread's stretch was the last on its bytes. By 2, a cycle
 *     through it has a region open now, and a path from that region to this thread.
 *
 * Dropped accesses of kinds 2 and 3 leave the shadow word as it is: they are on no cycle, so that
 * nobody's redundant access becomes needed by them.
 */
#ifndef ATOMMON_PRELOAD_FILTER_H
#define ATOMMON_PRELOAD_FILTER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Shadow word: bits 0..7 bytes read or written, 8..15 bytes written, both by the stretch in bits
 * 24..63. Bits 16..23, *hidden* bytes: another thread's access was here before, and this thread has
 * not written them since; its next new access to them may be the end of an edge.
 * A stretch's upper 16 bits are a block of numbers owned by one thread, its lower 24 count within
 * the block; 0 is nobody's, and the last one is always another's. A thread's earlier blocks look
 * like another thread's: more is logged.
 */
enum { AM_HIDDEN_SHIFT = 16, AM_STRETCH_SHIFT = 24, AM_BLOCK_SHIFT = 48 };
#define AM_STRETCH_MASK (~UINT64_C(0) << AM_STRETCH_SHIFT)
/* Named by accesses that were logged without asking here: everybody's next access is logged. */
#define AM_STRETCH_OTHER AM_STRETCH_MASK

/* The bits of an access to bytes [offset, offset + size) of a word. */
static inline uint64_t am_filter_bits(unsigned offset, unsigned size, bool writes)
{
	const uint64_t bytes = ((UINT64_C(1) << size) - 1) << offset & 0xff;

	return writes ? bytes | bytes << 8 : bytes;
}

/* Case 1. `stretch` has its lower bits clear. */
static inline bool am_filter_known(uint64_t shadow, uint64_t stretch, uint64_t bits)
{
	return ((shadow ^ (stretch | bits)) & (AM_STRETCH_MASK | bits)) == 0;
}

static inline bool am_filter_same_stretch(uint64_t shadow, uint64_t stretch)
{
	return ((shadow ^ stretch) & AM_STRETCH_MASK) == 0;
}

#define AM_BLOCK_OTHER (AM_STRETCH_OTHER >> AM_BLOCK_SHIFT)

/* Was another thread's access the last here? */
static inline bool am_filter_foreign(uint64_t shadow, uint64_t stretch)
{
	return shadow != 0 && ((shadow ^ stretch) >> AM_BLOCK_SHIFT != 0 ||
			       shadow >> AM_BLOCK_SHIFT == AM_BLOCK_OTHER);
}

enum am_filter_answer {
	AM_FILTER_DROP,
	AM_FILTER_LOG,
	AM_FILTER_NEW_STRETCH, /* begin a stretch, count the thread as reached, then log */
};

/*
 * The decision, for an access that am_filter_known() did not already answer. `open`: regions open
 * in the process; `reached`: an edge may have come to this thread since `open` was last 0.
 */
static inline enum am_filter_answer am_filter_decide(uint64_t shadow, uint64_t stretch,
						     uint64_t bits, bool in_region, bool reached,
						     uint32_t open)
{
	if (in_region)
		return AM_FILTER_LOG;
	if (open == 0)
		return AM_FILTER_DROP;
	if (am_filter_foreign(shadow, stretch) || (shadow >> AM_HIDDEN_SHIFT & bits & 0xff) != 0)
		return AM_FILTER_NEW_STRETCH;
	return reached ? AM_FILTER_LOG : AM_FILTER_DROP;
}

/* The word after a logged access. */
static inline uint64_t am_filter_next(uint64_t shadow, uint64_t stretch, uint64_t bits)
{
	const uint64_t written = bits >> 8 & 0xff;
	uint64_t hidden = shadow >> AM_HIDDEN_SHIFT & 0xff;

	if (am_filter_foreign(shadow, stretch))
		hidden |= shadow & 0xff;
	const uint64_t mine =
		am_filter_same_stretch(shadow, stretch) ? (shadow | bits) & 0xffff : bits;
	return stretch | (hidden & ~written) << AM_HIDDEN_SHIFT | mine;
}

#endif
