/*
 * The client of atommon-symbolize. Drain thread only: hooks never come here.
 *
 * 1. The host must not notice the helper: no SIGCHLD, nothing for its wait() to reap. execve resets
 *    the exit signal of a process to SIGCHLD, so the helper cannot be our child: a short-lived clone
 *    with exit signal 0 starts it and ends, and it belongs to init. A host that adopts orphans (init
 *    itself, a subreaper) goes without helper.
 * 2. The host may close all descriptors and reuse their numbers: before each use the socket is
 *    compared with what was opened.
 * 3. Absence, death or slowness of the helper costs names, never the report: every wait has a limit,
 *    after which the helper is given up for this process.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/symbolizer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "atommon/symbolize.h"

enum { FIRST_MS = 4000, NEXT_MS = 1500, STACK_BYTES = 64 * 1024, MAX_INLINED = 8, HIGH_FD = 1000,
       MAX_TRIES = 3, MEANWHILE_MS = 1 };

static struct {
	char path[1024]; /* of the helper; "" none */
	unsigned tries; /* helpers started */
	bool is_lost;
	int fd;
	dev_t dev; /* of the socket */
	ino_t ino;
	uint32_t seq;
	bool has_answered;
	void (*meanwhile)(void);
	size_t n; /* bytes in the buffer */
	char buf[2 * AM_SYMBOLIZE_LINE];
	char text[MAX_INLINED][AM_SYMBOLIZE_LINE]; /* of the last answer */
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

void am_symbolizer_meanwhile(void (*fn)(void))
{
	helper.meanwhile = fn;
}

void am_symbolizer_init(const char *path)
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

static bool ready(void)
{
	if (helper.is_lost)
		return false;
	if (is_ours())
		return true;
	/* None yet; or closed by the host; or the consumer is another thread, with another table. */
	helper.fd = -1;
	helper.n = 0;
	helper.has_answered = false;
	helper.is_lost = helper.tries++ == MAX_TRIES || !start();
	return !helper.is_lost;
}

void am_symbolizer_stop(void)
{
	if (is_ours())
		close(helper.fd);
	helper.fd = -1;
	helper.is_lost = helper.has_answered = false;
	helper.tries = 0;
	helper.n = 0;
}

