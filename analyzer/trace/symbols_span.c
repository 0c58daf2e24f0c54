/*
 * Ranges of addresses, each with what lies there, found by halving. They may overlap (a variable and
 * another name of a part of it): each knows how far those before it reach. Runs in tools.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/symbols_image.h"

#include <stdlib.h>

bool am_spans_add(struct am_spans *s, uint64_t low, uint64_t high, const Dwarf_Die *die)
{
	if (s->n == s->cap) {
		const size_t cap = s->cap ? s->cap * 2 : 64;
		struct am_span *more = realloc(s->at, cap * sizeof *more);
		if (!more)
			return false;
		s->at = more;
		s->cap = cap;
	}
	s->at[s->n++] = (struct am_span){low, high, high, *die};
	return true;
}

/* Of several that begin at one place the first one added comes last: it is the one that is found. */
static int by_low(const void *a, const void *b)
{
	const struct am_span *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return x->reach == y->reach ? 0 : x->reach > y->reach ? -1 : 1;
}

void am_spans_sort(struct am_spans *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->at[i].reach = i; /* where it stood */
	if (s->n)
		qsort(s->at, s->n, sizeof *s->at, by_low);
	for (size_t i = 0; i < s->n; i++) {
		const uint64_t before = i ? s->at[i - 1].reach : 0;
		s->at[i].reach = s->at[i].high > before ? s->at[i].high : before;
	}
}

struct am_span *am_spans_find(const struct am_spans *s, uint64_t address)
{
	size_t from = 0, to = s->n;

	while (from < to) {
		const size_t middle = from + (to - from) / 2;
		if (s->at[middle].low <= address)
			from = middle + 1;
		else
			to = middle;
	}
	for (size_t i = from; i-- > 0 && s->at[i].reach > address;)
		if (address < s->at[i].high)
			return &s->at[i];
	return NULL;
}
