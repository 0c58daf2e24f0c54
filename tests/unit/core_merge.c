/* The merge at the end of a process whose threads run on: what was read last may rest on what was not read. */
/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "atommon/event.h"
#include "atommon/mem.h"
#include "atommon/merge.h"

enum { LOCK = 0x1000 };

static struct {
	struct am_mem mem;
	struct am_merge *merge;
	char text[200]; /* thread and kind of each event passed on */
} at;

static void out(void *ctx, const struct am_event *e)
{
	const size_t n = strlen(at.text);

	(void)ctx;
	snprintf(at.text + n, sizeof at.text - n, "%u%c ", e->thread, e->kind == AM_ACQUIRE ? 'a' : 'r');
}

static void begin(void)
{
	am_mem_init(&at.mem, 0);
	at.merge = am_merge_new(&at.mem, out, NULL);
}

static void end(void)
{
	am_merge_free(at.merge);
	am_mem_destroy(&at.mem);
}

static void feed(uint32_t thread, enum am_kind kind, uint32_t number)
{
	const struct am_unit u = {kind | AM_R_SEQ | (uint64_t)LOCK << AM_R_OBJECT_SHIFT, number};

	cr_assert(am_merge_feed(at.merge, thread, &u, 1));
}

Test(merge, what_was_read_last_and_waits_for_nothing_that_is_there_is_left_out, .init = begin, .fini = end)
{
	feed(1, AM_ACQUIRE, 0);
	am_merge_leaving(at.merge, true);
	feed(2, AM_ACQUIRE, 2); /* the release of thread 1 was logged behind our back */
	feed(2, AM_RELEASE, 3);
	cr_assert_eq(am_merge_finish(at.merge), 0);
	cr_assert_str_eq(at.text, "1a ");
	cr_assert_eq(am_merge_pending(at.merge), 0);
}

Test(merge, what_was_read_before_finds_what_it_rests_on, .init = begin, .fini = end)
{
	feed(1, AM_ACQUIRE, 0);
	feed(2, AM_ACQUIRE, 2);
	am_merge_leaving(at.merge, true);
	feed(1, AM_RELEASE, 1);
	feed(1, AM_ACQUIRE, 4); /* and this waits for the release of thread 2 */
	cr_assert_eq(am_merge_finish(at.merge), 0);
	cr_assert_str_eq(at.text, "1a 1r 2a ");
}

Test(merge, a_hole_in_what_was_read_before_is_closed, .init = begin, .fini = end)
{
	feed(1, AM_ACQUIRE, 0);
	feed(2, AM_ACQUIRE, 2);
	am_merge_leaving(at.merge, true);
	feed(2, AM_RELEASE, 3);
	cr_assert_eq(am_merge_finish(at.merge), 1);
	cr_assert_str_eq(at.text, "1a 2a 2r ");
}

Test(merge, a_process_that_lives_on_is_leaving_no_longer, .init = begin, .fini = end)
{
	feed(1, AM_ACQUIRE, 0);
	am_merge_leaving(at.merge, true);
	am_merge_leaving(at.merge, false);
	feed(2, AM_ACQUIRE, 2);
	cr_assert_eq(am_merge_finish(at.merge), 1);
	cr_assert_str_eq(at.text, "1a 2a ");
}
