/* Settings from the environment, globs, and suppression files: the input's lines are all three. */
/* SPDX-License-Identifier: MIT */
/* fuzz-sources: analyzer/report/*.c */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "atommon/mem.h"
#include "atommon/options.h"
#include "atommon/report.h"

enum { VARIABLES = 64 };

static void count(void *ctx, const char *message)
{
	*(size_t *)ctx += strlen(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *env[VARIABLES + 1], *text = malloc(size + 1);
	struct am_options options;
	struct am_mem mem;
	size_t said = 0, n = 0;

	memcpy(text, data, size);
	text[size] = 0;
	am_mem_init(&mem, 1 << 24);
	struct am_suppressions *s = am_suppressions_new(&mem);
	if (s) {
		am_suppressions_parse(s, "input", text, size, 20261116, count, &said);
		am_suppressions_usage(s, false, count, &said);
		am_suppressions_free(s);
	}
	am_mem_destroy(&mem);
	for (char *line = strtok(text, "\n"); line && n < VARIABLES; line = strtok(NULL, "\n"))
		env[n++] = line;
	env[n] = NULL;
	am_options_from_env(&options, env, count, &said);
	if (n > 1)
		am_glob_list(env[0], env[1]);
	free(text);
	return 0;
}
