/*
 * The unwinder against libunwind, its twin: the same return addresses, from ordinary frames, frames
 * with alloca, callbacks out of libc, realigned stacks, and from signal handlers.
 */
/* SPDX-License-Identifier: MIT */
#define UNW_LOCAL_ONLY
#include <criterion/criterion.h>
#include <libunwind.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "preload/lane.h"
#include "preload/log.h"
#include "preload/unwind.h"
#include "preload_stand_in.h"

enum { MAX = 16 };
static struct am_frame ours[MAX];
static void *theirs[MAX + 1];
static size_t n_ours, n_slots;
static int n_theirs;

/* As a hook: our own frames start at its return address. */
static __attribute__((noinline)) void hook(void)
{
	const struct am_here here = AM_HERE;

	n_ours = am_unwind(here.cfa, am_tls.lane->stack_top, ours, MAX);
	n_theirs = unw_backtrace(theirs, MAX + 1);
	n_slots = 0;
	for (size_t i = 0; i < n_ours; i++)
		n_slots += *(uintptr_t *)ours[i].slot == ours[i].pc;
}

/* theirs[0] is in hook itself. They go on where we stop (below a signal frame, at the stack's end). */
static void compare(size_t at_least)
{
	cr_assert_geq(n_ours, at_least, "only %zu frames", n_ours);
	for (size_t i = 0; i < n_ours && (int)i + 1 < n_theirs; i++)
		cr_assert_eq((void *)ours[i].pc, theirs[i + 1], "frame %zu: %p, not %p", i,
			     (void *)ours[i].pc, theirs[i + 1]);
	cr_assert_eq(n_slots, n_ours);
}

static __attribute__((noinline)) int deep(int n)
{
	if (n == 0) {
		hook();
		return 1;
	}
	return deep(n - 1) + n;
}

static __attribute__((noinline)) int with_alloca(size_t n)
{
	volatile char *p = __builtin_alloca(n);

	p[0] = 1;
	hook();
	return p[0];
}

static __attribute__((noinline)) int realigned(void)
{
	volatile char big[128] __attribute__((aligned(64)));

	big[0] = 1;
	hook();
	return big[0];
}

static int by_callback(const void *a, const void *b)
{
	hook();
	return *(const int *)a - *(const int *)b;
}

static void in_handler(int sig)
{
	(void)sig;
	hook();
}

static void begin(void)
{
	cr_assert(am_watching());
	cr_assert_neq(am_thread_self(), AM_NO_THREAD);
}

Test(unwind, plain_frames)
{
	begin();
	cr_assert_gt(deep(5), 0);
	compare(6);
}

Test(unwind, frames_of_variable_size)
{
	begin();
	for (size_t n = 1; n < 5000; n = n * 3 + 1) {
		cr_assert(with_alloca(n));
		compare(3);
	}
}

Test(unwind, realigned_frames)
{
	begin();
	cr_assert(realigned());
	compare(3);
}

Test(unwind, callbacks_of_libc)
{
	int values[] = {3, 1, 2};

	begin();
	qsort(values, 3, sizeof values[0], by_callback);
	compare(3);
}

Test(unwind, ends_at_a_signal_frame)
{
#ifdef __SANITIZE_THREAD__
	cr_skip_test("ThreadSanitizer calls handlers itself, later");
#endif
	begin();
	signal(SIGUSR1, in_handler);
	raise(SIGUSR1);
	compare(1);
	cr_assert_leq(n_ours, 2);
}

static void *in_thread(void *arg)
{
	(void)arg;
	if (am_lane_attach(AM_NO_THREAD))
		hook();
	return NULL;
}

Test(unwind, whole_stack_of_a_thread)
{
	pthread_t t;

#ifdef __SANITIZE_THREAD__
	cr_skip_test("libunwind's end of a thread comes after ThreadSanitizer's, and crashes");
#endif
	begin();
	cr_assert_eq(pthread_create(&t, NULL, in_thread, NULL), 0);
	pthread_join(t, NULL);
	compare(2);
}
