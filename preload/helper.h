/* SPDX-License-Identifier: MIT */
/*
 * The helper process that knows names. Drain thread only. What is said to it: symbolizer.c.
 */
#ifndef ATOMMON_PRELOAD_HELPER_H
#define ATOMMON_PRELOAD_HELPER_H

#include <stdbool.h>
#include <stddef.h>

/* Remember where it is: `path`, or next to this library when NULL; "": nowhere. Call it before the program
 * has threads. Starts nothing. */
void am_helper_init(const char *path);
/* The socket of a helper that was started, if need be; -1: there is none, and will be none. `is_new`: not the
 * one of the last time, which never answers any more. */
int am_helper_ready(bool *is_new);
/* Is the one of the last time still there? */
bool am_helper_is_there(void);
/* It may go; another one may be started. */
void am_helper_stop(void);
/* It may go, for good. */
void am_helper_give_up(void);

/* The file this library was mapped from. */
bool am_own_path(char *out, size_t size);

#endif
