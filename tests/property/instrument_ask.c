/*
 * The fast path by hand (preload/ask_hot.S) against the same in C (am_filter_short, am_late_take_free, am_late_take_over, am_view_is_ours): random cells, addresses and stretches. What is
 * settled by hand must be what the C has, and leave the same cell and place; the rest is handed on with nothing changed. No
 * register but %r11 changes.
 *
 *   instrument_ask [SEED [CASES]]
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "atommon/inlined.h"
#include "preload/late.h"
#include "preload/shadow.h"
#include "tests/property/cases.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

uintptr_t am_shadow_giants[1u << (AM_SHADOW_USER - AM_SHADOW_GIANT)];
__thread struct am_view am_view;
struct am_view_open am_view_open;
struct am_after am_after;
__thread struct am_tls am_tls;
struct am_wiped am_wiped;
uint32_t am_view_mode;

enum { BASE = 0x12345000, SPAN = 1 << AM_SHADOW_CHUNK };
static struct am_cell cells[SPAN / 8], kept_cells[2];
static uint64_t places[AM_PLACES_BYTES / 8];
static uintptr_t chunks[1 << (AM_SHADOW_GIANT - AM_SHADOW_CHUNK)];
static struct am_lane lane;
static uint32_t handed_on;
static uint64_t state;

static uint64_t draw(uint64_t n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 33) % n;
}

/* Few of each, so that they meet. */
static uint64_t draw_word(uint64_t now)
{
	static const uint64_t blocks[] = {0, 1, 1, 1, 1, 2, 2, 3, AM_BLOCK_OTHER};
	static const uint64_t bytes[] = {0, 0xff, 0xff, 0x0f, 0xf0, 0x01, 0x03};
	const uint64_t block = blocks[draw(9)];

	if (draw(8) == 0)
		return 0;
	return block << AM_BLOCK_SHIFT | (1 + draw(3)) << AM_STRETCH_SHIFT | (draw(3) ? AM_CELL_LAZY : 0) |
	       (draw(3) ? 0 : AM_CELL_EVER) | (draw(5) ? 0 : now) | (draw(3) ? 0 : bytes[draw(7)] << AM_MORE_SHIFT) |
	       (draw(4) ? bytes[draw(7)] : draw(256));
}

#define HAND_ON(name, size, writes)                                                                        \
	__attribute__((no_caller_saved_registers, target("general-regs-only"))) void am_ask_##name##size(void *p) \
	{                                                                                                  \
		(void)p;                                                                                   \
		handed_on++;                                                                               \
	}                                                                                                  \
	__attribute__((no_caller_saved_registers, target("general-regs-only"))) void am_cross_##name##size(void *p) \
	{                                                                                                  \
		handed_on += 1 + (((uintptr_t)p & 7) + (size) <= 8);                                      \
	}
AM_FAST_ACCESSES(HAND_ON)

/* Returns where the call returned to, 0 if a register changed. */
#define CALL(name, size, writes)                                                                           \
	static uintptr_t call_##name##size(uintptr_t at)                                                   \
	{                                                                                                  \
		uint64_t a = 1, b = 2, c = 3, d = 4, s = 5, address = at;                                  \
		uintptr_t pc;                                                                              \
		__asm__ volatile("movq $6, %%r8; movq $7, %%r9; movq $8, %%r10; subq $128, %%rsp; call __atommon_" #name #size "\n" \
				 "1: leaq 1b(%%rip), %0; addq $128, %%rsp; subq $6, %%r8; subq $7, %%r9; subq $8, %%r10\n"      \
				 "orq %%r8, %%r9; orq %%r9, %%r10; je 2f; xorl %%eax, %%eax; 2:"           \
				 : "=&r"(pc), "+a"(a), "+b"(b), "+c"(c), "+d"(d), "+S"(s), "+D"(address)   \
				 :                                                                         \
				 : "r8", "r9", "r10", "r11", "memory", "cc");                              \
		return a == 1 && b == 2 && c == 3 && d == 4 && s == 5 && address == at ? pc : 0;           \
	}
AM_FAST_ACCESSES(CALL)

static const struct {
	uintptr_t (*call)(uintptr_t at);
	unsigned size;
	bool writes;
} accesses[] = {
#define ENTRY(name, size, writes) {call_##name##size, size, writes},
	AM_FAST_ACCESSES(ENTRY)};
enum { ACCESSES = sizeof accesses / sizeof *accesses };

/* What C makes of it; false: it asks further. */
static bool twin(uintptr_t at, unsigned size, bool writes, struct am_cell *c, bool *has_place)
{
	uint64_t next;

	*has_place = false;
	if (am_view_is_idle() && am_view_is_alone())
		return true;
	if (!am_fast_is_in_word(at, size))
		return false;
	if (am_view_is_idle())
		return am_view_is_ours(c);
	switch (am_filter_short(c, am_view.fast, am_fast_bytes(at, size), writes, am_view.past_is_over, &next)) {
	case AM_SHORT_ASK:
		return *has_place = am_view.fast != AM_STRETCH_NONE && (am_late_take_free(&am_view, c, am_fast_bytes(at, size), writes) ||
									am_late_take_over(&am_view, c, am_fast_bytes(at, size), writes));
	case AM_SHORT_KNOWN:
		return true;
	case AM_SHORT_LAZY:
		*(writes ? &c->w : &c->r) = next;
		*has_place = true;
	}
	return true;
}

