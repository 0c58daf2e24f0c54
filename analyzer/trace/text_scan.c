/*
 * Lines of text, and the tokens of the text form. Runs in tools. A line has a limit; every
 * complaint names its number.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/text_scan.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 1024 * 1024 };

int line_next(struct am_source *s)
{
	struct line_reader *l = &s->lines;
	size_t n = 0;
	int c;

	if (l->has_line) {
		l->has_line = false;
		return 1;
	}
	l->number++;
	while ((c = getc_unlocked(s->in)) != EOF && c != '\n') {
		if (c == 0)
			return source_fail(s, "line %llu: a NUL byte; neither a trace nor a text",
					   (unsigned long long)l->number);
		if (n + 2 > l->cap) {
			char *bigger =
				l->cap < LINE_MAX_BYTES ? realloc(l->line, 2 * l->cap) : NULL;
			if (!bigger)
				return source_fail(s, "line %llu: too long",
						   (unsigned long long)l->number);
			l->line = bigger;
			l->cap *= 2;
		}
		l->line[n++] = (char)c;
	}
	s->info.file_bytes += n + (c == '\n');
	if (n && l->line[n - 1] == '\r')
		n--;
	l->line[n] = 0;
	return c != EOF || n > 0;
}

int scan_bad(struct cursor *c, const char *why)
{
	c->is_bad = true;
	return source_fail(c->s, "line %llu: %s", (unsigned long long)c->s->lines.number, why);
}

void scan_blanks(struct cursor *c)
{
	c->at += strspn(c->at, " \t");
}

bool scan_accept(struct cursor *c, const char *word)
{
	const size_t n = strlen(word);
	if (strncmp(c->at, word, n) != 0)
		return false;
	c->at += n;
	return true;
}

bool scan_ends_word(char ch)
{
	return ch == 0 || ch == ' ' || ch == '\t';
}

bool scan_word(struct cursor *c, const char *word)
{
	const size_t n = strlen(word);
	if (strncmp(c->at, word, n) != 0 || !scan_ends_word(c->at[n]))
		return false;
	c->at += n;
	return true;
}

uint64_t scan_number(struct cursor *c)
{
	uint64_t v = 0;
	const bool hex = scan_accept(c, "0x");
	const unsigned base = hex ? 16 : 10;
	unsigned digits = 0;

	for (;; c->at++, digits++) {
		unsigned d;
		if (*c->at >= '0' && *c->at <= '9')
			d = (unsigned)(*c->at - '0');
		else if (hex && *c->at >= 'a' && *c->at <= 'f')
			d = (unsigned)(*c->at - 'a' + 10);
		else
			break;
		if (v > (UINT64_MAX - d) / base) {
			scan_bad(c, "a number is too large");
			return 0;
		}
		v = v * base + d;
	}
	if (!digits)
		scan_bad(c, "expected a number");
	return v;
}

uint32_t scan_number32(struct cursor *c)
{
	const uint64_t v = scan_number(c);
	if (v > UINT32_MAX)
		scan_bad(c, "a number is too large");
	return (uint32_t)v;
}

int scan_hex(char ch)
{
	return ch >= '0' && ch <= '9' ? ch - '0' : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

/* A quoted text, unescaped in place; NULL if it is malformed. */
char *scan_quoted(struct cursor *c)
{
	if (*c->at != '"') {
		scan_bad(c, "expected a quoted text");
		return NULL;
	}
	char *const text = ++c->at, *to = text;
	while (*c->at && *c->at != '"') {
		char ch = *c->at++;
		if (ch == '\\') {
			const char escaped = *c->at;
			if (escaped == 'x' && scan_hex(c->at[1]) >= 0 && scan_hex(c->at[2]) >= 0 &&
			    (c->at[1] != '0' || c->at[2] != '0')) {
				ch = (char)(scan_hex(c->at[1]) << 4 | scan_hex(c->at[2]));
				c->at += 3;
			} else if (escaped == '"' || escaped == '\\') {
				ch = escaped;
				c->at++;
			} else {
				scan_bad(c, "unknown escape in a quoted text");
				return NULL;
			}
		}
		*to++ = ch;
	}
	if (*c->at != '"') {
		scan_bad(c, "quoted text does not end");
		return NULL;
	}
	c->at++;
	*to = 0;
	return text;
}

int scan_check(struct cursor *c, const char *why)
{
	return why ? scan_bad(c, why) : 1;
}
