/* SPDX-License-Identifier: MIT */
/*
 * Where drained units go. A sink runs in whoever holds the consumer's role: the drain thread, or the
 * only thread of the process. It must not call anything of the application's (malloc, locks, stdio).
 */
#ifndef ATOMMON_PRELOAD_SINK_H
#define ATOMMON_PRELOAD_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "atommon/event.h"
#include "atommon/tables.h"

struct am_mem;

struct am_sink_ops {
	/* Before the first unit; in init. False: this sink is not to be had. */
	bool (*open)(void);
	/* Whole records of one thread, in order; `position` as in ringfile.h. False: nothing was
	 * taken, try later. */
	bool (*units)(uint32_t thread, uint64_t position, const struct am_unit *units, size_t n);
	/* All rings were looked at once. Returns how many events went on. */
	uint64_t (*pass)(void);
	/* Now and then: is something waiting that should not? True: ask again soon. */
	bool (*watch)(uint64_t now_ms);
	/* No progress although producers wait: close holes. */
	void (*unblock)(void);
	/* The process ends by itself. */
	void (*close)(void);
	/* After fork, in the child. */
	void (*forget)(void);
};

extern const struct am_sink_ops am_sink_record; /* the trace file */
extern const struct am_sink_ops am_sink_check;	/* merge, then the functions below */

/* sink_record: the process goes on after all (exec failed). */
void am_sink_record_reopen(void);
/* Before the last look at the rings. */
void am_sink_record_leaving(void);
/* After unshare: the one descriptor that the drain thread keeps; -1 if none. */
int am_sink_record_fd(void);
/* The recording ended early, and said so. */
bool am_sink_record_has_stopped(void);

/*
 * The live checker (live.c) gets the merged events; all but one run in the consumer. The weak
 * stand-ins in sink_check.c do nothing.
 *   open    before the first event; `mem` is the analysis' share of ATOMMON_MEM_MAX
 *   event   each merged event, in order. In check mode the stream may start in the middle: a lock
 *           taken before the first region of the process shows only its release.
 *   pass    after a batch: time to print
 *   watch   now and then; true: ask again soon, somebody is waited for
 *   leaving in the thread that ends the process, perhaps in the middle of a pass: nobody is waited for long now
 *   close   at the end of the process; returns the exit status to use instead, or -1
 */
bool am_live_open(struct am_mem *mem);
void am_live_event(void *ctx, const struct am_event *event);
/* Where the next event may be made; NULL: anywhere. */
struct am_event *am_live_place(void);
void am_live_pass(void);
bool am_live_watch(uint64_t now_ms);
void am_live_leaving(void);
int am_live_close(void);

/* Tables of the running process, brought up to date; valid until the next call. Consumer only. */
const struct am_tables *am_live_tables(void);

/* What am_live_close said; -1: nothing. */
extern int am_sink_exit_status;

#endif
