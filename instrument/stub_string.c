/*
 * libatommon-stub.so: string functions as watched code calls them. Each tells which bytes it reads and
 * writes, and calls the real function; not watched, only the second. Runs in application threads; must never
 * allocate, lock, keep state, or touch memory that the real function would not.
 */
/* SPDX-License-Identifier: MIT */
#include "instrument/tell.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#undef _FORTIFY_SOURCE

EXPORT void __atommon_range(void *p, size_t n, int writes, void *pc, void *cfa)
{
	(void)p, (void)n, (void)writes, (void)pc, (void)cfa;
}

#define ANY ((size_t)PTRDIFF_MAX) /* no bound */

static inline size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* A string with its end, or its first n bytes. */
static size_t extent(const char *s, size_t n)
{
	const size_t length = strnlen(s, n);

	return length < n ? length + 1 : n;
}

HELPER void reads_string(const char *s)
{
	if (__atommon_armed)
		reads(s, strlen(s) + 1);
}

/* Both up to the first difference, an end included; folded: upper case is lower case. */
HELPER void reads_both(const char *a, const char *b, size_t n, int folded)
{
	size_t i = 0;

	if (!__atommon_armed || n == 0)
		return;
	while (i + 1 < n && a[i] && (folded ? strncasecmp(a + i, b + i, 1) == 0 : a[i] == b[i]))
		i++;
	reads(a, i + 1);
	reads(b, i + 1);
}

/* ---- memory -------------------------------------------------------------------------------------- */

/* Up to the first difference. */
HELPER void compares(const char *a, const char *b, size_t n)
{
	if (__atommon_armed && n) {
		size_t i = 0;
		while (i + 1 < n && a[i] == b[i])
			i++;
		reads(a, i + 1);
		reads(b, i + 1);
	}
}

EXPORT int __wrap_memcmp(const void *a, const void *b, size_t n)
{
	compares(a, b, n);
	return memcmp(a, b, n);
}

EXPORT int __wrap_bcmp(const void *a, const void *b, size_t n)
{
	compares(a, b, n);
	return memcmp(a, b, n);
}

EXPORT void *__wrap_memchr(const void *p, int c, size_t n)
{
	const char *found = memchr(p, c, n);

	reads(p, found ? (size_t)(found - (const char *)p) + 1 : n);
	return (void *)found;
}

EXPORT void *__wrap_mempcpy(void *to, const void *from, size_t n)
{
	reads(from, n);
	writes(to, n);
	return (char *)memcpy(to, from, n) + n;
}

EXPORT void __wrap_bcopy(const void *from, void *to, size_t n)
{
	reads(from, n);
	writes(to, n);
	memmove(to, from, n);
}

EXPORT void __wrap_bzero(void *to, size_t n)
{
	writes(to, n);
	memset(to, 0, n);
}

EXPORT void __wrap_explicit_bzero(void *to, size_t n)
{
	writes(to, n);
	explicit_bzero(to, n);
}

/* ---- strings, read ------------------------------------------------------------------------------- */

EXPORT size_t __wrap_strlen(const char *s)
{
	const size_t n = strlen(s);

	reads(s, n + 1);
	return n;
}

EXPORT size_t __wrap_strnlen(const char *s, size_t n)
{
	const size_t length = strnlen(s, n);

	reads(s, length < n ? length + 1 : n);
	return length;
}

EXPORT int __wrap_strcmp(const char *a, const char *b)
{
	reads_both(a, b, ANY, 0);
	return strcmp(a, b);
}

EXPORT int __wrap_strncmp(const char *a, const char *b, size_t n)
{
	reads_both(a, b, n, 0);
	return strncmp(a, b, n);
}

EXPORT int __wrap_strcasecmp(const char *a, const char *b)
{
	reads_both(a, b, ANY, 1);
	return strcasecmp(a, b);
}

EXPORT int __wrap_strncasecmp(const char *a, const char *b, size_t n)
{
	reads_both(a, b, n, 1);
	return strncasecmp(a, b, n);
}

EXPORT char *__wrap_strchr(const char *s, int c)
{
	char *found = strchr(s, c);

	if (__atommon_armed)
		reads(s, (found ? (size_t)(found - s) : strlen(s)) + 1);
	return found;
}

EXPORT char *__wrap_strrchr(const char *s, int c)
{
	reads_string(s);
	return strrchr(s, c);
}

