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

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 64 };

struct frame {
	uint64_t enabled, backtrack, done, sleep; /* by local thread */
	uint32_t mark;				  /* journal before the step */
	uint32_t event, thread;			  /* chosen, local thread */
	uint32_t switches;			  /* preemptive ones so far */
};

struct dpor {
	struct am_search *s;
	struct am_machine *m;
	const struct am_run *run;
	uint32_t thread[MAX_THREADS]; /* run thread of each local one */
	uint32_t n;
	VEC(struct frame) stack;
	VEC(uint32_t) clocks; /* n entries per frame: clock of the event, depth + 1 of each thread */
};

static uint32_t *clock_of(struct dpor *d, uint32_t depth)
{
	return &d->clocks.at[(size_t)depth * d->n];
}

/* Clock of what local thread p has done so far: that of its last frame below `depth`. */
static void clock_of_thread(struct dpor *d, uint32_t p, uint32_t depth, uint32_t *out)
{
	memset(out, 0, d->n * sizeof *out);
	for (uint32_t i = depth; i-- > 0;)
		if (d->stack.at[i].thread == p) {
			memcpy(out, clock_of(d, i), d->n * sizeof *out);
			return;
		}
}

static bool gives_up_lock(uint8_t kind)
{
	return kind == AM_RELEASE || kind == AM_WAIT;
}

static bool takes_lock(uint8_t kind)
{
	return kind == AM_ACQUIRE || kind == AM_WAKE;
}

/*
 * Could two dependent events ever be enabled together? A release never with an acquire of the same lock by
 * another thread, a wait never with what needs its mutex; an event never with one that it waits for.
 */
static bool co_enabled(const struct dpor *d, uint32_t a, uint32_t b)
{
	const struct am_run_event *ra = &d->run->event.at[a], *rb = &d->run->event.at[b];
	const uint8_t ka = am_run_raw(d->run, a)->kind, kb = am_run_raw(d->run, b)->kind;

	if (rb->peer == a || ra->peer == b)
		return false;
	return !(gives_up_lock(ka) && takes_lock(kb)) && !(gives_up_lock(kb) && takes_lock(ka));
}

static void merge_clock(uint32_t *into, const uint32_t *from, uint32_t n)
{
	for (uint32_t p = 0; p < n; p++)
		if (from[p] > into[p])
			into[p] = from[p];
}

/*
 * A race between frame i and event e of thread p, whose full clock is `full`: make sure that the
 * other order is tried. v is what ran after i without following from it, then e. One of the threads
 * that can begin v must be in the backtrack set of frame i. (Not just any thread that leads to e: with
 * sleep sets that would lose schedules.)
 */
static void add_backtrack(struct dpor *d, uint32_t i, uint32_t depth, uint32_t p, const uint32_t *full)
{
	struct frame *f = &d->stack.at[i];
	uint64_t seen = 0, initials = 0;

	for (uint32_t j = i + 1; j <= depth; j++) {
		const bool is_e = j == depth;
		const uint32_t q = is_e ? p : d->stack.at[j].thread;
		const uint32_t *clock = is_e ? full : clock_of(d, j);
		if (!is_e && clock[f->thread] >= i + 1)
			continue;
		const uint64_t bit = UINT64_C(1) << q;
		if (seen & bit)
			continue;
		seen |= bit;
		bool is_initial = true;
		for (uint32_t k = i + 1; k < j && is_initial; k++) {
			const struct frame *g = &d->stack.at[k];
			is_initial = clock_of(d, k)[f->thread] >= i + 1 || clock[g->thread] < k + 1;
		}
		if (is_initial)
			initials |= bit;
	}
	if (f->backtrack & initials & f->enabled)
		return;
	if (initials & f->enabled)
		f->backtrack |= initials & f->enabled & -(initials & f->enabled);
	else
		f->backtrack |= f->enabled;
}

/* Find the races of event e of thread p against the first `depth` frames; `before` is the clock of
 * what p did before e. A dependent event that e follows through another one is no race. */
static void find_races(struct dpor *d, uint32_t e, uint32_t p, uint32_t depth, const uint32_t *before,
		       bool is_stuck)
{
	uint32_t full[MAX_THREADS], seen[MAX_THREADS];

	memcpy(full, before, d->n * sizeof *full);
	for (uint32_t i = depth; i-- > 0;) {
		const struct frame *f = &d->stack.at[i];
		if (full[f->thread] < i + 1 && am_machine_dependent(d->m, f->event, e))
			merge_clock(full, clock_of(d, i), d->n);
	}
	memcpy(seen, before, d->n * sizeof *seen);
	for (uint32_t i = depth; i-- > 0;) {
		const struct frame *f = &d->stack.at[i];
		if (seen[f->thread] >= i + 1 || !am_machine_dependent(d->m, f->event, e))
			continue;
		if (!co_enabled(d, f->event, e))
			continue; /* the race is with the acquire before this release */
		add_backtrack(d, i, depth, p, full);
		if (!is_stuck) /* what blocks e may lie behind what merely follows from it */
			merge_clock(seen, clock_of(d, i), d->n);
	}
}

