/* SPDX-License-Identifier: MIT */
/*
 * A streaming JSON writer: commas and escapes, nothing else. The caller's nesting is trusted
 * (asserted). Needs no memory; a key of NULL is an element of an array.
 */
#ifndef AM_REPORT_JSONW_H
#define AM_REPORT_JSONW_H

#include "atommon/report.h"

struct am_jsonw {
	struct am_out *out;
	unsigned depth;
	uint32_t has_item; /* bit per depth: a comma is due before the next */
};

void am_jsonw_init(struct am_jsonw *w, struct am_out *out);
void am_jsonw_open(struct am_jsonw *w, const char *key, char bracket); /* '{' or '[' */
void am_jsonw_close(struct am_jsonw *w, char bracket);		       /* '}' or ']' */
void am_jsonw_text(struct am_jsonw *w, const char *key, const char *text);
void am_jsonw_number(struct am_jsonw *w, const char *key, uint64_t value);
void am_jsonw_hex(struct am_jsonw *w, const char *key, uint64_t value); /* "0x1f", a string */
void am_jsonw_bool(struct am_jsonw *w, const char *key, bool value);

#endif
