/*
 * Threads: ids, handles, begin and end. fork is logged before the real create and begin first thing
 * in the child, so nobody waits for anybody. thread-end is logged by a destructor of thread-specific
 * data in its last round, so that what other destructors do comes before it. Runs in application
 * threads.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/thread.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "preload/area.h"
#include "preload/real.h"
#include "preload/runtime.h"
#include "preload/shadow.h"

enum { STARTS = 4096, HANDLES = 16384, PROBES = 64 };

/* The round of destructors that ends a thread for us: the last. (Instrumented for a test of the
 * library itself, the sanitiser's own end comes then, so one earlier.) */
#ifdef __SANITIZE_THREAD__
enum { LAST_ROUND = 1 };
#else
enum { LAST_ROUND = PTHREAD_DESTRUCTOR_ITERATIONS };
#endif

struct am_start {
	uint32_t is_used;
	uint32_t id;
	void *(*run)(void *);
	void *arg;
	bool has_mask; /* the child is to set `mask` when it has begun */
	sigset_t mask;
};

static struct am_start starts[STARTS];
static uint32_t start_hint;

/* pthread_t to thread id. Keys are never removed: libc reuses them. */
static struct {
	uint64_t handle;
	uint32_t id_plus_1;
} handles[HANDLES];

static pthread_key_t key;
static uint32_t key_state; /* 0 none, 1 there, 2 not to be had */
static uint32_t n_threads; /* of the application */

void am_thread_forget(void)
{
	am_area_wipe(starts, sizeof starts);
	am_area_wipe(handles, sizeof handles);
	n_threads = 0;
}

/* ---- end ------------------------------------------------------------------------------------- */

static void at_end(void *round)
{
	const uintptr_t n = (uintptr_t)round;

	if (n < LAST_ROUND && pthread_setspecific(key, (void *)(n + 1)) == 0)
		return;
	if (!am_watching())
		return;
	const bool is_again = am_tls.ended; /* it logged something behind its end */
	if (am_tls.lane && !is_again)
		am_log_end(am_tls.id - 1);
	am_lane_close();
	am_tls.ended = 1;
	if (!is_again && __atomic_sub_fetch(&n_threads, 1, __ATOMIC_ACQ_REL) == 0)
		am_drain_stop();
	else if (am_lane_count() > 64)
		am_drain_wake(); /* many short threads: have their lanes back soon */
}

uint32_t am_thread_count(void)
{
	return __atomic_load_n(&n_threads, __ATOMIC_ACQUIRE);
}

void am_thread_adopt(void)
{
	__atomic_add_fetch(&n_threads, 1, __ATOMIC_RELAXED);
}

void am_thread_arm(void)
{
	if (key_state == 1)
		pthread_setspecific(key, (void *)1);
}

void am_thread_begin_main(void)
{
	if (key_state == 0)
		key_state = pthread_key_create(&key, at_end) == 0 ? 1 : 2;
	am_lane_attach(AM_NO_THREAD);
}

/* ---- handles --------------------------------------------------------------------------------- */

static uint32_t *find_handle(pthread_t handle, bool is_new)
{
	uint64_t at = ((uint64_t)handle * UINT64_C(0x9e3779b97f4a7c15)) >> 40;

	for (unsigned k = 0; k < PROBES; k++, at++) {
		uint64_t seen = __atomic_load_n(&handles[at % HANDLES].handle, __ATOMIC_ACQUIRE);
		if (seen == 0 && is_new)
			__atomic_compare_exchange_n(&handles[at % HANDLES].handle, &seen,
						    (uint64_t)handle, false, __ATOMIC_ACQ_REL,
						    __ATOMIC_ACQUIRE);
		if (seen == (uint64_t)handle || (seen == 0 && is_new))
			return &handles[at % HANDLES].id_plus_1;
		if (seen == 0)
			return NULL;
	}
	return NULL;
}

static void set_handle(pthread_t handle, uint32_t id)
{
	uint32_t *p = find_handle(handle, true);

	if (p)
		__atomic_store_n(p, id + 1, __ATOMIC_RELEASE); /* partner: am_thread_of */
}

