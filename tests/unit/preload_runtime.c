/*
 * The runtime without its hooks: rings, order, losses, signals, lanes, names, sites. Each test is a
 * process of its own and starts the runtime anew with the settings it wants.
 */
/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "preload/holes.h"
#include "preload_rig.h"

/* ---- rings and order ------------------------------------------------------------------------- */

Test(ring, one_thread_drains_itself_when_full)
{
	begin(4096, AM_OVERFLOW_BLOCK);
	lock_often((void *)50000L);
	end();
	cr_assert_eq(seen.by_kind[AM_ACQUIRE], 50000);
	cr_assert_eq(seen.by_kind[AM_RELEASE], 50000);
	cr_assert_eq(seen.lost, 0);
	cr_assert_not(seen.is_illegal);
}

Test(ring, threads_are_merged_in_an_order_that_happened)
{
	enum { THREADS = 6, N = 30000 };
	pthread_t t[THREADS];

	begin(8192, AM_OVERFLOW_BLOCK);
	for (int i = 0; i < THREADS; i++)
		t[i] = start(lock_often, (void *)(long)N);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	end();
	cr_assert_eq(seen.by_kind[AM_ACQUIRE], THREADS * N);
	cr_assert_eq(seen.by_kind[AM_THREAD_BEGIN], THREADS + 1);
	cr_assert_eq(seen.by_kind[AM_THREAD_END], THREADS);
	cr_assert_eq(seen.by_kind[AM_JOIN], THREADS);
	cr_assert_eq(seen.lost, 0);
	cr_assert_not(seen.is_illegal);
}

Test(ring, full_buffer_counts_what_it_drops)
{
	enum { N = 5000 };

	begin(4096, AM_OVERFLOW_DROP);
	lock_often((void *)(long)N);
	am_drain_try(); /* room again: the next event tells the hole first */
	hook(AM_SIGNAL, 0x1000);
	end();
	cr_assert_gt(seen.lost, 0);
	cr_assert_eq(seen.by_kind[AM_SIGNAL], 1);
	cr_assert_eq(seen.by_kind[AM_ACQUIRE] + seen.by_kind[AM_RELEASE] + seen.lost, 2 * N);
	cr_assert_eq(am_area.file->lost[AM_LOST_FULL], seen.lost);
}

Test(ring, producers_that_wait_are_counted)
{
	enum { THREADS = 4 };
	pthread_t t[THREADS];
	uint64_t ns;

	begin(4096, AM_OVERFLOW_BLOCK);
	am_drain_start();
	cr_expect_eq(am_drain_waits(&ns), 0);
	cr_expect_eq(ns, 0);
	for (int i = 0; i < THREADS; i++)
		t[i] = start(lock_often, (void *)20000L);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	end();
	cr_expect_eq(seen.lost, 0);
	cr_expect_gt(am_drain_waits(&ns), 0);
	cr_expect_gt(ns, 0);
}

/* Whatever is kept aside for analysis and for threads to come: the threads of an ordinary program get
 * rings that last for some milliseconds of millions of events a second. */
Test(ring, first_threads_get_large_ones_while_checking)
{
	enum { THREADS = 16 };
	pthread_t t[THREADS];

	cr_assert_eq(am_opt.mode, AM_MODE_CHECK);
	begin(1 << 20, AM_OVERFLOW_BLOCK);
	am_drain_start();
	pthread_mutex_lock(&lock); /* so that all are there at once */
	for (int i = 0; i < THREADS; i++)
		t[i] = start(lock_often, (void *)1L);
	while (am_lane_count() < THREADS + 1)
		sched_yield();
	for (uint32_t i = 0; i <= THREADS; i++)
		cr_expect_geq((am_lanes[i]->mask + 1) * sizeof(struct am_unit), (i < 4 ? 2u : 1u) << 18, "ring %u: %lu units", i,
			      (unsigned long)am_lanes[i]->mask + 1);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	end();
}

