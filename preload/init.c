/*
 * Life of the library in a process: waking up (in our constructor or in the first hook, whichever
 * comes first), starting anew in a forked child, ending by any of the ways a process can end. Runs
 * in application threads. Any failure here means AM_PASS: the program runs as if we were not there.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/area.h"
#include "preload/backoff.h"
#include "preload/blocks.h"
#include "preload/msg.h"
#include "preload/real.h"
#include "preload/runtime.h"
#include "preload/shadow.h"
#include "preload/site.h"
#include "preload/sink.h"
#include "preload/trace_open.h"

struct am_wiped am_wiped __attribute__((aligned(4096)));
struct am_options am_opt;
char am_program[256];

static char **first_env;
static char **first_argv;
static uint32_t init_lock;
static pid_t owner;	    /* the process that all our memory belongs to */
static bool has_settings;   /* am_opt is filled in: also in a forked child */
static bool is_ending;
static bool is_retired;	    /* also in a forked child */
static char trace_path[600];

static void set_state(uint32_t state)
{
	__atomic_store_n(&am_wiped.state, state, __ATOMIC_RELEASE);
}

static void warn(void *ctx, const char *message)
{
	(void)ctx;
	am_say("%s", message);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

const char *am_first_getenv(const char *name)
{
	const size_t n = strlen(name);

	for (char **e = first_env ? first_env : environ; e && *e; e++)
		if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

/* Settings, and whether this program is meant. */
static bool read_settings(void)
{
	char exe[512];
	const ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

	exe[n > 0 ? n : 0] = 0;
	const char *called = first_argv && first_argv[0] ? base_name(first_argv[0]) : base_name(exe);
	am_format(am_program, sizeof am_program, "%s", called[0] ? called : base_name(exe));
	am_options_from_env(&am_opt, first_env ? first_env : environ, warn, NULL);
	has_settings = true;
	return am_opt.enabled && (am_glob_list(am_opt.only, am_program) ||
				  am_glob_list(am_opt.only, base_name(exe)));
}

static void note_command(void)
{
	char *to = am_area.file->command;
	const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	const ssize_t n = read(fd, to, sizeof am_area.file->command - 1);
	close(fd);
	for (ssize_t i = 0; i + 1 < n; i++)
		if (!to[i])
			to[i] = ' ';
}

/* Everything that was the parent's. Only this thread came along. */
static void forget_parent(void)
{
	const uint8_t inside = am_tls.inside;

	am_area_forget();
	am_lane_forget();
	am_site_forget();
	am_intern_forget();
	am_drain_forget();
	am_sink_record.forget();
	am_sink_check.forget();
	am_thread_forget();
	am_shadow_forget();
	am_blocks_forget();
	am_area_wipe(am_slots, sizeof am_slots);
	am_area_wipe(am_owns, sizeof am_owns);
	memset(&am_tls, 0, sizeof am_tls);
	am_tls.inside = inside;
	is_ending = false;
}

static bool open_all(const char *taken)
{
	const bool is_recording = am_opt.mode != AM_MODE_CHECK;
	const bool is_checking = am_opt.mode != AM_MODE_RECORD;
	char path[sizeof trace_path];

	if (is_recording && !am_trace_create(am_opt.trace, taken, path, sizeof path)) {
		if (!is_checking)
			return false;
		am_opt.mode = AM_MODE_CHECK;
		return open_all(NULL);
	}
	if (!am_area_open(is_recording ? path : NULL, am_opt.mem_max, am_opt.stack,
			  am_opt.buffer)) {
		am_say("no memory for the monitor; the program runs unwatched");
		return false;
	}
	memcpy(trace_path, path, is_recording ? sizeof path : 0);
	note_command();
	if (is_recording && !am_sink_record.open()) {
		if (!am_sink_record_has_stopped()) /* else it has said why */
			am_say("no memory for a recording; nothing is recorded");
		if (!is_checking)
			return false;
		am_opt.mode = AM_MODE_CHECK;
	}
	if (is_checking && !am_sink_check.open()) {
		am_say("no memory for the monitor; the program runs unwatched");
		return false;
	}
	am_modules_scan();
	return true;
}

static uint32_t start(bool is_child)
{
	char taken[sizeof trace_path] = "";

	if (is_child)
		memcpy(taken, trace_path, sizeof taken);
	owner = getpid();
	/* Fork must give the child a cold state; without that the child would write into our rings. */
	const bool is_wiped = madvise(&am_wiped, sizeof am_wiped, MADV_WIPEONFORK) == 0;
	if (!is_wiped && !am_process_follow_forks())
		return AM_PASS;
	if (!open_all(is_child ? taken : NULL))
		return AM_PASS;
	am_process_watch_exits();
	am_functions_resolve();
	am_view_prepare();
	am_wiped.is_checking = am_opt.mode != AM_MODE_RECORD;
	const bool is_all = am_opt.mode != AM_MODE_CHECK || strstr(am_opt.atomic, "sections") != NULL;
	return is_all ? AM_ON : AM_IDLE;
}

static void initialise(void)
{
	const int saved = errno;

	am_tls.inside++;
	for (unsigned i = 0; __atomic_exchange_n(&init_lock, 1, __ATOMIC_ACQUIRE); i++)
		am_backoff(i);
	if (am_state() == AM_COLD) {
		const bool is_child = owner && owner != getpid();
		bool is_meant = true;
		if (is_child)
			forget_parent();
		if (!has_settings) {
			am_real_resolve();
			if (am_confine_ready)
				am_confine_ready();
			am_msg_init();
			is_meant = read_settings();
			if (!is_meant)
				am_opt.enabled = false;
		}
		const uint32_t state = am_opt.enabled ? start(is_child) : AM_PASS;
		set_state(state);
		__atommon_armed = state >= AM_IDLE;
		if (state >= AM_IDLE) {
			am_tls.inside--;
			am_thread_begin_main();
			am_tls.inside++;
		}
	}
	__atomic_store_n(&init_lock, 0, __ATOMIC_RELEASE);
	am_tls.inside--;
	errno = saved;
}

bool am_rouse_watching(void)
{
	if (am_tls.inside)
		return false;
	if (am_state() == AM_COLD && is_retired)
		set_state(AM_PASS);
	if (am_state() == AM_COLD) {
		/* In a child of fork the lock may be held by a thread that does not exist here. */
		if (owner && owner != getpid())
			init_lock = 0;
		initialise();
	}
	return am_state() >= AM_IDLE;
}

void am_process_ready(void)
{
	if (!has_settings)
		am_rouse_watching();
}

bool am_rouse(void)
{
	return am_rouse_watching() && am_state() >= AM_ON;
}

void am_arm(void)
{
	uint32_t expected = AM_IDLE;

	if (am_likely(am_state() != AM_IDLE))
		return;
	if (!__atomic_compare_exchange_n(&am_wiped.state, &expected, AM_ON, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	am_view_rouse();
	if (am_lane_count() > 1)
		am_drain_start();
}

void am_finish(enum am_ending how)
{
	const uint32_t state = am_state();
	const int saved = errno;

	if (state < AM_IDLE || am_tls.muted || am_tls.inside || owner != getpid() ||
	    __atomic_exchange_n(&is_ending, true, __ATOMIC_ACQ_REL))
		return;
	/* What is not done within the bound stays in the ring file, where the reader finds it. Until then threads log:
	 * one that did not tell its release would let another's acquire stand in the trace beside its own. */
	if (am_drain_finish(how == AM_ENDING_EXIT ? AM_CLOSE_RECORD | AM_CLOSE_CHECK : AM_CLOSE_RECORD))
		am_area_delete();
	if (how == AM_ENDING_EXIT) {
		/* Programs with one thread are seldom meant: shells, helpers. */
		if (am_lane_count() > 1)
			am_functions_tell_unmatched();
		set_state(AM_PASS);
	}
	errno = saved;
}

void am_retire(void)
{
	const uint32_t state = am_state();

	/* A child of vfork, or of clone with our memory: what it gives up, its parent keeps. */
	if (am_tls.muted || (state != AM_COLD && owner && owner != getpid()))
		return;
	is_retired = true;
	am_finish(AM_ENDING_EXIT);
	set_state(AM_PASS);
	if (state >= AM_IDLE)
		am_drain_stop();
}

void am_unfinish(void)
{
	if (am_state() < AM_IDLE || am_tls.muted || owner != getpid())
		return;
	if (__atomic_exchange_n(&is_ending, false, __ATOMIC_ACQ_REL) && am_opt.mode != AM_MODE_CHECK)
		am_sink_record_reopen();
}

__attribute__((constructor(101))) static void construct(int argc, char **argv, char **env)
{
	(void)argc;
	first_argv = argv;
	first_env = env;
	am_watching();
}

__attribute__((destructor(101))) static void destruct(void)
{
	am_finish(AM_ENDING_EXIT);
	if (am_sink_exit_status >= 0) {
		fflush(NULL);
		am_real._exit(am_sink_exit_status);
	}
}
