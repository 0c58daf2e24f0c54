/* Known variables, by address: see globals.h. Runs in the drain thread and in tools. */
/* SPDX-License-Identifier: MIT */
#include "globals.h"

#include <string.h>

#include "atommon/mem.h"

enum { GLOBALS_MAX = 2048 };

struct am_globals {
	struct am_mem *mem;
	uint32_t n;
	struct {
		uint64_t start, size;
	} at[GLOBALS_MAX]; /* by start */
};

struct am_globals *am_globals_new(struct am_mem *mem)
{
	struct am_globals *g = am_mem_alloc(mem, sizeof *g);

	if (g)
		g->mem = mem;
	return g;
}

void am_globals_free(struct am_globals *g)
{
	if (g)
		am_mem_free(g->mem, g, sizeof *g);
}

/* How many begin at or before the address. */
static uint32_t up_to(const struct am_globals *g, uint64_t address)
{
	uint32_t from = 0, to = g->n;

	while (from < to) {
		const uint32_t middle = from + (to - from) / 2;
		if (g->at[middle].start <= address)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

void am_globals_note(struct am_globals *g, uint64_t start, uint64_t size)
{
	const uint32_t at = up_to(g, start);

	if (at && g->at[at - 1].start == start) {
		g->at[at - 1].size = size; /* another module may lie there by now */
		return;
	}
	if (g->n == GLOBALS_MAX)
		return;
	memmove(&g->at[at + 1], &g->at[at], (g->n - at) * sizeof *g->at);
	g->at[at].start = start;
	g->at[at].size = size;
	g->n++;
}

bool am_globals_find(const struct am_globals *g, uint64_t address, uint64_t *start)
{
	const uint32_t at = up_to(g, address);

	if (!at || address - g->at[at - 1].start >= g->at[at - 1].size)
		return false;
	*start = g->at[at - 1].start;
	return true;
}
