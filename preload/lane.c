/*
 * Lanes: given to threads as they begin, taken back when they ended and were drained. Runs in
 * application threads with signals blocked (attach) and in the consumer (recycle). Nothing here is
 * on the hot path; nothing is ever unmapped, because a late hook may still look.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/lane.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/area.h"
#include "preload/backoff.h"
#include "preload/runtime.h"
#include "preload/site.h"
#include "preload/testpoint.h"

struct am_lane *am_lanes[AM_LANES_MAX];
__thread struct am_tls am_tls;

enum { LARGE_RINGS = 4, LARGE_RINGS_IN_MEMORY = 16 };

static uint32_t lane_count, next_thread, lock_word, free_hint;

uint32_t am_lane_count(void)
{
	return __atomic_load_n(&lane_count, __ATOMIC_ACQUIRE); /* partner: make() */
}

void am_lane_lock(void)
{
	/* partner: am_lane_unlock */
	for (unsigned i = 0; __atomic_exchange_n(&lock_word, 1, __ATOMIC_ACQUIRE); i++)
		am_backoff(i);
}

void am_lane_unlock(void)
{
	__atomic_store_n(&lock_word, 0, __ATOMIC_RELEASE);
}

void am_lane_forget(void)
{
	memset(am_lanes, 0, sizeof am_lanes);
	lane_count = next_thread = lock_word = free_hint = 0;
}

uint32_t am_thread_new_id(void)
{
	return __atomic_fetch_add(&next_thread, 1, __ATOMIC_RELAXED);
}

/*
 * The first rings (more where no file is behind them) are as large as asked for, later ones half: a page of the file costs
 * microseconds when it is first written. Not less: where there are more threads than cores, each lap ends in a wait
 * for the drain thread. Rings
 * shrink as memory does: an eighth of what is left, but 4 KiB at least. Kept aside from what is
 * left: the smallest ring for every lane that may still come (at most half of the ceiling), so that
 * the thousandth thread has one, too.
 */
static size_t ring_bytes(void)
{
	const uint64_t used = __atomic_load_n(&am_area.used, __ATOMIC_RELAXED);
	const size_t least = AM_RING_UNITS_MIN * sizeof(struct am_unit);
	const size_t lane_bytes = (sizeof(struct am_lane) + 4095) & ~(size_t)4095;
	uint64_t aside = (AM_LANES_MAX - lane_count) * (least + lane_bytes);
	const uint32_t large = am_opt.mode == AM_MODE_CHECK ? LARGE_RINGS_IN_MEMORY : LARGE_RINGS;
	const size_t most = am_opt.buffer / (lane_count < large ? 1 : 2);
	size_t bytes = least;

	if (aside > am_area.limit / 2)
		aside = am_area.limit / 2;
	const uint64_t rest = used + aside < am_area.limit ? am_area.limit - used - aside : 0;
	while (bytes * 2 <= most && bytes * 2 * 8 <= rest)
		bytes *= 2;
	return bytes;
}

static struct am_lane *make(void)
{
	const uint32_t i = lane_count;
	size_t bytes = ring_bytes();

	if (i >= AM_LANES_MAX || i >= am_area.file->rings.capacity)
		return NULL;
	struct am_lane *lane = am_area_map(sizeof *lane);
	if (!lane)
		return NULL;
	struct am_ringdir *dir = &am_area.rings[i];
	uint64_t offset = 0;
	lane->units = am_area_ring(bytes, &offset);
	if (!lane->units)
		return NULL;
	lane->dir = dir;
	lane->caches.units = lane->units;
	lane->mask = bytes / sizeof(struct am_unit) - 1;
	lane->index = i;
	dir->offset = offset;
	dir->n_units = (uint32_t)(lane->mask + 1);
	dir->state = AM_RING_FREE;
	am_lanes[i] = lane;
	__atomic_store_n(&am_area.file->rings.count, i + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&lane_count, i + 1, __ATOMIC_RELEASE); /* partner: am_lane_count */
	return lane;
}

static struct am_lane *find_free(void)
{
	const uint32_t n = lane_count;

	for (uint32_t k = 0; k < n; k++) {
		struct am_lane *lane = am_lanes[(free_hint + k) % n];
		/* partner: am_lane_recycle */
		if (__atomic_load_n(&lane->dir->state, __ATOMIC_ACQUIRE) == AM_RING_FREE) {
			free_hint = lane->index;
			return lane;
		}
	}
	return NULL;
}

static uintptr_t stack_top(void)
{
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	const uintptr_t tcb = (uintptr_t)__builtin_thread_pointer();

	/* The stack of a created thread ends below its control block; that of the main thread below
	 * the random bytes that the kernel put there. */
	if (getpid() != (pid_t)syscall(SYS_gettid))
		return tcb > here ? tcb : 0;
	const uintptr_t random = getauxval(AT_RANDOM);
	return random > here ? random & ~(uintptr_t)15 : 0;
}

