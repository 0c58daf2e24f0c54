/*
 * The record sink: chunks of units, per thread and unmerged, appended to the trace; tables before
 * the units that use their ids. Runs in the consumer. A full disk, ATOMMON_TRACE_MAX or an error
 * ends the recording with one message; the application goes on.
 */
/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "atommon/trace.h"
#include "preload/area.h"
#include "preload/msg.h"
#include "preload/path.h"
#include "preload/runtime.h"
#include "preload/sink.h"
#include "preload/trace_open.h"

enum { TABLE_BYTES = 64 * 1024, FOOTER_ROOM = 4096 };

static struct {
	int fd;
	dev_t dev;
	ino_t ino;
	char path[600];
	uint64_t offset, before_footer;
	uint64_t units, records, dropped;
	struct am_chunk_coder *coder;
	uint8_t *buf, *table;
	/* Tables: what the trace has. */
	uint32_t sites, site_hole, strings, string_hole, threads, thread_hole, modules_seen;
	bool is_stopped;
	bool is_closed;	  /* the footer is written: units stay in their rings */
	bool is_reopened; /* exec failed: take it off again. Set by an application's thread. */
} out = {.fd = -1};

uint32_t am_modules_changed;

static uint64_t wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* The descriptor, if it still is ours; a program may close what it does not know. */
static int trace_fd(void)
{
	struct stat st;

	if (out.fd >= 0 && fstat(out.fd, &st) == 0 && st.st_dev == out.dev && st.st_ino == out.ino)
		return out.fd;
	out.fd = open(out.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (out.fd >= 0 && (fstat(out.fd, &st) != 0 || st.st_dev != out.dev || st.st_ino != out.ino)) {
		close(out.fd);
		out.fd = -1;
		errno = ESTALE;
	}
	return out.fd;
}

static void stop(const char *why, int error)
{
	if (out.is_stopped)
		return;
	out.is_stopped = true;
	if (error)
		am_say("recording into '%s' ended: %s: %e", out.path, why, error);
	else
		am_say("recording into '%s' ended: %s", out.path, why);
}

static bool append(const uint8_t *bytes, size_t n, bool is_footer)
{
	struct rlimit limit;
	const uint64_t room = is_footer ? 0 : FOOTER_ROOM;

	if (n == 0)
		return true;
	if (!is_footer && out.offset + n + room > am_opt.trace_max) {
		stop("ATOMMON_TRACE_MAX reached", 0);
		return false;
	}
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    out.offset + n + room > limit.rlim_cur) {
		stop("file size limit", EFBIG);
		return false;
	}
	const int fd = trace_fd();
	size_t done = 0;
	while (fd >= 0 && done < n) {
		const ssize_t r = pwrite(fd, bytes + done, n - done, (off_t)(out.offset + done));
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		done += (size_t)r;
	}
	if (done < n) {
		const int why = errno;
		if (fd >= 0 && ftruncate(fd, (off_t)out.offset) != 0)
			errno = why; /* a cut chunk at the end is readable too */
		stop("cannot write", why);
		return false;
	}
	out.offset += n;
	return true;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Add an entry; a full chunk is written and the entry tried again. */
#define ADD(t, call)                                                                               \
	do {                                                                                       \
		if (!(call)) {                                                                     \
			append(out.table, am_atm_table_end(t), false);                             \
			am_atm_table_begin(t, out.table, TABLE_BYTES);                             \
			(void)!(call);                                                             \
		}                                                                                  \
	} while (0)

/* Where to go on next time: after all, or at the first entry that is not complete; if that one was
 * not complete last time either, its writer died. */
static uint32_t next_start(uint32_t first_hole, uint32_t end, uint32_t *last_hole)
{
	if (first_hole == UINT32_MAX || first_hole == *last_hole)
		return end;
	*last_hole = first_hole;
	return first_hole;
}

static void put_sites(struct am_atm_table *t)
{
	const uint32_t n = am_ringtable_used(&am_area.file->sites);
	uint32_t hole = UINT32_MAX;

	for (uint32_t id = out.sites; id < n; id++) {
		const uint64_t *e = am_area.sites + (size_t)id * am_area.site_words;
		const uint64_t frames = __atomic_load_n(e, __ATOMIC_ACQUIRE); /* partner: site.c */
		if (frames)
			ADD(t, am_atm_table_site(t, id, e + 1, (uint32_t)frames));
		else if (hole == UINT32_MAX)
			hole = id;
	}
	if (n > out.sites)
		out.sites = next_start(hole, n, &out.site_hole);
}

static void put_strings(struct am_atm_table *t)
{
	const uint32_t n = am_ringtable_used(&am_area.file->strings);
	uint32_t hole = UINT32_MAX;

	for (uint32_t id = out.strings; id < n; id++) {
		const struct am_ringstring *s = &am_area.strings[id];
		const uint32_t length = __atomic_load_n(&s->length_plus_1, __ATOMIC_ACQUIRE);
		if (length)
			ADD(t, am_atm_table_string(t, id, am_area.bytes + s->offset, length - 1));
		else if (hole == UINT32_MAX)
			hole = id;
	}
	if (n > out.strings)
		out.strings = next_start(hole, n, &out.string_hole);
}

static void put_threads(struct am_atm_table *t)
{
	const uint32_t n = am_ringtable_used(&am_area.file->threads);
	uint32_t hole = UINT32_MAX;

	for (uint32_t id = out.threads; id < n; id++) {
		const struct am_ringthread *row = &am_area.threads[id];
		if (!__atomic_load_n(&row->state, __ATOMIC_ACQUIRE)) {
			hole = hole == UINT32_MAX ? id : hole;
			continue;
		}
		char name[sizeof row->name + 1] = {0};
		memcpy(name, row->name, sizeof row->name);
		const struct am_thread thread = {id, row->parent, row->os_tid, row->create_site, name};
		ADD(t, am_atm_table_thread(t, &thread));
	}
	if (n > out.threads)
		out.threads = next_start(hole, n, &out.thread_hole);
}

static void put_modules(struct am_atm_table *t)
{
	const uint32_t n = am_ringtable_used(&am_area.file->modules);

	for (uint32_t i = 0; i < n; i++) {
		const struct am_ringmodule *row = &am_area.modules[i];
		if (!__atomic_load_n(&row->state, __ATOMIC_ACQUIRE))
			continue;
		struct am_module m = {.path = row->path, .base = row->base, .start = row->start,
				      .end = row->end, .build_id_len = row->build_id_len,
				      .unloaded = row->state == 2};
		memcpy(m.build_id, row->build_id, sizeof m.build_id);
		ADD(t, am_atm_table_module(t, i, &m));
	}
}

static void put_tables(bool is_last)
{
	struct am_atm_table t;
	const uint32_t modules = __atomic_load_n(&am_modules_changed, __ATOMIC_ACQUIRE);

	am_atm_table_begin(&t, out.table, TABLE_BYTES);
	if (modules != out.modules_seen)
		put_modules(&t);
	out.modules_seen = modules;
	if (is_last)
		out.threads = 0; /* names came later: tell all again */
	put_threads(&t);
	put_strings(&t);
	put_sites(&t);
	append(out.table, am_atm_table_end(&t), false);
}

/* ---- the sink -------------------------------------------------------------------------------- */

bool am_sink_record_has_stopped(void)
{
	return out.is_stopped;
}

int am_sink_record_fd(void)
{
	return out.fd;
}

bool am_trace_create(const char *template, const char *taken, char *path, size_t size)
{
	struct stat st;

	out.fd = am_path_create(out.path, sizeof out.path, template, taken);
	if (out.fd < 0) {
		am_say("cannot create the trace '%s': %e; nothing is recorded", out.path, errno);
		return false;
	}
	if (fstat(out.fd, &st) != 0)
		return false;
	out.dev = st.st_dev;
	out.ino = st.st_ino;
	am_format(path, size, "%s", out.path);
	return true;
}

static bool record_open(void)
{
	uint8_t header[sizeof(struct am_atm_header)];
	const struct am_atm_info info = {.features = AM_ATM_F_OWN, .start_ns = wall_ns(),
					 .pid = (uint32_t)getpid()};
	struct am_atm_table t;

	out.coder = am_area_map(am_chunk_coder_bytes());
	out.buf = am_area_map(AM_ATM_UNITS_BYTES_MAX);
	out.table = am_area_map(TABLE_BYTES);
	if (!out.coder || !out.buf || !out.table)
		return false;
	out.sites = out.strings = 1;
	am_area.file->start_ns = info.start_ns;
	if (!append(header, am_atm_put_header(header, &info), false))
		return false;
	am_atm_table_begin(&t, out.table, TABLE_BYTES);
	am_atm_table_command(&t, am_area.file->command, strlen(am_area.file->command));
	return append(out.table, am_atm_table_end(&t), false);
}

/* Threads may run on while their rings are read for the last time: what is written behind this may rest on what is
 * not read any more. */
static void put_leaving(bool is_leaving)
{
	struct am_atm_table t;

	am_atm_table_begin(&t, out.table, TABLE_BYTES);
	am_atm_table_leaving(&t, is_leaving);
	append(out.table, am_atm_table_end(&t), false);
}

void am_sink_record_leaving(void)
{
	if (!out.is_closed && !out.is_stopped)
		put_leaving(true);
}

/* The program lives on behind the footer: cut that off, before anything else is written. */
static void resume(void)
{
	if (!__atomic_exchange_n(&out.is_reopened, false, __ATOMIC_ACQUIRE) || !out.is_closed)
		return;
	const int fd = trace_fd();
	if (fd >= 0 && ftruncate(fd, (off_t)out.before_footer) == 0)
		out.offset = out.before_footer;
	out.is_closed = false;
	put_leaving(false);
}

static bool record_units(uint32_t thread, uint64_t position, const struct am_unit *units, size_t n)
{
	uint64_t records = n;

	resume();
	if (out.is_closed)
		return false;
	for (size_t i = 0; i < n; i++) /* extension units have no extension */
		records -= units[i].w0 >> AM_R_EXT_SHIFT & AM_R_EXT_MAX;
	if (!out.is_stopped) {
		put_tables(false);
		const size_t bytes =
			am_atm_put_units(out.coder, out.buf, thread, position, units, n);
		if (append(out.buf, bytes, false)) {
			out.units += n;
			out.records += records;
			return true;
		}
	}
	out.dropped += records;
	return true;
}

static void record_close(void)
{
	struct am_atm_footer footer = {.units = out.units, .records = out.records, .end_ns = wall_ns()};
	uint8_t buf[sizeof(struct am_atm_chunk) + sizeof footer];

	resume();
	if (out.is_closed)
		return;
	out.is_closed = true;
	if (!out.is_stopped)
		put_tables(true);
	memcpy(footer.lost, am_area.file->lost, sizeof footer.lost);
	footer.lost[AM_LOST_LIMIT] += out.dropped;
	out.before_footer = out.offset;
	append(buf, am_atm_put_footer(buf, &footer), true);
}

void am_sink_record_reopen(void)
{
	__atomic_store_n(&out.is_reopened, true, __ATOMIC_RELEASE); /* partner: resume */
}

static void record_forget(void)
{
	struct stat st;

	if (out.fd >= 0 && fstat(out.fd, &st) == 0 && st.st_dev == out.dev && st.st_ino == out.ino)
		close(out.fd);
	memset(&out, 0, sizeof out);
	out.fd = -1;
	am_modules_changed = 0;
	out.thread_hole = UINT32_MAX;
}

static uint64_t record_pass(void)
{
	return 0;
}

static bool record_watch(uint64_t now_ms)
{
	(void)now_ms;
	return false;
}

static void record_unblock(void)
{
}

const struct am_sink_ops am_sink_record = {record_open,	   record_units, record_pass,
					   record_watch,   record_unblock, record_close,
					   record_forget};
