/*
 * Memory and text of one violation. Runs in the drain thread and in tools; must never call malloc
 * or stdio.
 */
/* SPDX-License-Identifier: MIT */
#include "arena.h"

#include <assert.h>
#include <string.h>

#include "atommon/mem.h"

enum { CHUNK_BYTES = 32 * 1024 };

struct am_arena_chunk {
	struct am_arena_chunk *next;
	size_t bytes, used; /* of data */
	_Alignas(16) char data[];
};

void am_arena_init(struct am_arena *a, struct am_mem *mem)
{
	memset(a, 0, sizeof *a);
	a->mem = mem;
	a->chunk_bytes = CHUNK_BYTES;
}

void am_arena_reset(struct am_arena *a)
{
	if (a->first) {
		struct am_arena_chunk *c = a->first->next;
		while (c) {
			struct am_arena_chunk *next = c->next;
			am_mem_free(a->mem, c, sizeof *c + c->bytes);
			c = next;
		}
		memset(a->first->data, 0, a->first->used);
		a->first->used = 0;
		a->first->next = NULL;
	}
	a->at = a->first;
	a->failed = false;
}

void am_arena_destroy(struct am_arena *a)
{
	am_arena_reset(a);
	if (a->first)
		am_mem_free(a->mem, a->first, sizeof *a->first + a->first->bytes);
	a->first = a->at = NULL;
}

void *am_arena_get(struct am_arena *a, size_t bytes)
{
	bytes = (bytes + 15) & ~(size_t)15;
	if (!a->at || a->at->bytes - a->at->used < bytes) {
		const size_t data = bytes > a->chunk_bytes ? bytes : a->chunk_bytes;
		struct am_arena_chunk *c = am_mem_alloc(a->mem, sizeof *c + data);
		if (!c) {
			a->failed = true;
			return NULL;
		}
		c->bytes = data;
		if (a->at)
			a->at->next = c;
		else
			a->first = c;
		a->at = c;
	}
	void *p = a->at->data + a->at->used;
	a->at->used += bytes;
	assert(a->at->used <= a->at->bytes);
	return p;
}

const char *am_arena_copy(struct am_arena *a, const char *text)
{
	const size_t n = strlen(text) + 1;
	char *p = am_arena_get(a, n);
	return p ? memcpy(p, text, n) : "";
}

struct sink {
	char *buf;
	size_t size, at; /* at counts also what does not fit */
};

static void put(struct sink *s, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++, s->at++)
		if (s->at + 1 < s->size)
			s->buf[s->at] = text[i];
}

static void put_number(struct sink *s, uint64_t v, unsigned base)
{
	char digits[24];
	size_t i = sizeof digits;

	do {
		digits[--i] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	put(s, digits + i, sizeof digits - i);
}

size_t am_text_intov(char *buf, size_t size, const char *format, va_list ap)
{
	struct sink s = {buf, size, 0};

	for (const char *p = format; *p; p++) {
		if (*p != '%') {
			put(&s, p, 1);
			continue;
		}
		switch (*++p) {
		case 's': {
			const char *text = va_arg(ap, const char *);
			put(&s, text, strlen(text));
			break;
		}
		case '.': { /* %.*s */
			const int n = va_arg(ap, int);
			const char *text = va_arg(ap, const char *);
			assert(p[1] == '*' && p[2] == 's');
			put(&s, text, strnlen(text, (size_t)n));
			p += 2;
			break;
		}
		case 'u':
			put_number(&s, va_arg(ap, uint32_t), 10);
			break;
		case 'l':
			put_number(&s, va_arg(ap, uint64_t), 10);
			break;
		case 'x':
			put_number(&s, va_arg(ap, uint64_t), 16);
			break;
		case 'c': {
			const char c = (char)va_arg(ap, int);
			put(&s, &c, 1);
			break;
		}
		default:
			assert(*p == '%');
			put(&s, "%", 1);
		}
	}
	if (size)
		buf[s.at < size ? s.at : size - 1] = 0;
	return s.at;
}

size_t am_text_into(char *buf, size_t size, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	const size_t n = am_text_intov(buf, size, format, ap);
	va_end(ap);
	return n;
}

const char *am_textf(struct am_arena *a, const char *format, ...)
{
	va_list ap, again;

	va_start(ap, format);
	va_copy(again, ap);
	const size_t n = am_text_intov(NULL, 0, format, ap);
	char *text = am_arena_get(a, n + 1);
	if (text)
		am_text_intov(text, n + 1, format, again);
	va_end(again);
	va_end(ap);
	return text ? text : "";
}

size_t am_utf8_bytes(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	const size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	const bool is_overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
	const bool is_surrogate = p[0] == 0xed && p[1] >= 0xa0;
	const bool is_beyond = p[0] == 0xf4 && p[1] >= 0x90;
	return n > 1 && (is_overlong || is_surrogate || is_beyond) ? 0 : n;
}
