/*
 * Writing reports into somebody else's world. Consumer only (and before main).
 *
 * 1. No descriptor is held open: a log file is opened for each report, standard error is the host's
 *    descriptor 2, borrowed for the moment.
 * 2. A host that closed descriptor 2 may use the number for its own data. If 2 is no longer what it
 *    was at start, a report goes there only if it still looks like a log.
 * 3. Reports of several processes do not mix: each is one writev, under a lock on the library's own
 *    file, which all of them share. The lock is a courtesy: it is waited for, but not for long.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "atommon/mem.h"
#include "preload/helper.h"
#include "preload/log.h"
#include "preload/msg.h"
#include "preload/runtime.h"
#include "preload/statuspage.h"

enum { LOCK_TRIES = 200, LOCK_WAIT_NS = 2000000, WRITE_WAIT_MS = 2000, FIRST_BYTES = 16 * 1024 };

static struct {
	enum { TO_STDERR, TO_FILE, TO_NOWHERE } to;
	char path[1024];
	struct am_style style;
	bool has_stderr;
	dev_t dev; /* of descriptor 2 at start */
	ino_t ino;
	char stderr_path[512]; /* its name, if it has one */
	struct am_mem *mem;
	char *buf;
	size_t n, cap;
	bool is_impatient; /* whoever has the lock does not give it back */
} output;

static bool is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *v = am_first_getenv(names[i]);
		if (v && *v)
			return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
	}
	return false;
}

void am_output_init(const char *log, struct am_mem *mem)
{
	const int saved = errno;
	const char *no_colour = am_first_getenv("NO_COLOR"), *term = am_first_getenv("TERM");
	struct stat st;
	struct winsize size;

	memset(&output, 0, sizeof output);
	output.mem = mem;
	output.style.ascii = !is_utf8();
	output.to = strcmp(log, "none") == 0 ? TO_NOWHERE : strcmp(log, "stderr") == 0 ? TO_STDERR : TO_FILE;
	if (output.to == TO_FILE && strlen(log) < sizeof output.path)
		strcpy(output.path, log);
	if (fstat(2, &st) == 0) {
		output.has_stderr = true;
		output.dev = st.st_dev;
		output.ino = st.st_ino;
		const ssize_t n = readlink("/proc/self/fd/2", output.stderr_path,
					   sizeof output.stderr_path - 1);
		output.stderr_path[n > 0 ? n : 0] = 0;
	}
	if (output.to == TO_STDERR && output.has_stderr && isatty(2)) {
		output.style.colour = !(no_colour && *no_colour) && term && strcmp(term, "dumb") != 0;
		if (ioctl(2, TIOCGWINSZ, &size) == 0)
			output.style.width = size.ws_col;
	}
	errno = saved;
}

struct am_style am_output_style(void)
{
	return output.style;
}

void am_output_write(void *ctx, const char *bytes, size_t n)
{
	(void)ctx;
	if (output.to == TO_NOWHERE)
		return;
	if (output.n + n > output.cap) {
		size_t cap = output.cap ? output.cap : FIRST_BYTES;
		while (cap < output.n + n)
			cap *= 2;
		char *grown = am_mem_resize(output.mem, output.buf, output.cap, cap);
		if (!grown)
			return;
		output.buf = grown;
		output.cap = cap;
	}
	memcpy(output.buf + output.n, bytes, n);
	output.n += n;
}

/* What descriptor 2 was at start, opened again: many programs close it before they end. */
static int reopen(const char *path)
{
	struct stat st;
	const int fd = *path == '/' ? open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC) : -1;

	if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_dev != output.dev || st.st_ino != output.ino)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int reopen_stderr(void)
{
	char path[64];
	const uint32_t launcher = am_statuspage()->launcher;
	int fd = output.has_stderr ? reopen(output.stderr_path) : -1;

	if (fd < 0 && output.has_stderr && launcher) {
		am_format(path, sizeof path, "/proc/%u/fd/2", (uint64_t)launcher);
		fd = reopen(path);
	}
	return fd;
}

/* A descriptor to write to, to be closed unless it is 2; -1: none. */
static int open_log(void)
{
	if (output.to == TO_FILE) {
		const int fd = open(output.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
		if (fd >= 0)
			return fd;
	}
	const int fd = am_stderr_borrow();
	if (fd >= 0 && am_stderr_is_safe(fd))
		return fd;
	if (fd >= 0 && fd != 2)
		close(fd);
	return reopen_stderr();
}

static int take_turn(void)
{
	char own[1024];
	const struct timespec pause = {0, LOCK_WAIT_NS};

	if (!am_own_path(own, sizeof own))
		return -1;
	const int fd = open(own, O_RDONLY | O_CLOEXEC), tries = output.is_impatient ? 0 : LOCK_TRIES;
	int i = 0;
	/* Waited for in vain, it is only looked at until it was free once. */
	while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && i++ < tries)
		nanosleep(&pause, NULL);
	output.is_impatient = i > tries;
	return fd;
}

/* One writev; more only if the kernel took less. A reader that does not read is not waited for. */
static void write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		struct pollfd p = {.fd = fd, .events = POLLOUT};
		const struct iovec v = {(void *)bytes, n};
		const int is_ready = poll(&p, 1, WRITE_WAIT_MS);
		if (is_ready < 0 && errno == EINTR)
			continue;
		if (is_ready <= 0)
			return;
		const ssize_t done = writev(fd, &v, 1);
		if (done < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (done <= 0)
			return;
		bytes += done;
		n -= (size_t)done;
	}
}

/* The same in an application's thread: a closed pipe must not become its signal. */
static void write_quietly(int fd, const char *bytes, size_t n)
{
	const struct timespec at_once = {0, 0};
	sigset_t pipe, old, pending;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe, &old);
	errno = 0;
	write_all(fd, bytes, n);
	if (errno == EPIPE && !sigismember(&pending, SIGPIPE))
		sigtimedwait(&pipe, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void am_output_flush(void *ctx)
{
	const int saved = errno;

	(void)ctx;
	am_drain_sign();
	if (output.n && output.to != TO_NOWHERE) {
		const int turn = take_turn(), fd = open_log();
		if (fd >= 0)
			write_quietly(fd, output.buf, output.n);
		if (fd >= 0 && fd != 2)
			close(fd);
		if (turn >= 0)
			close(turn);
	}
	output.n = 0;
	errno = saved;
}

void am_output_line(const char *text)
{
	am_output_write(NULL, "atommon: ", 9);
	am_output_write(NULL, text, strlen(text));
	am_output_write(NULL, "\n", 1);
	am_output_flush(NULL);
}