EXPORT char *__wrap_strstr(const char *s, const char *part)
{
	char *found = strstr(s, part);

	if (__atommon_armed) {
		const size_t n = strlen(part);
		reads(part, n + 1);
		reads(s, found ? (size_t)(found - s) + n : strlen(s) + 1);
	}
	return found;
}

/* Up to where it stopped. */
#define SPAN(name)                                                                                 \
	EXPORT size_t __wrap_##name(const char *s, const char *set)                                \
	{                                                                                          \
		const size_t n = name(s, set);                                                     \
		reads_string(set);                                                                 \
		reads(s, n + 1);                                                                   \
		return n;                                                                          \
	}
SPAN(strspn)
SPAN(strcspn)

EXPORT char *__wrap_strpbrk(const char *s, const char *set)
{
	reads_string(set);
	if (__atommon_armed)
		reads(s, strcspn(s, set) + 1);
	return strpbrk(s, set);
}

EXPORT char *__wrap_strdup(const char *s)
{
	reads_string(s);
	return strdup(s);
}

EXPORT char *__wrap_strndup(const char *s, size_t n)
{
	if (__atommon_armed)
		reads(s, extent(s, n));
	return strndup(s, n);
}

/* ---- strings, written ---------------------------------------------------------------------------- */

HELPER void copies(char *to, const char *from)
{
	if (__atommon_armed) {
		const size_t n = strlen(from) + 1;
		reads(from, n);
		writes(to, n);
	}
}

HELPER void appends(char *to, const char *from, size_t n)
{
	if (__atommon_armed) {
		const size_t at = strlen(to), length = strnlen(from, n);
		reads(to, at + 1);
		reads(from, length < n ? length + 1 : n);
		writes(to + at, length + 1);
	}
}

EXPORT char *__wrap_strcpy(char *to, const char *from)
{
	copies(to, from);
	return strcpy(to, from);
}

EXPORT char *__wrap_stpcpy(char *to, const char *from)
{
	copies(to, from);
	return stpcpy(to, from);
}

EXPORT char *__wrap_strncpy(char *to, const char *from, size_t n)
{
	if (__atommon_armed) {
		reads(from, extent(from, n));
		writes(to, n);
	}
	return strncpy(to, from, n);
}

EXPORT char *__wrap_strcat(char *to, const char *from)
{
	appends(to, from, ANY);
	return strcat(to, from);
}

EXPORT char *__wrap_strncat(char *to, const char *from, size_t n)
{
	appends(to, from, n);
	return strncat(to, from, n);
}

/* From where it began up to the end that it gave the word, which may be the string's own. */
HELPER void cuts(char *word, char *from)
{
	if (__atommon_armed && word) {
		const size_t n = (size_t)(word - from) + strlen(word) + 1;
		reads(from, n);
		writes(from + n - 1, 1);
	}
}

EXPORT char *__wrap_strtok_r(char *s, const char *set, char **rest)
{
	char *from = s ? s : *rest, *word = strtok_r(s, set, rest);

	reads_string(set);
	cuts(word, from);
	return word;
}

EXPORT char *__wrap_strsep(char **s, const char *set)
{
	char *from = *s, *word = strsep(s, set);

	reads_string(set);
	cuts(word, from);
	return word;
}

/* ---- numbers ------------------------------------------------------------------------------------- */

/* What was looked at ends behind the last character that belongs to the number. */
#define NUMBER(name, type)                                                                         \
	EXPORT type __wrap_##name(const char *s, char **end, int base)                             \
	{                                                                                          \
		char *stop = (char *)s;                                                            \
		const type value = name(s, &stop, base);                                           \
		reads(s, (size_t)(stop - s) + 1);                                                  \
		if (end)                                                                           \
			*end = stop;                                                               \
		return value;                                                                      \
	}
NUMBER(strtol, long)
NUMBER(strtoul, unsigned long)
NUMBER(strtoll, long long)
NUMBER(strtoull, unsigned long long)

EXPORT double __wrap_strtod(const char *s, char **end)
{
	char *stop = (char *)s;
	const double value = strtod(s, &stop);

	reads(s, (size_t)(stop - s) + 1);
	if (end)
		*end = stop;
	return value;
}

HELPER long number_at(const char *s)
{
	char *stop = (char *)s;
	const int saved = errno;
	const long value = strtol(s, &stop, 10);

	errno = saved;
	reads(s, (size_t)(stop - s) + 1);
	return value;
}

