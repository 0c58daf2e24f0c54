/*
 * Regions that access words one by one and by long ranges, at many lines; then another thread comes to one of the
 * words and makes the last region not serializable. Prints the lines at which that region accessed the word: the
 * report must name one of them. What it keeps for that is in ranges_book.c, which is not watched.
 *
 *   ranges SEED
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranges.h"

static long own[WORDS], x;
static long *words = own;
static int to_other[2], from_other[2];

#define WRITE(n) static void write##n(long *p) { *p = 1; } static const int write_line##n = __LINE__;
#define READ(n) static void read##n(long *p) { __asm__ volatile("" : : "r"(*(volatile long *)p)); } static const int read_line##n = __LINE__;
#define FILL(n) static void fill##n(long *p, size_t size) { memset(p, 1, size); } static const int fill_line##n = __LINE__;
#define LOOK(n) static void look##n(long *p, size_t size) { if (memchr(p, 7, size)) abort(); } static const int look_line##n = __LINE__;

WRITE(0)
WRITE(1)
READ(0)
READ(1)
FILL(0)
FILL(1)
FILL(2)
LOOK(0)
LOOK(1)
LOOK(2)

__attribute__((noinline)) static void single(unsigned i, int writes, int which)
{
	book(i, 1, writes, writes ? (which & 1 ? write_line1 : write_line0) : which & 1 ? read_line1 : read_line0);
	(writes ? (which & 1 ? write1 : write0) : which & 1 ? read1 : read0)(words + i);
}

__attribute__((noinline)) static void range(unsigned i, unsigned n, int writes, int which)
{
	static void (*const fills[])(long *, size_t) = {fill0, fill1, fill2}, (*const looks[])(long *, size_t) = {look0, look1, look2};
	const int fill_line[] = {fill_line0, fill_line1, fill_line2}, look_line[] = {look_line0, look_line1, look_line2};

	book(i, n, writes, writes ? fill_line[which % 3] : look_line[which % 3]);
	(writes ? fills : looks)[which % 3](words + i, n * sizeof *words);
}

__attribute__((noinline)) void step(int is_last)
{
	struct act a;
	char c = 'x';

	for (next_region(); next_act(&a);)
		if (a.n == 1)
			single(a.word, a.writes, a.which);
		else
			range(a.word, a.n, a.writes, a.which);
	if (!is_last)
		return;
	if (write(to_other[1], &c, 1) != 1 || read(from_other[0], &c, 1) != 1)
		abort();
	x = x + 1;
}

static void *other(void *unused)
{
	char c;

	if (read(to_other[0], &c, 1) != 1)
		abort();
	long *p = words + chosen.word;
	if (chosen.writes) {
		x = *p;
	} else {
		*p = 3;
		x = 3;
	}
	if (write(from_other[1], &c, 1) != 1)
		abort();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t t;

	(void)argc;
	if (begin_book(strtoul(argv[1], 0, 10)))
		words = calloc(WORDS, sizeof *words);
	if (pipe(to_other) || pipe(from_other) || pthread_create(&t, 0, other, 0))
		abort();
	for (int left = n_regions(); left > 0; left--)
		step(left == 1);
	pthread_join(t, 0);
	return 0;
}
