/* Of ranges.c: random acts, and at which lines the last region accessed each word. Never watched. */
/* SPDX-License-Identifier: MIT */
#include "ranges.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LINES = 128 };

static uint64_t state;
static int regions, region, acts;
static unsigned span, longest; /* many short ranges side by side, or a few that sweep over all */
static unsigned char is_at[WORDS][2][LINES]; /* in this region */
struct act chosen;

static unsigned draw(unsigned n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)((state >> 33) % n);
}

int begin_book(unsigned long seed)
{
	state = seed * 1000003 + 1;
	draw(1);
	regions = 1 + (int)draw(3);
	span = draw(2) ? WORDS : 500;
	longest = span == WORDS ? 1500 : 64;
	return draw(2);
}

int n_regions(void)
{
	return regions;
}

void next_region(void)
{
	region++;
	acts = 1 + (int)draw(span == WORDS ? 12 : 60);
	memset(is_at, 0, sizeof is_at);
}

static int is_accessed(unsigned word, int writes)
{
	return memchr(is_at[word][writes], 1, LINES) != NULL;
}

/* One that the last region wrote, or only read. */
static void choose(void)
{
	unsigned word = draw(WORDS);

	while (!is_accessed(word, 0) && !is_accessed(word, 1))
		word = (word + 1) % WORDS;
	chosen.word = word;
	chosen.writes = is_accessed(word, 1);
	printf("%s", chosen.writes ? "write" : "read");
	for (int i = 0; i < LINES; i++)
		if (is_at[word][chosen.writes][i])
			printf(" %d", i);
	printf("\n");
	fflush(stdout);
}

int next_act(struct act *a)
{
	if (acts-- == 0) {
		if (region == regions)
			choose();
		return 0;
	}
	a->n = draw(3) == 0 ? 1 : draw(4) == 0 ? 2 + draw(30) : 32 + draw(longest - 31);
	a->word = draw(span - a->n);
	a->writes = (int)draw(2);
	a->which = (int)draw(6);
	return 1;
}

void book(unsigned word, unsigned n, int writes, int line)
{
	for (unsigned i = word; i < word + n; i++)
		is_at[i][writes][line] = 1;
}
