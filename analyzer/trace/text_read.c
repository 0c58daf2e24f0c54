/*
 * Reading the text form, see text.h. Runs in tools. Complains with the line number; never guesses
 * what a malformed line may have meant.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/source_state.h"
#include "analyzer/trace/text.h"
#include "analyzer/trace/text_scan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_AT_ONCE = 512 };

/* ---- tables -------------------------------------------------------------------------------- */

static int read_header(struct cursor *c)
{
	if (scan_number(c) != 1)
		return scan_bad(c, "unknown version of the text form");
	for (scan_blanks(c); *c->at && !c->is_bad; scan_blanks(c)) {
		if (scan_accept(c, "features="))
			c->s->info.features = scan_number(c);
		else if (scan_accept(c, "clock="))
			c->s->info.clock = scan_number32(c);
		else if (scan_accept(c, "start="))
			c->s->info.start_ns = scan_number(c);
		else if (scan_accept(c, "pid="))
			c->s->tables.t.pid = scan_number32(c);
		else
			return scan_bad(c, "unknown word in the header");
	}
	return 1;
}

static int read_module(struct cursor *c)
{
	struct am_module m = {0};
	const uint32_t index = scan_number32(c);

	for (scan_blanks(c); *c->at && *c->at != '"' && !c->is_bad; scan_blanks(c)) {
		if (scan_accept(c, "base="))
			m.base = scan_number(c);
		else if (scan_accept(c, "start="))
			m.start = scan_number(c);
		else if (scan_accept(c, "end="))
			m.end = scan_number(c);
		else if (scan_accept(c, "unloaded="))
			m.unloaded = scan_number32(c);
		else if (scan_accept(c, "id=")) {
			for (; scan_hex(c->at[0]) >= 0 && scan_hex(c->at[1]) >= 0; c->at += 2) {
				if (m.build_id_len == AM_BUILD_ID_MAX)
					return scan_bad(c, "build-id is too long");
				m.build_id[m.build_id_len++] =
					(uint8_t)(scan_hex(c->at[0]) << 4 | scan_hex(c->at[1]));
			}
		} else
			return scan_bad(c, "unknown word about a module");
	}
	const char *path = c->is_bad ? NULL : scan_quoted(c);
	if (!path)
		return -1;
	return scan_check(c, tablebuild_module(&c->s->tables, index, &m, path, strlen(path)));
}

static int read_site(struct cursor *c)
{
	struct am_site site = {0};
	const uint32_t id = scan_number32(c);

	for (scan_blanks(c); *c->at && *c->at != ';' && !c->is_bad; scan_blanks(c)) {
		if (site.n_frames == AM_FRAMES_MAX)
			return scan_bad(c, "site has too many frames");
		site.frame[site.n_frames++] = scan_number(c);
	}
	return c->is_bad ? -1 : scan_check(c, tablebuild_site(&c->s->tables, id, &site));
}

static int read_thread(struct cursor *c)
{
	struct am_thread th = {.id = scan_number32(c), .parent = UINT32_MAX};

	for (scan_blanks(c); *c->at && *c->at != '"' && !c->is_bad; scan_blanks(c)) {
		if (scan_accept(c, "parent="))
			th.parent = scan_number32(c);
		else if (scan_accept(c, "tid="))
			th.os_tid = scan_number32(c);
		else if (scan_accept(c, "site="))
			th.create_site = scan_number32(c);
		else
			return scan_bad(c, "unknown word about a thread");
	}
	const char *name = c->is_bad ? NULL : scan_quoted(c);
	return name ? scan_check(c, tablebuild_thread(&c->s->tables, &th, name, strlen(name))) : -1;
}

static int read_table_line(struct cursor *c)
{
	const char *text;

	if (scan_accept(c, "!atommon-trace "))
		return read_header(c);
	if (scan_accept(c, "!module "))
		return read_module(c);
	if (scan_accept(c, "!site "))
		return read_site(c);
	if (scan_accept(c, "!thread "))
		return read_thread(c);
	if (scan_accept(c, "!command ")) {
		text = scan_quoted(c);
		return text ? scan_check(c, tablebuild_command(&c->s->tables, text, strlen(text)))
			    : -1;
	}
	if (scan_accept(c, "!string ")) {
		const uint32_t id = scan_number32(c);
		scan_blanks(c);
		text = c->is_bad ? NULL : scan_quoted(c);
		return text ? scan_check(c,
					 tablebuild_string(&c->s->tables, id, text, strlen(text)))
			    : -1;
	}
	return scan_bad(c, "unknown table line");
}

/* ---- events -------------------------------------------------------------------------------- */

