/* SPDX-License-Identifier: MIT */
/*
 * Steps that were taken in vain: a stage behind the regions (regions.h) and before the checkers, live,
 * offline and for the predictor. It drops reads that had no effect because their thread went round and
 * made them again, and attempts that failed (Flanagan, Freund and Qadeer, "Exploiting purity for
 * atomicity", call such code pure: it may as well not have run).
 *
 * A *look* of a thread is a run of reads with nothing in between by which others could tell, or be told,
 * anything: no write, no update, no begin or end of an outermost region; locks may be taken and released, nothing else
 * of synchronisation. It begins with an atomic or volatile read, or an attempt that failed; plain reads belong to it from there on. A read of a look
 * is in vain if, in the same look (accesses to words that threads wait on, waited.h, are the inside of locks and neither part of it nor its end),
 *   - the same bytes are read again from the same place,
 *   - or by a read that is marked AM_ORDER_AGAIN (a loop before which the first stands as a copy),
 *   - or behind a wait for a futex that was made in between: who waits looks again,
 *   - or under a lock that was taken in between, and is released in the same look (a test made once more under a lock);
 * Atomic reads are in vain, also if the thread wrote other variables meanwhile, if
 *   - an attempt on the same bytes fails (AM_ORDER_FAILED), and with them the reads of the look since then, or since the attempt before it,
 *   - an update of the same bytes finds what they read (AM_ORDER_AGAIN, or equal values): they may as well have been made with it.
 * A failed attempt itself is always in vain. What a thread read last, before it went on, counts.
 *
 * A failed attempt also undoes a plain read that its region made of the same bytes, if the thread did nothing in between by which others could tell, but writes
 * elsewhere and locks (an object that is made by whoever needs it first, with a plain look before the exchange). Such reads are not held back for that: there are too many. They go on, and a cycle that
 * leaves its region by one, to an atomic update of another thread, waits until it is known (vain_plain.h).
 *
 * Why nothing false can be told: leaving an access out only removes edges (doc/notes/checker.md). What
 * is lost: a region that reads a variable twice from one and the same place with nothing but reads in
 * between, and needs both to be equal.
 *
 * Whether a read counts is known when its thread's look is over. Until then it and all that comes behind it is
 * held back, in order, `room` events at most. If there is no more room, or when the caller is in a hurry
 * (its thread may sleep), what is held back goes on, and the reads in question are in *doubt*: a cycle
 * through one of them waits (am_vain_cycle) until it is known. At the end of all events it is known that
 * they led to nothing.
 */
#ifndef ATOMMON_VAIN_H
#define ATOMMON_VAIN_H

#include "checker.h"
#include "merge.h"

struct am_vain_config {
	am_event_fn *out;
	am_event_fn *drop; /* what was in vain; NULL: nobody asks */
	/* A read that went on, in doubt or because it was a plain one, by its index, was in vain after all; NULL: nobody asks. */
	void (*undo)(void *ctx, uint64_t index);
	void *ctx;
	am_cycle_fn *on_cycle; /* of am_vain_cycle */
	void *cycle_ctx;
	uint32_t room; /* events; 0: as many as there are */
	/* At the end a read counts after which its thread wrote something, though an attempt behind the end might have
	 * undone it: a schedule may not have the one without the other. For predictions; a report must not rest on it. */
	bool keeps_settled;
};

struct am_vain_stats {
	uint64_t dropped;  /* reads in vain, and failed attempts */
	uint64_t doubted;  /* reads that went on in doubt */
	uint64_t voided;   /* cycles that rested on what turned out to be in vain */
	uint64_t unjudged; /* cycles dropped because too many waited */
};

struct am_vain;

struct am_vain *am_vain_new(const struct am_vain_config *config, struct am_mem *mem);
void am_vain_event(struct am_vain *vain, const struct am_event *event);
/* What is the first that is held back? Another number for each; 0: nothing. */
uint64_t am_vain_held(const struct am_vain *vain);
/* Go on with all that is held back. */
void am_vain_hurry(struct am_vain *vain);
/* How many cycles wait; and what plain reads so far are for no attempt: cycles that wait for that alone are told. */
uint32_t am_vain_waits(const struct am_vain *vain);
void am_vain_settle(struct am_vain *vain);
/* No more events. */
void am_vain_finish(struct am_vain *vain);
/* A checker behind this stage found a cycle: to on_cycle now, later or never. */
void am_vain_cycle(struct am_vain *vain, const struct am_cycle *cycle);
void am_vain_stats(const struct am_vain *vain, struct am_vain_stats *stats);
void am_vain_free(struct am_vain *vain);

#endif
