/*
 * Producers that need space in their rings: they wait for the drain thread, or do its work. Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/drain.h"

#include <pthread.h>
#include <signal.h>

#include "preload/backoff.h"
#include "preload/testpoint.h"

enum {
	PATIENCE_MS = 10000, /* a producer waits so long for a consumer that does nothing */
	STUCK_MS = 100,	     /* then a producer looks whether its own ring has a hole */
};

static uint64_t n_waits, waited_ns; /* for space */

static bool has_space(const struct am_lane *lane, uint64_t need)
{
	const uint64_t tail = __atomic_load_n(&lane->free_tail, __ATOMIC_ACQUIRE);
	return am_tls.head + need - tail <= lane->mask + 1;
}

/* No drain thread: do its work here. Signals wait meanwhile: a handler could log nothing. */
static void drain_here(void)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	if (am_drain_take_role()) {
		am_tls.inside++;
		am_pass(true);
		am_tls.inside--;
		am_drain_drop_role();
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static bool wait_space(struct am_lane *lane, uint64_t need)
{
	/* Once it waits, a good while: a wait costs as much as hundreds of records, so the fewer the
	 * better; the quarter that is left keeps the consumer busy until we are back. */
	if (need < (lane->mask + 1) / 4 * 3)
		need = (lane->mask + 1) / 4 * 3;
	const uint64_t asked = am_drain_now_ms();
	uint64_t since = asked;
	uint32_t seen = am_pass_progress();
	uint64_t stuck_at = UINT64_MAX; /* free_tail when it was last found not to move */

	for (unsigned round = 0; !has_space(lane, need); round++) {
		if (am_state() < AM_IDLE)
			return false;
		if (__atomic_load_n(&am_drain_state, __ATOMIC_ACQUIRE) != AM_DRAIN_RUNNING) {
			drain_here();
			if (has_space(lane, need))
				return true;
			if (round > 0 && am_log_mend(lane) == AM_TORN_BELOW)
				return false;
			if (round > 2 && !am_drain_take_role())
				return false; /* we are inside the drain, in a signal handler */
			else if (round > 2)
				am_drain_drop_role();
			am_backoff(round);
		} else {
			const uint64_t tail = __atomic_load_n(&lane->free_tail, __ATOMIC_RELAXED);
			__atomic_store_n(&lane->wake_at, am_tls.head + need - (lane->mask + 1),
					 __ATOMIC_RELAXED);
			__atomic_store_n(&lane->is_waiting, 1, __ATOMIC_SEQ_CST);
			am_drain_wake();
			AM_TEST_POINT("producer: about to wait for space");
			if (!has_space(lane, need))
				am_drain_wait_ns(&lane->is_waiting, 1, 20 * UINT64_C(1000000));
			if (tail != stuck_at && am_drain_now_ms() - asked > STUCK_MS &&
			    tail == __atomic_load_n(&lane->free_tail, __ATOMIC_RELAXED)) {
				stuck_at = tail;
				if (am_log_mend(lane) == AM_TORN_BELOW)
					return false;
			}
		}
		const uint32_t now = am_pass_progress();
		if (now != seen) {
			seen = now;
			since = am_drain_now_ms();
		} else if (am_drain_now_ms() - since > PATIENCE_MS) {
			return false;
		}
	}
	return true;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

bool am_drain_wait_space(struct am_lane *lane, uint64_t need)
{
	if (__atomic_load_n(&am_drain_state, __ATOMIC_RELAXED) != AM_DRAIN_RUNNING)
		return wait_space(lane, need); /* it does the work itself */
	const uint64_t since = now_ns();
	const bool is_there = wait_space(lane, need);
	__atomic_fetch_add(&n_waits, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&waited_ns, now_ns() - since, __ATOMIC_RELAXED);
	return is_there;
}

uint64_t am_drain_waits(uint64_t *ns)
{
	*ns = __atomic_load_n(&waited_ns, __ATOMIC_RELAXED);
	return __atomic_load_n(&n_waits, __ATOMIC_RELAXED);
}

void am_drain_try(void)
{
	if (__atomic_load_n(&am_drain_state, __ATOMIC_ACQUIRE) != AM_DRAIN_RUNNING)
		drain_here();
	else
		am_drain_wake();
}

void am_space_forget(void)
{
	n_waits = waited_ns = 0;
}
