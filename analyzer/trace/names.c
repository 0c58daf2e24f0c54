/* Names of addresses. Runs in tools. The newest name of an address wins; freed memory loses it. */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static struct am_names_range *covering(struct am_names *n, uint64_t address)
{
	for (size_t i = n->n; i-- > 0;)
		if (address - n->range[i].start < n->range[i].size)
			return &n->range[i];
	return NULL;
}

static bool add(struct am_names *n, const struct am_event *e)
{
	if (n->n == n->cap) {
		const size_t cap = n->cap ? 2 * n->cap : 64;
		struct am_names_range *bigger = realloc(n->range, cap * sizeof *bigger);
		if (!bigger)
			return false;
		n->range = bigger;
		n->cap = cap;
	}
	n->range[n->n++] =
		(struct am_names_range){e->object, e->size ? e->size : 1, (uint32_t)e->aux};
	return true;
}

bool am_names_event(struct am_names *n, const struct am_event *e)
{
	if (e->kind == AM_NAME) {
		struct am_names_range *old = covering(n, e->object);
		if (old && old->start == e->object && old->string == e->aux)
			return true;
		return add(n, e);
	}
	if (e->kind == AM_FREE && n->n) {
		size_t kept = 0;
		for (size_t i = 0; i < n->n; i++)
			if (n->range[i].start - e->object >= e->aux)
				n->range[kept++] = n->range[i];
		n->n = kept;
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
