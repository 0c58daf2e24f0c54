/*
 * C11 threads: glibc's thrd_ functions do not pass through the pthread names. thrd_exit,
 * thrd_detach and the rest need no hook, as with pthreads (hook_thread.c). Runs in application
 * threads.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/hook.h"
#include "preload/thread.h"

/* A C11 start routine returns int, in the register where a pthread one returns a pointer. */
static int run(void *block)
{
	return (int)(intptr_t)am_start_run(block);
}

AM_EXPORT int thrd_create(thrd_t *thread, thrd_start_t start, void *arg)
{
	if (!am_watching())
		return am_real.thrd_create(thread, start, arg);
	struct am_start *s = am_start_new((void *(*)(void *))(void (*)(void))start, arg, AM_HERE);
	if (!s)
		return am_real.thrd_create(thread, start, arg);
	const uint32_t id = am_start_id(s);
	sigset_t old;
	am_start_block(s, NULL, &old);
	const int r = am_real.thrd_create(thread, run, s);
	am_start_unblock(&old);
	am_start_done(s, id, r == thrd_success ? (pthread_t)*thread : 0, r);
	return r;
}

AM_EXPORT int thrd_join(thrd_t thread, int *result)
{
	if (!am_watching())
		return am_real.thrd_join(thread, result);
	const uint32_t id = am_thread_of((pthread_t)thread);
	const int r = am_real.thrd_join(thread, result);
	if (r == thrd_success)
		am_thread_joined((pthread_t)thread, id, AM_HERE);
	return r;
}
