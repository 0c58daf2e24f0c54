/* Heap blocks for reports: what is found is what is there, whatever was pushed out or freed meanwhile. */
/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "preload/blocks.h"
#include "preload_rig.h"

enum { HEAP = 1 << 22, BLOCKS = 400 };
#define BASE UINT64_C(0x555500000000)

/* The twin: an array. */
static struct {
	uint64_t start, size;
} block[BLOCKS];

static int holder(uint64_t address)
{
	for (int i = 0; i < BLOCKS; i++)
		if (block[i].size && block[i].start <= address && address < block[i].start + block[i].size)
			return i;
	return -1;
}

static bool is_free(uint64_t start, uint64_t size)
{
	for (int i = 0; i < BLOCKS; i++)
		if (block[i].size && block[i].start < start + size && start < block[i].start + block[i].size)
			return false;
	return true;
}

/* A block comes or goes in this place of the array. */
static void change(int i)
{
	if (block[i].size) {
		am_blocks_gone(block[i].start);
		block[i].size = 0;
		return;
	}
	const uint64_t size = rand() % 16 == 0 ? (uint64_t)rand() % 200000 + 1 : (uint64_t)rand() % 300 + 1;
	const uint64_t start = BASE + (uint64_t)rand() % (HEAP / 8) * 8;
	if (!is_free(start, size))
		return;
	block[i].start = start;
	block[i].size = size;
	am_blocks_came(start, size, AM_HERE);
}

Test(blocks, agree_with_an_array)
{
	enum { STEPS = 60000 };
	const unsigned seed = 7;
	unsigned inside = 0, found = 0;

	begin(4096, AM_OVERFLOW_BLOCK);
	printf("# seed %u\n", seed);
	srand(seed);
	for (int step = 0; step < STEPS; step++) {
		struct am_block b = {0};
		change(rand() % BLOCKS);
		const int i = rand() % BLOCKS;
		const uint64_t address = block[i].size && rand() % 4 ? block[i].start + (uint64_t)rand() % block[i].size
								     : BASE + (uint64_t)rand() % HEAP;
		const int h = holder(address);
		const bool is_found = am_blocks_find(address, &b);
		if (h < 0) /* nothing, or one that was freed there */
			continue;
		inside++;
		/* A live one that is found is the right one; it may have been pushed out. */
		if (is_found && b.start == block[h].start) {
			cr_assert_eq(b.size, block[h].size);
			cr_assert_eq(b.thread, 0);
			found++;
		}
	}
	end();
	cr_assert_gt(inside, STEPS / 4);
	cr_assert_gt(found, inside * 98 / 100, "%u of %u", found, inside);
}

Test(blocks, a_live_block_is_taken_before_a_freed_one)
{
	struct am_block b;

	begin(4096, AM_OVERFLOW_BLOCK);
	am_blocks_came(BASE + 64, 32, AM_HERE);
	am_blocks_gone(BASE + 64);
	cr_assert(am_blocks_find(BASE + 70, &b), "freed, and nothing else is there");
	cr_assert_eq(b.start, BASE + 64);
	am_blocks_came(BASE, 4096, AM_HERE);
	cr_assert(am_blocks_find(BASE + 70, &b));
	cr_assert_eq(b.start, BASE);
	cr_assert_not(am_blocks_find(BASE + 4096, &b));
	cr_assert_not(am_blocks_find(BASE - 1, &b));
	end();
}

Test(blocks, a_child_of_fork_knows_none)
{
	struct am_block b;

	begin(4096, AM_OVERFLOW_BLOCK);
	am_blocks_came(BASE, 100, AM_HERE);
	am_blocks_came(BASE + (1 << 20), 1 << 20, AM_HERE);
	am_blocks_forget();
	cr_assert_not(am_blocks_find(BASE, &b));
	cr_assert_not(am_blocks_find(BASE + (1 << 20), &b));
	end();
}

/* The size tells the start, so that halves of two blocks would show. Few starts: the threads meet in the entries. */
static uint64_t size_of_start(uint64_t start)
{
	return 8 + start / 64 % 5 * 8;
}

static void *come_and_go(void *arg)
{
	unsigned state = (unsigned)(long)arg;

	am_thread_self();
	for (int i = 0; i < 200000; i++) {
		state = state * 1103515245 + 12345;
		const uint64_t start = BASE + (uint64_t)(state >> 8) % 100000 * 64;
		am_blocks_came(start, size_of_start(start), AM_HERE);
		if (state & 1 << 7)
			am_blocks_gone(start);
	}
	return NULL;
}

Test(blocks, no_block_is_made_of_two)
{
	enum { THREADS = 3 };
	pthread_t t[THREADS];
	struct am_block b;
	unsigned found = 0;

	begin(4096, AM_OVERFLOW_BLOCK);
	for (long i = 0; i < THREADS; i++)
		t[i] = start(come_and_go, (void *)(i + 1));
	for (unsigned i = 0; i < 2000000 || (found == 0 && i < 2000000000); i++) { /* they may start late */
		const uint64_t address = BASE + (uint64_t)(i * 7919) % 100000 * 64 + 3;
		if (am_blocks_find(address, &b)) {
			cr_assert_eq(b.size, size_of_start(b.start));
			found++;
		}
	}
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	end();
	cr_assert_gt(found, 0);
}