Test(ring, records_with_extensions_wrap)
{
	begin(4096, AM_OVERFLOW_BLOCK);
	for (unsigned i = 0; i < 20000; i++)
		am_log_wait(i & 1 ? AM_WAKE : AM_WAIT, 0, 0x10000 + 64 * (i % 7), 0x20000, AM_HERE);
	end();
	cr_assert_eq(seen.by_kind[AM_WAIT], 10000);
	cr_assert_eq(seen.by_kind[AM_WAKE], 10000);
}

Test(ring, accesses_are_split_at_lines)
{
	begin(4096, AM_OVERFLOW_BLOCK);
	am_log_access(AM_READ, 0x1000 + 60, 200, AM_HERE);
	end();
	cr_assert_eq(seen.by_kind[AM_READ], 5); /* 4 + 64 + 64 + 64 + 4 */
}

Test(ring, units_never_written_become_losses)
{
	begin(4096, AM_OVERFLOW_BLOCK);
	hook(AM_SIGNAL, 0x1000);
	const uint64_t from = am_tls.head;
	am_reserve(&am_tls, 3); /* as a thread does that dies before it writes */
	hook(AM_SIGNAL, 0x1000);
	cr_assert_eq(am_ring_repair(am_tls.lane, from, am_tls.head), 3);
	cr_assert_eq(am_ring_repair(am_tls.lane, from, am_tls.head), 0);
	end();
	cr_assert_eq(seen.by_kind[AM_SIGNAL], 2);
	cr_assert_eq(seen.lost, 3);
}

/* Taking lines out of the caches loses nothing of what stands there, nor of what is written there next. */
Test(ring, evicted_units_are_still_there)
{
	begin(4096, AM_OVERFLOW_BLOCK);
	for (unsigned i = 0; i < 200; i++)
		hook(AM_SIGNAL, 0x1000 + i);
	struct am_lane *lane = am_tls.lane;
	struct am_unit before[512];
	const size_t n = lane->mask + 1 < 512 ? lane->mask + 1 : 512;
	memcpy(before, lane->units, n * sizeof *before);
	am_ring_evict(lane, lane->mask - 7, 201); /* round the end */
	am_ring_evict(lane, am_tls.head - 1, 1);
	cr_assert_eq(memcmp(before, lane->units, n * sizeof *before), 0);
	for (unsigned i = 0; i < 300; i++)
		hook(AM_SIGNAL, 0x1000 + i);
	end();
	cr_assert_eq(seen.by_kind[AM_SIGNAL], 500);
}

/* ---- signals --------------------------------------------------------------------------------- */

static volatile uint64_t handled;

static void on_alarm(int sig)
{
	(void)sig;
	hook(AM_BROADCAST, 0x5000);
	handled++;
}

static void every_us(long us)
{
	const struct itimerval it = {{0, us}, {0, us}};
	setitimer(ITIMER_REAL, &it, NULL);
}

Test(signals, handlers_nest_and_nothing_is_lost, .timeout = 20)
{
	begin(65536, AM_OVERFLOW_BLOCK);
	signal(SIGALRM, on_alarm);
	every_us(50);
	uint64_t n = 0;
	while (handled < 2000) {
		hook(AM_SIGNAL, 0x5000); /* the same slot as the handler's */
		n++;
	}
	every_us(0);
	end();
	cr_assert_eq(seen.by_kind[AM_SIGNAL], n);
	cr_assert_eq(seen.by_kind[AM_BROADCAST], handled);
	cr_assert_eq(seen.lost, 0);
}

static sigjmp_buf back;

static void on_alarm_jump(int sig)
{
	(void)sig;
	handled++;
	siglongjmp(back, 1);
}

Test(signals, a_handler_that_jumps_out_wedges_nothing, .timeout = 60)
{
#ifdef __SANITIZE_THREAD__
	cr_skip_test("ThreadSanitizer calls handlers itself, later: they interrupt no record");
#endif
	begin(4096, AM_OVERFLOW_BLOCK);
	signal(SIGALRM, on_alarm_jump);
	while (handled < 300) {
		if (sigsetjmp(back, 1) == 0) {
			every_us(30);
			for (;;)
				hook(AM_SIGNAL, 0x6000);
		}
	}
	every_us(0);
	hook(AM_BROADCAST, 0x7000);
	end();
	cr_assert_eq(seen.by_kind[AM_BROADCAST], 1);
	cr_assert_gt(seen.by_kind[AM_SIGNAL], 0);
}

