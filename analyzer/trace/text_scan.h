/* SPDX-License-Identifier: MIT */
/* Lines and the tokens of the text form. Tools only; see text_read.c. */
#ifndef ATOMMON_TRACE_TEXT_SCAN_H
#define ATOMMON_TRACE_TEXT_SCAN_H

#include "analyzer/trace/source_state.h"

struct cursor {
	struct am_source *s;
	char *at;
	bool is_bad;
};

/* Say what is wrong with the line; always -1. */
int scan_bad(struct cursor *c, const char *why);
/* The same if there is a reason, else 1. */
int scan_check(struct cursor *c, const char *why);
void scan_blanks(struct cursor *c);
bool scan_ends_word(char ch);
/* Step over the characters, or the whole word, if they come next. */
bool scan_accept(struct cursor *c, const char *word);
bool scan_word(struct cursor *c, const char *word);
uint64_t scan_number(struct cursor *c);
uint32_t scan_number32(struct cursor *c);
/* Value of a hexadecimal digit, or -1. */
int scan_hex(char ch);
/* A quoted text, unescaped in place; NULL if it is malformed. */
char *scan_quoted(struct cursor *c);

#endif
