/* SPDX-License-Identifier: MIT */
/*
 * One line of a text report under construction: counts columns (colours have none), pads, cuts at
 * the width, wraps paragraphs. The program's own names pass through a filter, so that none of them
 * can send control sequences to a terminal.
 */
#ifndef AM_REPORT_LINE_H
#define AM_REPORT_LINE_H

#include "atommon/report.h"

enum am_ink { AM_INK_PLAIN, AM_INK_ALARM, AM_INK_LABEL, AM_INK_STRONG, AM_INK_FAINT, AM_INK_GOOD };

struct am_line {
	struct am_out *out;
	const struct am_style *style;
	unsigned width;	 /* columns at most */
	unsigned column; /* next one, from 0 */
	size_t n;
	bool is_full;
	char buf[1024];
};

void am_line_init(struct am_line *l, struct am_out *out, const struct am_style *style);
void am_line_ink(struct am_line *l, enum am_ink ink);
void am_line_text(struct am_line *l, const char *text);	 /* filtered */
void am_line_fill(struct am_line *l, unsigned column, const char *with); /* up to the column */
void am_line_to(struct am_line *l, unsigned column);	 /* spaces up to the column */
void am_line_end(struct am_line *l);			 /* writes it, without trailing spaces */
/* Words of the text from the current column on, further lines indented to it. Ends the line. */
void am_line_wrap(struct am_line *l, const char *text);
unsigned am_columns(const char *text);

#endif
