/* atommon-doctor PROG: can this program be watched, and if not, why. Reads the file, never runs it. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/report/doctor.h"

static void show(void *ctx, enum am_finding finding, const char *text)
{
	static const char *const words[] = {"ok", "note", "no"};

	(void)ctx;
	printf("%-5s %s\n", words[finding], text);
}

int main(int argc, char **argv)
{
	bool good = true;

	if (argc > 1 && strcmp(argv[1], "--version") == 0)
		return puts("atommon " ATOMMON_VERSION) < 0;
	if (argc < 2 || argv[1][0] == '-') {
		FILE *out = argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) ? stdout : stderr;
		fputs("usage: atommon doctor PROGRAM...\n"
		      "Says whether atommon can watch a program, and why not.\n"
		      "Status: 0 it can, 1 it cannot, 2 bad usage.\n",
		      out);
		return out == stdout ? 0 : 2;
	}
	for (int i = 1; i < argc; i++)
		good &= am_doctor(argv[i], show, NULL);
	return good ? 0 : 1;
}
