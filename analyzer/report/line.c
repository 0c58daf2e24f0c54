/* Lines of the text report: see line.h. Pure but for the sink; no stdio, no malloc. */
/* SPDX-License-Identifier: MIT */
#include "line.h"

#include <assert.h>
#include <string.h>

#include "arena.h"

enum { INK_BYTES = 16, MAX_BYTES = sizeof(((struct am_line *)0)->buf) - 2 * INK_BYTES };

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

unsigned am_columns(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += !is_continuation(*text);
	return n;
}

void am_line_init(struct am_line *l, struct am_out *out, const struct am_style *style)
{
	memset(l, 0, sizeof *l);
	l->out = out;
	l->style = style;
	l->width = !style->width || style->width > 100 ? 100 : style->width < 60 ? 60 : style->width;
}

void am_line_ink(struct am_line *l, enum am_ink ink)
{
	static const char *const codes[] = {"\033[0m",	"\033[1;31m", "\033[36m",
					    "\033[1m", "\033[2m",   "\033[32m"};

	if (!l->style->colour || l->n + INK_BYTES > sizeof l->buf)
		return;
	const size_t n = strlen(codes[ink]);
	memcpy(l->buf + l->n, codes[ink], n);
	l->n += n;
}

/* One character, all its bytes; shows where the line is cut. */
static size_t put_char(struct am_line *l, const char *p)
{
	const size_t valid = am_utf8_bytes(p), n = valid ? valid : 1;

	if (l->column >= l->width || l->n + n > MAX_BYTES)
		l->is_full = true;
	if (l->is_full)
		return n;
	if (l->column + 1 == l->width && p[n]) { /* more would follow than fits */
		const char *cut = l->style->ascii ? "~" : "\u2026";
		memcpy(l->buf + l->n, cut, strlen(cut));
		l->n += strlen(cut);
		l->column++;
		l->is_full = true;
		return n;
	}
	const unsigned char c = (unsigned char)*p;
	if (c < 0x20 || c == 0x7f || !valid || (c >= 0x80 && l->style->ascii) ||
	    (c == 0xc2 && (unsigned char)p[1] < 0xa0)) /* C1 controls */
		l->buf[l->n++] = '?';
	else {
		memcpy(l->buf + l->n, p, n);
		l->n += n;
	}
	l->column++;
	return n;
}

void am_line_text(struct am_line *l, const char *text)
{
	while (*text)
		text += put_char(l, text);
}

void am_line_fill(struct am_line *l, unsigned column, const char *with)
{
	const size_t n = strlen(with);

	while (l->column < column && l->column < l->width && l->n + n <= MAX_BYTES) {
		memcpy(l->buf + l->n, with, n);
		l->n += n;
		l->column++;
	}
}

void am_line_to(struct am_line *l, unsigned column)
{
	am_line_fill(l, column, " ");
}

void am_line_end(struct am_line *l)
{
	while (l->n && l->buf[l->n - 1] == ' ')
		l->n--;
	assert(l->column <= l->width && l->n < sizeof l->buf);
	l->buf[l->n++] = '\n';
	l->out->write(l->out->ctx, l->buf, l->n);
	l->n = 0;
	l->column = 0;
	l->is_full = false;
}

void am_line_wrap(struct am_line *l, const char *text)
{
	const unsigned indent = l->column;
	bool is_first = true;

	while (*text) {
		char word[256];
		size_t n = 0;
		while (*text == ' ')
			text++;
		while (*text && *text != ' ' && n < sizeof word - 5)
			word[n++] = *text++;
		while (is_continuation(*text))
			word[n++] = *text++;
		word[n] = 0;
		if (!n)
			break;
		if (!is_first && l->column + 1 + am_columns(word) > l->width) {
			am_line_end(l);
			am_line_to(l, indent);
			is_first = true;
		}
		if (!is_first)
			am_line_text(l, " ");
		am_line_text(l, word);
		is_first = false;
	}
	am_line_end(l);
}
