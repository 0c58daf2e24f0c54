/*
 * Reading the text form, see text.h. Runs in tools. Complains with the line number; never guesses
 * what a malformed line may have meant.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/source_state.h"
#include "analyzer/trace/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 1024 * 1024, LINES_AT_ONCE = 512 };

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
			return source_fail(s, "line %llu: a NUL byte",
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

/* ---- tokens -------------------------------------------------------------------------------- */

struct cursor {
	struct am_source *s;
	char *at;
	bool is_bad;
};

static int bad(struct cursor *c, const char *why)
{
	c->is_bad = true;
	return source_fail(c->s, "line %llu: %s", (unsigned long long)c->s->lines.number, why);
}

static void blanks(struct cursor *c)
{
	c->at += strspn(c->at, " \t");
}

static bool accept(struct cursor *c, const char *word)
{
	const size_t n = strlen(word);
	if (strncmp(c->at, word, n) != 0)
		return false;
	c->at += n;
	return true;
}

static bool ends_word(char ch)
{
	return ch == 0 || ch == ' ' || ch == '\t';
}

static bool accept_word(struct cursor *c, const char *word)
{
	const size_t n = strlen(word);
	if (strncmp(c->at, word, n) != 0 || !ends_word(c->at[n]))
		return false;
	c->at += n;
	return true;
}

static uint64_t number(struct cursor *c)
{
	uint64_t v = 0;
	const bool hex = accept(c, "0x");
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
			bad(c, "a number is too large");
			return 0;
		}
		v = v * base + d;
	}
	if (!digits)
		bad(c, "expected a number");
	return v;
}

static uint32_t number32(struct cursor *c)
{
	const uint64_t v = number(c);
	if (v > UINT32_MAX)
		bad(c, "a number is too large");
	return (uint32_t)v;
}

