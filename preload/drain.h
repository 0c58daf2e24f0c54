/* SPDX-License-Identifier: MIT */
/* What the parts of the consumer share: drain.c, its thread; pass.c, a look at all rings; space.c, producers that wait. */
#ifndef ATOMMON_PRELOAD_DRAIN_H
#define ATOMMON_PRELOAD_DRAIN_H

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "preload/real.h"
#include "preload/runtime.h"

/* Of the drain thread. */
enum am_drain_state { AM_DRAIN_NOT_RUNNING, AM_DRAIN_RUNNING, AM_DRAIN_STOPPED };
extern uint32_t am_drain_state __attribute__((visibility("hidden")));

/* The consumer's role: at most one thread has it. */
bool am_drain_take_role(void);
void am_drain_drop_role(void);

/* Look at every ring once; how many units moved. By the consumer. */
uint64_t am_pass(bool is_flush);
/* The process ends: what was torn is no obstacle any more. */
void am_pass_mend(void);
/* The sinks are closed for good: nothing is read any more. */
void am_pass_end(void);
/* Does a producer wait for space? */
bool am_pass_has_waiting(void);
/* Counts passes, or parts of one, that moved something; and whatever else the consumer did, too. */
uint32_t am_pass_progress(void);
uint32_t am_pass_life(void);
/* After fork, in the child. */
void am_pass_forget(void);
void am_space_forget(void);

static inline bool am_drain_is_checking(void)
{
	return am_opt.mode != AM_MODE_RECORD;
}

static inline bool am_drain_is_recording(void)
{
	return am_opt.mode != AM_MODE_CHECK;
}

static inline long am_drain_futex(uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	return am_real_syscall()(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

static inline void am_drain_wait_ns(uint32_t *word, uint32_t value, uint64_t ns)
{
	const struct timespec ts = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
	am_drain_futex(word, FUTEX_WAIT, value, &ts);
}

static inline uint64_t am_drain_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

#endif
