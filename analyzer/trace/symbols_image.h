/* SPDX-License-Identifier: MIT */
/*
 * Inside symbols*.c: one file with symbols, opened by libdwfl, and what was learned of it. Only these
 * files know libdwfl. What takes a walk over a whole unit of debug information is done once and kept: a
 * program in one huge source file is asked about again and again.
 */
#ifndef ATOMMON_TRACE_SYMBOLS_IMAGE_H
#define ATOMMON_TRACE_SYMBOLS_IMAGE_H

#include "analyzer/trace/symbols.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>

/* Addresses low <= a < high, of the file's debug information (its bias taken off). */
struct am_span {
	uint64_t low, high;
	uint64_t reach; /* the highest `high` from the first span up to this one */
	Dwarf_Die die;
};

struct am_spans {
	struct am_span *at; /* by low */
	size_t n, cap;
};

/* The functions of one compilation unit. */
struct am_unit {
	struct am_unit *next;
	Dwarf_Off offset; /* of its die: which unit it is */
	struct am_spans functions;
};

/* Variables with a fixed address: those of files and namespaces, and those inside functions. */
enum am_depth { AM_OUTSIDE_FUNCTIONS, AM_INSIDE_FUNCTIONS, AM_DEPTHS };

struct am_image {
	struct am_image *next;
	char *path;
	uint64_t base, start;
	Dwfl *dwfl;
	Dwfl_Module *mod; /* NULL: no symbols from it */
	struct am_spans units; /* for what the file's own index does not know */
	bool has_units;	       /* they were looked for */
	struct am_unit *unit[64]; /* by offset */
	struct am_spans globals[AM_DEPTHS];
	bool has_globals[AM_DEPTHS];
};

enum { AM_SYMBOL_NAMES = 1024, AM_INLINE_MAX = 16 };

struct am_symbols {
	struct am_image *images;
	struct am_plain_name *names[AM_SYMBOL_NAMES]; /* symbols_name.c */
	struct am_symbols_note *notes, *said;
	char part[256]; /* of the last variable */
};

/* ---- symbols_span.c ---- */

bool am_spans_add(struct am_spans *s, uint64_t low, uint64_t high, const Dwarf_Die *die);
void am_spans_sort(struct am_spans *s);
/* The one that covers the address and begins last; NULL: none. */
struct am_span *am_spans_find(const struct am_spans *s, uint64_t address);

/* ---- symbols_name.c ---- */

/* A symbol as its source has it: demangled, without what compilers append. Lives as long as `s`. */
const char *am_symbols_plain(struct am_symbols *s, const char *mangled);
void am_symbols_free_names(struct am_symbols *s);

/* ---- symbols_code.c ---- */

/* Function, file and line of an address of the image, and the functions it is inlined into. */
size_t am_image_frames(struct am_symbols *s, struct am_image *i, uint64_t pc, struct am_frame *frame, size_t max);
void am_image_free_code(struct am_image *i);

/* ---- symbols_data.c ---- */

/* ".queue[3].count": how the byte at `offset` of the variable at this address is called; "" where it has no type. */
void am_image_part(struct am_image *i, uint64_t address, uint64_t offset, char *out, size_t cap);
void am_image_free_data(struct am_image *i);

#endif
