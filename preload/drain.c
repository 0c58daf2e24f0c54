/*
 * The consumer: looks at the rings, hands what is complete to the sinks, gives the space back. One
 * thread at a time has this role: the drain thread, which starts with the process' second thread,
 * or before that the only thread there is, when its ring is full and at the end.
 *
 * The drain thread blocks all signals, has a small stack and a descriptor table of its own (so that
 * a program that closes every descriptor does not hurt the trace, and the trace does not hold its
 * pipes open), takes no lock that the application could hold, and sleeps in a futex.
 */
/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "atommon/trace.h"
#include "preload/area.h"
#include "preload/backoff.h"
#include "preload/real.h"
#include "preload/runtime.h"
#include "preload/sink.h"
#include "preload/testpoint.h"

enum {
	BATCH = AM_ATM_UNITS_MAX,
	STACK_BYTES = 256 * 1024,
	PATIENCE_MS = 10000, /* a producer waits so long for a consumer that does nothing */
	UNBLOCK_MS = 1000,
	STUCK_MS = 100, /* then a producer looks whether its own ring has a hole */
	FINISH_MS = 10000,
	PROMPT_US = 1000,   /* between looks at the rings ... */
	LOOK_US = 10000,    /* ... at most; a ring that fills, or a thread that ends, wakes us earlier */
	MUCH = 16384,	    /* units of one look */
	WATCH_US = 50000,
	IDLE_PASSES = 20,
	WINDOW = AM_ATM_WINDOW / 4,
	TORN_MAX = 1024, /* no more units in a row are torn */
	SLICE = 4096,	 /* units of a ring for the checker at a time: they stay in the cache */
};
enum { NOT_RUNNING, RUNNING, STOPPED };

struct am_after am_after;
#ifdef AM_TEST_POINTS
void (*am_test_point)(const char *name);
#endif

