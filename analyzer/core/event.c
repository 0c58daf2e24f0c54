/* Names of events. Runs anywhere; no state. */
/* SPDX-License-Identifier: MIT */
#include "atommon/event.h"

#include <string.h>

static const char *const names[AM_KINDS] = {
#define X(text, name, object, meaning) [AM_##name] = #text,
	AM_EVENTS(X)
#undef X
};

const char *am_kind_name(enum am_kind kind)
{
	return (unsigned)kind < AM_KINDS ? names[kind] : "?";
}

bool am_kind_from_name(const char *text, unsigned len, enum am_kind *kind)
{
	for (unsigned k = 1; k < AM_KINDS; k++)
		if (strlen(names[k]) == len && memcmp(names[k], text, len) == 0) {
			*kind = (enum am_kind)k;
			return true;
		}
	return false;
}
