/*
 * Asks a compiler what it is, by its predefined macros: names say nothing (`cc`, `ccache c++`).
 * Runs in the wrapper, once, before it becomes the compiler. Must leave nothing behind.
 */
/* SPDX-License-Identifier: MIT */
#include "instrument/cc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static FILE *start(char *const *command, pid_t *child)
{
	static const char *const question[] = {"-dM", "-E", "-x", "c", "/dev/null"};
	enum { QUESTION = sizeof question / sizeof *question, WORDS = 64 };
	const char *argv[WORDS + QUESTION + 1];
	size_t n = 0;
	int ends[2];

	while (n < WORDS && command[n]) {
		argv[n] = command[n];
		n++;
	}
	memcpy(argv + n, question, sizeof question);
	argv[n + QUESTION] = NULL;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return NULL;
	*child = fork();
	if (*child == 0) {
		const int null = open("/dev/null", O_RDWR);
		dup2(ends[1], 1);
		dup2(null, 2);
		unsetenv("CCACHE_PREFIX");
		execvp(argv[0], (char *const *)(void *)argv);
		_exit(127);
	}
	close(ends[1]);
	if (*child < 0) {
		close(ends[0]);
		return NULL;
	}
	return fdopen(ends[0], "r");
}

bool am_cc_probe(char *const *command, struct am_cc_version *version)
{
	pid_t child = -1;
	FILE *f = start(command, &child);
	char line[512];
	int gnu = 0, clang = 0, status = 0;

	if (!f)
		return false;
	while (fgets(line, sizeof line, f)) {
		(void)sscanf(line, "#define __clang_major__ %d", &clang);
		(void)sscanf(line, "#define __GNUC__ %d", &gnu);
	}
	fclose(f);
	waitpid(child, &status, 0);
	version->is_clang = clang > 0;
	version->major = clang > 0 ? clang : gnu;
	return version->major > 0;
}
