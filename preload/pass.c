/*
 * A look at all rings: hands what is complete to the sinks, gives the space back. Runs in the consumer.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/drain.h"

#include "atommon/trace.h"
#include "preload/sink.h"
#include "preload/testpoint.h"

enum {
	BATCH = AM_ATM_UNITS_MAX,
	WINDOW = AM_ATM_WINDOW / 4,
	TORN_MAX = 1024, /* no more units in a row are torn */
	SLICE = 4096,	 /* units of a ring for the checker at a time: they stay in the cache */
};

static uint32_t progress; /* counts passes, or parts of one, that moved something */
static uint32_t signs;	  /* counts whatever else the consumer did: it is not stuck */
static bool may_pump;
static bool is_over; /* the sinks are closed for good: nothing is read any more */
static uint64_t since_flush; /* units recorded since every ring was flushed */
static struct am_unit batch[BATCH];

/* The producer may have this space again. */
static void give_space(struct am_lane *lane)
{
	uint64_t tail = am_drain_is_recording() ? lane->dir->tail : lane->fed;

	if (am_drain_is_checking() && lane->fed < tail)
		tail = lane->fed;
	if (tail == lane->free_tail)
		return;
	if (!am_drain_is_recording())
		lane->dir->tail = tail;
	__atomic_store_n(&lane->free_tail, tail, __ATOMIC_RELEASE); /* partner: make_room */
	/* A full barrier between the two. Partner: the store of is_waiting before the look at
	 * free_tail in am_drain_wait_space. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&lane->is_waiting, __ATOMIC_ACQUIRE) ||
	    tail < __atomic_load_n(&lane->wake_at, __ATOMIC_RELAXED))
		return; /* nobody, or too early to be of use */
	if (__atomic_exchange_n(&lane->is_waiting, 0, __ATOMIC_SEQ_CST))
		am_drain_futex(&lane->is_waiting, FUTEX_WAKE, 1, NULL);
}

static uint64_t position(const struct am_lane *lane, uint64_t index)
{
	return index - lane->dir->first + lane->dir->base;
}

/* To one sink, from *at on, in batches; `least` units at a time unless flushing, and not many more than
 * `most` in all. */
static uint64_t feed(const struct am_sink_ops *sink, struct am_lane *lane, uint64_t *at, size_t least,
		     uint64_t most)
{
	uint64_t moved = 0;

	while (moved < most) {
		if (least > 1 && !am_ring_has(lane, *at + least - 1))
			return moved;
		const uint64_t place = *at & lane->mask;
		const struct am_unit *units = &lane->units[place];
		size_t n = 0;
		/* Up to the end of the ring; but a chunk of a trace is not cut there. */
		if (sink == &am_sink_check || am_likely(lane->mask + 1 - place >= BATCH))
			n = am_ring_whole(lane, *at, BATCH);
		if (n == 0) { /* nothing, or round the end of the ring */
			n = am_ring_collect(lane, *at, batch, BATCH);
			units = batch;
		}
		if (n == 0 || n < least ||
		    !sink->units(lane->dir->thread, position(lane, *at), units, n))
			return moved;
		if (sink == &am_sink_record && am_tls.owned) /* read in a thread that is not its own */
			am_ring_evict(lane, *at, n);
		/* Release: a reader of a dead file must find the units in the trace first. */
		__atomic_store_n(at, *at + n, __ATOMIC_RELEASE);
		moved += n;
		if (sink == &am_sink_record)
			give_space(lane);
	}
	return moved;
}

/* What a ring has, but no more than it can hold: a thread that never stops must not keep the consumer
 * with it, nor the end of the process. To the checker `slice` units. */
static uint64_t drain_lane(struct am_lane *lane, bool is_flush, uint64_t slice)
{
	struct am_ringdir *dir = lane->dir;
	const uint32_t state = __atomic_load_n(&dir->state, __ATOMIC_ACQUIRE); /* partner: lane.c */
	const bool is_closing = state == AM_RING_CLOSING;
	const uint64_t capacity = lane->mask + 1;
	uint64_t moved = 0;

	if (state != AM_RING_LIVE && !is_closing)
		return 0;
	AM_TEST_POINT("drain: state of a lane read");
	if (is_closing) /* its producer is gone: nothing will fill a hole any more */
		am_ring_repair(lane, lane->free_tail, lane->end);
	if (am_drain_is_checking())
		moved += feed(&am_sink_check, lane, &lane->fed, 1, slice);
	if (am_drain_is_recording()) {
		/* Few large chunks compress best; but a producer that waits, or a ring smaller than a
		 * chunk, must not wait for one. */
		const bool is_all = is_flush || is_closing ||
				    __atomic_load_n(&lane->is_waiting, __ATOMIC_RELAXED);
		const size_t quarter = capacity / 4;
		const size_t least = quarter < BATCH - 8 ? quarter : BATCH - 8;
		const uint64_t n = feed(&am_sink_record, lane, &dir->tail, is_all ? 1 : least, capacity);
		since_flush += n;
		moved += n;
	}
	give_space(lane);
	if (is_closing && lane->free_tail == lane->end)
		am_lane_recycle(lane);
	return moved;
}

