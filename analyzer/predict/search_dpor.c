/*
 * Dynamic partial order reduction over the schedules of a segment (Flanagan & Godefroid, POPL'05,
 * with clock vectors and sleep sets; the backtrack rule is that of source sets, Abdulla et al.,
 * POPL'14; Sinha et al. §III.D).
 *
 * The stack holds one frame per executed event. When an event e of thread p is executed, or when p
 * is stuck at e in the end, each earlier event that is dependent with e, that e does not follow
 * through a third one, and that could have run at the same time, is a race: the other order must be
 * tried too.
 */
/* SPDX-License-Identifier: MIT */
#include "search.h"
#include "trail.h"

#include <assert.h>
#include <stdlib.h>

struct frame {
	uint64_t enabled, backtrack, done, sleep; /* by local thread */
	uint32_t mark;				  /* journal before the step */
	uint32_t thread;			  /* chosen, local; AM_NONE: none yet */
	uint32_t switches;			  /* preemptive ones so far */
};

/* Frame i leads to step i of the trail; the top frame's step is the next one. */
struct dpor {
	struct am_search *s;
	struct am_machine *m;
	struct am_trail trail;
	VEC(struct frame) stack;
};

/*
 * Make sure that the other order of each race of thread p's event e is tried: one of the threads
 * that can begin what leads to it must be in the backtrack set of the racing frame. (Not just any
 * thread that leads to e: with sleep sets that would lose schedules.)
 */
static void add_backtracks(struct dpor *d, uint32_t e, uint32_t p, const uint32_t *before,
			   const uint32_t *full, bool is_stuck)
{
	am_trail_races(&d->trail, e, before, is_stuck);
	for (uint32_t r = 0; r < d->trail.race.n; r++) {
		struct frame *f = &d->stack.at[d->trail.race.at[r]];
		if (!(f->enabled & ~f->backtrack))
			continue;
		const uint64_t one = am_trail_initial(&d->trail, d->trail.race.at[r], p, full,
						      f->backtrack & f->enabled, f->enabled);
		f->backtrack |= one ? one : f->enabled;
	}
}

static uint64_t enabled_set(const struct dpor *d)
{
	uint64_t set = 0;

	for (uint32_t p = 0; p < d->trail.n; p++) {
		const uint32_t e = am_machine_next(d->m, d->trail.thread[p]);
		if (e != AM_NONE && am_machine_enabled(d->m, e))
			set |= UINT64_C(1) << p;
	}
	return set;
}

/* The enabled thread whose next event came first in the recording. */
static uint32_t recorded_first(const struct dpor *d, uint64_t set)
{
	uint32_t best = AM_NONE, chosen = AM_NONE;

	for (uint32_t p = 0; p < d->trail.n; p++) {
		if (!(set >> p & 1))
			continue;
		const uint32_t e = am_machine_next(d->m, d->trail.thread[p]);
		if (e < best) {
			best = e;
			chosen = p;
		}
	}
	return chosen;
}

static void push_frame(struct dpor *d, uint64_t sleep, uint32_t switches)
{
	const uint64_t enabled = enabled_set(d);
	struct frame *f = vec_push(&d->stack);

	*f = (struct frame){.enabled = enabled,
			    .sleep = sleep,
			    .mark = am_machine_mark(d->m),
			    .thread = AM_NONE,
			    .switches = switches};
	const uint64_t awake = enabled & ~sleep;
	if (awake)
		f->backtrack = UINT64_C(1) << recorded_first(d, awake);
	else
		d->s->pruned += enabled != 0;
}

/* Threads stuck at the end may have raced with what blocks them. */
static void races_of_stuck(struct dpor *d)
{
	uint32_t before[AM_TRAIL_THREADS], full[AM_TRAIL_THREADS];

	for (uint32_t p = 0; p < d->trail.n; p++) {
		const uint32_t e = am_machine_next(d->m, d->trail.thread[p]);
		if (e == AM_NONE)
			continue;
		am_trail_before(&d->trail, p, before);
		am_trail_before(&d->trail, p, full);
		am_trail_follow(&d->trail, e, full);
		add_backtracks(d, e, p, before, full, true);
	}
}

