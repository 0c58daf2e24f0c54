/*
 * The assembler as gcc finds it in our directory (-B): puts a look at __atommon_armed before each call
 * of a callback for a plain access or a function's ends, so that a program that is not watched jumps
 * over them; clang has the twin pass for this. The two callbacks of x += 1 become one (as_pair.h).
 * Then becomes the real assembler. Runs as a tool, between gcc and as. Must never change a file, and hands on
 * unchanged what it does not understand.
 *
 * A call may change the flags and %r11, so nothing of the compiler's is in them where ours stands.
 */
/* SPDX-License-Identifier: MIT */
#include "instrument/as_pair.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(const char *what)
{
	fprintf(stderr, "atommon-cc: assembler: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The first `as` of a list of directories that is not ourselves. */
static char *among(const char *dirs, const struct stat *self)
{
	char *copy = dirs ? strdup(dirs) : NULL, *save = NULL, *path;

	for (char *d = copy ? strtok_r(copy, ":", &save) : NULL; d; d = strtok_r(NULL, ":", &save)) {
		struct stat st;
		if (asprintf(&path, "%s/as", d) < 0)
			fail("memory");
		if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0 &&
		    (st.st_dev != self->st_dev || st.st_ino != self->st_ino))
			return path;
		free(path);
	}
	return NULL;
}

/* gcc looks in its own directories (it leaves them in COMPILER_PATH), then in PATH. */
static char *real_assembler(void)
{
	struct stat self;
	char *found;

	if (stat("/proc/self/exe", &self) != 0)
		fail("/proc/self/exe");
	found = among(getenv("COMPILER_PATH"), &self);
	if (!found)
		found = among(getenv("PATH"), &self);
	if (!found)
		found = among("/usr/bin:/bin", &self);
	if (!found) {
		errno = ENOENT;
		fail("as");
	}
	return found;
}

static char *read_all(int fd, size_t *n)
{
	size_t room = 1 << 16;
	char *text = malloc(room);

	for (*n = 0;;) {
		if (*n + 1 >= room && (room *= 2))
			text = realloc(text, room);
		if (!text)
			fail("memory");
		const ssize_t got = read(fd, text + *n, room - 1 - *n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			fail("cannot read");
		if (got == 0)
			break;
		*n += (size_t)got;
	}
	text[*n] = '\0';
	return text;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* A line "call __tsan_read4", "call __tsan_read4@PLT" or "call *__tsan_read4@GOTPCREL(%rip)", for a
 * callback that does nothing in a program that is not watched. Atomics are performed by theirs. */
static bool calls_back(const char *line)
{
	static const char *const idle[] = {"read", "write", "unaligned_", "volatile_", "vptr_", "func_"};

	if (!begins(line, "\tcall\t"))
		return false;
	line += strlen("\tcall\t");
	line += *line == '*';
	if (!begins(line, "__tsan_"))
		return false;
	for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
		if (begins(line + strlen("__tsan_"), idle[i]))
			return true;
	return false;
}

/* The call on `line`, behind the look at the flag; of a pair's read, the call for both. */
static void put_call(FILE *out, const char *line, const char *next, bool is_both, unsigned n)
{
	const char *rest = is_both ? strstr(line, "__tsan_read") + strlen("__tsan_read") : line;

	fprintf(out,
		"\tmovq\t__atommon_armed@GOTPCREL(%%rip), %%r11\n"
		"\tcmpl\t$0, (%%r11)\n"
		"\tje\t.Latommon_%u\n",
		n);
	fwrite(line, 1, (size_t)(rest - line), out);
	if (is_both)
		fputs("_write", out);
	fwrite(rest, 1, (size_t)(next - rest), out);
	fprintf(out, "%s.Latommon_%u:\n", next[-1] == '\n' ? "" : "\n", n);
}

static unsigned rewrite(char *text, FILE *out)
{
	unsigned n = 0;
	bool is_users = false; /* between these marks is the program's own assembler */
	struct am_as_pairs pairs;
	size_t pair = 0;

	if (!am_as_pairs_find(text, &pairs))
		fail("memory");
	for (char *line = text, *next; *line; line = next) {
		char *end = strchr(line, '\n');
		next = end ? end + 1 : line + strlen(line);
		if (begins(line, "#APP"))
			is_users = true;
		else if (begins(line, "#NO_APP"))
			is_users = false;
		if (is_users || !calls_back(line)) {
			fwrite(line, 1, (size_t)(next - line), out);
		} else if (pair < pairs.n && line == pairs.v[pair].write) {
			/* Debug information may speak of the byte before the label behind a call. */
			fputs("\tnop\n", out);
			pair++;
		} else {
			put_call(out, line, next, pair < pairs.n && line == pairs.v[pair].read, n++);
		}
	}
	free(pairs.v);
	return n;
}

/* gcc names the input last, or gives it on standard input (-pipe): then the last is that of -o. */
static bool names_input(int argc, char **argv)
{
	return argc > 2 && argv[argc - 1][0] != '-' && strcmp(argv[argc - 2], "-o") != 0;
}

static bool wants_only_real(int argc, char **argv)
{
	bool has_output = false;

	for (int i = 1; i < argc; i++) {
		/* --MD: it would not find its input's name */
		if (begins(argv[i], "--version") || begins(argv[i], "--help") || begins(argv[i], "--MD"))
			return true;
		has_output |= strcmp(argv[i], "-o") == 0;
	}
	return !has_output;
}

int main(int argc, char **argv)
{
	char *as = real_assembler();
	const bool from_file = names_input(argc, argv);

	argv[0] = as;
	if (!wants_only_real(argc, argv)) {
		const int in = from_file ? open(argv[argc - 1], O_RDONLY | O_CLOEXEC) : 0;
		const int out = memfd_create("as", MFD_CLOEXEC);
		FILE *f = out >= 0 ? fdopen(out, "w") : NULL;
		size_t n = 0;
		/* A file that cannot be opened: the assembler will say so. */
		char *text = f && in >= 0 ? read_all(in, &n) : NULL;
		if (text) {
			const bool understood = strlen(text) == n && !strstr(text, ".intel_syntax") &&
						!strstr(text, ".code32");
			const unsigned checks = understood ? rewrite(text, f) : 0;
			if (!checks && !from_file) {
				rewind(f);
				fwrite(text, 1, n, f);
			}
			if (fflush(f) != 0)
				fail("cannot write");
			if (checks || !from_file) {
				if (lseek(out, 0, SEEK_SET) != 0 || dup2(out, 0) != 0)
					fail("standard input");
				if (checks && from_file)
					argv[argc - 1] = NULL;
			}
		}
	}
	execv(as, argv);
	fail(as);
}