/* "text"$id, $id, or "text" alone: then the string is found, or made. */
static uint64_t string_id(struct cursor *c)
{
	const struct am_tables *t = &c->s->tables.t;
	const char *text = NULL;

	if (*c->at == '"' && !(text = scan_quoted(c)))
		return 0;
	if (scan_accept(c, "$"))
		return scan_number(c);
	if (!text) {
		scan_bad(c, "expected a string");
		return 0;
	}
	for (size_t i = 1; i < t->n_strings; i++)
		if (strcmp(t->string[i], text) == 0)
			return i;
	const uint32_t id = t->n_strings ? (uint32_t)t->n_strings : 1;
	scan_check(c, tablebuild_string(&c->s->tables, id, text, strlen(text)));
	return id;
}

/* Skip a readable expression: it is for people, the number behind it counts. */
static void skip_tree(struct cursor *c)
{
	unsigned depth = 0;

	do {
		depth += *c->at == '(';
		depth -= *c->at == ')';
		if (!*c->at++) {
			scan_bad(c, "an expression does not end");
			return;
		}
	} while (depth);
}

static int read_definition(struct cursor *c, struct am_event *e)
{
	uint64_t operand[3] = {0};
	unsigned n = 0;

	scan_blanks(c);
	if (scan_word(c, "nested"))
		e->flags |= AM_NESTED;
	scan_blanks(c);
	if (!scan_accept(c, "e"))
		return scan_bad(c, "expected the node that is defined");
	scan_number32(c); /* implied by the order of the lines */
	if (!scan_accept(c, " = "))
		return scan_bad(c, "expected '='");
	if (scan_accept(c, "raw ")) {
		e->object = scan_number(c);
		scan_blanks(c);
		e->value = scan_number(c);
		return c->is_bad ? -1 : 1;
	}
	const char *colon = strchr(c->at, ':');
	uint64_t op = AM_OP_COUNT;
	for (unsigned i = 1; colon && i < AM_OP_COUNT; i++) {
		const char *text = am_op_text((enum am_op)i);
		if (strlen(text) == (size_t)(colon - c->at) &&
		    memcmp(text, c->at, strlen(text)) == 0)
			op = i;
		/* the operator "?:" has the colon in it */
		else if (strcmp(text, "?:") == 0 && strncmp(c->at, "?::", 3) == 0)
			op = i, colon = c->at + 2;
	}
	if (op == AM_OP_COUNT)
		return scan_bad(c, "unknown operation");
	c->at += colon + 1 - c->at;
	const uint64_t width = scan_number(c);
	for (scan_blanks(c); *c->at && *c->at != ';' && !c->is_bad && n < 3; scan_blanks(c)) {
		scan_accept(c, "e");
		operand[n++] = op == AM_OP_CONST ? scan_number(c) : scan_number32(c);
	}
	if (c->is_bad)
		return -1;
	if (width > 255 || (*c->at && *c->at != ';'))
		return scan_bad(c, "malformed expression");
	e->object = op | width << 8 | operand[2] << 16;
	e->value = op == AM_OP_CONST ? operand[0] : operand[0] | operand[1] << 32;
	return 1;
}

static bool read_named(struct cursor *c, struct am_event *e)
{
	const char *aux = am_text_aux((enum am_kind)e->kind);
	const size_t n = strlen(aux);

	if (strncmp(c->at, aux, n) == 0 && c->at[n] == '=') {
		c->at += n + 1;
		e->aux = e->kind == AM_NAME ? string_id(c) : scan_number(c);
		if (e->kind == AM_WRITE)
			e->aux = ~e->aux;
	} else if (scan_accept(c, "size=")) {
		e->size = scan_number32(c);
	} else if (scan_accept(c, "value=")) {
		e->value = scan_number(c);
		e->flags |= AM_HAS_VALUE;
	} else if (scan_accept(c, "object=")) {
		e->object = scan_number(c);
	} else if (scan_accept(c, "mode=")) {
		e->mode = (uint8_t)scan_number(c);
	} else if (scan_accept(c, "order=")) {
		for (unsigned i = 1; i < AM_TEXT_ORDERS; i++)
			if (scan_word(c, am_text_orders[i])) {
				e->order |= (uint8_t)i;
				return true;
			}
		e->order = (uint8_t)scan_number(c);
	} else {
		return false;
	}
	return true;
}

