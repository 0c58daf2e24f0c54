/*
 * Hooks where a process gives something up that we need: seccomp (after which any system call of ours may kill
 * it, so we end before it begins) and namespaces that only a process with one thread may enter (ours is stopped for the
 * moment). Runs in application threads; a child of vfork only calls through.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/export.h"
#include "preload/log.h"
#include "preload/msg.h"
#include "preload/real.h"
#include "preload/runtime.h"
#include "preload/thread.h"

/* syscall.S */
extern long (*am_syscall_next)(long number, ...) __attribute__((visibility("hidden")));
void am_confine_by_syscall(unsigned long operation, const void *filter);

void am_confine_ready(void)
{
	if (am_real.syscall)
		am_syscall_next = am_real.syscall;
}

static void confine(void)
{
	if (am_opt.verbose && am_state() >= AM_IDLE)
		am_say("the program confines itself by seccomp and is not watched from here on");
	am_retire();
}

/* A filter of NULL only asks whether the kernel knows filters. */
void am_confine_by_syscall(unsigned long operation, const void *filter)
{
	am_process_ready();
	if (operation == SECCOMP_SET_MODE_STRICT || (operation == SECCOMP_SET_MODE_FILTER && filter))
		confine();
}

AM_EXPORT int prctl(int option, ...)
{
	unsigned long a[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option == PR_SET_SECCOMP) {
		am_process_ready();
		if (a[0] == SECCOMP_MODE_STRICT || (a[0] == SECCOMP_MODE_FILTER && a[1]))
			confine();
	}
	if (!am_real.prctl)
		return (int)am_syscall_next(SYS_prctl, option, a[0], a[1], a[2], a[3]);
	return am_real.prctl(option, a[0], a[1], a[2], a[3]);
}

AM_EXPORT int unshare(int flags)
{
	am_process_ready();
	if (flags & (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM))
		am_drain_pause();
	return am_real.unshare ? am_real.unshare(flags) : (int)am_syscall_next(SYS_unshare, flags);
}

AM_EXPORT int setns(int fd, int type)
{
	am_process_ready();
	if (type == 0 || type & CLONE_NEWUSER)
		am_drain_pause();
	return am_real.setns ? am_real.setns(fd, type) : (int)am_syscall_next(SYS_setns, fd, type);
}
