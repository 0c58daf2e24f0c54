/*
 * The reader of a sequence lock copies many words, and goes round if they changed meanwhile. It is right. In the bad order it
 * stops in the middle of its copy until the writer is done. TORN: it does not look whether they changed, which is
 * wrong. Region: snapshot.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <stdatomic.h>
#include <stdio.h>

enum { WORDS = 12 };
static atomic_uint sequence;
static atomic_long word[WORDS];
static long seen[WORDS];

NOINLINE static void snapshot(void)
{
	long copy[WORDS];
	unsigned before;

	do {
		before = atomic_load_explicit(&sequence, memory_order_acquire);
		for (int i = 0; i < WORDS; i++) {
			copy[i] = atomic_load_explicit(&word[i], memory_order_relaxed);
			if (i == WORDS / 2)
				order_point();
		}
		atomic_thread_fence(memory_order_acquire);
#ifdef TORN
	} while (before & 1);
#else
	} while (before & 1 || atomic_load_explicit(&sequence, memory_order_relaxed) != before);
#endif
	for (int i = 0; i < WORDS; i++)
		seen[i] = copy[i];
}

NOINLINE static void publish(void)
{
	const unsigned before = atomic_load_explicit(&sequence, memory_order_relaxed);

	atomic_store_explicit(&sequence, before + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	for (int i = 0; i < WORDS; i++)
		atomic_store_explicit(&word[i], 1, memory_order_relaxed);
	atomic_store_explicit(&sequence, before + 2, memory_order_release);
}

int main(int argc, char **argv)
{
	int sum = 0;

	order_run(argc, argv, snapshot, publish);
	for (int i = 0; i < WORDS; i++)
		sum += (int)seen[i];
	printf("%d\n", sum);
	return 0;
}
