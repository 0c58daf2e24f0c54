/* SPDX-License-Identifier: MIT */
/* What the compiler wrapper must know of a command line and of a compiler. */
#ifndef ATOMMON_INSTRUMENT_CC_H
#define ATOMMON_INSTRUMENT_CC_H

#include <stdbool.h>
#include <stddef.h>

struct am_cc_args {
	char **v; /* ends with NULL */
	size_t n, room;
};

/* What a command line asks for; filled argument by argument. */
struct am_cc_what {
	bool has_input;	   /* a file, standard input or a library */
	bool stops_early;  /* -c, -S, -E, -M, -MM, -fsyntax-only: no link step */
	bool relocatable;  /* -r: the result is linked again later */
	const char *wants_static; /* -static, -static-pie, or NULL */
	bool other_target; /* -m32 and the like: we have no library for it */
	bool value_next;   /* the next argument belongs to the option before it */
	bool language_next; /* the next argument is that of -x */
	bool is_header;	    /* -x c-header and the like: what follows is precompiled */
	const char *sanitizer; /* one that does not go together with ours, or NULL */
	unsigned depth;	   /* of response files */
};

void am_cc_look(struct am_cc_what *what, const char *arg);

static inline bool am_cc_links(const struct am_cc_what *what)
{
	return what->has_input && !what->stops_early && !what->relocatable;
}

struct am_cc_version {
	bool is_clang;
	int major;
};

/* Ask the compiler (a command of one or more words) what it is. */
bool am_cc_probe(char *const *command, struct am_cc_version *version);

#endif
