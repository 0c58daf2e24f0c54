/* The STD form: a first line that is one, then the input. */
/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char first[] = "T0|begin(x)|1\n";
	uint8_t *copy = malloc(sizeof first - 1 + size);

	if (!copy)
		return 0;
	memcpy(copy, first, sizeof first - 1);
	memcpy(copy + sizeof first - 1, data, size);
	fuzz_read(copy, sizeof first - 1 + size, NULL, 0);
	free(copy);
	return 0;
}