/* One slice of every ring after the other through the checker, until each was gone round once. */
static uint64_t check_slices(void)
{
	uint64_t moved = 0, more = 1;

	for (uint64_t done = SLICE; more; done += SLICE) {
		may_pump = true;
		am_sink_check.pass();
		may_pump = false;
		more = 0;
		for (uint32_t i = 0; i < am_lane_count(); i++) {
			struct am_lane *lane = am_lanes[i];
			/* partner: lane.c */
			const uint32_t state = __atomic_load_n(&lane->dir->state, __ATOMIC_ACQUIRE);
			if ((state != AM_RING_LIVE && state != AM_RING_CLOSING) || done > lane->mask)
				continue;
			more += feed(&am_sink_check, lane, &lane->fed, 1, SLICE);
			give_space(lane);
		}
		if (more)
			__atomic_fetch_add(&progress, 1, __ATOMIC_RELAXED);
		moved += more;
	}
	return moved;
}

/* Look at every ring once. */
uint64_t am_pass(bool is_flush)
{
	const uint32_t n = am_lane_count();
	uint64_t moved = 0;

	if (is_over)
		return 0;
	if (since_flush > WINDOW)
		is_flush = true;
	if (is_flush)
		since_flush = 0;
	for (uint32_t i = 0; i < n; i++)
		moved += drain_lane(am_lanes[i], is_flush, SLICE);
	if (am_drain_is_checking())
		moved += check_slices();
	if (moved)
		__atomic_fetch_add(&progress, 1, __ATOMIC_RELAXED);
	return moved;
}

void am_drain_sign(void)
{
	__atomic_store_n(&signs, signs + 1, __ATOMIC_RELAXED); /* only the consumer does */
}

/* The check sink waits for somebody, in its pass: meanwhile the rings go on, into the merge's queues. */
void am_drain_pump(void)
{
	uint64_t moved = 0;

	am_drain_sign();
	if (!may_pump)
		return;
	for (uint32_t i = 0; i < am_lane_count(); i++)
		moved += drain_lane(am_lanes[i], false, am_lanes[i]->mask + 1);
	if (moved)
		__atomic_fetch_add(&progress, 1, __ATOMIC_RELAXED);
}

bool am_pass_has_waiting(void)
{
	const uint32_t n = am_lane_count();

	for (uint32_t i = 0; i < n; i++)
		if (__atomic_load_n(&am_lanes[i]->is_waiting, __ATOMIC_RELAXED))
			return true;
	return false;
}

/* The process ends. A unit that is not there although later records are was torn by a jump, or its
 * thread is still in it below a signal handler; what stands behind it must not be lost. */
static void mend_ring(struct am_lane *lane)
{
	const uint64_t full = lane->free_tail + lane->mask + 1;
	uint64_t end = lane->free_tail; /* behind the last unit that is there */

	/* Not the whole ring: most of it may never have been touched, and each page costs a fault. */
	for (uint64_t i = end; i < full && i - end < TORN_MAX; i++)
		if (am_ring_has(lane, i))
			end = i + 1;
	/* Units of one record are written last first: those just before `end` may be on their way. */
	for (uint64_t i = lane->free_tail; i + 1 + AM_R_EXT_MAX < end; i++)
		if (!am_ring_has(lane, i))
			am_ring_repair(lane, i, i + 1);
}

void am_pass_mend(void)
{
	const uint32_t n = am_lane_count();

	for (uint32_t i = 0; i < n; i++)
		if (__atomic_load_n(&am_lanes[i]->dir->state, __ATOMIC_ACQUIRE) == AM_RING_LIVE)
			mend_ring(am_lanes[i]);
}

void am_pass_end(void)
{
	is_over = true;
}

uint32_t am_pass_progress(void)
{
	return __atomic_load_n(&progress, __ATOMIC_RELAXED);
}

uint32_t am_pass_life(void)
{
	return am_pass_progress() + __atomic_load_n(&signs, __ATOMIC_RELAXED);
}

void am_pass_forget(void)
{
	may_pump = is_over = false;
	progress = signs = 0;
	since_flush = 0;
}
