/* Optimistic attempts; see attempt.h. Tool side. */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/attempt.h"
#include "analyzer/predict/exec.h"

static bool same_bytes(const struct am_ctp_event *a, const struct am_ctp_event *b)
{
	return am_ctp_is_access(a) && a->object == b->object && a->offset == b->offset && a->size == b->size;
}

uint32_t am_attempt_of(const struct am_ctp *ctp, uint32_t region)
{
	const struct am_ctp_region *r = &ctp->regions[region];
	const struct am_ctp_thread *t = &ctp->threads[r->thread];
	const uint32_t first = r->begin == AM_CTP_NONE ? 0 : ctp->events[r->begin].pos;
	const uint32_t end = r->end == AM_CTP_NONE ? t->length : ctp->events[r->end].pos;

	for (uint32_t i = end; i-- > first;) {
		const struct am_ctp_event *v = &ctp->events[t->events[i]];
		if (v->kind != AM_UPDATE || !v->cond)
			continue;
		for (uint32_t k = first; k < i; k++)
			if (same_bytes(&ctp->events[t->events[k]], v) && am_ctp_needs(ctp, v->cond, t->events[k]))
				return t->events[i];
	}
	return AM_CTP_NONE;
}

/* The thread goes on until it has done so many events; false: it cannot. */
static bool go_on(struct am_exec *x, uint32_t thread, uint32_t until)
{
	const struct am_ctp_thread *t = &x->ctp->threads[thread];

	while (x->done[thread] < until) {
		const enum am_step step = am_exec_step(x, t->events[x->done[thread]]);
		if (step != AM_STEP_OK && step != AM_STEP_SKIPPED)
			return false;
	}
	return true;
}

/* Everybody else, each as far as possible, in turn until nobody can. */
static void others_go_on(struct am_exec *x, uint32_t thread)
{
	uint32_t before;

	do {
		before = x->executed;
		for (uint32_t t = 0; t < x->ctp->thread_count; t++)
			if (t != thread)
				go_on(x, t, x->ctp->threads[t].length);
	} while (x->executed != before);
}

bool am_attempt_succeeds(const struct am_ctp *ctp, const struct am_answer *answer, uint32_t attempt)
{
	const uint32_t thread = ctp->events[attempt].thread;
	struct am_exec x;
	bool succeeds = false;

	am_exec_init(&x, ctp, AM_MODEL_SC);
	for (int waits = 0; waits < 2 && !succeeds; waits++) {
		am_exec_reset(&x);
		for (uint32_t i = 0; i < answer->length; i++)
			am_exec_step(&x, answer->run[i]);
		if (waits)
			others_go_on(&x, thread);
		succeeds = go_on(&x, thread, ctp->events[attempt].pos + 1);
	}
	am_exec_clear(&x);
	return succeeds;
}
