/* SPDX-License-Identifier: MIT */
/* What every reader target does with its input: read all of it, and print it. */
#ifndef ATOMMON_TESTS_FUZZ_READER_H
#define ATOMMON_TESTS_FUZZ_READER_H

#include "analyzer/trace/source.h"
#include "analyzer/trace/std.h"
#include "analyzer/trace/text.h"
#include "analyzer/trace/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline FILE *fuzz_stream(const uint8_t *data, size_t size)
{
	return size ? fmemopen((void *)(uintptr_t)data, size, "rb") : fopen("/dev/null", "rb");
}

static inline void fuzz_read(const uint8_t *data, size_t size, const uint8_t *ring,
			     size_t ring_size)
{
	static FILE *sink;
	const struct am_source_config config = {.reorder_limit = 64 << 20};
	char why[AM_SOURCE_ERROR_MAX];
	struct am_event e;
	struct am_text text;
	struct am_std std;
	int r = 0;

	if (!sink)
		sink = fopen("/dev/null", "wb");
	struct am_source *s = am_source_open_stream(fuzz_stream(data, size),
						    ring ? fuzz_stream(ring, ring_size) : NULL,
						    "input", &config, why);
	if (!s)
		return;
	struct am_writer *w = size % 4 ? NULL : am_writer_new(sink, s);
	am_text_begin(&text, sink, s, NULL, NULL);
	am_std_begin(&std, sink, s);
	while ((r = am_source_next(s, &e)) > 0) {
		am_text_event(&text, &e);
		am_std_event(&std, &e);
		if (w)
			am_writer_event(w, &e);
	}
	if (r < 0 && !am_source_error(s)[0])
		abort(); /* a refusal names its reason */
	am_text_end(&text);
	am_std_end(&std);
	if (w)
		am_writer_end(w, true);
	am_source_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