static int hex_digit(char ch)
{
	return ch >= '0' && ch <= '9' ? ch - '0' : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

/* A quoted text, unescaped in place; NULL if it is malformed. */
static char *quoted(struct cursor *c)
{
	if (*c->at != '"') {
		bad(c, "expected a quoted text");
		return NULL;
	}
	char *const text = ++c->at, *to = text;
	while (*c->at && *c->at != '"') {
		char ch = *c->at++;
		if (ch == '\\') {
			const char escaped = *c->at;
			if (escaped == 'x' && hex_digit(c->at[1]) >= 0 &&
			    hex_digit(c->at[2]) >= 0 && (c->at[1] != '0' || c->at[2] != '0')) {
				ch = (char)(hex_digit(c->at[1]) << 4 | hex_digit(c->at[2]));
				c->at += 3;
			} else if (escaped == '"' || escaped == '\\') {
				ch = escaped;
				c->at++;
			} else {
				bad(c, "unknown escape in a quoted text");
				return NULL;
			}
		}
		*to++ = ch;
	}
	if (*c->at != '"') {
		bad(c, "quoted text does not end");
		return NULL;
	}
	c->at++;
	*to = 0;
	return text;
}

static int check(struct cursor *c, const char *why)
{
	return why ? bad(c, why) : 1;
}

/* ---- tables -------------------------------------------------------------------------------- */

static int read_header(struct cursor *c)
{
	if (number(c) != 1)
		return bad(c, "unknown version of the text form");
	for (blanks(c); *c->at && !c->is_bad; blanks(c)) {
		if (accept(c, "features="))
			c->s->info.features = number(c);
		else if (accept(c, "clock="))
			c->s->info.clock = number32(c);
		else if (accept(c, "start="))
			c->s->info.start_ns = number(c);
		else if (accept(c, "pid="))
			c->s->tables.t.pid = number32(c);
		else
			return bad(c, "unknown word in the header");
	}
	return 1;
}

static int read_module(struct cursor *c)
{
	struct am_module m = {0};
	const uint32_t index = number32(c);

	for (blanks(c); *c->at && *c->at != '"' && !c->is_bad; blanks(c)) {
		if (accept(c, "base="))
			m.base = number(c);
		else if (accept(c, "start="))
			m.start = number(c);
		else if (accept(c, "end="))
			m.end = number(c);
		else if (accept(c, "unloaded="))
			m.unloaded = number32(c);
		else if (accept(c, "id=")) {
			for (; hex_digit(c->at[0]) >= 0 && hex_digit(c->at[1]) >= 0; c->at += 2) {
				if (m.build_id_len == AM_BUILD_ID_MAX)
					return bad(c, "build-id is too long");
				m.build_id[m.build_id_len++] =
					(uint8_t)(hex_digit(c->at[0]) << 4 | hex_digit(c->at[1]));
			}
		} else
			return bad(c, "unknown word about a module");
	}
	const char *path = c->is_bad ? NULL : quoted(c);
	if (!path)
		return -1;
	return check(c, tablebuild_module(&c->s->tables, index, &m, path, strlen(path)));
}

static int read_site(struct cursor *c)
{
	struct am_site site = {0};
	const uint32_t id = number32(c);

	for (blanks(c); *c->at && *c->at != ';' && !c->is_bad; blanks(c)) {
		if (site.n_frames == AM_FRAMES_MAX)
			return bad(c, "site has too many frames");
		site.frame[site.n_frames++] = number(c);
	}
	return c->is_bad ? -1 : check(c, tablebuild_site(&c->s->tables, id, &site));
}

static int read_thread(struct cursor *c)
{
	struct am_thread th = {.id = number32(c), .parent = UINT32_MAX};

	for (blanks(c); *c->at && *c->at != '"' && !c->is_bad; blanks(c)) {
		if (accept(c, "parent="))
			th.parent = number32(c);
		else if (accept(c, "tid="))
			th.os_tid = number32(c);
		else if (accept(c, "site="))
			th.create_site = number32(c);
		else
			return bad(c, "unknown word about a thread");
	}
	const char *name = c->is_bad ? NULL : quoted(c);
	return name ? check(c, tablebuild_thread(&c->s->tables, &th, name, strlen(name))) : -1;
}

static int read_table_line(struct cursor *c)
{
	const char *text;

	if (accept(c, "!atommon-trace "))
		return read_header(c);
	if (accept(c, "!module "))
		return read_module(c);
	if (accept(c, "!site "))
		return read_site(c);
	if (accept(c, "!thread "))
		return read_thread(c);
	if (accept(c, "!command ")) {
		text = quoted(c);
		return text ? check(c, tablebuild_command(&c->s->tables, text, strlen(text))) : -1;
	}
	if (accept(c, "!string ")) {
		const uint32_t id = number32(c);
		blanks(c);
		text = c->is_bad ? NULL : quoted(c);
		return text ? check(c, tablebuild_string(&c->s->tables, id, text, strlen(text)))
			    : -1;
	}
	return bad(c, "unknown table line");
}

/* ---- events -------------------------------------------------------------------------------- */

/* "text"$id, $id, or "text" alone: then the string is found, or made. */
static uint64_t string_id(struct cursor *c)
{
	const struct am_tables *t = &c->s->tables.t;
	const char *text = NULL;

	if (*c->at == '"' && !(text = quoted(c)))
		return 0;
	if (accept(c, "$"))
		return number(c);
	if (!text) {
		bad(c, "expected a string");
		return 0;
	}
	for (size_t i = 1; i < t->n_strings; i++)
		if (strcmp(t->string[i], text) == 0)
			return i;
	const uint32_t id = t->n_strings ? (uint32_t)t->n_strings : 1;
	check(c, tablebuild_string(&c->s->tables, id, text, strlen(text)));
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
			bad(c, "an expression does not end");
			return;
		}
	} while (depth);
}

static int read_definition(struct cursor *c, struct am_event *e)
{
	uint64_t operand[3] = {0};
	unsigned n = 0;

	blanks(c);
	if (accept_word(c, "nested"))
		e->flags |= AM_NESTED;
	blanks(c);
	if (!accept(c, "e"))
		return bad(c, "expected the node that is defined");
	number32(c); /* implied by the order of the lines */
	if (!accept(c, " = "))
		return bad(c, "expected '='");
	if (accept(c, "raw ")) {
		e->object = number(c);
		blanks(c);
		e->value = number(c);
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
		return bad(c, "unknown operation");
	c->at += colon + 1 - c->at;
	const uint64_t width = number(c);
	for (blanks(c); *c->at && *c->at != ';' && !c->is_bad && n < 3; blanks(c)) {
		accept(c, "e");
		operand[n++] = op == AM_OP_CONST ? number(c) : number32(c);
	}
	if (c->is_bad)
		return -1;
	if (width > 255 || (*c->at && *c->at != ';'))
		return bad(c, "malformed expression");
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
		e->aux = e->kind == AM_NAME ? string_id(c) : number(c);
	} else if (accept(c, "size=")) {
		e->size = number32(c);
	} else if (accept(c, "value=")) {
		e->value = number(c);
		e->flags |= AM_HAS_VALUE;
	} else if (accept(c, "object=")) {
		e->object = number(c);
	} else if (accept(c, "mode=")) {
		e->mode = (uint8_t)number(c);
	} else if (accept(c, "order=")) {
		for (unsigned i = 1; i < AM_TEXT_ORDERS; i++)
			if (accept_word(c, am_text_orders[i])) {
				e->order = (uint8_t)i;
				return true;
			}
		e->order = (uint8_t)number(c);
	} else {
		return false;
	}
	return true;
}