static void give_up(void)
{
	am_symbolizer_stop();
	helper.is_lost = true;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static size_t put_number(char *out, uint64_t v, unsigned base)
{
	char digits[24];
	size_t i = sizeof digits;

	do {
		digits[--i] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	memcpy(out, digits + i, sizeof digits - i);
	return sizeof digits - i;
}

static bool ask(char what, const struct am_module *m, uint64_t offset)
{
	char line[AM_SYMBOLIZE_LINE];
	const size_t path = strlen(m->path);
	size_t n = put_number(line, ++helper.seq, 10);

	if (!path || path > sizeof line - 200 || strchr(m->path, '\n'))
		return false;
	line[n++] = ' ';
	line[n++] = what;
	line[n++] = ' ';
	n += put_number(line + n, offset, 16);
	line[n++] = ' ';
	for (uint32_t i = 0; i < m->build_id_len && i < AM_BUILD_ID_MAX; i++) {
		line[n++] = "0123456789abcdef"[m->build_id[i] >> 4];
		line[n++] = "0123456789abcdef"[m->build_id[i] & 15];
	}
	if (!m->build_id_len)
		line[n++] = '-';
	line[n++] = ' ';
	memcpy(line + n, m->path, path);
	n += path;
	line[n++] = '\n';
	for (size_t at = 0; at < n;) {
		const ssize_t sent = send(helper.fd, line + at, n - at, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false; /* questions are short: a full socket is a dead helper */
		at += (size_t)sent;
	}
	return true;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The next whole line, without its newline, in helper.buf; NULL at the deadline or end. The caller
 * drops it with drop_line(). */
static char *next_line(int64_t deadline)
{
	for (;;) {
		char *eol = memchr(helper.buf, '\n', helper.n);
		if (eol) {
			*eol = 0;
			return helper.buf;
		}
		if (helper.n == sizeof helper.buf)
			return NULL;
		struct pollfd p = {.fd = helper.fd, .events = POLLIN};
		if (now_ms() >= deadline || (poll(&p, 1, MEANWHILE_MS) < 0 && errno != EINTR))
			return NULL;
		if (helper.meanwhile)
			helper.meanwhile();
		const ssize_t got = recv(helper.fd, helper.buf + helper.n, sizeof helper.buf - helper.n,
					 MSG_DONTWAIT);
		if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
			return NULL;
		if (got > 0)
			helper.n += (size_t)got;
	}
}

static void drop_line(const char *line)
{
	const size_t n = strlen(line) + 1;

	assert(n <= helper.n);
	helper.n -= n;
	memmove(helper.buf, helper.buf + n, helper.n);
}

static uint64_t get_number(const char **p, unsigned base)
{
	uint64_t v = 0;

	for (;; (*p)++) {
		const char c = **p;
		const unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
				       : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
							      : 99;
		if (digit >= base)
			break;
		v = v * base + digit;
	}
	*p += **p == ' ';
	return v;
}

typedef bool answer_fn(void *ctx, char tag, const char *rest);

/* Asks and hands on the lines of the answer. False: no helper, no answer. */
static bool converse(char what, const struct am_module *m, uint64_t offset, answer_fn *take, void *ctx)
{
	const int saved = errno;
	bool done = false;

	if (!ready()) {
		errno = saved;
		return false;
	}
	const int64_t deadline = now_ms() + (helper.has_answered ? NEXT_MS : FIRST_MS);
	if (ask(what, m, offset)) {
		char *line;
		while (!done && (line = next_line(deadline))) {
			const char *p = line;
			if (get_number(&p, 10) == helper.seq) {
				done = *p == '.';
				if (!done && *p)
					take(ctx, *p, p + (p[1] == ' ' ? 2 : 1));
			}
			drop_line(line);
		}
	}
	helper.has_answered |= done;
	if (!done)
		give_up();
	errno = saved;
	return done;
}

struct frames {
	struct am_vframe *out;
	unsigned n, max;
};

static bool take_frame(void *ctx, char tag, const char *rest)
{
	struct frames *f = ctx;

	if (tag != 'f' || f->n == f->max || f->n == MAX_INLINED)
		return false;
	const uint64_t line = get_number(&rest, 10);
	char *text = helper.text[f->n];
	if (strlen(rest) >= AM_SYMBOLIZE_LINE)
		return false;
	strcpy(text, rest);
	char *tab = strchr(text, '\t');
	if (tab)
		*tab = 0;
	f->out[f->n++] = (struct am_vframe){.function = text, .file = tab ? tab + 1 : "",
					   .line = (uint32_t)line};
	return true;
}

static unsigned ask_code(void *ctx, const struct am_module *m, uint64_t offset, struct am_vframe *frames,
			 unsigned max)
{
	struct frames f = {frames, 0, max};

	(void)ctx;
	return converse('c', m, offset, take_frame, &f) ? f.n : 0;
}

static bool take_symbol(void *ctx, char tag, const char *rest)
{
	struct am_symbol *s = ctx;

	if (tag != 's')
		return false;
	s->start = get_number(&rest, 16);
	s->size = get_number(&rest, 16);
	if (!*rest || strlen(rest) >= AM_SYMBOLIZE_LINE)
		return false;
	char *text = strcpy(helper.text[0], rest), *tab = strchr(text, '\t');
	if (tab)
		*tab = 0;
	s->name = text;
	s->part = tab ? tab + 1 : NULL;
	return true;
}

static bool ask_data(void *ctx, const struct am_module *m, uint64_t offset, struct am_symbol *symbol)
{
	(void)ctx;
	*symbol = (struct am_symbol){0};
	return converse('d', m, offset, take_symbol, symbol) && symbol->name;
}

struct am_symbolizer am_symbolizer_get(void)
{
	return (struct am_symbolizer){NULL, ask_code, ask_data};
}
