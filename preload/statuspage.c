/*
 * Telling the launcher what was seen. Runs at load and in the drain thread; no hook comes here. A
 * page that cannot be mapped is replaced by a private one: counting never fails.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/statuspage.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct am_statuspage private_page;
static struct am_statuspage *page = &private_page;

/* Maps the file if it is such a page. */
static void open_page(const char *path)
{
	const int saved = errno;
	struct stat st;

	if (!path || !*path || page != &private_page)
		goto out;
	const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		goto out;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == AM_STATUS_BYTES) {
		struct am_statuspage *p =
			mmap(NULL, AM_STATUS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (p != MAP_FAILED) {
			if (memcmp(p->magic, AM_STATUS_MAGIC, sizeof p->magic) == 0 &&
			    p->version == AM_STATUS_VERSION) {
				page = p;
				__atomic_add_fetch(&p->loaded, 1, __ATOMIC_RELAXED);
			} else
				munmap(p, AM_STATUS_BYTES);
		}
	}
	close(fd);
out:
	errno = saved;
}

/* Said by every process that has the library, whatever its settings. */
__attribute__((constructor(102))) static void announce(int argc, char **argv, char **env)
{
	(void)argc;
	(void)argv;
	for (; env && *env; env++)
		if (strncmp(*env, AM_STATUS_ENV "=", sizeof AM_STATUS_ENV) == 0)
			open_page(*env + sizeof AM_STATUS_ENV);
}

struct am_statuspage *am_statuspage(void)
{
	return page;
}

void am_statuspage_add(uint64_t *counter, uint64_t n)
{
	__atomic_add_fetch(counter, n, __ATOMIC_RELAXED);
}

/* The first process to come names its trace. */
void am_statuspage_trace(const char *path)
{
	char none = 0;
	const size_t n = strlen(path);

	if (!n || n >= sizeof page->trace ||
	    !__atomic_compare_exchange_n(&page->trace[0], &none, path[0], 0, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return;
	memcpy(page->trace + 1, path + 1, n);
}