/* A mutex that the handler, too, takes if it can. */
static void on_alarm_lock(int sig)
{
	(void)sig;
	static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_t *m = handled % 2 ? &lock : &other;

	if (pthread_mutex_trylock(m) != 0)
		return;
	hook_mutex(AM_ACQUIRE, m);
	hook_mutex(AM_RELEASE, m);
	pthread_mutex_unlock(m);
	handled++;
}

Test(signals, handlers_nest_in_records_of_own_counters, .timeout = 20)
{
	begin(4096, AM_OVERFLOW_BLOCK);
	signal(SIGALRM, on_alarm_lock);
	every_us(50);
	uint64_t n = 0;
	while (handled < 2000) {
		pthread_mutex_lock(&lock);
		hook_mutex(AM_ACQUIRE, &lock);
		hook_mutex(AM_RELEASE, &lock);
		pthread_mutex_unlock(&lock);
		n++;
	}
	every_us(0);
	end();
	cr_assert_eq(seen.by_kind[AM_ACQUIRE], n + handled);
	cr_assert_eq(seen.by_kind[AM_RELEASE], n + handled);
	cr_assert_eq(seen.lost, 0);
	cr_assert_not(seen.is_illegal);
}

/* As if a handler had interrupted am_log_own after it took its place, and then logs more than the
 * ring holds: it must neither wait for the place to be filled nor fill it. */
static uint64_t place;

static void on_alarm_fill(int sig)
{
	(void)sig;
	for (int i = 0; i < 1000; i++)
		hook(AM_BROADCAST, 0x5000);
	cr_assert_not(am_ring_has(am_tls.lane, place));
	handled++;
}

Test(signals, a_handler_below_a_record_in_progress_drops_what_has_no_room, .timeout = 20)
{
	begin(4096, AM_OVERFLOW_BLOCK);
	signal(SIGALRM, on_alarm_fill);
	place = am_reserve(&am_tls, 1);
	raise(SIGALRM);
	cr_assert_eq(handled, 1);
	struct am_unit *u = &am_tls.lane->units[place & am_tls.mask];
	__atomic_store_n(&u->w0, AM_BEGIN | am_phase(&am_tls, place), __ATOMIC_RELEASE);
	for (int i = 0; i < 1000; i++)
		hook(AM_SIGNAL, 0x5000);
	end();
	cr_assert_eq(seen.by_kind[AM_BEGIN], 1);
	cr_assert_eq(seen.by_kind[AM_SIGNAL], 1000);
	cr_assert_eq(seen.by_kind[AM_BROADCAST] + seen.lost, 1000);
	cr_assert_gt(seen.lost, 0);
	cr_assert_eq(am_area.file->lost[AM_LOST_TORN], 0);
}

Test(signals, what_stands_behind_a_place_that_a_jump_left_is_there_at_the_end)
{
	begin(4096, AM_OVERFLOW_BLOCK);
	hook(AM_SIGNAL, 0x5000);
	am_reserve(&am_tls, 1);
	for (int i = 0; i < 9; i++)
		hook(AM_SIGNAL, 0x5000);
	end();
	cr_assert_eq(seen.by_kind[AM_SIGNAL], 10);
	cr_assert_eq(seen.lost, 1);
}

Test(signals, a_place_that_a_jump_left_is_mended, .timeout = 20)
{
	begin(4096, AM_OVERFLOW_BLOCK);
	am_reserve(&am_tls, 1);
	for (int i = 0; i < 1000; i++)
		hook(AM_SIGNAL, 0x5000);
	end();
	cr_assert_eq(seen.by_kind[AM_SIGNAL], 1000);
	cr_assert_eq(am_area.file->lost[AM_LOST_TORN], 1);
}

/* ---- numbers that never come ------------------------------------------------------------------ */

