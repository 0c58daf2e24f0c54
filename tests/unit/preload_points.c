/*
 * Races of the runtime, forced: threads are held at its named test points (preload/testpoint.h) until the other side has
 * done what it could have done there.
 */
/* SPDX-License-Identifier: MIT */
#include <semaphore.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/testpoint.h"
#include "preload_rig.h"

/* One thread at a time is held: the `skip`th after the next that comes to the place. */
static struct {
	const char *name; /* NULL: nobody */
	int skip;
	sem_t is_there, go_on;
} hold;

static void at_point(const char *name)
{
	const char *wanted = __atomic_load_n(&hold.name, __ATOMIC_ACQUIRE);

	if (!wanted || strcmp(name, wanted) != 0 || hold.skip-- > 0)
		return;
	__atomic_store_n(&hold.name, NULL, __ATOMIC_RELEASE);
	sem_post(&hold.is_there);
	while (sem_wait(&hold.go_on) != 0)
		;
}

static void hold_next(const char *name, int skip)
{
	hold.skip = skip;
	__atomic_store_n(&hold.name, name, __ATOMIC_RELEASE);
}

static void await(sem_t *s)
{
	while (sem_wait(s) != 0)
		;
}

static void begin_held(size_t buffer)
{
	begin(buffer, AM_OVERFLOW_BLOCK);
	sem_init(&hold.is_there, 0, 0);
	sem_init(&hold.go_on, 0, 0);
	__atomic_store_n(&am_test_point, at_point, __ATOMIC_RELEASE);
}

/* A thread that logs, says so, and ends when told. */
static sem_t has_logged, may_end;

static void *log_and_wait(void *n)
{
	lock_often(n);
	sem_post(&has_logged);
	await(&may_end);
	lock_often(n);
	return NULL;
}

static pthread_t start_waiting(long n)
{
	sem_init(&has_logged, 0, 0);
	sem_init(&may_end, 0, 0);
	const pthread_t t = start(log_and_wait, (void *)n);
	await(&has_logged);
	return t;
}

Test(points, a_thread_ends_while_its_ring_is_being_read, .timeout = 60)
{
	begin_held(4096);
	const pthread_t t = start_waiting(10);
	/* The drain thread has read that the ring of the second lane lives on... */
	hold_next("drain: about to sleep", 0);
	am_drain_wake();
	await(&hold.is_there);
	hold_next("drain: state of a lane read", 1);
	am_drain_wake();
	sem_post(&hold.go_on);
	await(&hold.is_there);
	/* ... and now it does not. */
	sem_post(&may_end);
	join(t);
	sem_post(&hold.go_on);
	join(start(lock_often, (void *)10L));
	end();
	cr_assert_eq(seen.by_kind[AM_ACQUIRE], 30);
	cr_assert_eq(seen.by_kind[AM_THREAD_BEGIN], 3);
	cr_assert_eq(seen.by_kind[AM_THREAD_END], 2);
	cr_assert_eq(seen.lost, 0);
	cr_assert_not(seen.is_illegal);
	cr_assert_leq(am_lane_count(), 3);
}

Test(points, an_event_comes_between_the_last_look_and_the_sleep, .timeout = 60)
{
	begin_held(4096);
	const pthread_t t = start_waiting(1);
	for (int i = 0; i < 3; i++) {
		const uint64_t before = __atomic_load_n(&seen.n, __ATOMIC_RELAXED);
		hold_next(i ? "drain: about to sleep for good" : "drain: about to sleep", 0);
		am_drain_wake();
		await(&hold.is_there);
		hook(AM_SIGNAL, 0x1000);
		sem_post(&hold.go_on);
		/* Nobody asks for it: it must be found all the same. */
		while (__atomic_load_n(&seen.n, __ATOMIC_RELAXED) <= before)
			sched_yield();
	}
	sem_post(&may_end);
	join(t);
	end();
	cr_assert_eq(seen.by_kind[AM_SIGNAL], 3);
}

static void *fill(void *n)
{
	for (long i = 0; i < (long)n; i++)
		hook(AM_SIGNAL, 0x1000);
	return NULL;
}

Test(points, the_process_ends_while_a_thread_waits_for_space, .timeout = 60)
{
	enum { N = 5000 };

	begin_held(4096);
	hold_next("producer: about to wait for space", 0);
	const pthread_t t = start(fill, (void *)(long)N);
	await(&hold.is_there);
	/* The end comes first, whole; then the thread goes to its wait. */
	am_finish(AM_ENDING_EXIT);
	cr_assert_eq(am_state(), AM_PASS);
	sem_post(&hold.go_on);
	pthread_join(t, NULL);
	am_drain_stop();
	cr_assert_gt(seen.by_kind[AM_SIGNAL], 0);
	cr_assert_lt(seen.by_kind[AM_SIGNAL], N);
	cr_assert_not(seen.is_illegal);
}

static void child(void)
{
	memset(&seen, 0, sizeof seen);
	am_test_point = NULL;
	am_wiped.state = AM_COLD; /* the kernel does so where the page is its own */
	if (!am_watching())
		_exit(2);
	am_arm();
	lock_often((void *)5000L);
	join(start(lock_often, (void *)5000L));
	if (!am_drain_finish(AM_CLOSE_CHECK))
		_exit(3);
	_exit(seen.by_kind[AM_ACQUIRE] == 10000 && seen.lost == 0 && !seen.is_illegal ? 0 : 4);
}

Test(points, a_fork_comes_while_the_rings_are_being_read, .timeout = 60)
{
	static const char *const places[] = {"drain: state of a lane read", "drain: about to sleep",
					     "producer: about to wait for space", "lane: about to close"};

#ifdef __SANITIZE_THREAD__
	cr_skip_test("under ThreadSanitizer a child of several threads cannot have threads");
#endif
	begin_held(4096);
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		int status = -1;
		const pthread_t t = start(fill, (void *)5000L);
		hold_next(places[i], 0);
		am_drain_wake();
		const pthread_t u = start(fill, (void *)5000L);
		await(&hold.is_there);
		const pid_t pid = fork();
		if (pid == 0)
			child();
		waitpid(pid, &status, 0);
		cr_expect_eq(status, 0, "%s: status %#x", places[i], (unsigned)status);
		sem_post(&hold.go_on);
		join(t);
		join(u);
	}
	end();
	cr_assert_eq(seen.by_kind[AM_SIGNAL], 4 * 2 * 5000);
	cr_assert_eq(seen.lost, 0);
}