static uint64_t sleep_after(struct dpor *d, const struct frame *f, uint32_t event)
{
	uint64_t sleep = 0;
	const uint64_t quiet = f->sleep | (f->done & ~(UINT64_C(1) << f->thread));

	for (uint32_t p = 0; p < d->trail.n; p++) {
		if (!(quiet >> p & 1) || p == f->thread)
			continue;
		const uint32_t e = am_machine_next(d->m, d->trail.thread[p]);
		if (e != AM_NONE && !am_machine_dependent(d->m, e, event))
			sleep |= UINT64_C(1) << p;
	}
	return sleep;
}

/* The next thread to try from the top frame; false if none is left. */
static bool choose(struct dpor *d)
{
	const uint32_t top = d->stack.n - 1;
	struct frame *f = &d->stack.at[top];
	const uint32_t previous = top ? d->stack.at[top - 1].thread : AM_NONE;

	for (;;) {
		const uint64_t open = f->backtrack & ~f->done & ~f->sleep & f->enabled;
		if (!open)
			return false;
		f->thread = recorded_first(d, open);
		f->done |= UINT64_C(1) << f->thread;
		const bool preempts = previous != AM_NONE && f->thread != previous &&
				      (f->enabled >> previous & 1);
		const uint32_t switches =
			(top ? d->stack.at[top - 1].switches : 0) + (preempts ? 1 : 0);
		if (switches > d->s->context_bound) {
			d->s->was_bounded = true;
			/* the thread that runs on must still be tried */
			f->backtrack |= UINT64_C(1) << previous;
			continue;
		}
		f->switches = switches;
		return true;
	}
}

static void record_witness(struct dpor *d)
{
	d->s->witness.n = 0;
	for (uint32_t i = 0; i < d->trail.step.n; i++)
		*vec_push(&d->s->witness) = d->trail.step.at[i].event;
	d->s->verdict = AM_SEARCH_FOUND;
	d->s->interleavings++;
}

/* Execute the next event of the thread that the top frame chose. */
static void execute(struct dpor *d)
{
	const struct frame *f = &d->stack.at[d->stack.n - 1];
	const uint32_t p = f->thread, e = am_machine_next(d->m, d->trail.thread[p]);
	uint32_t before[AM_TRAIL_THREADS], full[AM_TRAIL_THREADS];

	am_trail_before(&d->trail, p, before);
	am_trail_before(&d->trail, p, full);
	am_trail_follow(&d->trail, e, full);
	add_backtracks(d, e, p, before, full, false);
	const uint64_t sleep = sleep_after(d, f, e);
	const uint32_t switches = f->switches;
	am_machine_step(d->m, e);
	am_trail_push(&d->trail, e, p, full);
	if (d->m->broken)
		record_witness(d);
	else
		push_frame(d, sleep, switches);
}

static void explore(struct dpor *d)
{
	push_frame(d, 0, 0);
	while (d->stack.n && d->s->verdict == AM_SEARCH_NONE) {
		const struct frame *f = &d->stack.at[d->stack.n - 1];
		am_machine_undo(d->m, f->mark);
		if (d->trail.step.n == d->stack.n)
			am_trail_pop(&d->trail);
		assert(d->trail.step.n == d->stack.n - 1);
		if (!f->done && !(f->enabled & ~f->sleep)) {
			races_of_stuck(d);
			d->s->interleavings += !f->enabled;
		}
		if (!choose(d))
			d->stack.n--;
		else if (d->s->max_steps && d->s->steps++ >= d->s->max_steps)
			d->s->verdict = AM_SEARCH_BUDGET;
		else
			execute(d);
	}
}

void am_search_dpor(struct am_search *s, struct am_machine *machine)
{
	const uint32_t mark = am_machine_mark(machine);
	struct dpor d = {.s = s, .m = machine};

	s->verdict = AM_SEARCH_NONE;
	if (am_trail_init(&d.trail, machine))
		explore(&d);
	else
		s->verdict = AM_SEARCH_BUDGET;
	am_machine_undo(machine, mark);
	am_trail_free(&d.trail);
	free(d.stack.at);
}
