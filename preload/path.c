/*
 * Names of trace files. Runs in init, before there is anything to lose: plain system calls.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/path.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "atommon/trace.h"
#include "preload/msg.h"
#include "preload/runtime.h"

enum { TRIES = 10000 };

bool am_path_expand(char *out, size_t size, const char *template, unsigned sequence)
{
	char piece[256];
	size_t at = 0;

	if (template[0] != '/') {
		if (!getcwd(out, size))
			return false;
		at = strlen(out);
		if (at + 2 >= size)
			return false;
		if (out[at - 1] != '/')
			out[at++] = '/';
	}
	for (const char *p = template; *p; p++) {
		struct utsname host;
		piece[0] = *p;
		piece[1] = 0;
		if (*p == '%' && p[1]) {
			switch (*++p) {
			case 'p':
				am_format(piece, sizeof piece, "%u", (uint64_t)getpid());
				break;
			case 'e':
				am_format(piece, sizeof piece, "%s", am_program);
				break;
			case 'h':
				am_format(piece, sizeof piece, "%s",
					  uname(&host) == 0 ? host.nodename : "host");
				break;
			case 't':
				am_format(piece, sizeof piece, "%u", (uint64_t)time(NULL));
				break;
			case 'n':
				am_format(piece, sizeof piece, "%u", (uint64_t)sequence);
				break;
			default:
				piece[0] = *p;
			}
		}
		const size_t n = strlen(piece);
		if (at + n + 8 >= size) /* room for ".ring" */
			return false;
		memcpy(out + at, piece, n);
		at += n;
	}
	out[at] = 0;
	return true;
}

/* Does a process that still runs record into this file? Also this one, before an exec. */
static bool is_in_use(const char *path)
{
	struct am_atm_header h;
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return true;
	const ssize_t n = read(fd, &h, sizeof h);
	close(fd);
	if (n != sizeof h || memcmp(h.magic, AM_ATM_MAGIC, sizeof h.magic) != 0)
		return n != 0; /* not ours: keep off */
	return kill((pid_t)h.pid, 0) == 0 || errno != ESRCH;
}

int am_path_move_up(int fd)
{
	struct rlimit limit;
	rlim_t top = 1024;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < top)
		top = limit.rlim_cur;
	if (top < 64)
		return fd;
	const int up = fcntl(fd, F_DUPFD_CLOEXEC, (int)top - 24);
	if (up < 0)
		return fd;
	close(fd);
	return up;
}

int am_path_create(char *path, size_t size, const char *template, const char *taken)
{
	const bool has_sequence = strstr(template, "%n") != NULL;
	const bool has_place = has_sequence || strstr(template, "%p") || strstr(template, "%t");
	const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;

	for (unsigned i = 0; i < TRIES; i++) {
		if (!am_path_expand(path, size, template, i)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		if (i > 0 && !has_sequence) {
			/* name.atm, name-1.atm, name-2.atm ... */
			char rest[64] = "";
			char *slash = strrchr(path, '/'), *dot = strrchr(slash, '.');
			if (dot && strlen(dot) < sizeof rest) {
				strcpy(rest, dot);
				*dot = 0;
			}
			const size_t n = strlen(path);
			am_format(path + n, size - n, "-%u%s", (uint64_t)i, rest);
			if (strlen(path) + 8 >= size) {
				errno = ENAMETOOLONG;
				return -1;
			}
		}
		const bool is_taken = taken && strcmp(taken, path) == 0;
		int fd = is_taken ? -1 : open(path, flags | O_EXCL, 0600);
		if (fd < 0 && !is_taken && errno != EEXIST)
			return -1;
		if (fd < 0 && !is_taken && !has_place && !is_in_use(path))
			fd = open(path, flags | O_TRUNC, 0600);
		if (fd >= 0)
			return am_path_move_up(fd);
	}
	errno = EEXIST;
	return -1;
}
