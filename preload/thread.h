/* SPDX-License-Identifier: MIT */
/* Starting threads through the library; pthread_create and thrd_create use it. */
#ifndef ATOMMON_PRELOAD_THREAD_H
#define ATOMMON_PRELOAD_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdint.h>

#include "preload/log.h"

struct am_start; /* what a new thread needs to know */

/*
 * Before the real create: logs fork, makes the block that am_start_run gets as its argument. NULL:
 * none to be had, create the thread plainly. A C11 function (returning int) may be passed with a
 * cast; am_start_run then returns its result in the low half.
 */
struct am_start *am_start_new(void *(*run)(void *), void *arg, struct am_here here);
/*
 * Around the real create: signals stay blocked from before it until thread-begin is logged in the
 * child, or a handler's events could come before it. `attr` may name a mask of its own for the
 * child; that one is left alone.
 */
void am_start_block(struct am_start *block, const pthread_attr_t *attr, sigset_t *old);
void am_start_unblock(const sigset_t *old);
/* The start routine to give to the real create. */
void *am_start_run(void *block);
/* Is this an address in am_start_run? Stacks leave it out. */
bool am_start_is_at(uintptr_t pc);
/* After the real create: `error` non-zero if there is no thread. `id` from am_start_id before. */
uint32_t am_start_id(const struct am_start *block);
void am_start_done(struct am_start *block, uint32_t id, pthread_t handle, int error);

/* Thread id by handle, UINT32_MAX if unknown. Ask before the real join; then, if it succeeded,
 * am_thread_joined logs it. */
uint32_t am_thread_of(pthread_t handle);
void am_thread_joined(pthread_t handle, uint32_t id, struct am_here here);

void am_thread_named(pthread_t handle, const char *name);

#endif
