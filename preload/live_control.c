/*
 * What the user can steer in a live run: suppressions, the reaction to a violation, the summary. Runs
 * in init and in the consumer; no hook comes here.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "atommon/mem.h"
#include "preload/live.h"
#include "preload/msg.h"
#include "preload/output.h"
#include "preload/runtime.h"

enum { SUPPRESSIONS_MAX = 1 << 20 };

/* ---- suppressions ----------------------------------------------------------------------------- */

/* Today as YYYYMMDD, UTC. By hand: localtime takes locks. */
static uint32_t today(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	/* Days since 0000-03-01, in eras of 400 years (proleptic Gregorian calendar). */
	const uint64_t days = (uint64_t)now.tv_sec / 86400 + 719468;
	const uint64_t era = days / 146097, in_era = days % 146097;
	const uint64_t year_in_era = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	const uint64_t in_year = in_era - (365 * year_in_era + year_in_era / 4 - year_in_era / 100);
	const uint64_t shifted = (5 * in_year + 2) / 153;
	const uint64_t day = in_year - (153 * shifted + 2) / 5 + 1;
	const uint64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
	const uint64_t year = era * 400 + year_in_era + (month <= 2);
	return (uint32_t)(year * 10000 + month * 100 + day);
}

static void complain(void *ctx, const char *message)
{
	(void)ctx;
	am_output_line(message);
}

static void read_file(struct am_suppressions *s, struct am_mem *mem, const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char line[700];

	if (fd < 0 || fstat(fd, &st) != 0) {
		am_format(line, sizeof line, "ATOMMON_SUPPRESSIONS: '%s': %e", path, errno);
		am_output_line(line);
		if (fd >= 0)
			close(fd);
		return;
	}
	size_t n = 0;
	const size_t size = st.st_size > 0 && st.st_size < SUPPRESSIONS_MAX ? (size_t)st.st_size
									     : SUPPRESSIONS_MAX;
	char *text = am_mem_alloc(mem, size);
	ssize_t got;
	while (text && n < size && (got = read(fd, text + n, size - n)) > 0)
		n += (size_t)got;
	if (text)
		am_suppressions_parse(s, path, text, n, today(), complain, NULL);
	am_mem_free(mem, text, size);
	close(fd);
}

struct am_suppressions *am_live_suppressions(struct am_mem *mem)
{
	if (!am_opt.suppressions[0])
		return NULL;
	struct am_suppressions *s = am_suppressions_new(mem);
	for (const char *p = am_opt.suppressions; s && *p;) {
		const size_t n = strcspn(p, ":");
		char path[sizeof am_opt.suppressions];
		memcpy(path, p, n);
		path[n] = 0;
		if (n)
			read_file(s, mem, path);
		p += n + (p[n] == ':');
	}
	return s;
}

/* ---- reaction --------------------------------------------------------------------------------- */

void am_live_react(const struct am_violation *v)
{
	const pid_t pid = getpid();
	char line[200];

	switch (am_opt.on_violation) {
	case AM_ON_CONTINUE:
		return;
	case AM_ON_STOP:
		am_format(line, sizeof line,
			  "stopped (ATOMMON_ON_VIOLATION=stop): 'gdb -p %u' attaches, 'kill -CONT %u' goes on",
			  (uint64_t)pid, (uint64_t)pid);
		am_output_line(line);
		kill(pid, SIGSTOP);
		return;
	case AM_ON_TRAP: {
		const uint32_t tid = v->thread[v->region_thread].os_tid;
		if (!tid || syscall(SYS_tgkill, pid, tid, SIGTRAP) != 0)
			kill(pid, SIGTRAP);
		return;
	}
	case AM_ON_ABORT:
		kill(pid, SIGABRT);
		return;
	}
}

/* ---- verbosity -------------------------------------------------------------------------------- */

void am_live_settings(void)
{
	if (am_opt.verbose < 2)
		return;
	for (size_t i = 0; i < am_option_count; i++) {
		const struct am_option_row *row = &am_option_rows[i];
		const void *field = (const char *)&am_opt + row->offset;
		char line[700];
		switch (row->type[0]) {
		case 'b':
			am_format(line, sizeof line, "%s=%u", row->name, (uint64_t) * (const bool *)field);
			break;
		case 'u':
			am_format(line, sizeof line, "%s=%u", row->name, (uint64_t) * (const uint32_t *)field);
			break;
		case 's':
			am_format(line, sizeof line, "%s=%u", row->name, *(const uint64_t *)field);
			break;
		case 'c': {
			const char *word = row->values;
			for (uint32_t k = *(const uint32_t *)field; k > 0 && *word; k--)
				word += strcspn(word, "|") + 1;
			char value[64];
			am_format(value, sizeof value, "%s", word);
			value[strcspn(value, "|")] = 0;
			am_format(line, sizeof line, "%s=%s", row->name, value);
			break;
		}
		default:
			am_format(line, sizeof line, "%s=%s", row->name, (const char *)field);
		}
		am_output_line(line);
	}
}

static uint64_t cpu_ms(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0 || !am_tls.owned)
		return 0; /* not the drain thread's: not ours to count */
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void am_live_summary(const struct am_live_totals *t)
{
	static const char text[] = "%u events, %u regions, %u threads, %u lost, %u violation%s (%u repeats, %u "
				   "suppressed), waited %u time%s (%u ms), %u ms CPU in the drain thread, %u KiB for the "
				   "analysis%s";
	static const char json[] = "{\"schema\":\"atommon-report/1\",\"type\":\"summary\",\"events\":%u,\"regions\":%u,"
				   "\"threads\":%u,\"lost\":%u,\"violations\":%u,\"repeats\":%u,\"suppressed\":%u,"
				   "\"waits\":%u,\"waited_ms\":%u,\"cpu_ms\":%u,\"memory_bytes\":%u,\"pid\":%u}\n";
	const struct am_reporter_stats *r = &t->reporter;
	uint64_t waited_ns;
	const uint64_t waits = am_drain_waits(&waited_ns);
	char line[600];

	if (am_opt.format == AM_FORMAT_JSON) {
		const size_t n = am_format(line, sizeof line, json, t->events, t->checker.regions, t->threads,
					   t->checker.lost, r->distinct, r->repeats, r->suppressed, waits,
					   waited_ns / 1000000, cpu_ms(), t->memory, (uint64_t)getpid());
		am_output_write(NULL, line, n);
		am_output_flush(NULL);
		return;
	}
	am_format(line, sizeof line, text, t->events, t->checker.regions, t->threads, t->checker.lost,
		  r->distinct, r->distinct == 1 ? "" : "s", r->repeats, r->suppressed, waits,
		  waits == 1 ? "" : "s", waited_ns / 1000000, cpu_ms(), t->memory / 1024,
		  t->checker.forgotten ? "; the memory ceiling was reached (ATOMMON_MEM_MAX)" : "");
	am_output_line(line);
}
