/*
 * One-line messages, async-signal-safe: no stdio, no malloc, errno kept. Runs anywhere.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/msg.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/log.h"
#include "preload/runtime.h"

enum { WAIT_MS = 200 };

static size_t put(char *out, size_t at, size_t size, const char *text)
{
	while (*text && at + 1 < size)
		out[at++] = *text++;
	return at;
}

static size_t put_number(char *out, size_t at, size_t size, uint64_t v)
{
	char digits[24];
	size_t n = sizeof digits - 1;

	digits[n] = 0;
	do
		digits[--n] = (char)('0' + v % 10);
	while (v /= 10);
	return put(out, at, size, digits + n);
}

static size_t format_list(char *out, size_t size, const char *format, va_list ap)
{
	size_t at = 0;

	for (; *format && at + 1 < size; format++) {
		if (*format != '%') {
			out[at++] = *format;
			continue;
		}
		switch (*++format) {
		case 's': {
			const char *s = va_arg(ap, const char *);
			at = put(out, at, size, s ? s : "(null)");
			break;
		}
		case 'u':
			at = put_number(out, at, size, va_arg(ap, uint64_t));
			break;
		case 'e': {
			const char *name = strerrordesc_np(va_arg(ap, int));
			at = put(out, at, size, name ? name : "unknown error");
			break;
		}
		default:
			out[at++] = *format;
		}
	}
	out[at] = 0;
	return at;
}

size_t am_format(char *out, size_t size, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	const size_t n = format_list(out, size, format, ap);
	va_end(ap);
	return n;
}

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

static struct {
	bool is_there;
	dev_t dev;
	ino_t ino;
} at_start; /* descriptor 2 */

void am_msg_init(void)
{
	struct stat st;

	at_start.is_there = fstat(2, &st) == 0;
	if (at_start.is_there) {
		at_start.dev = st.st_dev;
		at_start.ino = st.st_ino;
	}
}

bool am_stderr_is_safe(int fd)
{
	struct stat st;

	if (!at_start.is_there || fstat(fd, &st) != 0)
		return false;
	if (st.st_dev == at_start.dev && st.st_ino == at_start.ino)
		return true;
	const int flags = fcntl(fd, F_GETFL);
	return S_ISCHR(st.st_mode) ||
	       (S_ISREG(st.st_mode) && flags >= 0 && flags & O_APPEND && (flags & O_ACCMODE) == O_WRONLY);
}

int am_stderr_borrow(void)
{
	if (!am_tls.owned || !am_drain_has_own_files())
		return 2;
	/* The drain thread has a table of its own; keeping a copy would hold a pipe open. */
	const int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	const int fd = self < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, self, 2, 0);
	if (self >= 0)
		close(self);
	return fd;
}

/* Nobody who does not read is waited for, and a closed pipe does not become the application's signal. */
static long write_quietly(int fd, const char *bytes, size_t n)
{
	const struct timespec at_once = {0, 0};
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	sigset_t pipe, old, pending;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe, &old);
	const long r = poll(&p, 1, WAIT_MS) > 0 ? write(fd, bytes, n) : -1;
	if (r < 0 && errno == EPIPE && !sigismember(&pending, SIGPIPE))
		sigtimedwait(&pipe, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

long am_write_stderr(const char *bytes, size_t n)
{
	const int saved = errno;
	const int fd = am_stderr_borrow();
	const long r = fd >= 0 && am_stderr_is_safe(fd) ? write_quietly(fd, bytes, n) : -1;

	if (fd >= 0 && fd != 2)
		close(fd);
	errno = saved;
	return r;
}

void am_say(const char *format, ...)
{
	char line[700] = "atommon: ";
	const size_t prefix = 9;
	va_list ap;

	va_start(ap, format);
	size_t n = prefix + format_list(line + prefix, sizeof line - prefix - 1, format, ap);
	va_end(ap);
	line[n++] = '\n';
	am_write_stderr(line, n);
}
