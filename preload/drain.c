/*
 * The consumer: looks at the rings (pass.c). One thread at a time has this role: the drain thread, which starts with the process' second
 * thread, or before that the only thread there is, when its ring is full (space.c) and at the end.
 *
 * The drain thread blocks all signals, has a small stack and a descriptor table of its own (so that
 * a program that closes every descriptor does not hurt the trace, and the trace does not hold its
 * pipes open), takes no lock that the application could hold, and sleeps in a futex.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/drain.h"

#include <errno.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "preload/backoff.h"
#include "preload/sink.h"
#include "preload/testpoint.h"

enum {
	STACK_BYTES = 256 * 1024,
	UNBLOCK_MS = 1000,
	FINISH_MS = 10000,
	PROMPT_US = 1000,   /* between looks at the rings ... */
	LOOK_US = 10000,    /* ... at most; a ring that fills, or a thread that ends, wakes us earlier */
	MUCH = 16384,	    /* units of one look */
	WATCH_US = 50000,
	IDLE_PASSES = 20,
};

struct am_after am_after;
#ifdef AM_TEST_POINTS
void (*am_test_point)(const char *name);
#endif

uint32_t am_drain_state;
static uint32_t role;	  /* 1: somebody is the consumer */
static uint32_t wanted;	  /* futex: there is something to do */
static uint32_t flush_wanted, flush_done; /* futex: generations of flush requests */
static uint32_t close_wanted;		  /* enum am_close, after the flush */
static bool has_membarrier;
static bool has_own_files, is_filtered;
static pthread_t drain_thread;
static pid_t drain_tid;

bool am_drain_take_role(void)
{
	return !__atomic_exchange_n(&role, 1, __ATOMIC_ACQUIRE); /* partner: drop_role */
}

void am_drain_drop_role(void)
{
	__atomic_store_n(&role, 0, __ATOMIC_RELEASE);
}

void am_drain_wake(void)
{
	const int saved = errno;

	__atomic_store_n(&am_after.drain_asleep, 0, __ATOMIC_RELAXED);
	/* Somebody asked already, and it has not looked since. */
	if (__atomic_load_n(&wanted, __ATOMIC_RELAXED))
		return;
	/* partner: the exchange in sleep_on */
	if (!__atomic_exchange_n(&wanted, 1, __ATOMIC_SEQ_CST))
		am_drain_futex(&wanted, FUTEX_WAKE, 1, NULL);
	errno = saved;
}

/* Threads run on meanwhile. What the first pass found rests on what was in the rings when it ended, so that the second
 * has it; what only the second finds may rest on what nobody reads any more, and is marked. */
static void flush(void)
{
	const uint32_t wanted_close = __atomic_load_n(&close_wanted, __ATOMIC_RELAXED);

	am_pass(true);
	if (wanted_close) {
		am_pass_mend();
		if (wanted_close & AM_CLOSE_RECORD && am_drain_is_recording())
			am_sink_record_leaving();
		am_pass(true);
	}
	AM_TEST_POINT("drain: flushed, about to close");
	const uint32_t close = __atomic_exchange_n(&close_wanted, 0, __ATOMIC_ACQUIRE);
	if (close & AM_CLOSE_CHECK)
		am_pass_end();
	if (close & AM_CLOSE_RECORD && am_drain_is_recording())
		am_sink_record.close();
	if (close & AM_CLOSE_CHECK && am_drain_is_checking())
		am_sink_check.close();
}

/* ---- the drain thread ------------------------------------------------------------------------ */

/* How long until the next look: the less there is to see the longer. Each costs two switches of threads on a core that
 * the program may need. Where a violation stops the program, it is to stop at once. */
static uint64_t next_look(uint64_t look_us, uint64_t moved)
{
	if (moved > MUCH || am_opt.on_violation != AM_ON_CONTINUE)
		return PROMPT_US;
	return look_us * 2 < LOOK_US ? look_us * 2 : LOOK_US;
}

