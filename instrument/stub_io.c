/*
 * libatommon-stub.so: functions of the C library that move data between the caller's memory and a
 * file, or sort it; see stub_string.c. What came in is told when it is there, since a call may wait
 * for long, or end by cancellation; what goes out, before. Runs in application threads; must never
 * allocate, lock or keep state.
 */
/* SPDX-License-Identifier: MIT */
#undef _FORTIFY_SOURCE
#include "instrument/tell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

HELPER ssize_t came(void *to, ssize_t n)
{
	if (n > 0)
		writes(to, (size_t)n);
	return n;
}

EXPORT ssize_t __wrap_read(int fd, void *to, size_t n)
{
	return came(to, read(fd, to, n));
}

EXPORT ssize_t __wrap_pread(int fd, void *to, size_t n, off_t at)
{
	return came(to, pread(fd, to, n, at));
}

EXPORT ssize_t __wrap_pread64(int fd, void *to, size_t n, off64_t at)
{
	return came(to, pread64(fd, to, n, at));
}

/* With MSG_TRUNC the length of the message is returned, which may be more than there is room for.
 */
HELPER ssize_t received(void *to, size_t room, ssize_t n)
{
	came(to, n > 0 && (size_t)n > room ? (ssize_t)room : n);
	return n;
}

EXPORT ssize_t __wrap_recv(int fd, void *to, size_t n, int flags)
{
	return received(to, n, recv(fd, to, n, flags));
}

EXPORT ssize_t __wrap_recvfrom(int fd, void *to, size_t n, int flags, struct sockaddr *from,
			       socklen_t *length)
{
	return received(to, n, recvfrom(fd, to, n, flags, from, length));
}

EXPORT size_t __wrap_fread(void *to, size_t size, size_t n, FILE *f)
{
	const size_t got = fread(to, size, n, f);

	if (got)
		writes(to, size * got);
	return got;
}

EXPORT char *__wrap_fgets(char *to, int n, FILE *f)
{
	char *got = fgets(to, n, f);

	if (got && n > 0 && __atommon_armed)
		writes(to, strnlen(to, (size_t)n - 1) + 1);
	return got;
}

EXPORT ssize_t __wrap_write(int fd, const void *from, size_t n)
{
	reads(from, n);
	return write(fd, from, n);
}

EXPORT ssize_t __wrap_pwrite(int fd, const void *from, size_t n, off_t at)
{
	reads(from, n);
	return pwrite(fd, from, n, at);
}

EXPORT ssize_t __wrap_pwrite64(int fd, const void *from, size_t n, off64_t at)
{
	reads(from, n);
	return pwrite64(fd, from, n, at);
}

EXPORT ssize_t __wrap_send(int fd, const void *from, size_t n, int flags)
{
	reads(from, n);
	return send(fd, from, n, flags);
}

EXPORT ssize_t __wrap_sendto(int fd, const void *from, size_t n, int flags,
			     const struct sockaddr *to, socklen_t length)
{
	reads(from, n);
	return sendto(fd, from, n, flags, to, length);
}

EXPORT size_t __wrap_fwrite(const void *from, size_t size, size_t n, FILE *f)
{
	reads(from, size * n);
	return fwrite(from, size, n, f);
}

EXPORT int __wrap_fputs(const char *s, FILE *f)
{
	if (__atommon_armed)
		reads(s, strlen(s) + 1);
	return fputs(s, f);
}

EXPORT int __wrap_puts(const char *s)
{
	if (__atommon_armed)
		reads(s, strlen(s) + 1);
	return puts(s);
}

EXPORT void __wrap_qsort(void *base, size_t n, size_t size,
			 int (*compare)(const void *, const void *))
{
	reads(base, n * size);
	qsort(base, n, size, compare);
	writes(base, n * size);
}