static bool is_enough;

static void *signal_often(void *object)
{
	while (!__atomic_load_n(&is_enough, __ATOMIC_RELAXED)) {
		hook(AM_SIGNAL, (uintptr_t)object);
		sched_yield();
	}
	return NULL;
}

static uint64_t signals_seen(void)
{
	return __atomic_load_n((volatile uint64_t *)&seen.by_kind[AM_SIGNAL], __ATOMIC_RELAXED);
}

Test(holes, a_number_that_nobody_has_is_passed_over, .timeout = 30)
{
	begin(65536, AM_OVERFLOW_BLOCK);
	const pthread_t t = start(signal_often, (void *)0x6000);
	while (signals_seen() < 100)
		sched_yield();
	am_number(0x6000); /* as one torn out of a record by a jump */
	/* More than can have been on the way when that happened. */
	const uint64_t before = signals_seen() + 100000;
	while (signals_seen() < before)
		sched_yield();
	__atomic_store_n(&is_enough, true, __ATOMIC_RELAXED);
	join(t);
	end();
	cr_assert_eq(am_area.file->lost[AM_LOST_TORN], 1);
}

Test(holes, a_number_that_a_thread_still_has_is_waited_for, .timeout = 30)
{
	begin(1 << 20, AM_OVERFLOW_BLOCK);
	const pthread_t t = start(signal_often, (void *)0x6000);
	while (signals_seen() < 100)
		sched_yield();
	const struct am_here here = AM_HERE;
	cr_assert(am_log_prepare(1, here));
	struct am_record r = {.kind = AM_BROADCAST, .has_seq = true, .has_number = true,
			      .number = am_number(0x6000), .object = 0x6000, .ordered = 0x6000};
	const uint32_t looks = __atomic_load_n(&am_holes_looks, __ATOMIC_RELAXED);
	while (__atomic_load_n(&am_holes_looks, __ATOMIC_RELAXED) - looks < 10)
		sched_yield();
	cr_assert(am_log_record(&r, here));
	__atomic_store_n(&is_enough, true, __ATOMIC_RELAXED);
	join(t);
	end();
	cr_assert_eq(am_area.file->lost[AM_LOST_TORN], 0);
	cr_assert_eq(seen.by_kind[AM_BROADCAST], 1);
}

/* ---- lanes, names, sites --------------------------------------------------------------------- */

static void *log_once(void *arg)
{
	hook(AM_SIGNAL, (uintptr_t)arg);
	return NULL;
}

Test(lanes, are_reused_and_thread_ids_are_not)
{
	begin(4096, AM_OVERFLOW_BLOCK);
	for (int i = 0; i < 300; i++)
		join(start(log_once, (void *)0x9000));
	end();
	cr_assert_eq(seen.by_kind[AM_SIGNAL], 300);
	cr_assert_eq(am_thread_new_id(), 301);
	cr_assert_lt(am_lane_count(), 200);
}

Test(names, same_text_same_id)
{
	char a[] = "region", b[] = "region";

	begin(4096, AM_OVERFLOW_BLOCK);
	const uint32_t id = am_intern(a);
	cr_assert_neq(id, 0);
	cr_assert_eq(am_intern(b), id);
	cr_assert_eq(am_intern(a), id);
	a[0] = 'l'; /* another name in the same buffer */
	cr_assert_neq(am_intern(a), id);
	cr_assert_eq(am_intern(b), id);
	cr_assert_eq(am_intern(NULL), 0);
}

static uint32_t last_site(void)
{
	return (uint32_t)(am_tls.lane->units[(am_tls.head - 1) & am_tls.mask].w1 >> 32);
}

static __attribute__((noinline)) uint32_t via(int which)
{
	hook(AM_SIGNAL, 0x1000 + (unsigned)which);
	return last_site();
}

static __attribute__((noinline)) uint32_t caller_a(int which)
{
	return via(which) + 0;
}

static __attribute__((noinline)) uint32_t caller_b(int which)
{
	const uint32_t site = via(which);
	__asm__ volatile("" ::: "memory");
	return site;
}

