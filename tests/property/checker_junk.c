/*
 * Events of any kind with any content, in no sensible order: the checkers and the regions stage must
 * survive them, and what they report must at least be well formed. usage: checker_junk [SEED [COUNT]]
 */
/* SPDX-License-Identifier: MIT */
#include "checker_trace.h"

#include "atommon/mem.h"
#include "atommon/regions.h"
#include "tests/property/cases.h"

#include <stdlib.h>

static uint64_t cycles, malformed;
static struct am_checker *checker;
static struct am_fullgraph *full;

static void on_cycle(void *ctx, const struct am_cycle *c)
{
	(void)ctx;
	cycles++;
	malformed += c->n_edges == 0 || c->n_edges > AM_CYCLE_MAX || c->n_inner > 8;
	for (uint32_t i = 0; i < c->n_edges && i < AM_CYCLE_MAX; i++)
		malformed += c->edge[i].from.index > c->edge[i].to.index;
}

static void check(void *ctx, const struct am_event *e)
{
	(void)ctx;
	am_checker_event(checker, e);
	am_fullgraph_event(full, e);
}

static uint64_t any_number(struct rng *r)
{
	switch (draw(r, 6)) {
	case 0:
		return draw(r, 4);
	case 1:
		return UINT64_MAX - draw(r, 40);
	case 2:
		return (uint64_t)draw(r, UINT32_MAX) << 32 | draw(r, UINT32_MAX);
	default:
		return 0x1000 + draw(r, 64);
	}
}

int main(int argc, char **argv)
{
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	const uint64_t count = cases_wanted(argc, argv, 1500);

	printf("# seed %llu, %llu streams\n", (unsigned long long)seed, (unsigned long long)count);
	for (uint64_t i = 0; i < count; i++) {
		struct rng r = {seed * 31337 + i};
		struct am_mem mem;
		am_mem_init(&mem, draw(&r, 3) ? 0 : 1 << 20);
		const struct am_checker_config config = {(enum am_conflicts)draw(&r, 4), on_cycle, NULL};
		const struct am_regions_config stage = {draw(&r, 2) ? "marked,sections,fn:*" : "marked", check, NULL, NULL, NULL, NULL};
		checker = am_checker_new(&config, &mem);
		full = am_fullgraph_new(&config, &mem);
		struct am_regions *regions = am_regions_new(&stage, &mem);
		uint64_t index = draw(&r, 4) ? 0 : (UINT64_C(1) << 48) - 200; /* past what a moment holds */
		for (int k = 0; k < 400 && checker && full && regions; k++) {
			const struct am_event e = {
				.index = index++,
				.object = any_number(&r),
				.aux = any_number(&r),
				.value = any_number(&r),
				.thread = draw(&r, 20) ? draw(&r, 6) : (uint32_t)any_number(&r),
				.site = (uint32_t)any_number(&r),
				.size = draw(&r, 200) ? draw(&r, 20) : draw(&r, 4096),
				.kind = (uint8_t)(draw(&r, 20) ? draw(&r, AM_KINDS) : draw(&r, 256)),
				.mode = (uint8_t)draw(&r, 3),
				.flags = (uint8_t)(draw(&r, 4) ? 0 : draw(&r, 256)),
			};
			am_regions_event(regions, &e);
		}
		am_mem_destroy(&mem);
	}
	printf("# %llu cycles\n", (unsigned long long)cycles);
	printf("%s 1 - any events are survived\n", malformed || !cycles ? "not ok" : "ok");
	return 0;
}
