/*
 * Maps the ring file, or memory in its place. The file is allocated block by block before it is
 * mapped, so that a full disk is an error here and not a SIGBUS in the application later. Its
 * descriptor is kept for a program that gives up the right to open it, and is never trusted: the
 * program may have closed it and have another file there. Runs in init and, under the lane lock, when a thread begins.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/area.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/msg.h"
#include "preload/path.h"

enum { PAGE = 4096, FIRST_RINGS = 2, HUGE_PAGE = 2 << 20 };

struct am_area am_area;

static struct {
	char path[600];
	dev_t dev;
	ino_t ino;
	int fd_plus_1;		/* 0: none kept */
	size_t mapped;		/* bytes mapped at am_area.file */
	char *at, *end;		/* rest of the newest segment of rings */
	uint64_t offset;	/* of `at` in the file */
	size_t grow;		/* bytes of the next segment */
	bool has_warned;
} own;

bool am_area_take(uint64_t bytes)
{
	if (__atomic_add_fetch(&am_area.used, bytes, __ATOMIC_RELAXED) <= am_area.limit)
		return true;
	am_area_give(bytes);
	return false;
}

void am_area_give(uint64_t bytes)
{
	__atomic_sub_fetch(&am_area.used, bytes, __ATOMIC_RELAXED);
}

static void *map_memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

void *am_area_map(size_t bytes)
{
	bytes = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
	if (!am_area_take(bytes))
		return NULL;
	void *p = map_memory(bytes);
	if (!p)
		am_area_give(bytes);
	return p;
}

/* A segment of whole large pages. Starts at one, and nothing of the file's allocated part shares it. */
static bool is_large(size_t bytes)
{
	return bytes > 0 && bytes % HUGE_PAGE == 0;
}

/* Allocate [offset, offset + bytes) of the file and map it; errno says why not. */
static void *map_file(int fd, uint64_t offset, size_t bytes)
{
	struct rlimit limit;

	/* Growing beyond the limit would send the application a signal. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    offset + bytes > limit.rlim_cur) {
		errno = EFBIG;
		return NULL;
	}
	const int r = posix_fallocate(fd, (off_t)offset, (off_t)bytes);
	if (r != 0) {
		errno = r;
		return NULL;
	}
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	if (p == MAP_FAILED)
		return NULL;
	/* Tables, and rings of a program with few threads, are touched here and there: the kernel must
	 * not read around each place, up to megabytes of zeros. A segment of rings will be used as a
	 * whole: where the file system can, one fault for all of a large page instead of one for
	 * every 4 KiB. Only whole large pages: none may reach into a hole of the file, where a full
	 * disk would be a signal. Only advice: errors do not matter. */
	madvise(p, bytes, is_large(bytes) && offset ? MADV_HUGEPAGE : MADV_RANDOM);
	return p;
}