Test(sites, tell_callers_apart)
{
	begin(65536, AM_OVERFLOW_BLOCK);
	uint32_t a[3], b[3];
	_Pragma("GCC unroll 1") for (int i = 0; i < 3; i++) {
		a[i] = caller_a(i);
		b[i] = caller_b(i);
	}
	cr_assert_neq(a[0], 0);
	cr_assert_eq(a[0], a[1]);
	cr_assert_eq(a[1], a[2]);
	cr_assert_eq(b[0], b[1]);
	cr_assert_neq(a[0], b[0]);
	const uint64_t *frames = am_area.sites + (size_t)a[0] * am_area.site_words;
	cr_assert_eq(frames[0], am_opt.stack);
}

/* Callers are compared as one number, mixed from three: it must be the same exactly when all three are. The
 * twin compares them one by one. Return addresses of one program differ by little, and come in any order. */
Test(sites, callers_mixed_into_a_number_are_still_told_apart)
{
	enum { ROUNDS = 200000, NEAR = 1 << 20 };
	const uintptr_t module[3] = {0x401000, 0x7f1234560000, 0x7f1234560000 + NEAR};
	unsigned same = 0;

	srandom(1);
	for (unsigned i = 0; i < ROUNDS; i++) {
		uintptr_t a[3], b[3];
		for (unsigned k = 0; k < 3; k++)
			a[k] = b[k] = module[random() % 3] + (uintptr_t)(random() % NEAR);
		switch (random() % 4) {
		case 0: /* by a few bytes each, or not at all */
			for (unsigned k = 0; k < 3; k++)
				b[k] += (uintptr_t)(random() % 3 * 5) - 5;
			break;
		case 1:
			b[0] = a[random() % 3], b[1] = a[random() % 3], b[2] = a[random() % 3];
			break;
		case 2:
			for (unsigned k = 0; k < 3; k++)
				b[k] = module[random() % 3] + (uintptr_t)(random() % NEAR);
			break;
		default:
			break;
		}
		const struct am_site_cached x = {.slot = {&a[0], &a[1], &a[2]}}, y = {.slot = {&b[0], &b[1], &b[2]}};
		const bool is_same = memcmp(a, b, sizeof a) == 0;
		cr_assert_eq(am_site_callers(&x) == am_site_callers(&y), is_same, "round %u", i);
		same += is_same;
	}
	cr_expect_gt(same, ROUNDS / 8);
}

/* Depths that alternate, and calls that stand side by side, do not take one another's entry. */
Test(sites, neighbours_have_entries_of_their_own)
{
	begin(4096, AM_OVERFLOW_BLOCK);
	const uintptr_t pc = 0x401237, cfa = 0x7ffc12345670;
	const struct am_site_cached *here = am_site_entry(&am_tls, am_site_key((struct am_here){pc, cfa}));

	for (uintptr_t d = 16; d < 2048; d += 16)
		cr_assert_neq(am_site_entry(&am_tls, am_site_key((struct am_here){pc, cfa + d})), here, "depth +%lu",
			      (unsigned long)d);
	for (uintptr_t d = 5; d < 16; d++) { /* a call takes five bytes */
		cr_expect_neq(am_site_entry(&am_tls, am_site_key((struct am_here){pc + d, cfa})), here, "pc +%lu",
			      (unsigned long)d);
		cr_expect_neq(am_site_pc_entry(&am_tls, pc + d), am_site_pc_entry(&am_tls, pc), "pc +%lu",
			      (unsigned long)d);
	}
	end();
}

Test(paths, placeholders)
{
	char out[600], want[64];

	cr_assert(am_path_expand(out, sizeof out, "/x/%p-%n%%.atm", 7));
	snprintf(want, sizeof want, "/x/%d-7%%.atm", (int)getpid());
	cr_assert_str_eq(out, want);
	cr_assert(am_path_expand(out, sizeof out, "rel.atm", 0));
	cr_assert_eq(out[0], '/');
	cr_assert_not(am_path_expand(out, 20, "/a/long/path/that/does/not/fit.atm", 0));
}
