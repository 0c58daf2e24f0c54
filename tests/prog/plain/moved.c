/*
 * A region moves memory onto itself, or has it moved by realloc; another thread comes to one word of it while the region is open.
 * Nothing but that word, and x, joins the two.
 *
 *   moved up|down|grow early|late read|write WORD [after]
 *
 * up: words 0 to LENGTH - 1 go one further, so that 0 is read, LENGTH written, and what lies between both. down: back again.
 * grow: the region writes all words, and then has the block made larger where it is. early: the other thread
 * comes to the word before the region does. after: it comes when the region is over.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LENGTH = 100, MORE = 40 };

long *words, *seen, x, y;
static int to_other[2], from_other[2], is_down, is_growing, is_early, is_write, is_after, word;

static void pass(int from, int to)
{
	char c = 'x';

	if ((to >= 0 && write(to, &c, 1) != 1) || (from >= 0 && read(from, &c, 1) != 1))
		abort();
}

__attribute__((noinline)) static void act(void)
{
	if (is_growing) {
		memset(words, 1, LENGTH * sizeof *words);
		words = realloc(words, (LENGTH + 1) * sizeof *words);
	} else if (is_down) {
		memmove(words, words + 1, LENGTH * sizeof *words);
	} else {
		memmove(words + 1, words, LENGTH * sizeof *words);
	}
}

__attribute__((noinline)) void step(void)
{
	if (is_early)
		x = 1;
	else
		act();
	if (!is_after)
		pass(from_other[0], to_other[1]);
	if (is_early)
		act();
	else
		x = 2;
}

static void *other(void *unused)
{
	pass(to_other[0], -1);
	if (is_early)
		y = x;
	if (is_write)
		seen[word] = 3;
	else
		y = seen[word];
	if (!is_early)
		y = x;
	pass(-1, from_other[1]);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc < 5)
		return 2;
	is_down = !strcmp(argv[1], "down");
	is_growing = !strcmp(argv[1], "grow");
	is_early = !strcmp(argv[2], "early");
	is_write = !strcmp(argv[3], "write");
	word = atoi(argv[4]);
	is_after = argc > 5;
	words = malloc((LENGTH + MORE) * sizeof *words);
	void *const behind = malloc(1); /* so that the block grows, and is cut, in its place */
	if (is_growing)
		words = realloc(words, LENGTH * sizeof *words);
	seen = words;
	if (pipe(to_other) || pipe(from_other) || pthread_create(&t, 0, other, 0))
		abort();
	step();
	if (is_after)
		pass(from_other[0], to_other[1]);
	pthread_join(t, 0);
	if (words != seen)
		puts("moved");
	free(behind);
	free(words);
	return 0;
}
