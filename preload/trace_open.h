/* SPDX-License-Identifier: MIT */
/* The trace file is created before the memory that the record sink needs; see init.c. */
#ifndef ATOMMON_PRELOAD_TRACE_OPEN_H
#define ATOMMON_PRELOAD_TRACE_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool am_trace_create(const char *template, const char *taken, char *path, size_t size);

/* Raised by whoever changes the table of modules; the trace gets it again. */
extern uint32_t am_modules_changed;

#endif
