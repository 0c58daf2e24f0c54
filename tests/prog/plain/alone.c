/*
 * A thread that was for long the only one with regions, and accesses memory outside of them: that concerns nobody, until another
 * thread has a region too. The order is forced by a variable that the monitor does not see.
 * usage: alone word|part|across|range|set|atomic bad|good
 *   bad   between the two looks of the other's region, which reads the same bytes, the first thread writes them in that way, outside regions
 *   good  it writes them before and after
 * Regions: post, look.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "order.h"

#define NOINLINE __attribute__((noinline))
enum { ROUNDS = 1000, BYTES = 64 };

static char memory[BYTES] __attribute__((aligned(64)));
static long posted;
static const char *how;
static int is_bad;

NOINLINE static void post(void)
{
	posted++;
	memory[8]++;
}

/* Bytes 16 to 23, or those from 21 on, or more. */
NOINLINE static void change(int by)
{
	static char buffer[BYTES];

	if (!strcmp(how, "word")) {
		*(long *)(void *)(memory + 16) += by;
	} else if (!strcmp(how, "part")) {
		memory[19] = (char)(memory[19] + by);
	} else if (!strcmp(how, "across")) {
		struct __attribute__((packed, may_alias)) number {
			long n;
		} *p = (void *)(memory + 13);
		p->n += by;
	} else if (!strcmp(how, "range")) {
		memcpy(memory + 11, buffer, 3 + (unsigned)by * 16);
	} else if (!strcmp(how, "set")) {
		memset(memory + 11, by, 3 + (unsigned)by * 16);
	} else {
		__atomic_store_n((long *)(void *)(memory + 16), by, __ATOMIC_RELEASE);
	}
}

NOINLINE static int look(void)
{
	const char first = *(volatile char *)&memory[19];

	reach(1);
	await(2);
	posted++;
	return first + *(volatile char *)&memory[19];
}

static void *other(void *unused)
{
	(void)unused;
	printf("%d\n", look() & 0);
	reach(3);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc != 3)
		return 2;
	how = argv[1];
	is_bad = !strcmp(argv[2], "bad");
	for (int i = 0; i < ROUNDS; i++) {
		post();
		change(1);
	}
	if (pthread_create(&t, NULL, other, NULL))
		return 1;
	await(1);
	if (is_bad)
		change(1);
	reach(2);
	await(3);
	change(1);
	pthread_join(t, NULL);
	post();
	return 0;
}
