/*
 * atommon-cc, atommon-c++: run a C or C++ compiler so that the program it builds shows its memory
 * accesses to libatommon.so, and runs by itself when that is not preloaded. Owns the decision which
 * options to add; the compiler does everything else, with the user's own options after ours. Runs
 * as a tool, ends by becoming the compiler. Must never touch a file.
 *
 * Where things lie, relative to this program's own directory:
 *   ../lib/libatommon-stub.so           linked into what we build, found at run time by an rpath
 *   ../lib/atommon/link/                libtsan.so (the stub again) and an empty libtsan_preinit.o:
 *                                       gcc's own -fsanitize=thread then links the stub; and as,
 *                                       which lets a program that is not watched pass by the callbacks
 *   ../lib/atommon/include/             a header that makes libstdc++'s strings visible
 *   ../lib/atommon/{twin,symbolic}-MAJOR.so   the LLVM passes, for clang MAJOR
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/containers.h"
#include "atommon/strings.h"
#include "instrument/cc.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *self = "atommon-cc";

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s: ", self);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

static char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text(const char *format, ...)
{
	va_list args;
	char *s;

	va_start(args, format);
	if (vasprintf(&s, format, args) < 0)
		die("out of memory");
	va_end(args);
	return s;
}

static void push(struct am_cc_args *a, const char *arg)
{
	if (a->n + 1 >= a->room) {
		a->room = a->room ? 2 * a->room : 64;
		a->v = realloc(a->v, a->room * sizeof *a->v);
		if (!a->v)
			die("out of memory");
	}
	a->v[a->n++] = (char *)(uintptr_t)arg;
	a->v[a->n] = NULL;
}

/* "ccache gcc-12" is a command of two words. */
static void push_words(struct am_cc_args *a, const char *words)
{
	char *copy = text("%s", words);

	for (char *save, *w = strtok_r(copy, " \t\n", &save); w; w = strtok_r(NULL, " \t\n", &save))
		push(a, w);
}

static void usage(void)
{
	printf("usage: %s [--symbolic] COMPILER-OPTION... FILE...\n"
	       "Compile and link so that the program shows its memory accesses to libatommon.so.\n"
	       "  --symbolic     also values, branch conditions and expressions (needs clang)\n"
	       "  ATOMMON_CC     the C compiler (default: a clang that a pass is here for, else "
	       "cc)\n"
	       "  ATOMMON_CXX    the C++ compiler (the same, else c++)\n"
	       "All other options go to the compiler. See atommon-cc(1).\n",
	       self);
}

