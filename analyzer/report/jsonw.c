/* The streaming JSON writer: see jsonw.h. */
/* SPDX-License-Identifier: MIT */
#include "jsonw.h"

#include <assert.h>
#include <string.h>

#include "arena.h"

void am_jsonw_init(struct am_jsonw *w, struct am_out *out)
{
	*w = (struct am_jsonw){.out = out};
}

static void raw(struct am_jsonw *w, const char *bytes, size_t n)
{
	w->out->write(w->out->ctx, bytes, n);
}

static void quoted(struct am_jsonw *w, const char *text)
{
	raw(w, "\"", 1);
	while (*text) {
		size_t plain = 0, n;
		while ((unsigned char)text[plain] >= 0x20 && text[plain] != '"' && text[plain] != '\\' &&
		       (n = am_utf8_bytes(text + plain)))
			plain += n;
		raw(w, text, plain);
		text += plain;
		if (!*text)
			break;
		char escape[8];
		const unsigned char c = (unsigned char)*text++;
		if (c == '"' || c == '\\')
			n = am_text_into(escape, sizeof escape, "\\%c", c);
		else if (c < 0x20)
			n = am_text_into(escape, sizeof escape, "\\u00%s%x", c < 16 ? "0" : "", (uint64_t)c);
		else
			n = am_text_into(escape, sizeof escape, "\\ufffd");
		raw(w, escape, n);
	}
	raw(w, "\"", 1);
}

static void key_of(struct am_jsonw *w, const char *key)
{
	if (w->has_item >> w->depth & 1)
		raw(w, ",", 1);
	w->has_item |= 1u << w->depth;
	if (key) {
		quoted(w, key);
		raw(w, ":", 1);
	}
}

void am_jsonw_open(struct am_jsonw *w, const char *key, char bracket)
{
	assert(bracket == '{' || bracket == '[');
	key_of(w, key);
	raw(w, &bracket, 1);
	w->depth++;
	assert(w->depth < 32);
	w->has_item &= ~(1u << w->depth);
}

void am_jsonw_close(struct am_jsonw *w, char bracket)
{
	assert((bracket == '}' || bracket == ']') && w->depth > 0);
	raw(w, &bracket, 1);
	w->depth--;
}

void am_jsonw_text(struct am_jsonw *w, const char *key, const char *text)
{
	key_of(w, key);
	quoted(w, text);
}

void am_jsonw_number(struct am_jsonw *w, const char *key, uint64_t value)
{
	char buf[24];

	key_of(w, key);
	raw(w, buf, am_text_into(buf, sizeof buf, "%l", value));
}

void am_jsonw_hex(struct am_jsonw *w, const char *key, uint64_t value)
{
	char buf[24];

	am_text_into(buf, sizeof buf, "0x%x", value);
	am_jsonw_text(w, key, buf);
}

void am_jsonw_bool(struct am_jsonw *w, const char *key, bool value)
{
	key_of(w, key);
	raw(w, value ? "true" : "false", value ? 4 : 5);
}
