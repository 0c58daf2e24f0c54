/* Places of loads that are made again: a small table that only grows. See retry.h. */
/* SPDX-License-Identifier: MIT */
#include "preload/retry.h"

#include "preload/area.h"

__thread struct am_retry am_retry;

enum { PLACES = 1024, TRIES = 16 };
static uintptr_t places[PLACES];

static uint32_t home(uintptr_t pc)
{
	return (uint32_t)(pc * UINT64_C(0x9e3779b97f4a7c15) >> 54);
}
_Static_assert(PLACES == 1 << (64 - 54), "the hash has as many values");

bool am_retry_is_learned(uintptr_t pc)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		const uintptr_t seen =
			__atomic_load_n(&places[(home(pc) + i) % PLACES], __ATOMIC_RELAXED);
		if (seen == pc || seen == 0)
			return seen == pc;
	}
	return false;
}

void am_retry_learn(uintptr_t pc)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		uintptr_t *place = &places[(home(pc) + i) % PLACES], seen = 0;
		if (__atomic_load_n(place, __ATOMIC_RELAXED) == pc ||
		    __atomic_compare_exchange_n(place, &seen, pc, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED) ||
		    seen == pc)
			return;
	}
}

bool am_retry_is_void(const struct am_cycle *cycle)
{
	for (uint32_t i = 0; i < cycle->n_edges; i++) {
		const struct am_access *from = &cycle->edge[i].from;
		if (cycle->edge[i].why != AM_EDGE_CONFLICT || from->kind != AM_READ || !from->site)
			continue;
		const uint64_t *site = am_area.sites + (uint64_t)from->site * am_area.site_words;
		if (__atomic_load_n(site, __ATOMIC_ACQUIRE) && am_retry_is_learned(site[1]))
			return true; /* partner: am_site_intern */
	}
	return false;
}
