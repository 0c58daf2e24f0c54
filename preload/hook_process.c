/*
 * Hooks of process life: exec (rings into the trace first, for the memory goes; the preload and its
 * settings carried over into an environment that was made from scratch), daemon, and the ends that run no
 * destructors. Runs in application threads, also in children of vfork, whose memory is the parent's:
 * those only call through.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/export.h"
#include "preload/log.h"
#include "preload/real.h"
#include "preload/runtime.h"
#include "preload/sink.h"

/* ---- environment ----------------------------------------------------------------------------- */

static bool is_ours(const char *entry)
{
	return !strncmp(entry, "LD_PRELOAD=", 11) || !strncmp(entry, "ATOMMON_", 8);
}

/* How many of our variables does the new environment lack altogether? One that names any of them
 * was made on purpose and is left alone. */
static size_t count_missing(char *const *env)
{
	size_t n = 0;

	for (; env && *env; env++)
		if (is_ours(*env))
			return 0;
	for (char **e = environ; e && *e; e++)
		n += is_ours(*e);
	return n;
}

static size_t count(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static void extend(char **to, char *const *env)
{
	for (; env && *env; env++)
		*to++ = *env;
	for (char **e = environ; e && *e; e++)
		if (is_ours(*e))
			*to++ = *e;
	*to = NULL;
}

/* `env` with our variables, on the stack of the caller. */
#define CARRY_OVER(env)                                                                            \
	({                                                                                         \
		const size_t missing_ = count_missing(env);                                        \
		char **carried_ = (char **)(uintptr_t)(env);                                       \
		if (missing_) {                                                                    \
			carried_ = __builtin_alloca((count(env) + missing_ + 1) * sizeof(char *)); \
			extend(carried_, env);                                                     \
		}                                                                                  \
		carried_;                                                                          \
	})

/* ---- exec ------------------------------------------------------------------------------------ */

static bool is_child_of_vfork(void)
{
	return am_tls.muted;
}

static void before_exec(void)
{
	am_process_ready();
	if (!is_child_of_vfork())
		am_finish(AM_ENDING_EXEC);
}

static int after_exec(int r)
{
	if (!is_child_of_vfork())
		am_unfinish();
	return r;
}

AM_EXPORT int execve(const char *path, char *const argv[], char *const env[])
{
	before_exec();
	return after_exec(am_real.execve(path, argv, CARRY_OVER(env)));
}

AM_EXPORT int execv(const char *path, char *const argv[])
{
	before_exec();
	return after_exec(am_real.execve(path, argv, environ));
}

AM_EXPORT int execvpe(const char *file, char *const argv[], char *const env[])
{
	before_exec();
	return after_exec(am_real.execvpe(file, argv, CARRY_OVER(env)));
}

AM_EXPORT int execvp(const char *file, char *const argv[])
{
	before_exec();
	return after_exec(am_real.execvpe(file, argv, environ));
}

AM_EXPORT int fexecve(int fd, char *const argv[], char *const env[])
{
	before_exec();
	return after_exec(am_real.fexecve(fd, argv, CARRY_OVER(env)));
}

AM_EXPORT int execveat(int dir, const char *path, char *const argv[], char *const env[], int flags)
{
	before_exec();
	if (!am_real.execveat) {
		errno = ENOSYS;
		return after_exec(-1);
	}
	return after_exec(am_real.execveat(dir, path, argv, CARRY_OVER(env), flags));
}

/* The list forms: count, then fill an array on this stack. */
#define LIST(first, extra)                                                                         \
	va_list ap;                                                                                \
	size_t n = 1;                                                                              \
	va_start(ap, first);                                                                       \
	while (va_arg(ap, char *))                                                                 \
		n++;                                                                               \
	va_end(ap);                                                                                \
	char **argv = __builtin_alloca((n + 1) * sizeof *argv);                                    \
	argv[0] = (char *)(uintptr_t)(first);                                                      \
	va_start(ap, first);                                                                       \
	for (size_t i = 1; i <= n; i++)                                                            \
		argv[i] = va_arg(ap, char *);                                                      \
	extra;                                                                                     \
	va_end(ap)

AM_EXPORT int execl(const char *path, const char *arg, ...)
{
	LIST(arg, (void)0);
	return execv(path, argv);
}

AM_EXPORT int execlp(const char *file, const char *arg, ...)
{
	LIST(arg, (void)0);
	return execvp(file, argv);
}

AM_EXPORT int execle(const char *path, const char *arg, ...)
{
	char *const *env;
	LIST(arg, env = va_arg(ap, char *const *));
	return execve(path, argv, env);
}

AM_EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	am_process_ready();
	return am_real.posix_spawn(pid, path, actions, attr, argv, CARRY_OVER(env));
}

AM_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	am_process_ready();
	return am_real.posix_spawnp(pid, file, actions, attr, argv, CARRY_OVER(env));
}

/* ---- daemon: the parent leaves inside libc, by an _exit that is no call of the program's ---------- */

AM_EXPORT int daemon(int no_chdir, int no_close)
{
	before_exec();
	return after_exec(am_real.daemon(no_chdir, no_close)); /* the child, or nobody left */
}

/* ---- exits without destructors --------------------------------------------------------------- */

AM_EXPORT __attribute__((noreturn)) void _exit(int status)
{
	am_process_ready();
	am_finish(AM_ENDING_EXIT);
	if (am_sink_exit_status >= 0 && !is_child_of_vfork())
		status = am_sink_exit_status;
	am_real._exit(status);
	__builtin_unreachable();
}

AM_EXPORT __attribute__((noreturn)) void _Exit(int status)
{
	_exit(status);
}

/* ---- ends by abort: often the very damage that a violation did, so the checker gets to the end of what it knows ---- */

/* A recording needs nothing: its rings stay readable. Whoever catches SIGABRT and goes on is watched no more. */
static void before_abort(void)
{
	am_process_ready();
	if (am_opt.mode != AM_MODE_RECORD)
		am_finish(AM_ENDING_EXIT);
}

AM_EXPORT __attribute__((noreturn)) void abort(void)
{
	before_abort();
	am_real.abort();
	__builtin_unreachable();
}

/* <assert.h> declares them only while assertions are on. */
AM_EXPORT __attribute__((noreturn)) void __assert_fail(const char *, const char *, unsigned, const char *);
AM_EXPORT __attribute__((noreturn)) void __assert_perror_fail(int, const char *, unsigned, const char *);

void __assert_fail(const char *claim, const char *file, unsigned line, const char *function)
{
	before_abort();
	am_real.__assert_fail(claim, file, line, function);
	__builtin_unreachable();
}

void __assert_perror_fail(int error, const char *file, unsigned line, const char *function)
{
	before_abort();
	am_real.__assert_perror_fail(error, file, line, function);
	__builtin_unreachable();
}
