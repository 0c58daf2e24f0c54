/* SPDX-License-Identifier: MIT */
/* Of ranges.c: what is to be done, and what was. */
#ifndef RANGES_H
#define RANGES_H

enum { WORDS = 4096 };

struct act {
	unsigned word, n;
	int writes, which;
};
extern struct act chosen; /* the word to which the other thread comes; did the last region write it? */

int begin_book(unsigned long seed); /* 1: on the heap */
int n_regions(void);
void next_region(void);
int next_act(struct act *a);
/* Accessed at that line. */
void book(unsigned word, unsigned n, int writes, int line);

#endif
