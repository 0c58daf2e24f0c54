/*
 * An access told late lies at the newest mark of its thread that covers it, however many marks there are, whatever
 * their numbers. The summarised graph, which searches among them, and the full graph, which walks through all,
 * must say the same; and where numbers only rise, what is plain from the trace.
 *
 * One thread has an open region. The other runs through regions with a mark each, and in one of them reads what the
 * first wrote. Then the first comes to something that a random stretch of the other wrote: that closes a cycle if
 * and only if the mark lies in that region or behind it. A third thread has a region that the other came behind
 * before, and that ends somewhere: older marks are then of no use, and go when there is no room.
 *
 *   checker_marks [SEED [CASES]]
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "atommon/checker.h"
#include "atommon/mem.h"
#include "cases.h"

enum { REGIONS_MAX = 400, ONE, OTHER, THIRD, RISING = 0, BLOCKS, JUNK };

static uint64_t state;

static uint32_t draw(uint32_t n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((state >> 33) % n);
}

struct checkers {
	struct am_mem mem[2];
	struct am_checker *fast;
	struct am_fullgraph *full;
	uint64_t index, found[2]; /* cycles, so far */
};

static void count(void *ctx, const struct am_cycle *cycle)
{
	(void)cycle;
	++*(uint64_t *)ctx;
}

static void put(struct checkers *c, struct am_event event)
{
	event.index = c->index++;
	am_checker_event(c->fast, &event);
	am_fullgraph_event(c->full, &event);
}

static void mark(struct checkers *c, uint32_t number)
{
	put(c, (struct am_event){.kind = AM_MARK, .thread = OTHER, .object = AM_THREAD_OBJECT(OTHER),
				 .aux = number, .site = number});
}

/* How the numbers go from mark to mark. */
static uint32_t next_number(uint32_t number, unsigned way)
{
	if (way == JUNK && draw(8) == 0)
		return draw(1000) + 1;
	if (way != RISING && draw(64) == 0) /* a new block, which may look like an old one */
		return draw(4) << 30 | (1 + draw(300));
	return number + draw(4);
}

/* One of the other's regions, with what it reads. */
static void region(struct checkers *c, uint32_t number, uint64_t reads)
{
	put(c, (struct am_event){.kind = AM_BEGIN, .thread = OTHER, .object = 'b'});
	if (reads)
		put(c, (struct am_event){.kind = AM_READ, .thread = OTHER, .object = reads, .size = 8});
	mark(c, number);
	put(c, (struct am_event){.kind = AM_END, .thread = OTHER, .object = 'b'});
}

/* Something that nobody else comes to is told of a stretch near by: what is found is remembered, and may be
 * wrong for the next one. */
static void tell(struct checkers *c, uint32_t number)
{
	for (uint32_t i = draw(4); i > 0; i--)
		put(c, (struct am_event){.kind = AM_LATE, .thread = ONE, .object = 0x4000 + 8 * draw(8), .size = 8, .mode = draw(2),
					 .aux = (uint64_t)OTHER << 32 | (number + draw(5) - (number > 2 ? 2 : 0))});
}

static void run_regions(struct checkers *c, const uint32_t *number, uint32_t n, uint32_t at)
{
	const uint32_t first = draw(at + 1), over = at + draw(n - at); /* of the third's region */

	put(c, (struct am_event){.kind = AM_BEGIN, .thread = ONE, .object = 'a'});
	put(c, (struct am_event){.kind = AM_WRITE, .thread = ONE, .object = 0x1000, .size = 8});
	put(c, (struct am_event){.kind = AM_BEGIN, .thread = THIRD, .object = 'c'});
	put(c, (struct am_event){.kind = AM_WRITE, .thread = THIRD, .object = 0x3000, .size = 8});
	for (uint32_t i = 0; i < n; i++) {
		region(c, number[i], i == at ? 0x1000 : i == first ? 0x3000 : 0);
		if (draw(4) == 0)
			tell(c, number[draw(i + 1)]);
		if (i == over)
			put(c, (struct am_event){.kind = AM_END, .thread = THIRD, .object = 'c'});
	}
}

static bool run(unsigned way)
{
	struct checkers c = {.index = 1};
	uint32_t number[REGIONS_MAX], n = 1 + draw(draw(4) ? 40 : REGIONS_MAX);
	const struct am_checker_config fast = {AM_CONFLICTS_DATA, count, &c.found[0]},
				       full = {AM_CONFLICTS_DATA, count, &c.found[1]};

	for (uint32_t i = 0, last = 1 + draw(100); i < n; i++)
		number[i] = last = next_number(last, way);
	const uint32_t asked = draw(8) ? number[draw(n)] + draw(3) : draw(4) << 30 | draw(1000);
	uint32_t newest = n, at = draw(n);
	while (newest > 0 && !am_mark_covers(number[newest - 1], asked))
		newest--;
	if (newest > 0 && draw(2)) /* a mark beside it would make a difference */
		at = newest < n && draw(2) ? newest : newest - 1;
	am_mem_init(&c.mem[0], 0);
	am_mem_init(&c.mem[1], 0);
	c.fast = am_checker_new(&fast, &c.mem[0]);
	c.full = am_fullgraph_new(&full, &c.mem[1]);
	run_regions(&c, number, n, at);
	tell(&c, draw(2) ? asked : number[draw(n)]);
	put(&c, (struct am_event){.kind = AM_LATE, .thread = ONE, .object = 0x2000, .size = 8, .mode = 1,
				  .aux = (uint64_t)OTHER << 32 | asked});
	put(&c, (struct am_event){.kind = AM_READ, .thread = ONE, .object = 0x2000, .size = 8});
	const bool is_cycle = newest > at;
	const bool is_right = (c.found[0] != 0) == is_cycle && (c.found[1] != 0) == is_cycle;
	if (!is_right)
		printf("# %u regions, the read in number %u, stretch %u lies in number %u: %s expected, fast %llu, full %llu\n",
		       n, at + 1, asked, newest, is_cycle ? "a cycle" : "none", (unsigned long long)c.found[0],
		       (unsigned long long)c.found[1]);
	am_checker_free(c.fast);
	am_fullgraph_free(c.full);
	am_mem_destroy(&c.mem[0]);
	am_mem_destroy(&c.mem[1]);
	return is_right;
}

int main(int argc, char **argv)
{
	const char *env = getenv("CHECKER_SEED");
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : env ? strtoull(env, NULL, 0) : 1;
	const unsigned long cases = (unsigned long)cases_wanted(argc, argv, 8000);

	printf("# seed %llu, %lu cases\n", (unsigned long long)seed, cases);
	for (unsigned long i = 0; i < cases; i++) {
		state = seed * 1000003 + i;
		draw(1);
		if (!run((unsigned)(i % 3))) {
			printf("not ok 1 - case %lu of seed %llu\n1..1\n", i, (unsigned long long)seed);
			return 1;
		}
	}
	printf("ok 1 - late accesses lie at the newest mark that covers them\n1..1\n");
	return 0;
}
