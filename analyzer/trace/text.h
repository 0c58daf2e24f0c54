/* SPDX-License-Identifier: MIT */
/*
 * The text form: one event a line,
 *	<index> T<thread> <event> <object> <details> <site>
 * and lines that begin with "!" for the tables, before the first event that needs them. The syntax
 * is described in doc/trace-format.md. What a source reads from it is what was written.
 */
#ifndef ATOMMON_TRACE_TEXT_H
#define ATOMMON_TRACE_TEXT_H

#include "analyzer/trace/source.h"

/* Words for `mode`, index = value; the word of 0 is never printed. */
extern const char *const am_text_lost[], *const am_text_objects[], *const am_text_orders[],
	*const am_text_commutes[];
enum { AM_TEXT_LOST = 6, AM_TEXT_OBJECTS = 10, AM_TEXT_ORDERS = 7, AM_TEXT_COMMUTES = 4 };

struct am_text_flag {
	uint8_t flag;
	const char *word;
};
enum { AM_TEXT_FLAGS = 6 };
extern const struct am_text_flag am_text_flags[AM_TEXT_FLAGS];

/* The name of `aux` for a kind: "mutex", "bytes", "count", "name" or "aux". */
const char *am_text_aux(enum am_kind kind);
/* What `object` of a kind is: 'a' address, 't' thread, 's' string, '-' nothing. */
char am_text_object_class(enum am_kind kind);

/* Words for people after a site's number: function, file and line. May be NULL or return NULL. */
typedef const char *am_text_site_fn(void *ctx, const struct am_tables *tables, uint32_t site);

/* A name for an address, printed in brackets behind the site; may return NULL. */
typedef const char *am_text_name_fn(void *ctx, uint64_t address);

struct am_text {
	FILE *out;
	const struct am_source *source;
	am_text_site_fn *site;
	am_text_name_fn *name; /* NULL after am_text_begin */
	void *ctx;
	bool has_header;
	size_t changes; /* of the source's tables, already printed */
};

void am_text_begin(struct am_text *t, FILE *out, const struct am_source *source,
		   am_text_site_fn *site, void *ctx);
/* Table entries that are new, then the event. */
void am_text_event(struct am_text *t, const struct am_event *event);
/* Table entries that no event needed. */
void am_text_end(struct am_text *t);

/* A readable expression, not longer than cap; deep parts appear as e<node>. */
void am_text_expr(const struct am_expr *expr, uint32_t n, uint32_t node, char *buf, size_t cap);
/* A quoted text with escapes. */
void am_text_quote(FILE *out, const char *text);

#endif
