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

#include "preload/runtime.h"

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
__attribute__((constructor(102))) static void announce(void)
{
	am_statuspage();
}

struct am_statuspage *am_statuspage(void)
{
	static bool is_tried;

	if (!is_tried) {
		is_tried = true;
		open_page(am_first_getenv(AM_STATUS_ENV));
	}
	return page;
}

void am_statuspage_add(uint64_t *counter, uint64_t n)
{
	__atomic_add_fetch(counter, n, __ATOMIC_RELAXED);
}

/* The first process to come names its trace. */
void am_statuspage_trace(const char *path)
{
	struct am_statuspage *p = am_statuspage();
	char none = 0;
	const size_t n = strlen(path);

	if (!n || n >= sizeof p->trace ||
	    !__atomic_compare_exchange_n(&p->trace[0], &none, path[0], 0, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return;
	memcpy(p->trace + 1, path + 1, n);
}
