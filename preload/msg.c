/*
 * One-line messages, async-signal-safe: no stdio, no malloc, errno kept. Runs anywhere.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/msg.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/log.h"

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

long am_write_stderr(const char *bytes, size_t n)
{
	const int saved = errno;
	long r;

	if (am_tls.owned) {
		/* Borrow the application's descriptor: keeping a copy would hold a pipe open. */
		const int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
		const int fd = self < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, self, 2, 0);
		r = fd < 0 ? -1 : write(fd, bytes, n);
		if (fd >= 0)
			close(fd);
		if (self >= 0)
			close(self);
	} else {
		r = write(2, bytes, n);
	}
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