/* The directory that holds our own program, whatever way it was called. */
static char *own_directory(void)
{
	static char path[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	if (n <= 0)
		die("cannot find my own directory: %s", strerror(errno));
	path[n] = '\0';
	return dirname(path);
}

static char *lib_directory(void)
{
	char *raw = text("%s/../lib", own_directory());
	char *real = realpath(raw, NULL);

	if (!real)
		die("'%s' is missing: the installation is incomplete", raw);
	free(raw);
	return real;
}

static const char *pass_for(const char *lib, const char *name, int major)
{
	const char *path = text("%s/atommon/%s-%d.so", lib, name, major);

	return access(path, R_OK) == 0 ? path : NULL;
}

static bool in_path(const char *program)
{
	const char *path = getenv("PATH");
	char *copy = text("%s", path ? path : "/usr/local/bin:/usr/bin:/bin");

	for (char *save, *dir = strtok_r(copy, ":", &save); dir; dir = strtok_r(NULL, ":", &save))
		if (access(text("%s/%s", dir, program), X_OK) == 0)
			return true;
	return false;
}

/* Unless the user says otherwise: a clang with one of our passes, since only then the program runs
 * at near full speed when it is not watched. */
static const char *compiler_of(bool cxx, const char *pass)
{
	enum { OLDEST = 14, NEWEST = 30 };
	const char *name = getenv(cxx ? "ATOMMON_CXX" : "ATOMMON_CC");
	const char *lib = lib_directory();

	if (name && *name)
		return name;
	for (int major = OLDEST; major <= NEWEST; major++) {
		const char *clang = text("clang%s-%d", cxx ? "++" : "", major);
		if (pass_for(lib, pass, major) && in_path(clang))
			return clang;
	}
	return cxx ? "c++" : "cc";
}

/* Calls at the beginnings or ends of two branches must not become one: it would have the line of either, or none. */
static void keep_lines(struct am_cc_args *a, const struct am_cc_version *version)
{
	if (!version->is_clang) {
		push(a, "-fno-crossjumping");
		push(a, "-fno-tree-tail-merge");
	} else if (version->major >= 12) {
		push(a, "-mllvm");
		push(a, "-sink-common-insts=0");
		push(a, "-mllvm");
		push(a, "-hoist-common-insts=0");
		push(a, "-mllvm");
		push(a, "-enable-tail-merge=0");
	}
}

/* gcc makes moves of these behind the callbacks' back if it knows the size; as calls they are wrapped. */
static void no_builtins(struct am_cc_args *a)
{
	static const char *const moved[] = {"memcpy",  "memmove", "mempcpy", "memset", "memcmp",
					    "bcopy",   "bzero",	  "bcmp",    "strcpy", "stpcpy",
					    "strncpy", "strcat",  "strncat", "strcmp", "strncmp",
					    "sprintf", "snprintf"};

	for (size_t i = 0; i < sizeof moved / sizeof *moved; i++)
		push(a, text("-fno-builtin-%s", moved[i]));
}

static void add_compile_options(struct am_cc_args *a, const struct am_cc_version *version,
				const char *lib, const char *pass, bool symbolic)
{
	keep_lines(a, version);
	/* Only bits/c++config.h is there. */
	push(a, "-isystem");
	push(a, text("%s/atommon/include", lib));
	if (symbolic) {
		if (!pass)
			die("--symbolic needs a clang that the pass was built for (clang-14); "
			    "set ATOMMON_CC or ATOMMON_CXX");
		push(a, text("-fpass-plugin=%s", pass));
		push(a, "-D__ATOMMON_SYMBOLIC__=1");
		push(a, "-Xclang");
		push(a, "-disable-lifetime-markers");
		push(a, "-fno-vectorize");
		push(a, "-fno-slp-vectorize");
		return;
	}
	push(a, "-fsanitize=thread");
	if (version->is_clang) {
		push(a, "-fno-sanitize-link-runtime");
		/* Without these the read of x += 1 is not reported. */
		push(a, "-mllvm");
		push(a, version->major >= 12 ? "-tsan-compound-read-before-write=1"
					     : "-tsan-instrument-read-before-write=1");
		push(a, "-mllvm");
		push(a, "-tsan-distinguish-volatile=1");
		if (pass)
			push(a, text("-fpass-plugin=%s", pass));
		else
			push(a, "-fno-optimize-sibling-calls");
	} else {
		if (version->major >= 11) {
			push(a, "--param");
			push(a, "tsan-distinguish-volatile=1");
		}
		/* Counters of coverage and profiling, if asked for: plain ones would be watched. */
		if (version->major >= 7)
			push(a, "-fprofile-update=atomic");
		push(a, "-Wno-tsan");
		/* Functions must stay visible for ATOMMON_ATOMIC=fn:NAME; `inline` ones go. */
		push(a, "-fno-inline-small-functions");
		no_builtins(a);
		/* A jump to the exit callback would come from the caller. */
		push(a, "-fno-optimize-sibling-calls");
		push(a, "-fno-inline-functions");
		push(a, "-fno-inline-functions-called-once");
		push(a, "-fno-partial-inlining");
		push(a, "-fno-ipa-icf");
	}
}

/* The user's own libraries and options come before what is added here. */
static void add_link_options(struct am_cc_args *a, const char *lib, bool wraps)
{
#define X(name) #name,
	static const char *const silent[] = {"memcpy", "memmove", "memset",
					     AM_STRING_FUNCTIONS(X) AM_CONTAINER_FUNCTIONS(X)};
#undef X

	/* No compiler has a callback for these; a pass calls them by itself. */
	for (size_t i = 0; wraps && i < sizeof silent / sizeof *silent; i++)
		push(a, text("-Wl,--wrap=%s", silent[i]));
	push(a, text("-L%s", lib));
	push(a, "-latommon-stub");
	if (strcmp(lib, "/usr/lib") != 0 && strcmp(lib, "/lib") != 0)
		push(a, text("-Wl,-rpath,%s", lib));
}

int main(int argc, char **argv)
{
	struct am_cc_args out = {0};
	struct am_cc_what what = {0};
	bool symbolic = false;

	self = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	const bool cxx = strstr(self, "++") != NULL;
	if (argc > 1 && strcmp(argv[1], "--atommon-help") == 0) {
		usage();
		return 0;
	}
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--symbolic") == 0)
			symbolic = true;
		else
			am_cc_look(&what, argv[i]);
	}
	const char *compiler = compiler_of(cxx, symbolic ? "symbolic" : "twin");
	push_words(&out, compiler);
	if (out.n == 0)
		die("no compiler: ATOMMON_CC or ATOMMON_CXX is blank");
	/* No input, nothing to instrument: --version, -print-search-dirs, -v. */
	const bool plain = what.other_target || !what.has_input;
	const bool links = !plain && am_cc_links(&what);
	bool is_gcc = false, wraps = false;
	const char *lib = plain ? NULL : lib_directory();
	if (links && what.wants_static)
		die("a static program cannot be watched: leave out %s", what.wants_static);
	if (!plain && what.sanitizer && !symbolic)
		die("'-fsanitize=%s' does not go together with watched accesses: leave it out", what.sanitizer);
	if (!plain) {
		struct am_cc_version version;
		if (!am_cc_probe(out.v, &version))
			die("'%s' does not look like gcc or clang", compiler);
		/* -Werror must not fall upon options that this step does not need. */
		if (version.is_clang)
			push(&out, version.major >= 14 ? "--start-no-unused-arguments"
						       : "-Qunused-arguments");
		const char *name = symbolic ? "symbolic" : "twin";
		const char *pass = version.is_clang ? pass_for(lib, name, version.major) : NULL;
		add_compile_options(&out, &version, lib, pass, symbolic);
		if (version.is_clang && version.major >= 14)
			push(&out, "--end-no-unused-arguments");
		is_gcc = !version.is_clang;
		wraps = !pass;
		if (is_gcc)
			push(&out, text("-B%s/atommon/link/", lib));
	}
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--symbolic") != 0 && strcmp(argv[i], "-static-libtsan") != 0)
			push(&out, argv[i]);
	/* The fortified forms are made moves, too, and cannot be kept from it. */
	if (is_gcc)
		push(&out, "-U_FORTIFY_SOURCE");
	if (links)
		add_link_options(&out, lib, wraps);
	execvp(out.v[0], out.v);
	fprintf(stderr, "%s: cannot run '%s': %s\n", self, out.v[0], strerror(errno));
	return 127;
}
