/*
 * Numbers that never come. A thread that was torn out of a record (a signal handler left it by a jump)
 * may have taken a number and told nobody: all that was numbered later would wait in the merge. A
 * number was taken before a later one of its counter was logged; so when a hole is seen, every thread
 * that is, then or later, seen outside of any record, and whose places of before are all filled, does not
 * have it. When that holds for every thread, nobody has it, and the hole is closed.
 *
 * Runs in the consumer, a few times a second and only while threads wait in the merge. What it looks at
 * in other threads (head and event of their thread-local block) is read through the kernel: such a
 * thread may be gone at any moment, and its memory with it.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/holes.h"

#include <sys/uio.h>
#include <unistd.h>

#include "atommon/merge.h"
#include "preload/area.h"
#include "preload/runtime.h"

enum { HOLES = 64, LOOK_MS = 50 };

static struct {
	struct am_hole hole[HOLES];
	size_t n; /* 0: nothing is suspected */
	uint32_t n_lanes;
	uint64_t looked_ms;
	struct suspect {
		uint32_t thread; /* who had the lane then */
		bool is_cleared;
		bool is_outside; /* was seen outside of records, when its head was: */
		uint64_t head;
	} lane[AM_LANES_MAX];
} own;

uint32_t am_holes_looks;

/* Is it outside of any record that `event` speaks of? Its head then goes to *head. */
static bool is_outside(const struct am_lane *lane, uint64_t *head)
{
	struct am_tls seen;
	const uintptr_t tls = __atomic_load_n(&lane->tls, __ATOMIC_ACQUIRE);
	const struct iovec to = {&seen, sizeof seen}, from = {(void *)tls, sizeof seen};

	if (!tls || process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)sizeof seen ||
	    seen.lane != lane || seen.event != 0)
		return false;
	*head = seen.head;
	return true;
}

/* Who has the lane. One that is just being taken has either; its new thread has no number yet. */
static uint32_t thread_of(const struct am_lane *lane)
{
	return __atomic_load_n(&lane->dir->thread, __ATOMIC_RELAXED);
}

/* Has this thread no number of before? */
static bool is_cleared(const struct am_lane *lane, struct suspect *s)
{
	const uint32_t state = __atomic_load_n(&lane->dir->state, __ATOMIC_ACQUIRE);

	if (state == AM_RING_FREE || thread_of(lane) != s->thread)
		return true; /* ended, and drained */
	if (state != AM_RING_LIVE)
		return false;
	if (!s->is_outside)
		s->is_outside = is_outside(lane, &s->head);
	return s->is_outside && lane->fed >= s->head;
}

static void suspect(struct am_merge *merge)
{
	own.n = am_merge_holes(merge, own.hole, HOLES);
	if (own.n == 0)
		return;
	own.n_lanes = am_lane_count(); /* threads that come later took later numbers */
	for (uint32_t i = 0; i < own.n_lanes; i++) {
		/* partner: enter() in lane.c. Whoever lives in a lane is known as such. */
		(void)__atomic_load_n(&am_lanes[i]->dir->state, __ATOMIC_ACQUIRE);
		own.lane[i] = (struct suspect){.thread = thread_of(am_lanes[i])};
	}
}

bool am_holes_look(struct am_merge *merge, uint64_t now_ms)
{
	if (am_merge_pending(merge) == 0) {
		own.n = 0;
		return false;
	}
	if (now_ms - own.looked_ms < LOOK_MS)
		return true;
	own.looked_ms = now_ms;
	__atomic_fetch_add(&am_holes_looks, 1, __ATOMIC_RELAXED); /* a test looks meanwhile */
	if (own.n == 0) {
		suspect(merge);
		return true;
	}
	bool is_proven = true;
	for (uint32_t i = 0; i < own.n_lanes; i++) {
		struct suspect *s = &own.lane[i];
		s->is_cleared = s->is_cleared || is_cleared(am_lanes[i], s);
		is_proven &= s->is_cleared;
	}
	if (is_proven) {
		const uint64_t closed = am_merge_close(merge, own.hole, own.n);
		__atomic_fetch_add(&am_area.file->lost[AM_LOST_TORN], closed, __ATOMIC_RELAXED);
		own.n = 0;
	}
	return true;
}

void am_holes_forget(void)
{
	own.n = 0;
	own.looked_ms = 0;
}