EXPORT int __wrap_atoi(const char *s)
{
	return (int)number_at(s);
}

EXPORT long __wrap_atol(const char *s)
{
	return number_at(s);
}

EXPORT long long __wrap_atoll(const char *s)
{
	return number_at(s);
}

/* What is stored is up to the format, and is not told. */
#define SCAN(name)                                                                                 \
	EXPORT int __wrap_##name(const char *s, const char *format, ...)                           \
	{                                                                                          \
		va_list args;                                                                      \
		reads_string(s);                                                                   \
		va_start(args, format);                                                            \
		const int n = vsscanf(s, format, args);                                            \
		va_end(args);                                                                      \
		return n;                                                                          \
	}
SCAN(sscanf)
SCAN(__isoc99_sscanf)

/* ---- printing into memory: told afterwards, for only then the length is known -------------------- */

HELPER int printed(char *to, size_t room, int n)
{
	if (n >= 0 && room > 0)
		writes(to, smaller((size_t)n + 1, room));
	return n;
}

EXPORT int __wrap_vsnprintf(char *to, size_t room, const char *format, va_list args)
{
	return printed(to, room, vsnprintf(to, room, format, args));
}

EXPORT int __wrap___vsnprintf_chk(char *to, size_t room, int flag, size_t size, const char *format,
				  va_list args)
{
	return printed(to, room, __builtin___vsnprintf_chk(to, room, flag, size, format, args));
}

#define PRINT(name, room, call, ...)                                                               \
	EXPORT int __wrap_##name(char *to, __VA_ARGS__, const char *format, ...)                   \
	{                                                                                          \
		va_list args;                                                                      \
		va_start(args, format);                                                            \
		const int n = printed(to, room, call);                                             \
		va_end(args);                                                                      \
		return n;                                                                          \
	}
PRINT(snprintf, room, vsnprintf(to, room, format, args), size_t room)
PRINT(__snprintf_chk, room, __builtin___vsnprintf_chk(to, room, flag, size, format, args), size_t room,
      int flag, size_t size)
PRINT(__sprintf_chk, ANY, __builtin___vsprintf_chk(to, flag, size, format, args), int flag,
      size_t size)

EXPORT int __wrap_sprintf(char *to, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	const int n = printed(to, ANY, vsprintf(to, format, args));
	va_end(args);
	return n;
}

/* ---- with -D_FORTIFY_SOURCE ---------------------------------------------------------------------- */

EXPORT void *__wrap___memcpy_chk(void *to, const void *from, size_t n, size_t size)
{
	reads(from, n);
	writes(to, n);
	return __builtin___memcpy_chk(to, from, n, size);
}

EXPORT void *__wrap___memmove_chk(void *to, const void *from, size_t n, size_t size)
{
	reads(from, n);
	writes(to, n);
	return __builtin___memmove_chk(to, from, n, size);
}

EXPORT void *__wrap___memset_chk(void *to, int c, size_t n, size_t size)
{
	writes(to, n);
	return __builtin___memset_chk(to, c, n, size);
}

EXPORT char *__wrap___strcpy_chk(char *to, const char *from, size_t size)
{
	copies(to, from);
	return __builtin___strcpy_chk(to, from, size);
}

EXPORT char *__wrap___strncpy_chk(char *to, const char *from, size_t n, size_t size)
{
	if (__atommon_armed) {
		reads(from, extent(from, n));
		writes(to, n);
	}
	return __builtin___strncpy_chk(to, from, n, size);
}

EXPORT char *__wrap___strcat_chk(char *to, const char *from, size_t size)
{
	appends(to, from, ANY);
	return __builtin___strcat_chk(to, from, size);
}

EXPORT char *__wrap___strncat_chk(char *to, const char *from, size_t n, size_t size)
{
	appends(to, from, n);
	return __builtin___strncat_chk(to, from, n, size);
}

EXPORT char *__wrap___stpcpy_chk(char *to, const char *from, size_t size)
{
	copies(to, from);
	return __builtin___stpcpy_chk(to, from, size);
}

EXPORT void *__wrap___mempcpy_chk(void *to, const void *from, size_t n, size_t size)
{
	reads(from, n);
	writes(to, n);
	return __builtin___mempcpy_chk(to, from, n, size);
}
