/* What a thread left in counts: see owners.h. */
/* SPDX-License-Identifier: MIT */
#include "preload/owners.h"

/* The count's place; NULL: the thread has no lane. */
static struct am_owned *place(uintptr_t count)
{
	struct am_lane *lane = am_tls.lane;

	if (!lane)
		return NULL;
	if (lane->owned_of != am_tls.id) { /* another thread's before */
		for (unsigned i = 0; i < AM_OWNED; i++)
			lane->owned[i].count = 0;
		lane->owned_of = am_tls.id;
	}
	return &lane->owned[(count >> 3 ^ count >> 7) % AM_OWNED];
}

void am_owners_left(uintptr_t count, int64_t delta, int64_t left)
{
	struct am_owned *o = place(count);

	if (!o)
		return;
	if (delta > 0 || left > 1) {
		o->count = count;
		o->left = left;
	} else if (o->count == count) { /* it may have none any more: what it has next was given to it */
		o->count = 0;
	}
}

bool am_owners_remain(uintptr_t count, int64_t old)
{
	const struct am_owned *o = place(count);

	return o && old > 1 && (o->count == count ? o->left > 1 : old > 2);
}
