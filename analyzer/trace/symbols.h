/* SPDX-License-Identifier: MIT */
/*
 * Addresses of a recorded process to functions, files, lines and variables, from the files on disk.
 * Tools only. A file whose build-id is not that of the recorded one is said once (am_symbols_note)
 * and its addresses stay module + offset.
 */
#ifndef ATOMMON_TRACE_SYMBOLS_H
#define ATOMMON_TRACE_SYMBOLS_H

#include "atommon/tables.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct am_symbols;

/* Texts live as long as the struct am_symbols. */
struct am_frame {
	const char *function; /* NULL: unknown */
	const char *file;     /* NULL: unknown */
	uint32_t line;
	bool is_inlined;    /* into the frame after it */
	const char *module; /* path; NULL: no module covers the address */
	uint64_t offset;    /* within the module's file, or the address itself */
};

struct am_variable {
	const char *name;
	const char *part; /* "", ".queue[3].count", "+5": where in it the address lies; until the next */
	uint64_t start, size; /* in the process */
	const char *module;
};

struct am_symbols *am_symbols_new(void);
void am_symbols_free(struct am_symbols *s);

/*
 * The frame of an address and those it is inlined into, innermost first; returns how many (at least
 * 1, at most max). is_return: the address is where a call returns to, the call itself is meant.
 */
size_t am_symbols_frames(struct am_symbols *s, const struct am_tables *tables, uint64_t address,
			 bool is_return, struct am_frame *frame, size_t max);

/* The global or static variable that covers the address. */
bool am_symbols_variable(struct am_symbols *s, const struct am_tables *tables, uint64_t address,
			 struct am_variable *variable);

/* "function file:line" of the outermost code a person wrote there, else "module+0xoffset". */
const char *am_symbols_site(struct am_symbols *s, const struct am_tables *tables, uint32_t site,
			    char *buf, size_t cap);

/* The next message that was not yet given, or NULL. */
const char *am_symbols_note(struct am_symbols *s);

#endif
