/*
 * Critical sections as regions (ATOMMON_ATOMIC=sections): which accesses lie in one. The hooks of
 * locks know nothing of this; a thread about to log an access reads its own newest records in the
 * ring, where every acquire and release is. So lock-only programs pay nothing.
 *
 * A section is open here from its first access on, and until the first access behind it: before and
 * after those it has nothing that could be the end of an edge. Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/lane.h"
#include "preload/shadow.h"

/* Which lock it was is not looked up: inner ones are released before those that are parked. */
static void let_go(struct am_view *v)
{
	if (v->held > 0)
		v->held--;
	else
		v->parked -= v->parked > 0;
}

/* The sum of the records in [*from, to): locks held, and whether there was a moment without any. Stops
 * at one that is in progress: we are in a signal handler that interrupted it. */
static bool walk(struct am_view *v, uint64_t *from, uint64_t to)
{
	const struct am_tls *t = &am_tls;
	bool was_free = v->held == 0;

	while (*from < to) {
		const uint64_t w0 =
			__atomic_load_n(&t->lane->units[*from & t->mask].w0, __ATOMIC_RELAXED);
		if (am_unlikely((w0 & AM_R_PHASE) != am_phase(t, *from)))
			break;
		switch (w0 & AM_R_KIND_MASK) {
		case AM_ACQUIRE:
		case AM_WAKE:
			v->held++;
			break;
		case AM_RELEASE:
			let_go(v);
			break;
		case AM_WAIT: /* a condition wait ends a section */
			let_go(v);
			was_free = true;
			break;
		case AM_FORK: /* and so does the start of a thread */
			v->parked += v->held;
			v->held = 0;
			break;
		case AM_JOIN: /* and the wait for a thread's end */
			was_free = true;
			break;
		default:
			break;
		}
		was_free |= v->held == 0;
		*from += 1 + (w0 >> AM_R_EXT_SHIFT & AM_R_EXT_MAX);
	}
	return was_free;
}

void am_view_follow(struct am_view *v)
{
	const uint64_t head = am_tls.head;
	const bool was_open = v->held > 0;
	uint64_t seen = v->others + v->own_units;
	bool was_free = true;

	if (!am_tls.lane || am_tls.event)
		return;
	if (seen < am_tls.lane->dir->first)
		seen = am_tls.lane->dir->first;
	if (seen <= head && head - seen <= am_tls.mask) {
		was_free = walk(v, &seen, head);
	} else {
		v->held = 1; /* overwritten since: assume a section, which only logs more */
		seen = head;
	}
	v->others = seen - v->own_units;
	if (was_open && was_free)
		am_view_end();
	if (v->held > 0 && was_free)
		am_view_begin();
}
