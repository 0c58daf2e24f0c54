/* SPDX-License-Identifier: MIT */
/* What tests of the runtime share: it is started anew with the settings that a test wants, and what the live checker would get is
 * looked at. */
#ifndef ATOMMON_TESTS_PRELOAD_RIG_H
#define ATOMMON_TESTS_PRELOAD_RIG_H

#include <criterion/criterion.h>
#include <string.h>

#include "preload/area.h"
#include "preload/lane.h"
#include "preload/log.h"
#include "preload/path.h"
#include "preload/real.h"
#include "preload/runtime.h"
#include "preload/sink.h"
#include "preload/site.h"
#include "preload/thread.h"
#include "preload_stand_in.h"

/* ---- what the live checker would get --------------------------------------------------------- */

static struct {
	uint64_t n, by_kind[AM_KINDS], lost, last_index;
	uint32_t holder; /* of `lock`, thread + 1 */
	bool is_illegal;
	uint64_t values[8]; /* last value by thread: must rise */
} seen;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void am_live_event(void *ctx, const struct am_event *e)
{
	(void)ctx;
	__atomic_fetch_add(&seen.n, 1, __ATOMIC_RELAXED); /* a test may look meanwhile */
	__atomic_fetch_add(&seen.by_kind[e->kind], 1, __ATOMIC_RELAXED); /* a test looks meanwhile */
	if (e->kind == AM_LOST)
		seen.lost += e->aux ? e->aux : 1;
	if (e->object != (uintptr_t)&lock)
		return;
	if (e->kind == AM_ACQUIRE) {
		seen.is_illegal |= seen.holder != 0;
		seen.holder = e->thread + 1;
	} else if (e->kind == AM_RELEASE) {
		seen.is_illegal |= seen.holder != e->thread + 1;
		seen.holder = 0;
	}
}

static void begin(size_t buffer, uint32_t overflow)
{
	am_opt.buffer = buffer;
	am_opt.overflow = overflow;
	/* As in the child of a fork: what the constructor made is nobody's. */
	am_area_forget();
	am_lane_forget();
	am_site_forget();
	am_intern_forget();
	am_drain_forget();
	am_sink_check.forget();
	am_thread_forget();
	memset(am_slots, 0, sizeof am_slots);
	memset(am_owns, 0, sizeof am_owns);
	memset(&am_tls, 0, sizeof am_tls);
	am_wiped.state = AM_COLD;
	cr_assert(am_watching());
	am_arm();
	cr_assert(am_on());
}

static void end(void)
{
	cr_assert(am_drain_finish(AM_CLOSE_CHECK));
}

static __attribute__((noinline, unused)) void hook(enum am_kind kind, uint64_t object)
{
	am_log(kind, 0, object, AM_HERE);
}

/* What the hooks of mutexes do. */
static __attribute__((noinline)) void hook_mutex(enum am_kind kind, const pthread_mutex_t *m)
{
	am_log_held(kind, (uintptr_t)m, AM_HERE);
}

static __attribute__((unused)) void *lock_often(void *arg)
{
	for (long i = 0; i < (long)arg; i++) {
		pthread_mutex_lock(&lock);
		hook_mutex(AM_ACQUIRE, &lock);
		hook_mutex(AM_RELEASE, &lock);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static __attribute__((unused)) pthread_t start(void *(*run)(void *), void *arg)
{
	pthread_t t;
	struct am_start *s = am_start_new(run, arg, (struct am_here){0, 0});
	const uint32_t id = am_start_id(s);
	const int r = pthread_create(&t, NULL, am_start_run, s);

	am_start_done(s, id, t, r);
	cr_assert_eq(r, 0);
	return t;
}

static __attribute__((unused)) void join(pthread_t t)
{
	const uint32_t id = am_thread_of(t);

	pthread_join(t, NULL);
	am_thread_joined(t, id, (struct am_here){0, 0});
}

#endif
