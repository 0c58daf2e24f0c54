/*
 * The process that knows names, atommon-symbolize: where it is, and how it is started. Drain thread only:
 * hooks never come here.
 *
 * 1. The host must not notice it: no SIGCHLD, nothing for its wait() to reap. execve resets the exit
 *    signal of a process to SIGCHLD, so the helper cannot be our child: a short-lived clone with exit
 *    signal 0 starts it and ends, and it belongs to init. A host that adopts orphans (init itself, a
 *    subreaper) goes without helper.
 * 2. The host may close all descriptors and reuse their numbers: before each use the socket is compared
 *    with what was opened.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK_BYTES = 64 * 1024, HIGH_FD = 1000, MAX_TRIES = 3 };

static struct {
	char path[1024]; /* of the helper; "" none */
	unsigned tries;	 /* helpers started */
	bool is_lost;
	int fd;
	dev_t dev; /* of the socket */
	ino_t ino;
} helper = {.fd = -1};

/* ---- where it is ----------------------------------------------------------------------------- */

/* The file this code was mapped from. /proc rather than the dynamic linker: no lock of its. */
bool am_own_path(char *out, size_t size)
{
	const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	const uintptr_t here = (uintptr_t)&am_own_path;
	char buf[4096];
	size_t n = 0;
	ssize_t got;
	bool found = false;

	if (fd < 0)
		return false;
	while (!found && (got = read(fd, buf + n, sizeof buf - 1 - n)) > 0) {
		n += (size_t)got;
		buf[n] = 0;
		char *line = buf, *eol;
		for (; !found && (eol = strchr(line, '\n')); line = eol + 1) {
			uintptr_t low = 0, high = 0, *v = &low;
			*eol = 0;
			const char *p = line;
			for (; *p && *p != ' '; p++) {
				if (*p == '-')
					v = &high;
				else
					*v = *v << 4 | (uintptr_t)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
			}
			const char *path = strchr(p, '/');
			if (here >= low && here < high && path && strlen(path) < size) {
				strcpy(out, path);
				found = true;
			}
		}
		n -= (size_t)(line - buf);
		memmove(buf, line, n);
		if (n == sizeof buf - 1)
			n = 0; /* a line longer than the buffer is not ours */
	}
	close(fd);
	return found;
}

void am_helper_init(const char *path)
{
	static const char name[] = "/bin/atommon-symbolize";
	const int saved = errno;

	helper.path[0] = 0;
	if (path) {
		if (strlen(path) < sizeof helper.path)
			strcpy(helper.path, path);
	} else if (am_own_path(helper.path, sizeof helper.path - sizeof name)) {
		/* DIR/lib/libatommon.so: DIR/bin/atommon-symbolize */
		for (int i = 0; i < 2; i++) {
			char *slash = strrchr(helper.path, '/');
			if (slash)
				*slash = 0;
		}
		strcat(helper.path, name);
	} else
		helper.path[0] = 0;
	errno = saved;
}

/* ---- starting it ----------------------------------------------------------------------------- */

struct start {
	char *argv[2], *env[4];
	int fd; /* the helper's end */
	char *stack;
};

/* Runs in the helper-to-be, on memory shared with the host: system calls only. */
static int become_helper(void *arg)
{
	struct start *s = arg;
	sigset_t none;

	sigemptyset(&none);
	for (int sig = 1; sig < 32; sig++) {
		const struct {
			void (*handler)(int);
			unsigned long flags;
			void *restorer;
			uint64_t mask;
		} usual = {SIG_DFL, 0, NULL, 0};
		syscall(SYS_rt_sigaction, sig, &usual, NULL, sizeof(uint64_t));
	}
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(uint64_t));
	syscall(SYS_setsid);
	const long null = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
	const long stays = syscall(SYS_fcntl, s->fd, F_DUPFD, 3);
	if (stays >= 0 && null >= 0 && syscall(SYS_dup2, stays, 0) == 0 &&
	    syscall(SYS_dup2, stays, 1) == 1 && syscall(SYS_dup2, null, 2) == 2) {
		syscall(SYS_close_range, 3u, ~0u, 0u);
		syscall(SYS_execve, s->argv[0], s->argv, s->env);
	}
	syscall(SYS_exit_group, 127);
	return 0;
}

/* Runs in the go-between. */
static int start_helper(void *arg)
{
	struct start *s = arg;

	/* Its own stack: the lower half of what the go-between was given. */
	clone(become_helper, s->stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, s);
	syscall(SYS_exit_group, 0);
	return 0;
}

static bool adopts_orphans(void)
{
	int is_subreaper = 0;

	return getpid() == 1 || (prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper);
}

/* Up, away from the numbers that programs expect to be free. */
static int move_high(int fd)
{
	struct rlimit lim;
	int high = HIGH_FD;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < HIGH_FD + 24)
		high = lim.rlim_cur > 64 ? (int)lim.rlim_cur - 24 : 3;
	const int moved = fcntl(fd, F_DUPFD_CLOEXEC, high);
	if (moved < 0)
		return fd;
	close(fd);
	return moved;
}

static bool start(void)
{
	struct start s = {.argv = {helper.path, NULL},
			  .env = {(char *)"PATH=/usr/bin:/bin", (char *)"LC_ALL=C.UTF-8", NULL}};
	int pair[2];
	struct stat st;

	if (!helper.path[0] || access(helper.path, X_OK) != 0 || adopts_orphans())
		return false;
	s.stack = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s.stack == MAP_FAILED)
		return false;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
		munmap(s.stack, 2 * STACK_BYTES);
		return false;
	}
	s.fd = pair[1];
	const int pid = clone(start_helper, s.stack + 2 * STACK_BYTES, CLONE_VM | CLONE_VFORK, &s);
	int status;
	while (pid > 0 && waitpid(pid, &status, __WCLONE) < 0 && errno == EINTR)
		;
	close(pair[1]);
	munmap(s.stack, 2 * STACK_BYTES);
	helper.fd = move_high(pair[0]);
	if (pid < 0 || fstat(helper.fd, &st) != 0) {
		close(helper.fd);
		helper.fd = -1;
		return false;
	}
	helper.dev = st.st_dev;
	helper.ino = st.st_ino;
	return true;
}

static bool is_ours(void)
{
	struct stat st;

	return helper.fd >= 0 && fstat(helper.fd, &st) == 0 && st.st_dev == helper.dev &&
	       st.st_ino == helper.ino;
}

int am_helper_ready(bool *is_new)
{
	*is_new = false;
	if (helper.is_lost)
		return -1;
	if (is_ours())
		return helper.fd;
	/* None yet; or closed by the host; or the consumer is another thread, with another table. */
	*is_new = true;
	helper.fd = -1;
	helper.is_lost = helper.tries++ == MAX_TRIES || !start();
	return helper.is_lost ? -1 : helper.fd;
}

bool am_helper_is_there(void)
{
	return is_ours();
}

void am_helper_stop(void)
{
	if (is_ours())
		close(helper.fd);
	helper.fd = -1;
	helper.is_lost = false;
	helper.tries = 0;
}

void am_helper_give_up(void)
{
	am_helper_stop();
	helper.is_lost = true;
}
