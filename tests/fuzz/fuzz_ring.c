/* Ring files of killed processes: alone, and beside a trace that has nothing yet. */
/* SPDX-License-Identifier: MIT */
#include "atommon/ringfile.h"
#include "atommon/trace.h"
#include "tests/fuzz/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t trace[sizeof(struct am_atm_header)];
	struct am_atm_info info = {0};

	if (size >= offsetof(struct am_ringfile, pid) + 4)
		memcpy(&info.pid, data + offsetof(struct am_ringfile, pid), 4);
	fuzz_read(data, size, NULL, 0);
	fuzz_read(trace, am_atm_put_header(trace, &info), data, size);
	return 0;
}