static uint32_t role;	  /* 1: somebody is the consumer */
static uint32_t running;  /* of the drain thread */
static uint32_t wanted;	  /* futex: there is something to do */
static uint32_t flush_wanted, flush_done; /* futex: generations of flush requests */
static uint32_t close_wanted;		  /* enum am_close, after the flush */
static uint32_t progress; /* counts passes, or parts of one, that moved something */
static uint32_t signs;	  /* counts whatever else the consumer did: it is not stuck */
static uint64_t n_waits, waited_ns; /* of producers, for space */
static bool may_pump;
static bool is_over; /* the sinks are closed for good: nothing is read any more */
static bool has_membarrier;
static bool has_own_files, is_filtered;
static pthread_t drain_thread;
static pid_t drain_tid;
static uint64_t since_flush; /* units recorded since every ring was flushed */
static struct am_unit batch[BATCH]; /* consumer's */

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	return am_real_syscall()(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

static void wait_ns(uint32_t *word, uint32_t value, uint64_t ns)
{
	const struct timespec ts = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
	futex(word, FUTEX_WAIT, value, &ts);
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static bool take_role(void)
{
	return !__atomic_exchange_n(&role, 1, __ATOMIC_ACQUIRE); /* partner: drop_role */
}

static void drop_role(void)
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
		futex(&wanted, FUTEX_WAKE, 1, NULL);
	errno = saved;
}

static bool is_checking(void)
{
	return am_opt.mode != AM_MODE_RECORD;
}

static bool is_recording(void)
{
	return am_opt.mode != AM_MODE_CHECK;
}

/* The producer may have this space again. */
static void give_space(struct am_lane *lane)
{
	uint64_t tail = is_recording() ? lane->dir->tail : lane->fed;

	if (is_checking() && lane->fed < tail)
		tail = lane->fed;
	if (tail == lane->free_tail)
		return;
	if (!is_recording())
		lane->dir->tail = tail;
	__atomic_store_n(&lane->free_tail, tail, __ATOMIC_RELEASE); /* partner: make_room */
	/* A full barrier between the two. Partner: the store of is_waiting before the look at
	 * free_tail in am_drain_wait_space. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&lane->is_waiting, __ATOMIC_ACQUIRE) ||
	    tail < __atomic_load_n(&lane->wake_at, __ATOMIC_RELAXED))
		return; /* nobody, or too early to be of use */
	if (__atomic_exchange_n(&lane->is_waiting, 0, __ATOMIC_SEQ_CST))
		futex(&lane->is_waiting, FUTEX_WAKE, 1, NULL);
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
	if (is_checking())
		moved += feed(&am_sink_check, lane, &lane->fed, 1, slice);
	if (is_recording()) {
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
static uint64_t pass(bool is_flush)
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
	if (is_checking())
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

static bool has_waiting(void)
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

static void mend_rings(void)
{
	const uint32_t n = am_lane_count();

	for (uint32_t i = 0; i < n; i++)
		if (__atomic_load_n(&am_lanes[i]->dir->state, __ATOMIC_ACQUIRE) == AM_RING_LIVE)
			mend_ring(am_lanes[i]);
}

/* Threads run on meanwhile. What the first pass found rests on what was in the rings when it ended, so that the second
 * has it; what only the second finds may rest on what nobody reads any more, and is marked. */
static void flush(void)
{
	const uint32_t wanted_close = __atomic_load_n(&close_wanted, __ATOMIC_RELAXED);

	pass(true);
	if (wanted_close) {
		mend_rings();
		if (wanted_close & AM_CLOSE_RECORD && is_recording())
			am_sink_record_leaving();
		pass(true);
	}
	AM_TEST_POINT("drain: flushed, about to close");
	const uint32_t close = __atomic_exchange_n(&close_wanted, 0, __ATOMIC_ACQUIRE);
	if (close & AM_CLOSE_CHECK)
		is_over = true;
	if (close & AM_CLOSE_RECORD && is_recording())
		am_sink_record.close();
	if (close & AM_CLOSE_CHECK && is_checking())
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
	if (!is_checking()) {
		wait_ns(&wanted, 0, UINT64_C(3600) * 1000000000);
		return;
	}
	if (idle < IDLE_PASSES || is_watching || !has_membarrier) {
		wait_ns(&wanted, 0, (idle < IDLE_PASSES ? look_us : WATCH_US) * 1000);
		return;
	}
	/* Deep sleep. After the barrier every producer either sees the flag or has its record seen
	 * by the look below. Partner: the load of am_after behind the record in log.h. */
	__atomic_store_n(&am_after.drain_asleep, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	const bool is_quiet = pass(false) == 0;
	AM_TEST_POINT("drain: about to sleep for good");
	if (is_quiet)
		wait_ns(&wanted, 0, UINT64_C(3600) * 1000000000);
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
	uint64_t reaped = now_ms(), moved_at = reaped;

	(void)unused;
	am_tls.owned = 1;
	drain_tid = gettid();
	prctl(PR_SET_NAME, "atommon");
	leave_descriptors();
	if (is_checking())
		has_membarrier =
			syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
	for (unsigned i = 0; !take_role(); i++)
		am_backoff(i);
	for (;;) {
		const uint32_t asked = __atomic_load_n(&flush_wanted, __ATOMIC_ACQUIRE);
		const bool is_flush = asked != flush_done;
		uint64_t moved = 0;
		if (is_flush)
			flush();
		else
			moved = pass(false);
		if (is_flush) {
			__atomic_store_n(&flush_done, asked, __ATOMIC_RELEASE);
			futex(&flush_done, FUTEX_WAKE, INT_MAX, NULL);
		}
		if (__atomic_load_n(&running, __ATOMIC_ACQUIRE) == STOPPED)
			break;
		if (now_ms() - reaped > 1000) {
			am_lane_reap();
			reaped = now_ms();
		}
		/* Producers wait and nothing moves: a number was taken and never logged. */
		if (moved)
			moved_at = now_ms();
		else if (is_checking() && now_ms() - moved_at > UNBLOCK_MS && has_waiting())
			am_sink_check.unblock();
		idle = moved ? 0 : idle + 1;
		look_us = next_look(look_us, moved);
		sleep_on(idle, look_us, is_checking() && am_sink_check.watch(now_ms()));
	}
	drop_role();
	return NULL;
}

void am_drain_start(void)
{
	uint32_t expected = NOT_RUNNING;
	pthread_attr_t attr;
	sigset_t all, old;
	const int saved = errno;

	if (am_likely(__atomic_load_n(&running, __ATOMIC_RELAXED) != NOT_RUNNING) ||
	    !__atomic_compare_exchange_n(&running, &expected, RUNNING, false, __ATOMIC_ACQ_REL,
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
		__atomic_store_n(&running, NOT_RUNNING, __ATOMIC_RELEASE); /* threads drain themselves */
	pthread_attr_destroy(&attr);
	am_tls.inside--;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = saved;
}

/* ---- producers ------------------------------------------------------------------------------- */

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
	if (take_role()) {
		am_tls.inside++;
		pass(true);
		am_tls.inside--;
		drop_role();
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static bool wait_space(struct am_lane *lane, uint64_t need)
{
	/* Once it waits, a good while: a wait costs as much as hundreds of records, so the fewer the
	 * better; the quarter that is left keeps the consumer busy until we are back. */
	if (need < (lane->mask + 1) / 4 * 3)
		need = (lane->mask + 1) / 4 * 3;
	const uint64_t asked = now_ms();
	uint64_t since = asked;
	uint32_t seen = __atomic_load_n(&progress, __ATOMIC_RELAXED);
	uint64_t stuck_at = UINT64_MAX; /* free_tail when it was last found not to move */

	for (unsigned round = 0; !has_space(lane, need); round++) {
		if (am_state() < AM_IDLE)
			return false;
		if (__atomic_load_n(&running, __ATOMIC_ACQUIRE) != RUNNING) {
			drain_here();
			if (has_space(lane, need))
				return true;
			if (round > 0 && am_log_mend(lane) == AM_TORN_BELOW)
				return false;
			if (round > 2 && !take_role())
				return false; /* we are inside the drain, in a signal handler */
			else if (round > 2)
				drop_role();
			am_backoff(round);
		} else {
			const uint64_t tail = __atomic_load_n(&lane->free_tail, __ATOMIC_RELAXED);
			__atomic_store_n(&lane->wake_at, am_tls.head + need - (lane->mask + 1),
					 __ATOMIC_RELAXED);
			__atomic_store_n(&lane->is_waiting, 1, __ATOMIC_SEQ_CST);
			am_drain_wake();
			AM_TEST_POINT("producer: about to wait for space");
			if (!has_space(lane, need))
				wait_ns(&lane->is_waiting, 1, 20 * UINT64_C(1000000));
			if (tail != stuck_at && now_ms() - asked > STUCK_MS &&
			    tail == __atomic_load_n(&lane->free_tail, __ATOMIC_RELAXED)) {
				stuck_at = tail;
				if (am_log_mend(lane) == AM_TORN_BELOW)
					return false;
			}
		}
		const uint32_t now = __atomic_load_n(&progress, __ATOMIC_RELAXED);
		if (now != seen) {
			seen = now;
			since = now_ms();
		} else if (now_ms() - since > PATIENCE_MS) {
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
	if (__atomic_load_n(&running, __ATOMIC_RELAXED) != RUNNING)
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

/* Changes as long as the consumer does anything at all. */
static uint32_t life(void)
{
	return __atomic_load_n(&progress, __ATOMIC_RELAXED) + __atomic_load_n(&signs, __ATOMIC_RELAXED);
}

bool am_drain_finish(uint32_t close)
{
	if (close & AM_CLOSE_CHECK && is_checking())
		am_live_leaving();
	__atomic_store_n(&close_wanted, close, __ATOMIC_RELEASE);
	if (__atomic_load_n(&running, __ATOMIC_ACQUIRE) != RUNNING || am_tls.owned) {
		const uint64_t start = now_ms();
		for (unsigned i = 0; !am_tls.owned && !take_role(); i++) {
			if (now_ms() - start > FINISH_MS)
				return false;
			am_backoff(i);
		}
		am_tls.inside++;
		flush();
		am_tls.inside--;
		if (!am_tls.owned)
			drop_role();
		return true;
	}
	const uint32_t mine = __atomic_add_fetch(&flush_wanted, 1, __ATOMIC_ACQ_REL);
	uint32_t seen = life();
	uint64_t since = now_ms();
	for (;;) {
		const uint32_t done = __atomic_load_n(&flush_done, __ATOMIC_ACQUIRE);
		if ((int32_t)(done - mine) >= 0)
			return true;
		am_drain_wake();
		wait_ns(&flush_done, done, 20 * UINT64_C(1000000));
		const uint32_t now = life();
		if (now != seen)
			seen = now, since = now_ms();
		else if (now_ms() - since > FINISH_MS)
			return false;
	}
}

void am_drain_try(void)
{
	if (__atomic_load_n(&running, __ATOMIC_ACQUIRE) != RUNNING)
		drain_here();
	else
		am_drain_wake();
}

void am_drain_stop(void)
{
	uint32_t expected = RUNNING;

	if (!__atomic_compare_exchange_n(&running, &expected, STOPPED, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	am_drain_wake();
	am_tls.inside++;
	am_real.pthread_join(drain_thread, NULL);
	am_tls.inside--;
}

void am_drain_pause(void)
{
	uint32_t expected = RUNNING;

	if (am_tls.muted || am_tls.inside || am_tls.owned || am_state() < AM_IDLE || am_thread_count() != 1 ||
	    !__atomic_compare_exchange_n(&running, &expected, STOPPED, false, __ATOMIC_ACQ_REL,
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
	__atomic_store_n(&running, NOT_RUNNING, __ATOMIC_RELEASE);
	errno = saved;
}

bool am_drain_has_own_files(void)
{
	return has_own_files;
}

void am_drain_forget(void)
{
	close_wanted = 0;
	may_pump = is_over = false;
	role = running = wanted = flush_wanted = flush_done = progress = signs = am_after.drain_asleep = 0;
	since_flush = n_waits = waited_ns = 0;
}
