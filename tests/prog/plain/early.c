/*
 * A thread works before the process has its first region, and then writes what that region reads twice: a global variable, or one on
 * its stack. The order is forced by a variable that the monitor does not see. usage: early global|stack
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "order.h"

enum { ROUNDS = 100000 };

static long table[64];
long balance, *what; /* not static: calls of libc are taken to leave that alone */
static int is_stack;

static __attribute__((noinline)) long sum(void)
{
	long n = 0;

	for (int i = 0; i < ROUNDS; i++) {
		table[i % 64] += i;
		n += table[i * 7 % 64];
	}
	return n;
}

static void *other(void *unused)
{
	long own = 0, n = is_stack ? 7 : sum(); /* on its stack it has done nothing yet */

	what = is_stack ? &own : &balance;
	reach(1);
	await(2);
	*what = n;
	reach(3);
	await(4);
	return unused;
}

__attribute__((noinline)) static long first_region(void)
{
	const long seen = *what;

	reach(2);
	await(3);
	return *what - seen;
}

int main(int argc, char **argv)
{
	pthread_t a;

	is_stack = argc == 2 && !strcmp(argv[1], "stack");
	if (pthread_create(&a, NULL, other, NULL))
		return 1;
	await(1);
	printf("%d\n", first_region() != 0);
	reach(4);
	return pthread_join(a, NULL);
}
