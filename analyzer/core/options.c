/*
 * Settings from the environment, by the table in options.h. Runs in the preload library before main
 * and in the launcher: no malloc, no stdio.
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/options.h"

#include <string.h>

#define X(field, name, type, def, values, meaning)                                                 \
	{"ATOMMON_" #name, #type, def, values, meaning, offsetof(struct am_options, field)},
const struct am_option_row am_option_rows[] = {AM_OPTIONS(X)};
#undef X
const size_t am_option_count = sizeof am_option_rows / sizeof am_option_rows[0];

/* Names that other parts of atommon read; they are no mistake. */
static const char *const other_names[] = {"ATOMMON_CC", "ATOMMON_CXX", "ATOMMON_BUILD",
					  "ATOMMON_LIB", "ATOMMON_SYMBOLIZER", "ATOMMON_STATUS",
					  NULL};

static bool glob_span(const char *g, const char *end, const char *t)
{
	for (; g < end; g++, t++) {
		if (*g == '*') {
			while (g < end && *g == '*')
				g++;
			for (;; t++) {
				if (glob_span(g, end, t))
					return true;
				if (!*t)
					return false;
			}
		}
		if (!*t || (*g != '?' && *g != *t))
			return false;
	}
	return !*t;
}

bool am_glob(const char *glob, const char *text)
{
	return glob_span(glob, glob + strlen(glob), text);
}

bool am_glob_list(const char *globs, const char *text)
{
	if (!*globs)
		return true;
	while (*globs) {
		const size_t n = strcspn(globs, ",");
		if (n && glob_span(globs, globs + n, text))
			return true;
		globs += n + (globs[n] == ',');
	}
	return false;
}

/* The n bytes behind the next "fn:" of a comma list, and past it; NULL: there is none. */
static const char *next_function(const char **atomic, size_t *n)
{
	while (**atomic) {
		const char *entry = *atomic;
		const size_t length = strcspn(entry, ",");
		*atomic += length + (entry[length] == ',');
		if (length > 3 && memcmp(entry, "fn:", 3) == 0) {
			*n = length - 3;
			return entry + 3;
		}
	}
	return NULL;
}

/* May a glob speak of a whole C++ symbol? In it stand the types of all arguments: of what is handed to `push`, a great many functions have `push` in
 * their symbols. So only if it says so, or means all functions. */
static bool is_for_symbols(const char *glob, size_t n)
{
	return (n >= 2 && memcmp(glob, "_Z", 2) == 0) || strspn(glob, "*") >= n;
}

uint64_t am_glob_functions(const char *atomic, const char *name)
{
	const bool is_symbol = strncmp(name, "_Z", 2) == 0;
	const char *last = name, *glob;
	uint64_t found = 0;
	size_t n;

	for (const char *p = name; (p = strstr(p, "::")); p += 2)
		last = p + 2;
	for (unsigned i = 0; (glob = next_function(&atomic, &n)); i++)
		if ((!is_symbol || is_for_symbols(glob, n)) && (glob_span(glob, glob + n, name) || (!memchr(glob, ':', n) && glob_span(glob, glob + n, last))))
			found |= UINT64_C(1) << (i < 63 ? i : 63);
	return found;
}

bool am_glob_function(const char *atomic, const char *name)
{
	return am_glob_functions(atomic, name) != 0;
}

const char *am_glob_function_at(const char *atomic, unsigned i, size_t *n)
{
	const char *glob;

	while ((glob = next_function(&atomic, n)) && i)
		i--;
	return glob;
}

/* Digits with an optional K, M or G when `units`; false on anything else or overflow. */
static bool number(const char *text, bool units, uint64_t *out)
{
	uint64_t v = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (v > (UINT64_MAX - 9) / 10)
			return false;
		v = v * 10 + (uint64_t)(*p - '0');
	}
	if (p == text)
		return false;
	if (units && *p) {
		const unsigned shift = *p == 'K' || *p == 'k'	? 10
				       : *p == 'M' || *p == 'm' ? 20
				       : *p == 'G' || *p == 'g' ? 30
								: 0;
		if (!shift || v > UINT64_MAX >> shift)
			return false;
		v <<= shift;
		p++;
	}
	if (*p)
		return false;
	*out = v;
	return true;
}

/* "a..b", "a..": does v lie within? */
static bool in_range(const char *range, bool units, uint64_t v)
{
	char low[24] = {0};
	const char *dots = strstr(range, "..");
	uint64_t bound;

	if (!dots || (size_t)(dots - range) >= sizeof low)
		return true;
	memcpy(low, range, (size_t)(dots - range));
	if (number(low, units, &bound) && v < bound)
		return false;
	return !dots[2] || !number(dots + 2, units, &bound) || v <= bound;
}