int main(int argc, char **argv)
{
	const uint64_t n = cases_wanted(argc, argv, 3000000);
	uint64_t settled = 0, asked = 0;

	state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	printf("# seed %llu\n", (unsigned long long)state);
	am_shadow_giants[BASE >> AM_SHADOW_GIANT] = (uintptr_t)chunks - ((uintptr_t)BASE >> AM_SHADOW_GIANT) * sizeof chunks;
	chunks[(BASE & ((1u << AM_SHADOW_GIANT) - 1)) >> AM_SHADOW_CHUNK] = (uintptr_t)cells - (uintptr_t)BASE * 2;
	am_view.places = places;
	am_tls.lane = &lane;
	for (uint64_t i = 0; i < n; i++) {
		const unsigned which = (unsigned)draw(ACCESSES), size = accesses[which].size;
		const bool writes = accesses[which].writes, is_far = draw(50) == 0;
		const uintptr_t near = BASE + draw(SPAN / 8 - 2) * 8 + (draw(2) ? 0 : draw(8)), at = is_far ? near + (draw(2) ? SPAN : UINT64_C(1) << 40) : near;
		struct am_cell *c = am_shadow_cell((uintptr_t)cells - (uintptr_t)BASE * 2, near & ~(uintptr_t)7);
		uint64_t *place = am_view_place(places, c, writes);
		bool has_place = false;

		c[0] = (struct am_cell){draw_word(AM_CELL_NOW) | (draw(6) ? 0 : AM_CELL_MANY), draw_word(0)};
		if (draw(8) == 0) /* lent: all of it is hidden */
			c[0].w |= AM_CELL_LENT | AM_CELL_MORE;
		c[1] = (struct am_cell){draw_word(AM_CELL_NOW), draw_word(0)};
		memcpy(kept_cells, c, sizeof kept_cells);
		am_view_set_fast(&am_view, draw(3) ? UINT64_C(1) << AM_BLOCK_SHIFT | (1 + draw(3)) << AM_STRETCH_SHIFT | AM_CELL_LAZY : AM_STRETCH_NONE);
		am_view.stretch = UINT64_C(1) << AM_BLOCK_SHIFT | (1 + draw(3)) << AM_STRETCH_SHIFT;
		if (am_view.fast != AM_STRETCH_NONE)
			am_view.stretch = am_view.fast & AM_STRETCH_MASK;
		am_view.past_is_over = draw(2);
		lane.over = draw(4) ? (2 + draw(2)) << AM_BLOCK_SHIFT | draw(4) << AM_STRETCH_SHIFT | ~AM_STRETCH_MASK : 0;
		/* Outside regions that is said, or what is open has changed since. */
		am_view_open.word = draw(3);
		am_view_open.only = draw(5) << AM_BLOCK_SHIFT;
		am_view.idle = am_view.fast != AM_STRETCH_NONE ? ~UINT64_C(0) : draw(3);
		*place = 0;
		struct am_cell wanted = c[0];
		const bool is_settled = is_far ? am_view_is_idle() && (am_view_is_alone() || am_fast_is_in_word(at, size)) : twin(at, size, writes, &wanted, &has_place);
		handed_on = 0;
		const uintptr_t pc = accesses[which].call(at);
		const bool is_same = handed_on ? memcmp(kept_cells, c, sizeof kept_cells) == 0 && *place == 0
					       : is_settled && memcmp(&wanted, c, sizeof wanted) == 0 && memcmp(&kept_cells[1], c + 1, sizeof *c) == 0 &&
							 (!is_far && has_place ? am_view_read_place(place, at) == pc : *place == 0);
		settled += !handed_on;
		asked += handed_on && is_settled;
		if (!pc || !is_same || handed_on > 1) {
			printf("not ok 1 - by hand as in C\n# case %llu: access %u, size %u at +%llu, cell %llx %llx, fast %llx: %s, registers %s\n",
			       (unsigned long long)i, which, size, (unsigned long long)(at & 7), (unsigned long long)kept_cells[0].w,
			       (unsigned long long)kept_cells[0].r, (unsigned long long)am_view.fast, handed_on ? "handed on" : "settled",
			       pc ? "kept" : "changed");
			return 1;
		}
	}
	printf("# %llu settled, %llu handed on without need\n", (unsigned long long)settled, (unsigned long long)asked);
	printf("ok 1 - by hand as in C\n%sok 2 - what is handed on without need is rare\n1..2\n", asked * 5 < settled ? "" : "not ");
	return asked * 5 >= settled;
}
