/*
 * analyzer/core/told.c: events told by others or afterwards come out once, as their thread's.
 */
/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "atommon/mem.h"
#include "atommon/told.h"

static struct am_mem mem;
static struct am_told *told;
static struct am_event out;

static void setup(void)
{
	am_mem_init(&mem, 1 << 20);
	told = am_told_new(&mem);
	cr_assert(told);
}

static void teardown(void)
{
	am_told_free(told);
	am_mem_destroy(&mem);
}

TestSuite(told, .init = setup, .fini = teardown);

/* What thread `by` tells of thread 1: its event `place` of `stretch`. */
static bool tell(uint32_t by, uint32_t stretch, unsigned place, enum am_kind kind)
{
	struct am_event ev = {.kind = AM_TOLD, .thread = by, .object = 0x40, .site = 7, .index = 3};

	if (by == 1) {
		ev.aux = ((uint64_t)place << 8 | kind) << 32 | stretch;
	} else {
		ev.aux = UINT64_C(1) << 32 | stretch;
		ev.value = UINT64_C(99) << 32 | place << 8 | kind;
		ev.flags = AM_HAS_VALUE;
	}
	const struct am_event *r = am_told_event(told, &ev, &out);
	return r != NULL;
}

static void own_mark(uint32_t stretch)
{
	struct am_event ev = {.kind = AM_MARK, .thread = 1, .object = AM_THREAD_OBJECT(1), .site = stretch};

	cr_assert(am_told_event(told, &ev, &out) == &ev);
}

Test(told, an_event_is_its_threads)
{
	cr_assert(tell(2, 5, 0, AM_ENTER));
	cr_assert_eq(out.thread, 1);
	cr_assert_eq(out.kind, AM_ENTER);
	cr_assert_eq(out.object, 0x40);
	cr_assert_eq(out.aux, 99);
	cr_assert_eq(out.site, 7);
	cr_assert_eq(out.index, 3);
	cr_assert_eq(out.flags, 0);
}

Test(told, a_lock_is_held_as_it_was)
{
	cr_assert(tell(2, 5, 0, AM_ACQUIRE));
	cr_assert_eq(out.mode, 99);
	cr_assert_eq(out.aux, 0);
	cr_assert(tell(1, 5, 1, AM_RELEASE));
	cr_assert_eq(out.mode, AM_EXCLUSIVE);
}

Test(told, each_comes_once)
{
	cr_assert(tell(2, 5, 0, AM_ACQUIRE));
	cr_assert_not(tell(3, 5, 0, AM_ACQUIRE));
	cr_assert(tell(3, 5, 1, AM_RELEASE));
	cr_assert(tell(3, 5, 0, AM_MARK));
	cr_assert_eq(out.aux, 5);
	cr_assert_not(tell(2, 5, 0, AM_MARK));
}

Test(told, the_thread_itself_may_have_more_to_tell)
{
	cr_assert(tell(2, 5, 0, AM_ACQUIRE));
	cr_assert(tell(2, 5, 0, AM_MARK));
	cr_assert_not(tell(1, 5, 0, AM_ACQUIRE));
	cr_assert(tell(1, 5, 1, AM_RELEASE));
	own_mark(5);
	cr_assert_not(tell(3, 5, 1, AM_RELEASE));
}

Test(told, old_news_is_none)
{
	cr_assert(tell(1, 5, 0, AM_ACQUIRE));
	own_mark(5);
	own_mark(8);
	cr_assert_not(tell(2, 5, 0, AM_ACQUIRE));
	cr_assert_not(tell(2, 5, 1, AM_RELEASE));
	cr_assert_not(tell(2, 5, 0, AM_MARK));
	cr_assert(tell(2, 9, 0, AM_ACQUIRE));
}

Test(told, a_thread_that_ended_is_forgotten)
{
	struct am_event end = {.kind = AM_THREAD_END, .thread = 1, .object = 1};

	own_mark(8);
	cr_assert(am_told_event(told, &end, &out) == &end);
	cr_assert(tell(2, 5, 0, AM_ACQUIRE));
}

/* An atomic or volatile access that waited with its region. */
Test(told, an_access_has_its_size_and_order)
{
	const uint32_t how = am_told_access(4, AM_VOLATILE, 3 | AM_ORDER_AGAIN);
	struct am_event ev = {.kind = AM_TOLD, .thread = 2, .object = 0x40, .aux = UINT64_C(1) << 32 | 5,
			      .value = (uint64_t)how << 32 | AM_READ, .flags = AM_HAS_VALUE};

	cr_assert(am_told_event(told, &ev, &out));
	cr_assert_eq(out.thread, 1);
	cr_assert_eq(out.kind, AM_READ);
	cr_assert_eq(out.object, 0x40);
	cr_assert_eq(out.size, 4);
	cr_assert_eq(out.flags, AM_VOLATILE);
	cr_assert_eq(out.order, 3 | AM_ORDER_AGAIN);
	cr_assert_eq(out.aux, 0);
	cr_assert_not(am_told_event(told, &ev, &out), "once");
}

/* One whose memory is gone leaves its place. */
Test(told, what_says_nothing_keeps_the_places)
{
	cr_assert(tell(2, 5, 0, AM_ENTER));
	cr_assert(tell(2, 5, 1, AM_FENCE));
	cr_assert(tell(2, 5, 2, AM_ACQUIRE));
}

/* Each tells its own: places of threads in turn, while more threads come and others end. */
Test(told, many_threads_in_turn_are_kept_apart)
{
	enum { THREADS = 200, ROUNDS = 20000 };
	uint32_t next[THREADS] = {0}, random = 1;

	for (int i = 0; i < ROUNDS; i++) {
		random = random * 1664525 + 1013904223;
		const uint32_t among = 1 + (uint32_t)i * THREADS / ROUNDS, id = (random >> 8) % among;
		const bool ends = random >> 28 == 0, is_next = random >> 26 & 1;
		const uint32_t place = is_next ? next[id] : next[id] + 1;
		const struct am_event end = {.kind = AM_THREAD_END, .thread = id, .object = id},
				      ev = {.kind = AM_TOLD, .thread = id, .aux = ((uint64_t)place << 8 | AM_RELEASE) << 32 | 5};
		for (unsigned again = 0; !ends && again < 2; again++)
			cr_assert_eq(am_told_event(told, &ev, &out) != NULL, is_next && !again && place < 256);
		if (ends)
			am_told_event(told, &end, &out);
		next[id] = ends ? 0 : next[id] + (is_next && place < 256);
	}
}
