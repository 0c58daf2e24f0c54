/* SPDX-License-Identifier: MIT */
/*
 * The inside of the merge, shared by merge.c (passing on), merge_park.c (who waits for what) and
 * merge_finish.c (closing holes).
 *
 * A thread is in exactly one of three states: *idle* (its queue is empty or holds only the start of
 * a record), *runnable* (in the list `runnable`), *parked* (its next record waits for a number that
 * its slot has not reached; the thread stands in the park table under that number). Each number of
 * a slot belongs to one record, so a slot that advances wakes at most one thread: O(1) per event.
 */
#ifndef ATOMMON_CORE_MERGE_STATE_H
#define ATOMMON_CORE_MERGE_STATE_H

#include "analyzer/core/decode.h"
#include "atommon/merge.h"

struct am_mem;

/* Set in the w0 of a queued AM_X_COND unit once its number was consumed (the bits that hold the
 * extension count in a first unit are free there). */
#define AM_MERGE_COND_DONE (UINT64_C(1) << AM_R_EXT_SHIFT)

struct merge_key {
	uint32_t slot, number;
};

struct merge_thread {
	struct am_unit *units; /* queue: [head, tail) of cap */
	size_t head, tail, cap;
	size_t late; /* the last so many units were fed while leaving, as far as they are still there */
	uint32_t id;
	struct am_expr_count expr;
	bool is_runnable;
	bool has_ended;
	bool is_parked;
	bool in_nested;		   /* in the list `nested` */
	uint32_t parked_at;	   /* `looks` when it was parked */
	struct merge_key key;	   /* what it is parked for */
	struct merge_thread *next; /* in the list of runnable threads */
	struct merge_thread *next_nested;
};

struct merge_slot {
	uint32_t next;	  /* number that may go */
	uint32_t waiters; /* threads parked on this slot */
};

struct merge_parked {
	struct merge_thread *thread; /* NULL: free */
	struct merge_key key;
};

struct am_merge {
	struct merge_slot slot[AM_COUNTERS];
	struct am_mem *mem;
	am_event_fn *out;
	void *ctx;
	struct am_event *place, own; /* where the next event is made */
	uint64_t index;	  /* of the next event */
	uint64_t pending; /* records queued */
	uint32_t looks;	  /* calls of am_merge_holes */
	bool is_leaving;   /* what is fed now may rest on what is missing */
	bool is_searching; /* for circles: queues must stay where they are */
	struct merge_thread *runnable;
	struct merge_thread *nested;  /* parked at a nested record, or were */
	struct merge_thread **thread; /* hash table by id */
	size_t thread_cap, n_threads;
	struct merge_parked *park; /* hash table by key */
	size_t park_cap;
};

/* Room for one more thread; false at the memory ceiling. */
bool merge_park_reserve(struct am_merge *m, size_t n_threads);
void merge_park(struct am_merge *m, struct merge_thread *t, struct merge_key key);
void merge_unpark(struct am_merge *m, struct merge_thread *t);
/* Wake the thread that waits for the slot's next number, if there is one. */
void merge_wake(struct am_merge *m, uint32_t slot);

static inline void merge_make_runnable(struct am_merge *m, struct merge_thread *t)
{
	if (t->is_runnable)
		return;
	t->is_runnable = true;
	t->next = m->runnable;
	m->runnable = t;
}

/* The record at u as the merge sees it: what number it waits for. */
struct merge_key merge_next_key(const struct am_unit *u);
struct am_unit *merge_cond_unit(struct am_unit *u);

/* Pass a record on although others before it in its queue wait, if its number is next; leaves a
 * blank of its size. */
bool merge_pass_early(struct am_merge *m, struct merge_thread *t, struct am_unit *u);
/* For each thread in `nested` that waits in a circle, pass on the record behind its head that
 * closes it. True if one went. */
bool merge_break_circles(struct am_merge *m, size_t *budget);

#endif
