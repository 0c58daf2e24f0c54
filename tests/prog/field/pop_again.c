/*
 * A stack without locks, with a counter beside the pointer, is right. Here the exchange of a pop fails twice in a row, and each
 * time what the pop read of the node below is out of date. Region: pop.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "turns.h"

enum { NODES = 3, NONE = 0xff };
static _Atomic uint64_t next[NODES];
static _Atomic uint64_t top = NONE; /* index in the low byte, counter above */
static _Thread_local int gives;	    /* how often others come in between */

#define MAKE(old, index) ((((old) >> 8) + 1) << 8 | (index))

__attribute__((noinline)) static void push(unsigned index)
{
	uint64_t old = atomic_load(&top);

	do
		atomic_store(&next[index], old & 0xff);
	while (!atomic_compare_exchange_strong(&top, &old, MAKE(old, index)));
}

__attribute__((noinline)) static unsigned pop(void)
{
	uint64_t old = atomic_load(&top), below;
	unsigned index;

	do {
		index = old & 0xff;
		if (index == NONE)
			return NONE;
		below = atomic_load(&next[index]);
		if (gives > 0) {
			gives--;
			turns_give();
		}
	} while (!atomic_compare_exchange_strong(&top, &old, MAKE(old, below)));
	return index;
}

static void *one(void *got)
{
	gives = 2;
	*(unsigned *)got = pop();
	return NULL;
}

static void *two(void *unused)
{
	turns_wait();
	const unsigned a = pop();
	turns_back();
	turns_wait();
	const unsigned b = pop();
	push(b);
	push(a);
	turns_back();
	return unused;
}

int main(void)
{
	pthread_t t, u;
	unsigned got;

	turns_make();
	for (unsigned i = NODES; i-- > 0;)
		push(i);
	pthread_create(&u, NULL, two, NULL);
	pthread_create(&t, NULL, one, &got);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	printf("%u\n", got);
	return 0;
}
