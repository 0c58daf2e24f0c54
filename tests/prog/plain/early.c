/*
 * A thread works before the process has its first region, and then writes what that region reads twice. The order is forced by a variable that the monitor
 * does not see.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>

#include "order.h"

enum { ROUNDS = 100000 };

static long table[64];
long balance; /* not static: calls of libc are taken to leave that alone */

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
	const long n = sum();

	reach(1);
	await(2);
	balance = n;
	reach(3);
	return unused;
}

__attribute__((noinline)) static long first_region(void)
{
	const long seen = balance;

	reach(2);
	await(3);
	return balance - seen;
}

int main(void)
{
	pthread_t a;

	if (pthread_create(&a, NULL, other, NULL))
		return 1;
	await(1);
	printf("%ld\n", first_region());
	pthread_join(a, NULL);
	return 0;
}
