/*
 * Trace files. Checksums are put right first: otherwise nearly every input would end there.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/core/chunk.h"
#include "tests/fuzz/reader.h"

static void repair(uint8_t *data, size_t size)
{
	struct am_atm_header h;
	struct am_atm_chunk c;
	size_t at = sizeof h;

	if (size < sizeof h)
		return;
	memcpy(&h, data, sizeof h);
	h.checksum = am_atm_header_checksum(&h);
	memcpy(data, &h, sizeof h);
	for (; size - at >= sizeof c; at += sizeof c + c.bytes) {
		memcpy(&c, data + at, sizeof c);
		if (c.bytes > size - at - sizeof c)
			return;
		c.checksum = am_chunk_checksum(&c, data + at + sizeof c);
		memcpy(data + at, &c, sizeof c);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	fuzz_read(copy, size, NULL, 0); /* as it is, and repaired */
	repair(copy, size);
	fuzz_read(copy, size, NULL, 0);
	free(copy);
	return 0;
}