static void enter(struct am_lane *lane, uint32_t id, uint64_t base, bool is_new)
{
	struct am_tls *t = &am_tls;
	struct am_ringdir *dir = lane->dir;

	lane->os_tid = (uint32_t)syscall(SYS_gettid);
	lane->stack_top = stack_top();
	if (is_new) {
		const uint64_t at = dir->tail;
		__atomic_store_n(&dir->state, AM_RING_SETUP, __ATOMIC_RELEASE);
		__atomic_store_n(&dir->thread, id, __ATOMIC_RELAXED); /* holes.c may look */
		dir->first = at;
		dir->base = base;
		lane->next_base = base;
		lane->fed = lane->end = lane->free_tail = at;
		memset(lane->pending, 0, sizeof lane->pending);
		lane->n_pending = lane->room = lane->torn_at = 0;
		lane->site_misses = lane->site_fills = 0;
		lane->is_pc_only = lane->depth = 0;
		lane->synced = 0;
		am_site_clear(lane);
		memset(lane->names, 0, sizeof lane->names);
		t->head = at;
		__atomic_store_n(&dir->state, AM_RING_LIVE, __ATOMIC_RELEASE); /* partner: pass.c */
	}
	if (id < am_area.file->threads.capacity) {
		struct am_ringthread *row = &am_area.threads[id];
		if (row->state == 0 && !row->create_site) /* not made by our hook */
			row->parent = AM_NO_THREAD;
		row->os_tid = lane->os_tid;
		__atomic_store_n(&row->state, 1, __ATOMIC_RELEASE);
		uint32_t n = __atomic_load_n(&am_area.file->threads.count, __ATOMIC_RELAXED);
		while (n < id + 1 && !__atomic_compare_exchange_n(&am_area.file->threads.count, &n,
								  id + 1, false, __ATOMIC_RELEASE,
								  __ATOMIC_RELAXED))
			;
	}
	t->mask = lane->mask;
	t->limit = 0;
	t->event = 0;
	t->id = id + 1;
	t->lane = lane;
	__atomic_store_n(&lane->tls, (uintptr_t)t, __ATOMIC_RELEASE); /* partner: holes.c */
}

bool am_lane_attach(uint32_t id)
{
	struct am_tls *t = &am_tls;
	const int saved = errno;
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	if (t->lane) { /* a signal handler was faster */
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		errno = saved;
		return true;
	}
	t->inside++;
	am_lane_lock();
	struct am_lane *lane = find_free();
	if (!lane && lane_count % 16 == 15) {
		/* Ended threads may only wait to be drained. */
		am_lane_unlock();
		am_drain_try();
		am_lane_lock();
		lane = find_free();
	}
	if (!lane)
		lane = make();
	if (lane)
		__atomic_store_n(&lane->dir->state, AM_RING_SETUP, __ATOMIC_RELAXED);
	am_lane_unlock();
	if (lane) {
		if (id == AM_NO_THREAD && !t->id)
			am_thread_adopt();
		if (id == AM_NO_THREAD)
			id = t->id ? t->id - 1 : am_thread_new_id();
		enter(lane, id, t->ended ? t->head : 0, true);
		am_thread_arm();
	}
	t->inside--;
	/* Before any handler can log: its first event. */
	if (lane && !t->ended)
		am_log_thread(AM_THREAD_BEGIN, id, (struct am_here){0, 0});
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = saved;
	return lane != NULL;
}

void am_lane_close(void)
{
	struct am_tls *t = &am_tls;
	struct am_lane *lane = t->lane;

	if (!lane)
		return;
	const uint64_t position = t->head - lane->dir->first + lane->dir->base;
	lane->end = t->head;
	__atomic_store_n(&lane->tls, 0, __ATOMIC_RELEASE);
	t->lane = NULL;
	t->limit = 0;
	t->event = 0;
	t->ended = 1;
	t->head = position; /* where a late event would go on */
	AM_TEST_POINT("lane: about to close");
	if (t->id && t->id - 1 < am_area.file->threads.capacity)
		__atomic_store_n(&am_area.threads[t->id - 1].state, 2, __ATOMIC_RELEASE);
	__atomic_store_n(&lane->dir->state, AM_RING_CLOSING, __ATOMIC_RELEASE); /* partner: pass.c */
}

void am_lane_recycle(struct am_lane *lane)
{
	__atomic_store_n(&lane->dir->state, AM_RING_FREE, __ATOMIC_RELEASE); /* partner: find_free */
}

void am_lane_reap(void)
{
	const uint32_t n = am_lane_count();
	const pid_t pid = getpid();

	for (uint32_t i = 0; i < n; i++) {
		struct am_lane *lane = am_lanes[i];
		if (__atomic_load_n(&lane->dir->state, __ATOMIC_ACQUIRE) != AM_RING_LIVE)
			continue;
		if (syscall(SYS_tgkill, pid, lane->os_tid, 0) == 0 || errno != ESRCH)
			continue;
		/* Its thread is gone: what it wrote ends at the first unit that is not there. */
		uint64_t end = lane->dir->tail;
		while (end - lane->dir->tail <= lane->mask && am_ring_has(lane, end))
			end++;
		lane->end = end;
		__atomic_store_n(&lane->dir->state, AM_RING_CLOSING, __ATOMIC_RELEASE);
	}
}

uint32_t am_thread_self(void)
{
	if (!am_tls.lane && !am_lane_attach(AM_NO_THREAD))
		return AM_NO_THREAD;
	return am_tls.id - 1;
}
