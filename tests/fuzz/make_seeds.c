/* Writes the seeds into DIR/<target>/<name>. usage: make_seeds DIR (its directories exist) */
/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/seeds.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	static uint8_t buf[SEED_MAX];
	char path[4096];

	for (unsigned i = 0; argc > 1 && i < SEEDS; i++) {
		const size_t n = seed_make(i, buf);
		snprintf(path, sizeof path, "%s/%s", argv[1], seed_names[i]);
		FILE *f = fopen(path, "wb");
		if (!f || fwrite(buf, 1, n, f) != n || fclose(f) != 0) {
			fprintf(stderr, "make_seeds: cannot write '%s'\n", path);
			return 1;
		}
	}
	return 0;
}
