/* Memory of the predictor's tools: fails loudly, never silently. */
/* SPDX-License-Identifier: MIT */
#include "vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void out_of_memory(void)
{
	fputs("atommon: out of memory; the analysis is undecided\n", stderr);
	exit(3);
}

void *am_xalloc(size_t count, size_t bytes)
{
	void *p = calloc(count ? count : 1, bytes ? bytes : 1);

	if (!p)
		out_of_memory();
	return p;
}

void *am_xresize(void *old, size_t count, size_t bytes)
{
	void *p = reallocarray(old, count ? count : 1, bytes);

	if (!p)
		out_of_memory();
	return p;
}

void *am_vec_grow(void *old, uint32_t *room, size_t bytes)
{
	const uint32_t was = *room;

	if (was > UINT32_MAX / 2)
		out_of_memory();
	*room = was ? was * 2 : 16;
	char *p = am_xresize(old, *room, bytes);
	memset(p + (size_t)was * bytes, 0, (size_t)(*room - was) * bytes);
	return p;
}
