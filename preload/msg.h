/* SPDX-License-Identifier: MIT */
/* What the library says on the application's stderr: one line a message, only if need be. */
#ifndef ATOMMON_PRELOAD_MSG_H
#define ATOMMON_PRELOAD_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "atommon: " text "\n"; %s string, %u uint64_t in decimal, %e errno text. Async-signal-safe. */
void am_say(const char *format, ...);

/* What standard error is now; before the program can change it. */
void am_msg_init(void);
/* A program that closed descriptor 2 may use the number for data of its own: is `fd` what 2 was at start, or at least
 * a log? */
bool am_stderr_is_safe(int fd);
/* The application's descriptor 2 of now; to be closed unless it is 2; -1: not to be had. */
int am_stderr_borrow(void);

/* Bytes to the application's stderr as they are, from any thread (the drain thread has a descriptor
 * table of its own). Returns bytes written or -1. */
long am_write_stderr(const char *bytes, size_t n);

/* Format into a buffer, always terminated; returns the length. Same conversions as am_say. */
size_t am_format(char *out, size_t size, const char *format, ...);

#endif
