/*
 * Reads one compiler command line, response files included, as far as the wrapper must understand
 * it: is there a link step, for which target. Runs in the wrapper only. Must never change an
 * argument.
 */
/* SPDX-License-Identifier: MIT */
#include "instrument/cc.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { RESPONSE_DEPTH = 16, ARG_MAX_BYTES = 65536 };

/* Options of gcc and clang whose value is the next argument. */
static const char *const takes_value[] = {
	"-o",
	"-x",
	"-I",
	"-L",
	"-D",
	"-U",
	"-l",
	"-u",
	"-z",
	"-T",
	"-e",
	"-B",
	"-A",
	"-G",
	"-V",
	"-b",
	"-include",
	"-imacros",
	"-isystem",
	"-iquote",
	"-idirafter",
	"-iprefix",
	"-iwithprefix",
	"-iwithprefixbefore",
	"-isysroot",
	"-imultilib",
	"-MF",
	"-MT",
	"-MQ",
	"-MJ",
	"-Xlinker",
	"-Xassembler",
	"-Xpreprocessor",
	"-Xclang",
	"-mllvm",
	"-arch",
	"-target",
	"-aux-info",
	"--param",
	"-dumpbase",
	"-dumpdir",
	"-wrapper",
	"-dumpbase-ext",
	"-framework",
	"-serialize-diagnostics",
	"--serialize-diagnostics",
	"-working-directory",
	"-gcc-toolchain",
	"--sysroot",
	"-include-pch",
	"-imacros",
	"-ivfsoverlay",
	"-fplugin-arg",
	"-h",
	"-soname",
	"-rpath",
	"-Tbss",
	"-Tdata",
	"-Ttext",
};

static const char *const ends_before_link[] = {
	"-c",	     "-S",	   "-E",	   "-M",	"-MM",		"-fsyntax-only",
	"--compile", "--assemble", "--preprocess", "-emit-ast", "--precompile", "-emit-pch",
};

static const char *const other_sanitizers[] = {
	"address", "hwaddress", "memory", "leak", "dataflow", "kernel-address", "kernel-hwaddress",
};

static const char *const foreign[] = {"-m32", "-m16", "-mx32", "-miamcu"};

static bool among(const char *arg, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(arg, list[i]) == 0)
			return true;
	return false;
}
#define AMONG(arg, list) among(arg, list, sizeof(list) / sizeof *(list))

/* A response file: blanks separate, quotes and backslashes as in a shell. */
static bool next_word(FILE *f, char *word, size_t room)
{
	size_t n = 0;
	int quote = 0, c;

	do
		c = fgetc(f);
	while (c != EOF && isspace(c));
	if (c == EOF)
		return false;
	for (; c != EOF && (quote || !isspace(c)); c = fgetc(f)) {
		if (c == '\\') {
			c = fgetc(f);
			if (c == EOF)
				break;
		} else if (quote ? c == quote : (c == '"' || c == '\'')) {
			quote = quote ? 0 : c;
			continue;
		}
		if (n + 1 < room)
			word[n++] = (char)c;
	}
	word[n] = '\0';
	return true;
}

static void look_file(struct am_cc_what *what, const char *path)
{
	static char word[ARG_MAX_BYTES];
	FILE *f = what->depth < RESPONSE_DEPTH ? fopen(path, "r") : NULL;

	if (!f) { /* the compiler takes it for an input, and will say what it thinks */
		what->has_input = true;
		return;
	}
	what->depth++;
	while (next_word(f, word, sizeof word))
		am_cc_look(what, word);
	what->depth--;
	fclose(f);
}

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), k = strlen(end);

	return n >= k && strcmp(text + n - k, end) == 0;
}

/* -fsanitize=LIST and -fno-sanitize=LIST: is there one that does not go together with ours? */
static void look_sanitizers(struct am_cc_what *what, const char *list, bool wanted)
{
	size_t n;

	for (; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (!wanted && n == 3 && strncmp(list, "all", n) == 0)
			what->sanitizer = NULL;
		for (size_t i = 0; i < sizeof other_sanitizers / sizeof *other_sanitizers; i++) {
			const char *other = other_sanitizers[i];
			if (strlen(other) != n || strncmp(list, other, n) != 0)
				continue;
			if (wanted)
				what->sanitizer = other;
			else if (what->sanitizer == other)
				what->sanitizer = NULL;
		}
	}
}

/* A header given as input is precompiled, not linked. */
static bool names_header(const char *path)
{
	static const char *const suffix[] = {".h", ".hh", ".hpp", ".hxx", ".H", ".hp", ".h++"};

	for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++)
		if (ends_with(path, suffix[i]))
			return true;
	return false;
}

void am_cc_look(struct am_cc_what *what, const char *arg)
{
	if (what->language_next)
		what->is_header = ends_with(arg, "-header");
	what->language_next = strcmp(arg, "-x") == 0;
	if (what->value_next) {
		what->value_next = false;
		return;
	}
	if (strncmp(arg, "-x", 2) == 0 && arg[2])
		what->is_header = ends_with(arg, "-header");
	if (arg[0] == '@') {
		look_file(what, arg + 1);
		return;
	}
	if (arg[0] != '-' || arg[1] == '\0') {
		what->has_input = true;
		what->stops_early |= what->is_header || names_header(arg);
		return;
	}
	if (strncmp(arg, "-fsanitize=", 11) == 0)
		look_sanitizers(what, arg + 11, true);
	if (strncmp(arg, "-fno-sanitize=", 14) == 0)
		look_sanitizers(what, arg + 14, false);
	if (strncmp(arg, "-l", 2) == 0)
		what->has_input = true;
	if (AMONG(arg, ends_before_link))
		what->stops_early = true;
	else if (strcmp(arg, "-r") == 0)
		what->relocatable = true;
	else if (strcmp(arg, "-static") == 0 || strcmp(arg, "--static") == 0 ||
		 strcmp(arg, "-static-pie") == 0)
		what->wants_static = arg[1] == 's' && arg[7] ? "-static-pie" : "-static";
	else if (AMONG(arg, foreign))
		what->other_target = true;
	what->value_next = AMONG(arg, takes_value);
}
