/* SPDX-License-Identifier: MIT */
/* File names from templates, and files that must not be somebody else's. */
#ifndef ATOMMON_PRELOAD_PATH_H
#define ATOMMON_PRELOAD_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* %p pid, %e program, %h host, %t start time, %n sequence, %% a per cent sign. Absolute, so that a
 * later chdir does not matter. False: too long. */
bool am_path_expand(char *out, size_t size, const char *template, unsigned sequence);

/* The descriptor at a high number, out of the way of those that the program expects to get; the same one if that cannot be. */
int am_path_move_up(int fd);

/*
 * Create the trace file. An existing file is replaced only if its name came from no placeholder and
 * no living process records into it; else a number goes before the last dot. Returns a descriptor,
 * high up and closed on exec, or -1 with errno; `path` is what was opened. `taken` (may be NULL) is
 * the path of the parent's trace after a fork.
 */
int am_path_create(char *path, size_t size, const char *template, const char *taken);

#endif
