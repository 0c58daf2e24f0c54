/* What goes into a table beside a cell (preload/kept.h): which of it stays, and in which order. */
/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "preload/kept.h"

enum { MINE = 3, OTHERS = 4 };

static struct am_kept made(uint64_t block, uint64_t stretch, uint64_t bytes, bool writes)
{
	const uint64_t number = block << AM_BLOCK_SHIFT | stretch << AM_STRETCH_SHIFT;

	return am_filter_kept((struct am_late){number, bytes}, writes, stretch);
}

static void expect(const struct am_kept *kept, unsigned at, struct am_kept wanted)
{
	cr_assert_eq(kept[at].what, wanted.what);
	cr_assert_eq(kept[at].pc, wanted.pc);
}

Test(kept, the_newest_stretch_is_first_whatever_came_first)
{
	struct am_kept kept[AM_FILTER_KEPT] = {{0, 0}};

	cr_assert_eq(am_filter_keep(kept, made(MINE, 5, 0x0f, false)).what, 0);
	cr_assert_eq(am_filter_keep(kept, made(MINE, 3, 0xf0, true)).what, 0);
	cr_assert_eq(am_filter_keep(kept, made(MINE, 4, 0x80, false)).what, 0);
	expect(kept, 0, made(MINE, 5, 0x0f, false));
	expect(kept, 1, made(MINE, 4, 0x80, false));
	expect(kept, 2, made(MINE, 3, 0xf0, true));
}

Test(kept, an_older_write_does_not_stand_for_a_newer_read)
{
	struct am_kept kept[AM_FILTER_KEPT] = {{0, 0}};

	am_filter_keep(kept, made(MINE, 5, 0x0f, false));
	am_filter_keep(kept, made(MINE, 3, 0xff, true));
	expect(kept, 0, made(MINE, 5, 0x0f, false));
	expect(kept, 1, made(MINE, 3, 0xff, true));
}

Test(kept, a_newer_write_stands_for_what_it_covers)
{
	struct am_kept kept[AM_FILTER_KEPT] = {{0, 0}};

	am_filter_keep(kept, made(MINE, 3, 0x0f, false));
	am_filter_keep(kept, made(MINE, 4, 0xf0, true));
	am_filter_keep(kept, made(MINE, 5, 0x3c, true));
	expect(kept, 0, made(MINE, 5, 0x3c, true));
	expect(kept, 1, made(MINE, 4, 0xc0, true));
	expect(kept, 2, made(MINE, 3, 0x03, false));
}

Test(kept, a_read_does_not_stand_for_a_write)
{
	struct am_kept kept[AM_FILTER_KEPT] = {{0, 0}};

	am_filter_keep(kept, made(MINE, 3, 0x0f, true));
	am_filter_keep(kept, made(MINE, 4, 0x0f, false));
	expect(kept, 0, made(MINE, 4, 0x0f, false));
	expect(kept, 1, made(MINE, 3, 0x0f, true));
}

Test(kept, nothing_stands_for_what_another_thread_did)
{
	struct am_kept kept[AM_FILTER_KEPT] = {{0, 0}};

	am_filter_keep(kept, made(OTHERS, 9, 0x0f, false));
	am_filter_keep(kept, made(MINE, 4, 0xff, true));
	expect(kept, 0, made(MINE, 4, 0xff, true));
	expect(kept, 1, made(OTHERS, 9, 0x0f, false));
}

Test(kept, one_stretch_has_one_place_for_each_kind)
{
	struct am_kept kept[AM_FILTER_KEPT] = {{0, 0}};

	am_filter_keep(kept, made(MINE, 4, 0x01, false));
	am_filter_keep(kept, made(MINE, 4, 0x02, false));
	am_filter_keep(kept, made(MINE, 4, 0x04, true));
	expect(kept, 0, made(MINE, 4, 0x04, true));
	expect(kept, 1, made(MINE, 4, 0x03, false));
	cr_assert_eq(kept[2].what, 0);
}

Test(kept, the_oldest_comes_back_when_there_is_no_room)
{
	struct am_kept kept[AM_FILTER_KEPT] = {{0, 0}};

	for (unsigned i = 2; i < 5; i++)
		cr_assert_eq(am_filter_keep(kept, made(MINE, i, 1u << i, false)).what, 0);
	cr_assert_eq(am_filter_keep(kept, made(MINE, 5, 0x20, false)).what, made(MINE, 2, 0x04, false).what);
	cr_assert_eq(am_filter_keep(kept, made(MINE, 1, 0x02, false)).what, made(MINE, 1, 0x02, false).what);
	expect(kept, 0, made(MINE, 5, 0x20, false));
}
