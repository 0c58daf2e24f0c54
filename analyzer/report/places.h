/* SPDX-License-Identifier: MIT */
/*
 * Sites with names: each site of the tables is symbolised at most once, when a report first speaks
 * of it. A place lives as long as its cache.
 */
#ifndef AM_REPORT_PLACES_H
#define AM_REPORT_PLACES_H

#include "atommon/report.h"

struct am_arena;
struct am_places;

struct am_places *am_places_new(struct am_mem *mem, const struct am_tables *tables,
				const struct am_symbolizer *symbolizer);
void am_places_free(struct am_places *p);

/* Never NULL: the empty place when the site is unknown. */
const struct am_place *am_places_get(struct am_places *p, uint32_t site);

/* The frame a person wants to see, or NULL of an empty place. */
const struct am_vframe *am_place_frame(const struct am_place *place);

/* Annotation macros, C++ wrappers, libc: not where the programmer's mistake is. */
bool am_frame_is_wrapper(const struct am_vframe *f);

/* The last part of a path. */
const char *am_basename(const char *path);

/* A function's name without return type and parameters: "void a::f<int>(char)" is "a::f<int>". */
size_t am_function_short(const char *name, char *out, size_t size);

/* What people see: "function() file:line", "function() module+0x12", "module+0x12", "0x12" or "". */
void am_place_into(const struct am_place *place, char *out, size_t size);
/* The same in so many columns, if it can be done: the function is cut, and `cut` stands there; the line is not. */
void am_place_within(const struct am_place *place, unsigned columns, const char *cut, char *out, size_t size);
/* The same as a text; "unknown place" for "". */
const char *am_place_text(const struct am_place *place, struct am_arena *arena);

#endif
