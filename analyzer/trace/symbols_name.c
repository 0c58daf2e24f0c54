/*
 * Names as the source has them, each worked out once: demangled, and without what compilers append to the
 * versions of a function. Runs in tools.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/symbols_image.h"

#include <stdlib.h>
#include <string.h>

/* From the C++ runtime. */
char *__cxa_demangle(const char *mangled, char *buf, size_t *n, int *status);

struct am_plain_name {
	struct am_plain_name *next;
	char *mangled, *plain;
};

/* Compilers make versions of a function, `atommon cc` the watched one; to the reader they are one. */
static const char *version_of(const char *name)
{
	static const char *const kind[] = {".atommon", ".constprop.", ".isra.", ".part.",
					   ".cold",    ".lto_priv.",  ".llvm."};
	const char *first = NULL;

	for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
		const char *at = strstr(name, kind[i]);
		if (at && (!first || at < first))
			first = at;
	}
	return first;
}

static char *source_name(const char *mangled)
{
	const char *version = version_of(mangled);
	char *name = version ? strndup(mangled, (size_t)(version - mangled)) : strdup(mangled);
	int status;

	if (!name || strncmp(name, "_Z", 2) != 0)
		return name;
	char *plain = __cxa_demangle(name, NULL, NULL, &status);
	if (!plain)
		return name;
	free(name);
	return plain;
}

const char *am_symbols_plain(struct am_symbols *s, const char *mangled)
{
	unsigned h = 0;

	if (!mangled || (strncmp(mangled, "_Z", 2) != 0 && !version_of(mangled)))
		return mangled;
	for (const char *p = mangled; *p; p++)
		h = h * 31 + (unsigned char)*p;
	h %= AM_SYMBOL_NAMES;
	for (struct am_plain_name *n = s->names[h]; n; n = n->next)
		if (strcmp(n->mangled, mangled) == 0)
			return n->plain ? n->plain : mangled;
	struct am_plain_name *n = calloc(1, sizeof *n);
	if (!n || !(n->mangled = strdup(mangled))) {
		free(n);
		return mangled;
	}
	n->plain = source_name(mangled);
	n->next = s->names[h];
	s->names[h] = n;
	return n->plain ? n->plain : mangled;
}

void am_symbols_free_names(struct am_symbols *s)
{
	for (unsigned k = 0; k < AM_SYMBOL_NAMES; k++)
		while (s->names[k]) {
			struct am_plain_name *n = s->names[k];
			s->names[k] = n->next;
			free(n->mangled);
			free(n->plain);
			free(n);
		}
}
