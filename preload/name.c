/*
 * Reads the qualified name out of a mangled C++ symbol: enough of the Itanium ABI's grammar (5.1) to tell
 * where the parts of a nested name begin and to step over template arguments. Runs in init and, for a
 * module that came late, in a hook: no malloc, no recursion, never reads past the terminating zero.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/name.h"

#include <stdbool.h>
#include <string.h>

enum { DEPTH_MAX = 64, NUMBER_MAX = 4096 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* <source-name> ::= length identifier. NULL if there is none. */
static const char *skip_source(const char *p, const char **name, size_t *length)
{
	size_t n = 0;

	while (is_digit(*p) && n < NUMBER_MAX)
		n = n * 10 + (size_t)(*p++ - '0');
	if (n == 0 || n >= NUMBER_MAX || strnlen(p, n) < n)
		return NULL;
	*name = p;
	*length = n;
	return p + n;
}

/* S_, S1_, T_, T0_: up to the underline. St, Sa and so on: two letters. */
static const char *skip_numbered(const char *p)
{
	if (p[0] == 'S' && p[1] >= 'a' && p[1] <= 'z')
		return p + 2;
	for (p++; is_digit(*p) || (*p >= 'A' && *p <= 'Z'); p++)
		;
	return *p == '_' ? p + 1 : NULL;
}

/* A literal: L type value E. The value's digits are no length. */
static const char *skip_literal(const char *p)
{
	const char *name;
	size_t length;

	p++;
	if (p[0] == '_' && p[1] == 'Z')
		return NULL;
	if (is_digit(*p)) {
		p = skip_source(p, &name, &length);
		if (!p)
			return NULL;
	}
	while (*p && *p != 'E')
		p++;
	return *p ? p + 1 : NULL;
}

/* Behind an entity of a function: which of those with one name; _ digit or __ digits _. */
static const char *skip_discriminator(const char *p)
{
	if (p[1] != '_')
		return is_digit(p[1]) ? p + 2 : p + 1;
	for (p += 2; is_digit(*p); p++)
		;
	return *p == '_' ? p + 1 : NULL;
}

/* Behind the bracket of a lambda, and in the name of a type without one: which of them. */
static const char *skip_count(const char *p)
{
	while (is_digit(*p))
		p++;
	return *p == '_' ? p + 1 : NULL;
}

/* What begins with an upper-case letter and may open a bracket, of which kind: or 0. */
static char bracket(const char *p)
{
	if (p[0] == 'D')
		return p[1] == 'T' || p[1] == 't' ? 'D' : 0;
	if (p[0] == 'U')
		return p[1] == 'l' ? 'U' : 0;
	return strchr("NIXJFZ", p[0]) ? p[0] : 0;
}

/*
 * <template-args> ::= I ... E: brackets are counted, everything else is stepped over. Among them are
 * local entities (Z function E entity), such as the lambdas that are handed to a template.
 */
static const char *skip_arguments(const char *p)
{
	char kind[DEPTH_MAX];
	unsigned depth = 0;

	do {
		const char *name;
		size_t length;
		const char inner = depth ? kind[depth - 1] : 0;
		if (*p == '\0' || depth >= DEPTH_MAX)
			return NULL;
		if (is_digit(*p)) {
			p = skip_source(p, &name, &length);
		} else if (*p == 'S' || *p == 'T') {
			p = skip_numbered(p);
		} else if (*p == 'L') {
			p = inner == 'N' || inner == 'Z' ? p + 1 : skip_literal(p);
		} else if (*p == 'A') { /* array: A length _ type */
			p = skip_count(p + 1);
		} else if (*p == '_') {
			p = skip_discriminator(p);
		} else if (*p == 'U' && p[1] == 't') {
			p = skip_count(p + 2);
		} else if (*p == 'E') {
			p = inner == 'U' ? skip_count(p + 1) : p + 1;
			depth--;
		} else {
			const char opened = bracket(p);
			if (opened)
				kind[depth++] = opened;
			p += 1 + ((*p == 'D' && p[1]) || opened == 'U');
		}
		if (!p)
			return NULL;
	} while (depth > 0);
	return p;
}

struct out {
	char *buf;
	size_t at, size;
	const char *last; /* the latest part, for constructors */
	size_t last_length;
};

static bool add(struct out *o, const char *name, size_t length, bool is_destructor)
{
	if (o->at + length + 4 >= o->size)
		return false;
	if (o->at) {
		o->buf[o->at++] = ':';
		o->buf[o->at++] = ':';
	}
	if (is_destructor)
		o->buf[o->at++] = '~';
	memcpy(o->buf + o->at, name, length);
	o->at += length;
	o->last = name;
	o->last_length = length;
	return true;
}

/* One part of a nested name; NULL: not understood. */
static const char *read_part(const char *p, struct out *o)
{
	static const char anonymous[] = "_GLOBAL__N_";
	const char *name;
	size_t length;

	if (is_digit(*p)) {
		p = skip_source(p, &name, &length);
		if (!p)
			return NULL;
		if (length >= sizeof anonymous - 1 && !memcmp(name, anonymous, sizeof anonymous - 1))
			return p;
		return add(o, name, length, false) ? p : NULL;
	}
	if (p[0] == 'S' && p[1] == 't')
		return add(o, "std", 3, false) ? p + 2 : NULL;
	if (*p == 'I')
		return skip_arguments(p);
	if (*p == 'B') /* an ABI tag */
		return skip_source(p + 1, &name, &length);
	if ((*p == 'C' || *p == 'D') && is_digit(p[1]) && o->last)
		return add(o, o->last, o->last_length, *p == 'D') ? p + 2 : NULL;
	if (p[0] == 'c' && p[1] == 'l')
		return add(o, "operator()", 10, false) ? p + 2 : NULL;
	return NULL;
}

const char *am_name_plain(const char *symbol, char *buf, size_t size)
{
	struct out o = {.buf = buf, .size = size};
	const char *p = symbol;

	if (strncmp(p, "_Z", 2) != 0 || size == 0)
		return symbol;
	p += 2;
	if (*p == 'N') {
		for (p++; *p && strchr("KVrRO", *p); p++)
			;
		while (p && *p != 'E') {
			p += *p == 'L'; /* internal linkage */
			p = read_part(p, &o);
		}
	} else {
		p += *p == 'L';
		if (p[0] == 'S' && p[1] == 't')
			p = read_part(p, &o);
		if (p)
			p = is_digit(*p) ? read_part(p, &o) : NULL;
	}
	if (!p || o.at == 0)
		return symbol;
	buf[o.at] = '\0';
	return buf;
}