static bool read_word(struct cursor *c, struct am_event *e)
{
	for (unsigned i = 0; i < AM_TEXT_FLAGS; i++)
		if (scan_word(c, am_text_flags[i].word)) {
			e->flags |= am_text_flags[i].flag;
			return true;
		}
	const bool is_lost = e->kind == AM_LOST;
	const char *const *words = is_lost ? am_text_lost : am_text_objects;
	for (unsigned i = 1; i < (is_lost ? AM_TEXT_LOST : AM_TEXT_OBJECTS); i++)
		if ((is_lost || e->kind == AM_INIT || e->kind == AM_DESTROY) &&
		    scan_word(c, words[i])) {
			e->mode = (uint8_t)i;
			return true;
		}
	for (unsigned i = 1; i < AM_TEXT_COMMUTES; i++)
		if (scan_word(c, am_text_commutes[i])) {
			e->order |= (uint8_t)(i * AM_ORDER_ADDS);
			return true;
		}
	if (scan_word(c, "shared") || scan_word(c, "serial"))
		e->mode = 1;
	else if (scan_word(c, "failed"))
		e->order |= AM_ORDER_FAILED;
	else if (scan_word(c, "again"))
		e->order |= AM_ORDER_AGAIN;
	else if (scan_word(c, "last"))
		e->order |= AM_ORDER_LAST;
	else if (scan_word(c, "true"))
		e->value = 1;
	else if (!scan_word(c, "false") && !scan_word(c, "-"))
		return false;
	return true;
}

static int read_detail(struct cursor *c, struct am_event *e, bool *has_object)
{
	const char class = am_text_object_class((enum am_kind)e->kind);

	if (!*has_object && class == 't' && scan_accept(c, "T")) {
		e->object = scan_number(c);
		*has_object = true;
	} else if (!*has_object && class == 'a' && strncmp(c->at, "0x", 2) == 0) {
		e->object = scan_number(c);
		*has_object = true;
	} else if (!*has_object && class == 's' && (*c->at == '"' || *c->at == '$')) {
		e->object = string_id(c);
		*has_object = true;
	} else if (*c->at == '(' || strncmp(c->at, "!(", 2) == 0) {
		if (e->kind == AM_BRANCH || e->kind == AM_ASSERT)
			e->value = *c->at == '(';
		c->at += *c->at == '!';
		skip_tree(c);
	} else if (scan_accept(c, "#") ||
		   (*c->at == 'r' && c->at[1] >= '0' && c->at[1] <= '9' && scan_accept(c, "r"))) {
		e->expr = scan_number32(c);
	} else if (!read_named(c, e) && !read_word(c, e)) {
		return scan_bad(c, "unknown word");
	}
	if (!c->is_bad && !scan_ends_word(*c->at))
		return scan_bad(c, "unexpected characters after a word");
	return c->is_bad ? -1 : 1;
}

static int read_kind(struct cursor *c, struct am_event *e)
{
	const size_t n = strcspn(c->at, " \t");
	enum am_kind kind;

	if (n == 6 && memcmp(c->at, "assume", n) == 0)
		kind = AM_BRANCH;
	else if (!am_kind_from_name(c->at, (unsigned)n, &kind) || kind >= AM_EXT)
		return scan_bad(c, "unknown event");
	c->at += n;
	e->kind = (uint8_t)kind;
	if (kind == AM_BRANCH || kind == AM_ASSERT)
		e->flags |= AM_HAS_VALUE;
	return 1;
}

static int read_event_line(struct cursor *c)
{
	struct am_event e = {0}, back;
	struct am_unit units[AM_RECORD_UNITS_MAX];
	bool has_object = false;

	scan_number(c);
	scan_blanks(c);
	if (c->is_bad || !scan_accept(c, "T"))
		return c->is_bad ? -1 : scan_bad(c, "expected a thread (T<number>)");
	e.thread = scan_number32(c);
	scan_blanks(c);
	if (c->is_bad || read_kind(c, &e) < 0)
		return -1;
	if (e.kind == AM_EXPR) {
		if (read_definition(c, &e) < 0)
			return -1;
	} else {
		for (scan_blanks(c); *c->at; scan_blanks(c)) {
			if (scan_accept(c, "@")) {
				e.site = scan_number32(c);
				break;
			}
			if (read_detail(c, &e, &has_object) < 0)
				return -1;
		}
	}
	if (c->is_bad)
		return -1;
	struct source_thread *t = source_thread(c->s, e.thread);
	if (!t)
		return -1;
	if (!am_record_encode(&e, units))
		return scan_bad(c, "the event has more details than a record holds");
	am_record_decode(units, &back); /* what a record cannot hold is not silently dropped */
	back.thread = e.thread;
	if (!am_event_same(&back, &e))
		return scan_bad(c, "a detail does not belong to this event");
	am_expr_follow(&t->count, &e);
	return source_push(c->s, e) ? 1 : -1;
}

int text_fill(struct am_source *s)
{
	for (unsigned i = 0; i < LINES_AT_ONCE; i++) {
		const int r = line_next(s);
		if (r <= 0)
			return r;
		struct cursor c = {s, s->lines.line, false};
		scan_blanks(&c);
		if (*c.at == 0 || *c.at == '#')
			continue;
		if (*c.at == '!' && s->head != s->tail) {
			/* The caller sees tables as of its newest event: later. */
			s->lines.has_line = true;
			break;
		}
		if (*c.at == '!' ? read_table_line(&c) < 0 : read_event_line(&c) < 0)
			return -1;
	}
	return 1;
}