uint32_t am_thread_of(pthread_t handle)
{
	uint32_t *p = find_handle(handle, false);

	return p ? __atomic_load_n(p, __ATOMIC_ACQUIRE) - 1 : AM_NO_THREAD;
}

void am_thread_joined(pthread_t handle, uint32_t id, struct am_here here)
{
	uint32_t *p = find_handle(handle, false);
	uint32_t expected = id + 1;

	if (id == AM_NO_THREAD)
		return;
	/* Unless a new thread has the handle already. */
	if (p)
		__atomic_compare_exchange_n(p, &expected, 0, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED);
	am_log_thread(AM_JOIN, id, here);
}

void am_thread_named(pthread_t handle, const char *name)
{
	const uint32_t id =
		pthread_equal(handle, pthread_self()) ? am_thread_self() : am_thread_of(handle);

	if (id == AM_NO_THREAD || id >= am_area.file->threads.capacity)
		return;
	struct am_ringthread *row = &am_area.threads[id];
	strncpy(row->name, name, sizeof row->name - 1);
}

/* ---- begin ----------------------------------------------------------------------------------- */

struct am_start *am_start_new(void *(*run)(void *), void *arg, struct am_here here)
{
	const uint32_t parent = am_thread_self();

	for (uint32_t k = 0; k < STARTS; k++) {
		const uint32_t i = (__atomic_fetch_add(&start_hint, 1, __ATOMIC_RELAXED)) % STARTS;
		struct am_start *s = &starts[i];
		if (__atomic_exchange_n(&s->is_used, 1, __ATOMIC_ACQUIRE)) /* partner: am_start_run */
			continue;
		s->run = run;
		s->arg = arg;
		s->has_mask = false;
		s->id = am_thread_new_id();
		if (s->id < am_area.file->threads.capacity) {
			struct am_ringthread *row = &am_area.threads[s->id];
			row->parent = parent;
			row->create_site = am_tls.lane ? am_site(&am_tls, AM_FORK, here) : 0;
		}
		__atomic_add_fetch(&n_threads, 1, __ATOMIC_RELAXED);
		am_log_thread(AM_FORK, s->id, here);
		if (am_state() >= AM_ON)
			am_drain_start();
		return s;
	}
	return NULL;
}

void am_start_block(struct am_start *block, const pthread_attr_t *attr, sigset_t *old)
{
	sigset_t all, own;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, old);
	block->mask = *old;
	block->has_mask = !attr || !am_real.pthread_attr_getsigmask_np ||
			  am_real.pthread_attr_getsigmask_np(attr, &own) != 0;
}

void am_start_unblock(const sigset_t *old)
{
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

uint32_t am_start_id(const struct am_start *block)
{
	return block->id;
}

/* In a section of its own, so that its frame can be told by address. */
extern const char __start_am_start_text __attribute__((visibility("hidden")));
extern const char __stop_am_start_text __attribute__((visibility("hidden")));

bool am_start_is_at(uintptr_t pc)
{
	return pc >= (uintptr_t)&__start_am_start_text && pc < (uintptr_t)&__stop_am_start_text;
}

__attribute__((section("am_start_text"))) void *am_start_run(void *block)
{
	struct am_start *s = block, mine = *s;

	__atomic_store_n(&s->is_used, 0, __ATOMIC_RELEASE);
	if (am_watching()) {
		/* A handler may have come before us, and taken an id of its own; keep that, then. */
		if (!am_tls.id)
			am_tls.id = mine.id + 1;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		set_handle(pthread_self(), am_tls.id - 1);
		if (!am_lane_attach(am_tls.id - 1))
			am_thread_arm();
		am_view_born();
	}
	if (mine.has_mask)
		pthread_sigmask(SIG_SETMASK, &mine.mask, NULL);
	return mine.run(mine.arg);
}

void am_start_done(struct am_start *block, uint32_t id, pthread_t handle, int error)
{
	if (error) {
		__atomic_sub_fetch(&n_threads, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&block->is_used, 0, __ATOMIC_RELEASE);
		return;
	}
	/* The child notes its own handle; do it for a child that has not come so far. */
	if (id < am_area.file->threads.capacity &&
	    __atomic_load_n(&am_area.threads[id].state, __ATOMIC_ACQUIRE) == 0)
		set_handle(handle, id);
}