static bool choice(const char *values, const char *text, uint32_t *out)
{
	const size_t len = strlen(text);

	for (uint32_t i = 0; *values; i++) {
		const size_t n = strcspn(values, "|");
		if (n == len && memcmp(values, text, n) == 0) {
			*out = i;
			return true;
		}
		values += n + (values[n] == '|');
	}
	return false;
}

static bool set(struct am_options *o, const struct am_option_row *row, const char *text)
{
	void *field = (char *)o + row->offset;
	uint64_t v;

	switch (row->type[0]) {
	case 'b':
		if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
			return false;
		*(bool *)field = text[0] == '1';
		return true;
	case 'u':
		if (!number(text, false, &v) || !in_range(row->values, false, v))
			return false;
		*(uint32_t *)field = (uint32_t)v;
		return true;
	case 's':
		if (!number(text, true, &v) || !in_range(row->values, true, v))
			return false;
		*(uint64_t *)field = v;
		return true;
	case 'c':
		return choice(row->values, text, field);
	default:
		if (strlen(text) >= sizeof o->trace)
			return false;
		strcpy(field, text);
		return true;
	}
}

/* Of one entry: no other one that a wrong separator put behind it. */
static bool is_function_glob(const char *text, size_t n)
{
	if (n <= 3 || memcmp(text, "fn:", 3) != 0)
		return false;
	for (size_t i = 3; i < n; i++)
		if (text[i] == ';' ||
		    (i + 3 < n && (text[i] == ' ' || text[i] == ':') && !memcmp(text + i + 1, "fn:", 3) && text[i + 4] != ':'))
			return false;
	return true;
}

/* ATOMMON_ATOMIC has a little grammar of its own. */
static bool atomic_is_valid(const char *text)
{
	if (!*text)
		return false; /* nothing would be a region */
	while (*text) {
		const size_t n = strcspn(text, ",");
		const bool known = (n == 6 && !memcmp(text, "marked", 6)) ||
				   (n == 8 && !memcmp(text, "sections", 8)) ||
				   is_function_glob(text, n);
		if (!known)
			return false;
		text += n + (text[n] == ',');
	}
	return true;
}

static size_t append(char *buf, size_t at, size_t size, const char *text, size_t max)
{
	for (; *text && max-- && at + 1 < size; text++)
		buf[at++] = *text;
	buf[at] = 0;
	return at;
}

static void warn_value(const struct am_option_row *row, const char *text, am_option_warn_fn *warn,
		       void *ctx)
{
	char buf[400];
	size_t at = append(buf, 0, sizeof buf, row->name, 64);

	at = append(buf, at, sizeof buf, "='", 2);
	at = append(buf, at, sizeof buf, text, 80);
	at = append(buf, at, sizeof buf, "': expected ", 64);
	at = append(buf, at, sizeof buf, row->values, 80);
	at = append(buf, at, sizeof buf, "; using the default '", 64);
	at = append(buf, at, sizeof buf, row->def, 40);
	append(buf, at, sizeof buf, "'", 1);
	warn(ctx, buf);
}

static void warn_name(const char *entry, size_t n, am_option_warn_fn *warn, void *ctx)
{
	char buf[200];
	size_t at = append(buf, 0, sizeof buf, "unknown setting '", 64);

	at = append(buf, at, sizeof buf, entry, n < 80 ? n : 80);
	append(buf, at, sizeof buf, "' ignored; 'atommon help env' lists the settings", 80);
	warn(ctx, buf);
}

void am_options_from_env(struct am_options *o, char *const *env, am_option_warn_fn *warn, void *ctx)
{
	bool names_trace = false;

	memset(o, 0, sizeof *o);
	for (size_t i = 0; i < am_option_count; i++)
		set(o, &am_option_rows[i], am_option_rows[i].def);
	for (; env && *env; env++) {
		const char *entry = *env, *eq = strchr(entry, '=');
		if (strncmp(entry, "ATOMMON_", 8) != 0 || !eq)
			continue;
		const size_t n = (size_t)(eq - entry);
		const struct am_option_row *row = NULL;
		for (size_t i = 0; i < am_option_count && !row; i++)
			if (strlen(am_option_rows[i].name) == n &&
			    !memcmp(am_option_rows[i].name, entry, n))
				row = &am_option_rows[i];
		if (row) {
			const bool is_atomic = row->offset == offsetof(struct am_options, atomic);
			if ((is_atomic && !atomic_is_valid(eq + 1)) || !set(o, row, eq + 1))
				warn_value(row, eq + 1, warn, ctx);
			else
				names_trace |= row->offset == offsetof(struct am_options, trace);
			continue;
		}
		bool is_other = false;
		for (const char *const *p = other_names; *p; p++)
			is_other |= strlen(*p) == n && !memcmp(*p, entry, n);
		if (!is_other)
			warn_name(entry, n, warn, ctx);
	}
	if (names_trace && o->enabled && o->mode == AM_MODE_CHECK)
		warn(ctx, "ATOMMON_TRACE names a trace, but nothing is recorded; ATOMMON_MODE=both (or record) does");
}