static uint64_t enabled_set(const struct dpor *d)
{
	uint64_t set = 0;

	for (uint32_t p = 0; p < d->n; p++) {
		const uint32_t e = am_machine_next(d->m, d->thread[p]);
		if (e != AM_NONE && am_machine_enabled(d->m, e))
			set |= UINT64_C(1) << p;
	}
	return set;
}

/* The enabled thread whose next event came first in the recording. */
static uint32_t recorded_first(const struct dpor *d, uint64_t set)
{
	uint32_t best = AM_NONE, chosen = AM_NONE;

	for (uint32_t p = 0; p < d->n; p++) {
		if (!(set >> p & 1))
			continue;
		const uint32_t e = am_machine_next(d->m, d->thread[p]);
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
			    .event = AM_NONE,
			    .thread = AM_NONE,
			    .switches = switches};
	for (uint32_t p = 0; p < d->n; p++)
		*vec_push(&d->clocks) = 0;
	const uint64_t awake = enabled & ~sleep;
	if (awake)
		f->backtrack = UINT64_C(1) << recorded_first(d, awake);
	else
		d->s->pruned += enabled != 0;
}

/* Threads stuck at the end may have raced with what blocks them. */
static void races_of_stuck(struct dpor *d)
{
	const uint32_t depth = d->stack.n - 1;
	uint32_t before[MAX_THREADS];

	for (uint32_t p = 0; p < d->n; p++) {
		const uint32_t e = am_machine_next(d->m, d->thread[p]);
		if (e == AM_NONE)
			continue;
		clock_of_thread(d, p, depth, before);
		find_races(d, e, p, depth, before, true);
	}
}

/* The clock of the event just executed at `depth`: all earlier dependent events and its thread's. */
static void set_clock(struct dpor *d, uint32_t depth, const uint32_t *before)
{
	uint32_t *own = clock_of(d, depth);
	const struct frame *f = &d->stack.at[depth];

	memcpy(own, before, d->n * sizeof *own);
	for (uint32_t i = depth; i-- > 0;) {
		const struct frame *g = &d->stack.at[i];
		if (own[g->thread] >= i + 1 || !am_machine_dependent(d->m, g->event, f->event))
			continue;
		merge_clock(own, clock_of(d, i), d->n);
	}
	own[f->thread] = depth + 1;
}

static uint64_t sleep_after(struct dpor *d, const struct frame *f)
{
	uint64_t sleep = 0;
	const uint64_t quiet = f->sleep | (f->done & ~(UINT64_C(1) << f->thread));

	for (uint32_t p = 0; p < d->n; p++) {
		if (!(quiet >> p & 1) || p == f->thread)
			continue;
		const uint32_t e = am_machine_next(d->m, d->thread[p]);
		if (e != AM_NONE && !am_machine_dependent(d->m, e, f->event))
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
	for (uint32_t i = 0; i < d->stack.n; i++)
		*vec_push(&d->s->witness) = d->stack.at[i].event;
	d->s->verdict = AM_SEARCH_FOUND;
	d->s->interleavings++;
}

static void explore(struct dpor *d)
{
	push_frame(d, 0, 0);
	while (d->stack.n && d->s->verdict == AM_SEARCH_NONE) {
		const uint32_t top = d->stack.n - 1;
		struct frame *f = &d->stack.at[top];
		am_machine_undo(d->m, f->mark);
		if (!f->done && !(f->enabled & ~f->sleep)) {
			races_of_stuck(d);
			d->s->interleavings += !f->enabled;
		}
		if (!choose(d)) {
			d->stack.n--;
			d->clocks.n -= d->n;
			continue;
		}
		if (d->s->max_steps && d->s->steps++ >= d->s->max_steps) {
			d->s->verdict = AM_SEARCH_BUDGET;
			return;
		}
		uint32_t before[MAX_THREADS];
		f->event = am_machine_next(d->m, d->thread[f->thread]);
		clock_of_thread(d, f->thread, top, before);
		find_races(d, f->event, f->thread, top, before, false);
		const uint64_t sleep = sleep_after(d, f);
		am_machine_step(d->m, f->event);
		set_clock(d, top, before);
		if (d->m->broken) {
			record_witness(d);
			return;
		}
		push_frame(d, sleep, f->switches);
	}
}

void am_search_dpor(struct am_search *s, struct am_machine *machine)
{
	const struct am_segment *segment = machine->segment;
	const uint32_t mark = am_machine_mark(machine);
	struct dpor d = {.s = s, .m = machine, .run = machine->run};

	s->verdict = AM_SEARCH_NONE;
	for (uint32_t t = 0; t < segment->n_threads; t++) {
		if (segment->from[t] >= segment->to[t])
			continue;
		if (d.n == MAX_THREADS) {
			s->verdict = AM_SEARCH_BUDGET;
			return;
		}
		d.thread[d.n++] = t;
	}
	explore(&d);
	am_machine_undo(machine, mark);
	free(d.stack.at);
	free(d.clocks.at);
}
