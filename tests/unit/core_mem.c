/* The monitor's own allocator: classes, zeroing, ceiling, reuse. */
/* SPDX-License-Identifier: MIT */
#include "atommon/mem.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(mem, blocks_of_all_sizes_are_zeroed_and_do_not_overlap)
{
	struct am_mem mem;
	enum { N = 1500 };
	static unsigned char *block[N];
	static size_t bytes[N];

	srand(1);
	am_mem_init(&mem, 0);
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < N; i++) {
			if (block[i]) {
				size_t wrong = 0;
				for (size_t k = 0; k < bytes[i]; k += 7)
					wrong += block[i][k] != (unsigned char)i;
				cr_assert_eq(wrong, 0);
				if (rand() % 2)
					continue;
				am_mem_free(&mem, block[i], bytes[i]);
			}
			bytes[i] = (size_t)rand() % (rand() % 16 ? 300 : 200000) + 1;
			block[i] = am_mem_alloc(&mem, bytes[i]);
			cr_assert(block[i]);
			size_t nonzero = 0;
			for (size_t k = 0; k < bytes[i]; k++)
				nonzero += block[i][k] != 0;
			cr_assert_eq(nonzero, 0);
			memset(block[i], (unsigned char)i, bytes[i]);
		}
	}
	am_mem_destroy(&mem);
	cr_assert_eq(mem.mapped, 0);
}

Test(mem, resize_keeps_the_contents)
{
	struct am_mem mem;
	size_t bytes = 1, wrong = 0;

	am_mem_init(&mem, 0);
	unsigned char *p = am_mem_alloc(&mem, bytes);
	p[0] = 7;
	while (bytes < 1000000) {
		const size_t more = bytes + bytes / 2 + 1;
		p = am_mem_resize(&mem, p, bytes, more);
		for (size_t i = bytes; i < more; i++) {
			wrong += p[i] != 0;
			p[i] = (unsigned char)(i * 31 + 7);
		}
		bytes = more;
	}
	for (size_t i = 1; i < bytes; i++)
		wrong += p[i] != (unsigned char)(i * 31 + 7);
	cr_assert_eq(wrong, 0);
	am_mem_destroy(&mem);
}

Test(mem, the_ceiling_holds_and_is_survived)
{
	struct am_mem mem;
	size_t n = 0;

	am_mem_init(&mem, 1 << 20);
	while (am_mem_alloc(&mem, 1000))
		n++;
	cr_assert(n > 500);
	cr_assert(mem.peak <= 1 << 20);
	cr_assert_null(am_mem_alloc(&mem, 1 << 20));
	cr_assert_null(am_mem_alloc(&mem, SIZE_MAX));
	am_mem_destroy(&mem);
}

Test(mem, what_is_dropped_of_a_block_is_lost_and_nothing_else)
{
	enum { BYTES = 1 << 20, FROM = 100000, TO = 900001 };
	struct am_mem mem;
	size_t wrong = 0;

	am_mem_init(&mem, 0);
	unsigned char *block = am_mem_alloc(&mem, BYTES), *small = am_mem_alloc(&mem, 5000);
	memset(block, 7, BYTES);
	memset(small, 7, 5000);
	am_mem_drop(block, BYTES, FROM, TO);
	am_mem_drop(small, 5000, 0, 5000); /* shares its pages: nothing happens */
	for (size_t i = 0; i < BYTES; i++)
		wrong += (i < FROM || i >= TO) && block[i] != 7;
	for (size_t i = 0; i < 5000; i++)
		wrong += small[i] != 7;
	cr_expect_eq(wrong, 0);
	cr_expect_eq(block[(FROM + TO) / 2], 0);
	am_mem_free(&mem, block, BYTES);
	am_mem_destroy(&mem);
}
