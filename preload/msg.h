/* SPDX-License-Identifier: MIT */
/* What the library says on the application's stderr: one line a message, only if need be. */
#ifndef ATOMMON_PRELOAD_MSG_H
#define ATOMMON_PRELOAD_MSG_H

#include <stddef.h>
#include <stdint.h>

/* "atommon: " text "\n"; %s string, %u uint64_t in decimal, %e errno text. Async-signal-safe. */
void am_say(const char *format, ...);

/* Bytes to the application's stderr as they are, from any thread (the drain thread has a descriptor
 * table of its own). Returns bytes written or -1. */
long am_write_stderr(const char *bytes, size_t n);

/* Format into a buffer, always terminated; returns the length. Same conversions as am_say. */
size_t am_format(char *out, size_t size, const char *format, ...);

#endif
