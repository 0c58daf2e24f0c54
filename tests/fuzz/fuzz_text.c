/* The text form. */
/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_read(data, size, NULL, 0);
	return 0;
}