/* Sleep until something is wanted. `idle`: passes in a row without traffic; `is_watching`: not for
 * good. */
static void sleep_on(unsigned idle, uint64_t look_us, bool is_watching)
{
	AM_TEST_POINT("drain: about to sleep");
	/* partner: the exchange in am_drain_wake */
	if (__atomic_exchange_n(&wanted, 0, __ATOMIC_SEQ_CST))
		return;
	if (!am_drain_is_checking()) {
		am_drain_wait_ns(&wanted, 0, UINT64_C(3600) * 1000000000);
		return;
	}
	if (idle < IDLE_PASSES || is_watching || !has_membarrier) {
		am_drain_wait_ns(&wanted, 0, (idle < IDLE_PASSES ? look_us : WATCH_US) * 1000);
		return;
	}
	/* Deep sleep. After the barrier every producer either sees the flag or has its record seen
	 * by the look below. Partner: the load of am_after behind the record in log.h. */
	__atomic_store_n(&am_after.drain_asleep, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	const bool is_quiet = am_pass(false) == 0;
	AM_TEST_POINT("drain: about to sleep for good");
	if (is_quiet)
		am_drain_wait_ns(&wanted, 0, UINT64_C(3600) * 1000000000);
	__atomic_store_n(&am_after.drain_asleep, 0, __ATOMIC_RELAXED);
}

/* A descriptor table of our own, with nothing of the application's in it; and a root and working directory,
 * which the application may change. */
static void leave_descriptors(void)
{
	const int fd = am_sink_record_fd();

	has_own_files = false;
	if (is_filtered || unshare(CLONE_FILES | CLONE_FS) != 0)
		return;
	has_own_files = true;
	if (fd > 0)
		syscall(SYS_close_range, 0, (unsigned)fd - 1, 0);
	syscall(SYS_close_range, fd < 0 ? 0 : (unsigned)fd + 1, UINT_MAX, 0);
}

static void *drain_main(void *unused)
{
	unsigned idle = 0;
	uint64_t look_us = PROMPT_US;
	uint64_t reaped = am_drain_now_ms(), moved_at = reaped;

	(void)unused;
	am_tls.owned = 1;
	drain_tid = gettid();
	prctl(PR_SET_NAME, "atommon");
	leave_descriptors();
	if (am_drain_is_checking())
		has_membarrier =
			syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
	for (unsigned i = 0; !am_drain_take_role(); i++)
		am_backoff(i);
	for (;;) {
		const uint32_t asked = __atomic_load_n(&flush_wanted, __ATOMIC_ACQUIRE);
		const bool is_flush = asked != flush_done;
		uint64_t moved = 0;
		if (is_flush)
			flush();
		else
			moved = am_pass(false);
		if (is_flush) {
			__atomic_store_n(&flush_done, asked, __ATOMIC_RELEASE);
			am_drain_futex(&flush_done, FUTEX_WAKE, INT_MAX, NULL);
		}
		if (__atomic_load_n(&am_drain_state, __ATOMIC_ACQUIRE) == AM_DRAIN_STOPPED)
			break;
		if (am_drain_now_ms() - reaped > 1000) {
			am_lane_reap();
			reaped = am_drain_now_ms();
		}
		/* Producers wait and nothing moves: a number was taken and never logged. */
		if (moved)
			moved_at = am_drain_now_ms();
		else if (am_drain_is_checking() && am_drain_now_ms() - moved_at > UNBLOCK_MS && am_pass_has_waiting())
			am_sink_check.unblock();
		idle = moved ? 0 : idle + 1;
		look_us = next_look(look_us, moved);
		sleep_on(idle, look_us, am_drain_is_checking() && am_sink_check.watch(am_drain_now_ms()));
	}
	am_drain_drop_role();
	return NULL;
}

void am_drain_start(void)
{
	uint32_t expected = AM_DRAIN_NOT_RUNNING;
	pthread_attr_t attr;
	sigset_t all, old;
	const int saved = errno;

	if (am_likely(__atomic_load_n(&am_drain_state, __ATOMIC_RELAXED) != AM_DRAIN_NOT_RUNNING) ||
	    !__atomic_compare_exchange_n(&am_drain_state, &expected, AM_DRAIN_RUNNING, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	am_tls.inside++;
	/* Asked here: the drain thread still has the program's descriptors when it begins, and a file that it
	 * opened would be in the way of one that the program opens in that moment. */
	is_filtered = am_process_is_filtered();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	/* Never at the real-time priority of the thread that happens to create it. */
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	if (am_real.pthread_create(&drain_thread, &attr, drain_main, NULL) != 0)
		__atomic_store_n(&am_drain_state, AM_DRAIN_NOT_RUNNING, __ATOMIC_RELEASE); /* threads drain themselves */
	pthread_attr_destroy(&attr);
	am_tls.inside--;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = saved;
}

/* ---- the end, and pauses ----------------------------------------------------------------------- */

bool am_drain_finish(uint32_t close)
{
	if (close & AM_CLOSE_CHECK && am_drain_is_checking())
		am_live_leaving();
	__atomic_store_n(&close_wanted, close, __ATOMIC_RELEASE);
	if (__atomic_load_n(&am_drain_state, __ATOMIC_ACQUIRE) != AM_DRAIN_RUNNING || am_tls.owned) {
		const uint64_t start = am_drain_now_ms();
		for (unsigned i = 0; !am_tls.owned && !am_drain_take_role(); i++) {
			if (am_drain_now_ms() - start > FINISH_MS)
				return false;
			am_backoff(i);
		}
		am_tls.inside++;
		flush();
		am_tls.inside--;
		if (!am_tls.owned)
			am_drain_drop_role();
		return true;
	}
	const uint32_t mine = __atomic_add_fetch(&flush_wanted, 1, __ATOMIC_ACQ_REL);
	uint32_t seen = am_pass_life();
	uint64_t since = am_drain_now_ms();
	for (;;) {
		const uint32_t done = __atomic_load_n(&flush_done, __ATOMIC_ACQUIRE);
		if ((int32_t)(done - mine) >= 0)
			return true;
		am_drain_wake();
		am_drain_wait_ns(&flush_done, done, 20 * UINT64_C(1000000));
		const uint32_t now = am_pass_life();
		if (now != seen)
			seen = now, since = am_drain_now_ms();
		else if (am_drain_now_ms() - since > FINISH_MS)
			return false;
	}
}

void am_drain_stop(void)
{
	uint32_t expected = AM_DRAIN_RUNNING;

	if (!__atomic_compare_exchange_n(&am_drain_state, &expected, AM_DRAIN_STOPPED, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	am_drain_wake();
	am_tls.inside++;
	am_real.pthread_join(drain_thread, NULL);
	am_tls.inside--;
}

void am_drain_pause(void)
{
	uint32_t expected = AM_DRAIN_RUNNING;

	if (am_tls.muted || am_tls.inside || am_tls.owned || am_state() < AM_IDLE || am_thread_count() != 1 ||
	    !__atomic_compare_exchange_n(&am_drain_state, &expected, AM_DRAIN_STOPPED, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	const int saved = errno;
	am_drain_wake();
	am_tls.inside++;
	am_real.pthread_join(drain_thread, NULL);
	am_tls.inside--;
	/* Joined is not yet gone: the kernel counts it a moment longer. */
	for (int i = 0; i < 10000 && syscall(SYS_tgkill, getpid(), drain_tid, 0) == 0; i++)
		sched_yield();
	__atomic_store_n(&am_drain_state, AM_DRAIN_NOT_RUNNING, __ATOMIC_RELEASE);
	errno = saved;
}

bool am_drain_has_own_files(void)
{
	return has_own_files;
}

void am_drain_forget(void)
{
	close_wanted = 0;
	role = am_drain_state = wanted = flush_wanted = flush_done = am_after.drain_asleep = 0;
	am_pass_forget();
	am_space_forget();
}