static bool read_word(struct cursor *c, struct am_event *e)
{
	for (unsigned i = 0; i < AM_TEXT_FLAGS; i++)
		if (accept_word(c, am_text_flags[i].word)) {
			e->flags |= am_text_flags[i].flag;
			return true;
		}
	const bool is_lost = e->kind == AM_LOST;
	const char *const *words = is_lost ? am_text_lost : am_text_objects;
	for (unsigned i = 1; i < (is_lost ? AM_TEXT_LOST : AM_TEXT_OBJECTS); i++)
		if ((is_lost || e->kind == AM_INIT || e->kind == AM_DESTROY) &&
		    accept_word(c, words[i])) {
			e->mode = (uint8_t)i;
			return true;
		}
	if (accept_word(c, "shared") || accept_word(c, "serial"))
		e->mode = 1;
	else if (accept_word(c, "true"))
		e->value = 1;
	else if (!accept_word(c, "false") && !accept_word(c, "-"))
		return false;
	return true;
}

static int read_detail(struct cursor *c, struct am_event *e, bool *has_object)
{
	const char class = am_text_object_class((enum am_kind)e->kind);

	if (!*has_object && class == 't' && accept(c, "T")) {
		e->object = number(c);
		*has_object = true;
	} else if (!*has_object && class == 'a' && strncmp(c->at, "0x", 2) == 0) {
		e->object = number(c);
		*has_object = true;
	} else if (!*has_object && class == 's' && (*c->at == '"' || *c->at == '$')) {
		e->object = string_id(c);
		*has_object = true;
	} else if (*c->at == '(' || strncmp(c->at, "!(", 2) == 0) {
		if (e->kind == AM_BRANCH || e->kind == AM_ASSERT)
			e->value = *c->at == '(';
		c->at += *c->at == '!';
		skip_tree(c);
	} else if (accept(c, "#") ||
		   (*c->at == 'r' && c->at[1] >= '0' && c->at[1] <= '9' && accept(c, "r"))) {
		e->expr = number32(c);
	} else if (!read_named(c, e) && !read_word(c, e)) {
		return bad(c, "unknown word");
	}
	if (!c->is_bad && !ends_word(*c->at))
		return bad(c, "unexpected characters after a word");
	return c->is_bad ? -1 : 1;
}

static int read_kind(struct cursor *c, struct am_event *e)
{
	const size_t n = strcspn(c->at, " \t");
	enum am_kind kind;

	if (n == 6 && memcmp(c->at, "assume", n) == 0)
		kind = AM_BRANCH;
	else if (!am_kind_from_name(c->at, (unsigned)n, &kind) || kind == AM_EXT)
		return bad(c, "unknown event");
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

	number(c);
	blanks(c);
	if (c->is_bad || !accept(c, "T"))
		return c->is_bad ? -1 : bad(c, "expected a thread (T<number>)");
	e.thread = number32(c);
	blanks(c);
	if (c->is_bad || read_kind(c, &e) < 0)
		return -1;
	if (e.kind == AM_EXPR) {
		if (read_definition(c, &e) < 0)
			return -1;
	} else {
		for (blanks(c); *c->at; blanks(c)) {
			if (accept(c, "@")) {
				e.site = number32(c);
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
		return bad(c, "the event has more details than a record holds");
	am_record_decode(units, &back); /* what a record cannot hold is not silently dropped */
	back.thread = e.thread;
	if (!am_event_same(&back, &e))
		return bad(c, "a detail does not belong to this event");
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
		blanks(&c);
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
