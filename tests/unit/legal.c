/*
 * The judge of the stress tests is judged: streams that no run could produce must be refused.
 * Runs in the unit tests.
 */
/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "tests/legal.h"

static bool feed(const struct am_event *e, size_t n, char *why)
{
	struct legal l = {.is_strict = true};
	bool good = true;

	for (size_t i = 0; i < n && good; i++)
		good = legal_event(&l, &e[i]);
	good = good && legal_finish(&l);
	if (why)
		strcpy(why, l.why);
	legal_free(&l);
	return good;
}

#define E(t, k, o, ...)                                                                            \
	{                                                                                          \
		.thread = t, .kind = AM_##k, .object = o, __VA_ARGS__                              \
	}
#define TWO E(0, THREAD_BEGIN, 0), E(0, FORK, 1), E(1, THREAD_BEGIN, 1)
#define STREAM(...)                                                                                \
	(const struct am_event[])                                                                  \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define FEED(...)                                                                                  \
	feed(STREAM(__VA_ARGS__), sizeof(STREAM(__VA_ARGS__)) / sizeof(struct am_event), NULL)
#define LEGAL(...) cr_assert(FEED(__VA_ARGS__))
#define ILLEGAL(...) cr_assert_not(FEED(__VA_ARGS__))

Test(legal, a_mutex_has_one_holder)
{
	LEGAL(TWO, E(0, ACQUIRE, 8), E(0, RELEASE, 8), E(1, ACQUIRE, 8), E(1, RELEASE, 8));
	ILLEGAL(TWO, E(0, ACQUIRE, 8), E(1, ACQUIRE, 8));
	ILLEGAL(TWO, E(0, ACQUIRE, 8), E(0, ACQUIRE, 8));
	ILLEGAL(TWO, E(0, ACQUIRE, 8), E(1, RELEASE, 8));
	ILLEGAL(TWO, E(0, ACQUIRE, 8));
}

Test(legal, readers_share_and_writers_do_not)
{
	LEGAL(TWO, E(0, ACQUIRE, 8, .mode = 1), E(1, ACQUIRE, 8, .mode = 1),
	      E(0, RELEASE, 8, .mode = 1), E(1, RELEASE, 8, .mode = 1), E(1, ACQUIRE, 8),
	      E(1, RELEASE, 8));
	ILLEGAL(TWO, E(0, ACQUIRE, 8, .mode = 1), E(1, ACQUIRE, 8));
	ILLEGAL(TWO, E(0, ACQUIRE, 8), E(1, ACQUIRE, 8, .mode = 1));
	ILLEGAL(TWO, E(0, ACQUIRE, 8, .mode = 1), E(1, RELEASE, 8, .mode = 1));
}

Test(legal, a_wait_gives_up_its_mutex_and_a_wake_has_it_again)
{
	LEGAL(TWO, E(0, ACQUIRE, 8), E(0, WAIT, 64, .aux = 8), E(1, ACQUIRE, 8), E(1, SIGNAL, 64),
	      E(1, RELEASE, 8), E(0, WAKE, 64, .aux = 8), E(0, RELEASE, 8));
	ILLEGAL(TWO, E(0, WAIT, 64, .aux = 8));
	ILLEGAL(TWO, E(0, ACQUIRE, 8), E(0, WAIT, 64, .aux = 8), E(1, ACQUIRE, 8),
		E(0, WAKE, 64, .aux = 8));
	ILLEGAL(TWO, E(0, ACQUIRE, 8), E(0, WAIT, 64, .aux = 8), E(0, RELEASE, 8));
	LEGAL(TWO, E(0, ACQUIRE, 8), E(0, WAIT, 64), E(0, WAKE, 64), E(0, RELEASE, 8));
}

Test(legal, a_semaphore_never_falls_below_zero)
{
	LEGAL(TWO, E(0, INIT, 8, .mode = AM_OBJ_SEM, .aux = 1), E(1, TAKE, 8), E(0, POST, 8),
	      E(1, TAKE, 8));
	ILLEGAL(TWO, E(0, INIT, 8, .mode = AM_OBJ_SEM), E(1, TAKE, 8));
}

Test(legal, nobody_leaves_a_barrier_before_it_is_full)
{
	const struct am_event init = E(0, INIT, 8, .mode = AM_OBJ_BARRIER, .aux = 2);
	LEGAL(TWO, init, E(0, ARRIVE, 8), E(1, ARRIVE, 8), E(1, LEAVE, 8, .mode = 1),
	      E(1, ARRIVE, 8), E(0, LEAVE, 8), E(0, ARRIVE, 8), E(0, LEAVE, 8),
	      E(1, LEAVE, 8, .mode = 1));
	ILLEGAL(TWO, init, E(0, ARRIVE, 8), E(0, LEAVE, 8));
	ILLEGAL(TWO, init, E(0, ARRIVE, 8), E(1, ARRIVE, 8), E(1, LEAVE, 8, .mode = 1),
		E(0, LEAVE, 8, .mode = 1));
	ILLEGAL(TWO, init, E(0, ARRIVE, 8), E(1, ARRIVE, 8), E(1, LEAVE, 8), E(0, LEAVE, 8));
	ILLEGAL(TWO, init, E(0, ARRIVE, 8));
}

Test(legal, a_once_routine_runs_once_unless_it_was_abandoned)
{
	LEGAL(TWO, E(0, ONCE_BEGIN, 8), E(0, ONCE_END, 8), E(1, ONCE_END, 8));
	LEGAL(TWO, E(0, ONCE_BEGIN, 8), E(0, ONCE_END, 8, .mode = AM_ONCE_ABANDONED),
	      E(1, ONCE_BEGIN, 8), E(1, ONCE_END, 8));
	ILLEGAL(TWO, E(0, ONCE_BEGIN, 8), E(0, ONCE_END, 8), E(1, ONCE_BEGIN, 8));
	ILLEGAL(TWO, E(0, ONCE_BEGIN, 8), E(1, ONCE_END, 8));
}

Test(legal, threads_live_between_fork_and_join)
{
	LEGAL(TWO, E(1, THREAD_END, 1), E(0, JOIN, 1));
	ILLEGAL(E(0, THREAD_BEGIN, 0), E(1, THREAD_BEGIN, 1));
	ILLEGAL(TWO, E(0, JOIN, 1));
	ILLEGAL(TWO, E(1, THREAD_END, 1), E(1, SIGNAL, 8));
	ILLEGAL(E(0, THREAD_BEGIN, 0), E(0, FORK, 1), E(1, SIGNAL, 8));
	ILLEGAL(TWO, E(0, FORK, 1));
}

Test(legal, regions_nest)
{
	LEGAL(TWO, E(0, BEGIN, 1), E(0, BEGIN, 2), E(0, END, 2), E(0, END, 1));
	ILLEGAL(TWO, E(0, END, 1));
	ILLEGAL(TWO, E(0, BEGIN, 1));
}

Test(legal, the_reason_names_event_thread_and_object)
{
	char why[400];
	const struct am_event e[] = {TWO, E(0, ACQUIRE, 0x80), E(1, ACQUIRE, 0x80, .index = 4)};
	cr_assert_not(feed(e, 5, why));
	cr_assert_str_eq(why, "event 4: T1 acquire 0x80: lock 0x80 is held by T0");
}