static void *create_file(size_t bytes)
{
	struct stat st;
	const int fd = open(own.path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return NULL;
	void *p = map_file(fd, 0, bytes);
	const int why = errno;
	if (!p || fstat(fd, &st) != 0) {
		if (p)
			munmap(p, bytes);
		p = NULL;
		unlink(own.path);
	} else {
		own.dev = st.st_dev;
		own.ino = st.st_ino;
		/* Kept only out of the way of the numbers that the program expects. */
		const int up = am_path_move_up(fd);
		own.fd_plus_1 = up != fd ? up + 1 : 0;
		if (up != fd) {
			errno = why;
			return p;
		}
	}
	close(fd);
	errno = why;
	return p;
}

static uint64_t lay_out(struct am_ringtable *t, uint64_t at, uint32_t capacity, uint32_t bytes)
{
	t->offset = at;
	t->capacity = capacity;
	t->entry_bytes = bytes;
	return (at + (uint64_t)capacity * bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

bool am_area_open(const char *path, uint64_t mem_max, uint32_t frames, size_t ring_bytes)
{
	/* A small ceiling gets small tables. */
	const uint32_t scale = mem_max < 64u << 20 ? 4 : 1;
	struct am_ringfile h;

	assert(!am_area.file);
	memset(&h, 0, sizeof h);
	uint64_t end = AM_RINGFILE_HEADER;
	end = lay_out(&h.rings, end, 4096 / scale, sizeof(struct am_ringdir));
	end = lay_out(&h.threads, end, 16384 / scale, sizeof(struct am_ringthread));
	end = lay_out(&h.modules, end, 512, sizeof(struct am_ringmodule));
	end = lay_out(&h.sites, end, 16384 / scale, (1 + frames) * 8);
	end = lay_out(&h.strings, end, 8192 / scale, sizeof(struct am_ringstring));
	end = lay_out(&h.bytes, end, (512u << 10) / scale, 1);
	const uint64_t tables = end;
	const size_t rings = path ? FIRST_RINGS * ring_bytes : 0;

	am_area.limit = mem_max;
	am_area.used = 0;
	if (!am_area_take(tables + rings))
		return false;
	memset(&own, 0, sizeof own);
	void *p = NULL;
	if (path) {
		am_format(own.path, sizeof own.path, "%s.ring", path);
		p = create_file(tables + rings);
		if (p) {
			own.mapped = tables + rings;
			own.at = (char *)p + tables;
			own.end = own.at + rings;
			own.offset = tables;
			own.grow = 4 * ring_bytes;
			am_area.is_in_file = true;
		} else {
			am_say("cannot make '%s': %e; events are kept in memory and lost if the "
			       "process is killed",
			       own.path, errno);
			am_area_give(rings);
		}
	}
	if (!p) {
		am_area.is_in_file = false;
		p = map_memory(tables);
		own.mapped = tables;
	}
	if (!p)
		return false;
	am_area.file = p;
	am_area.rings = (void *)((char *)p + h.rings.offset);
	am_area.threads = (void *)((char *)p + h.threads.offset);
	am_area.modules = (void *)((char *)p + h.modules.offset);
	am_area.sites = (void *)((char *)p + h.sites.offset);
	am_area.strings = (void *)((char *)p + h.strings.offset);
	am_area.bytes = (char *)p + h.bytes.offset;
	am_area.site_words = 1 + frames;
	memcpy(h.magic, AM_RINGFILE_MAGIC, sizeof h.magic);
	h.version = AM_RINGFILE_VERSION;
	h.endian = AM_RINGFILE_ENDIAN;
	h.pid = (uint32_t)getpid();
	h.state = 1;
	h.file_bytes = own.mapped;
	h.sites.count = h.strings.count = h.bytes.count = 1; /* id 0: unknown */
	am_format(h.trace, sizeof h.trace, "%s", path ? path : "");
	memcpy(p, &h, sizeof h);
	return true;
}

static bool is_ring_file(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == own.dev && st.st_ino == own.ino;
}

/* The kept descriptor, else the file opened again by its name; -1 with errno. */
static int open_again(void)
{
	if (own.fd_plus_1 && is_ring_file(own.fd_plus_1 - 1))
		return own.fd_plus_1 - 1;
	own.fd_plus_1 = 0;
	const int fd = open(own.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && !is_ring_file(fd)) {
		close(fd);
		errno = ENOENT;
		return -1;
	}
	return fd;
}

/* A further segment of the file. */
static bool grow_file(size_t bytes)
{
	uint64_t offset = am_area.file->file_bytes;
	void *p = NULL;

	if (is_large(bytes)) /* what is skipped is never mapped */
		offset = (offset + HUGE_PAGE - 1) & ~(uint64_t)(HUGE_PAGE - 1);
	if (!am_area_take(bytes))
		return false;
	const int fd = open_again();
	if (fd >= 0) {
		p = map_file(fd, offset, bytes);
		const int why = errno;
		if (fd + 1 != own.fd_plus_1)
			close(fd);
		errno = why;
	}
	if (!p) {
		am_area_give(bytes);
		if (!own.has_warned)
			am_say("cannot extend '%s': %e; events of new threads are lost if the "
			       "process is killed",
			       own.path, errno);
		own.has_warned = true;
		return false;
	}
	own.at = p;
	own.end = own.at + bytes;
	own.offset = offset;
	__atomic_store_n(&am_area.file->file_bytes, offset + bytes, __ATOMIC_RELEASE);
	if (own.grow < 32u << 20)
		own.grow *= 2;
	return true;
}

void *am_area_ring(size_t bytes, uint64_t *offset)
{
	if (am_area.is_in_file && !own.has_warned) {
		if ((size_t)(own.end - own.at) < bytes) {
			/* Smaller rings mean that memory is short: ask for less as well. */
			const size_t want = own.grow < 16 * bytes ? own.grow : 16 * bytes;
			if (!grow_file(want > bytes ? want : bytes) && !own.has_warned)
				grow_file(bytes);
		}
		if ((size_t)(own.end - own.at) >= bytes) {
			void *p = own.at;
			*offset = own.offset;
			own.at += bytes;
			own.offset += bytes;
			return p;
		}
		if (!own.has_warned)
			return NULL; /* the ceiling, not the file */
	}
	*offset = 0;
	return am_area_map(bytes);
}

void am_area_delete(void)
{
	struct stat st;

	if (!am_area.file || !am_area.is_in_file)
		return;
	am_area.file->state = 2;
	if (stat(own.path, &st) == 0 && st.st_dev == own.dev && st.st_ino == own.ino)
		unlink(own.path);
}

void am_area_wipe(void *p, size_t bytes)
{
	const uintptr_t start = (uintptr_t)p, end = start + bytes;
	const uintptr_t first = (start + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	const uintptr_t last = end & ~(uintptr_t)(PAGE - 1);

	if (first < last && madvise((void *)first, last - first, MADV_DONTNEED) == 0) {
		memset(p, 0, first - start);
		memset((void *)last, 0, end - last);
	} else {
		memset(p, 0, bytes);
	}
}

void am_area_forget(void)
{
	if (own.fd_plus_1 && is_ring_file(own.fd_plus_1 - 1))
		close(own.fd_plus_1 - 1);
	own.fd_plus_1 = 0;
	memset(&am_area, 0, sizeof am_area);
}
