/* Names of addresses. Runs in tools. The newest name of an address wins; freed memory loses it. */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { AROUND = 16 }; /* ranges that may enclose each other, looked at */

void am_names_init(struct am_names *n, const struct am_source *source, struct am_symbols *symbols)
{
	memset(n, 0, sizeof *n);
	n->source = source;
	n->symbols = symbols;
}

void am_names_free(struct am_names *n)
{
	free(n->range);
	n->range = NULL;
	n->n = n->cap = 0;
}

/* The first range that starts behind the address. */
static size_t after(const struct am_names *n, uint64_t address)
{
	size_t low = 0, high = n->n;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		if (n->range[mid].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The innermost range that covers the address: a field before the struct around it. */
static struct am_names_range *covering(struct am_names *n, uint64_t address)
{
	size_t i = after(n, address);

	for (unsigned k = 0; i > 0 && k < AROUND; k++) {
		i--;
		if (address - n->range[i].start < n->range[i].size)
			return &n->range[i];
	}
	return NULL;
}

static bool add(struct am_names *n, const struct am_event *e)
{
	const struct am_names_range r = {e->object, e->size ? e->size : 1, (uint32_t)e->aux};
	const size_t at = after(n, e->object);

	if (at && n->range[at - 1].start == r.start) {
		n->range[at - 1] = r;
		return true;
	}
	if (n->n == n->cap) {
		const size_t cap = n->cap ? 2 * n->cap : 64;
		struct am_names_range *bigger = realloc(n->range, cap * sizeof *bigger);
		if (!bigger)
			return false;
		n->range = bigger;
		n->cap = cap;
	}
	memmove(n->range + at + 1, n->range + at, (n->n - at) * sizeof *n->range);
	n->range[at] = r;
	n->n++;
	return true;
}

bool am_names_event(struct am_names *n, const struct am_event *e)
{
	if (e->kind == AM_NAME)
		return add(n, e);
	if (e->kind == AM_FREE && n->n) {
		const size_t first = e->object ? after(n, e->object - 1) : 0;
		const size_t end = after(n, e->object + e->aux - (e->aux > 0));
		if (first < end) {
			memmove(n->range + first, n->range + end, (n->n - end) * sizeof *n->range);
			n->n -= end - first;
		}
	}
	return true;
}

const char *am_names_of(void *ctx, uint64_t address)
{
	struct am_names *n = ctx;
	const struct am_tables *t = am_source_tables(n->source);
	const struct am_names_range *r = covering(n, address);
	struct am_variable v;
	const char *name;
	uint64_t off;

	if (r && r->string && r->string < t->n_strings) {
		name = t->string[r->string];
		off = address - r->start;
	} else if (n->symbols && am_symbols_variable(n->symbols, t, address, &v)) {
		name = v.name;
		off = address - v.start;
	} else {
		return NULL;
	}
	if (off)
		snprintf(n->buf, sizeof n->buf, "%.400s+%" PRIu64, name, off);
	else
		snprintf(n->buf, sizeof n->buf, "%.400s", name);
	return n->buf;
}

bool am_names_is(struct am_names *n, uint64_t address, const char *name)
{
	const char *own = am_names_of(n, address);
	const size_t len = strlen(name);
	return own && strncmp(own, name, len) == 0 && (own[len] == 0 || own[len] == '+');
}
