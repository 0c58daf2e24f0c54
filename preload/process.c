/*
 * What the runtime itself needs to know of process life: quick_exit, fork where the kernel cannot wipe
 * a page, and the two sides of vfork (vfork.S). Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/log.h"
#include "preload/runtime.h"

/* quick_exit runs its handlers in reverse: registered first, this one is the last. */
static void at_quick(void)
{
	am_finish(AM_ENDING_EXIT);
}

void am_process_watch_exits(void)
{
	static bool is_done;

	if (!is_done)
		is_done = at_quick_exit(at_quick) == 0;
}

bool am_process_is_filtered(void)
{
	static const char field[] = "\nSeccomp:\t";
	char text[4096];
	const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	const ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	const char *at = strstr(text, field);
	return at && at[sizeof field - 1] != '0';
}

/* ---- fork, vfork ----------------------------------------------------------------------------- */

static void in_child(void)
{
	__atomic_store_n(&am_wiped.state, AM_COLD, __ATOMIC_RELEASE);
}

bool am_process_follow_forks(void)
{
	static bool is_done;

	if (!is_done)
		is_done = pthread_atfork(NULL, NULL, in_child) == 0;
	return is_done;
}

/* vfork.S calls these around the system call: before it, and behind it in the parent. */
void am_vfork_before(void);
void am_vfork_after(void);

void am_vfork_before(void)
{
	am_watching();
	am_tls.muted++;
	am_tls.limit = 0; /* the hot path asks, and is told */
}

void am_vfork_after(void)
{
	am_tls.muted--;
}
