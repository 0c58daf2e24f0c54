/* SPDX-License-Identifier: MIT */
/* What the parts of the runtime know of each other, besides log.h, lane.h and area.h. */
#ifndef ATOMMON_PRELOAD_RUNTIME_H
#define ATOMMON_PRELOAD_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "atommon/options.h"
#include "preload/lane.h"

extern struct am_options am_opt;
extern char am_program[256]; /* name of the program, for ATOMMON_ONLY and %e */

/* getenv of the environment the program was started with: libc's is not there yet in our init. */
const char *am_first_getenv(const char *name);

/* Arrange for thread-end when this thread ends. */
void am_thread_arm(void);
/* A thread that nobody announced, the first one among them: counts as the application's. */
void am_thread_adopt(void);
/* Threads of the application that have not ended. */
uint32_t am_thread_count(void);
/* The thread that initialises. */
void am_thread_begin_main(void);
void am_thread_forget(void);

/* Where the kernel cannot wipe a page on fork: do it by an atfork handler. */
bool am_process_follow_forks(void);
/* Only the real functions are needed: a child of fork that becomes another program at once has
 * nothing to record. */
void am_process_ready(void);
/* Exits that run no destructors. */
void am_process_watch_exits(void);

/* enter, leave-fn of a function that is a region. */
void am_function_event(enum am_kind kind, uintptr_t function, uint32_t name, struct am_here here);

/* The process is about to end or to become another program: rings into the trace, within a bound. */
enum am_ending { AM_ENDING_EXIT, AM_ENDING_EXEC };
void am_finish(enum am_ending how);
/* exec failed: go on. */
void am_unfinish(void);
/* End for good, here and in all children: from now on not one system call of ours. */
void am_retire(void);
/* The real functions are known (hook_confine.c; weak, for the library's own tests have no hooks). */
__attribute__((weak)) void am_confine_ready(void);
/* Was the program started behind a seccomp filter? Then calls that few programs make might kill it. */
bool am_process_is_filtered(void);

/* All modules of now, into the table; in init only, for it takes the loader's lock. */
void am_modules_scan(void);
/* A new call site: is the module of this pc in the table? Takes no lock. */
void am_modules_know(uintptr_t pc);
/* Did a fn: glob name this function? Its string id, else 0. */
uint32_t am_function_region(uintptr_t address);
void am_functions_resolve(void);
/* At the end: one line about names in ATOMMON_ATOMIC that fit no function. */
void am_functions_tell_unmatched(void);

/* ---- rings, consumer side -------------------------------------------------------------------- */

/* Is unit `index` written? Acquire: partner is the store of w0 in log.h. */
static inline bool am_ring_has(const struct am_lane *lane, uint64_t index)
{
	const uint64_t w0 = __atomic_load_n(&lane->units[index & lane->mask].w0, __ATOMIC_ACQUIRE);
	const uint64_t phase = index & (lane->mask + 1) ? 0 : AM_R_PHASE;
	return (w0 & AM_R_PHASE) == phase;
}

/* How many units from ring index `from` on form whole records, up to the end of the lap: they lie side
 * by side. At most max. */
size_t am_ring_whole(const struct am_lane *lane, uint64_t from, size_t max);

/* Copy whole records from ring index `from` on; at most max units. */
size_t am_ring_collect(const struct am_lane *lane, uint64_t from, struct am_unit *out, size_t max);

/*
 * These units were read, and their space is about to be given back: take their lines out of every cache. A
 * line that the producer finds in the cache of another core has to be asked for, store by store, and the
 * next locked instruction waits for the answer; one that is in no cache is fetched ahead by the
 * processor itself, for the ring is written in order.
 */
void am_ring_evict(const struct am_lane *lane, uint64_t from, size_t n);

/* Put `lost` records into the units of [from, end) that were reserved and never written. Only by
 * the producer itself outside any record, or when the producer is gone. Returns how many. */
size_t am_ring_repair(struct am_lane *lane, uint64_t from, uint64_t end);

/* ---- drain ----------------------------------------------------------------------------------- */

/* Start the drain thread, once, when the process gets its second thread. */
void am_drain_start(void);
/* This thread's ring is full: wait until the consumer went on, or be it. False: give up. */
bool am_drain_wait_space(struct am_lane *lane, uint64_t need);
/* The consumer has to wait for something else than events: it keeps the rings from filling up. */
void am_drain_pump(void);
/* The consumer did something: whoever waits for the end goes on waiting. */
void am_drain_sign(void);
/* How often producers had to wait for the drain thread, and how long in all. */
uint64_t am_drain_waits(uint64_t *ns);
/* Write out all that is there, then close these sinks; false if it could not be done within the
 * bound. */
enum am_close { AM_CLOSE_RECORD = 1, AM_CLOSE_CHECK = 2 };
bool am_drain_finish(uint32_t close);
/* Space is short elsewhere: drain now if nobody else does. */
void am_drain_try(void);
/* The application's last thread ends: so does the drain thread, or the process would live on. */
void am_drain_stop(void);
/* Only one thread of the application is left, and it is about to do what needs a process with one thread: ours
 * ends, and starts again with the next one. */
void am_drain_pause(void);
/* Does the drain thread have a descriptor table of its own? */
bool am_drain_has_own_files(void);
void am_drain_forget(void);

#endif
