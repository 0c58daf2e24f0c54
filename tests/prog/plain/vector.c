/*
 * A region reads a word twice, and meanwhile a thread outside regions writes a vector of which the word is a part. The order is forced by a variable that the
 * monitor does not see. usage: vector OFFSET WORD: of the vector, in bytes, and which of its words
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "order.h"

typedef long vector __attribute__((vector_size(16), aligned(1)));

unsigned char data[64] __attribute__((aligned(64)));
static unsigned offset, word;

/* Each word is another's and over, the one of the region apart. */
static __attribute__((noinline)) void fill(long *at)
{
	*at = 1;
}

static void *other(void *unused)
{
	await(1);
	*(vector *)(data + offset) = (vector){-1, -1};
	reach(2);
	return unused;
}

static __attribute__((noinline)) long look(const long *at)
{
	const long seen = *at;

	reach(1);
	await(2);
	return *at - seen;
}

int main(int argc, char **argv)
{
	long *const words = (long *)data;
	pthread_t a;

	if (argc != 3)
		return 2;
	offset = (unsigned)atoi(argv[1]);
	word = (unsigned)atoi(argv[2]);
	for (int i = 0; i < 8; i++)
		fill(&words[i]);
	if (pthread_create(&a, NULL, other, NULL))
		return 1;
	printf("%d\n", look(&words[offset / 8 + word]) != 0);
	pthread_join(a, NULL);
	return 0;
}
