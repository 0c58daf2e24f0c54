/* SPDX-License-Identifier: MIT */
/*
 * A bump arena over am_mem: everything that belongs to one violation, dropped at once. Also the
 * small formatter of the room: no stdio, no malloc. When memory ends, am_arena_get returns NULL,
 * am_textf returns "" and `failed` is set: check it once at the end.
 */
#ifndef AM_REPORT_ARENA_H
#define AM_REPORT_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct am_mem;
struct am_arena_chunk;

struct am_arena {
	struct am_mem *mem;
	struct am_arena_chunk *first, *at;
	size_t chunk_bytes; /* to take at a time; as am_arena_init says, or less */
	bool failed;
};

void am_arena_init(struct am_arena *a, struct am_mem *mem);
void am_arena_reset(struct am_arena *a); /* keeps the first chunk */
void am_arena_destroy(struct am_arena *a);
void *am_arena_get(struct am_arena *a, size_t bytes); /* zeroed, 16-byte aligned */
const char *am_arena_copy(struct am_arena *a, const char *text);

/* %s text, %.*s part, %u uint32, %l uint64 decimal, %x uint64 hex, %c char, %% itself. */
size_t am_text_intov(char *buf, size_t size, const char *format, va_list ap);
size_t am_text_into(char *buf, size_t size, const char *format, ...);
const char *am_textf(struct am_arena *a, const char *format, ...);

/* Length of the valid UTF-8 sequence here, 0: not valid. */
size_t am_utf8_bytes(const char *text);

#endif
