/*
 * The order of a story's steps, where lock operations had to wait to be told (preload/defer.h) and can stand before or
 * behind those of another thread that came after or before them. What a thread did stays in its order, and what an edge
 * orders stays so. Runs in the drain thread and in tools.
 */
/* SPDX-License-Identifier: MIT */
#include "story.h"

/*
 * The acquire of a lock that somebody else uses before its thread does anything goes to where its
 * thread goes on.
 */
static void lone_acquires(struct story *s)
{
	for (uint32_t i = s->n_steps; i-- > 0;) {
		const struct am_vstep step = s->step[i];
		const uint64_t order = s->order[i];
		uint32_t next = i + 1;
		bool is_used = false;

		if (step.kind != AM_ACQUIRE || step.role != AM_ROLE_CONTEXT)
			continue;
		for (; next < s->n_steps && s->step[next].thread != step.thread; next++)
			is_used |= s->step[next].object == step.object;
		if (!is_used || next == s->n_steps)
			continue;
		for (uint32_t k = i; k + 1 < next; k++) {
			s->step[k] = s->step[k + 1];
			s->order[k] = s->order[k + 1];
		}
		s->step[next - 1] = step;
		s->order[next - 1] = order;
	}
}

static bool is_end(const struct am_vstep *step)
{
	return step->kind == AM_RELEASE || step->kind == AM_WAIT;
}

/*
 * The thread of step i takes a lock there. Where does another thread, that took it too before the first one let go
 * of it, let go of it? 0: nowhere, or both share it.
 */
static uint32_t end_of_other(const struct story *s, uint32_t i)
{
	const struct am_vstep *mine = &s->step[i];
	uint32_t last = 0, taken = 0;
	bool is_shared = false;

	for (uint32_t k = i + 1; k < s->n_steps; k++) {
		const struct am_vstep *step = &s->step[k];
		if (step->object != mine->object)
			continue;
		if (step->thread == mine->thread && is_end(step))
			return last;
		if (step->thread == mine->thread)
			continue;
		if (step->kind == AM_ACQUIRE) {
			taken = k;
			is_shared = step->mode == AM_SHARED && mine->mode == AM_SHARED;
		} else if (is_end(step) && taken && !is_shared && s->step[taken].thread == step->thread) {
			last = k;
		}
	}
	return last;
}

static bool is_access(const struct am_vstep *step, const struct am_access *a)
{
	return step->index == a->index && step->kind == a->kind;
}

/* Does an edge lead from what the thread of step i does from there on to a step of others up to `last`? */
static bool leads_into(const struct story *s, uint32_t i, uint32_t last)
{
	for (uint32_t e = 0; e < s->cycle->n_edges; e++)
		for (uint32_t from = i; from <= last; from++)
			for (uint32_t to = from + 1; to <= last; to++)
				if (s->step[from].thread == s->step[i].thread &&
				    is_access(&s->step[from], &s->cycle->edge[e].from) &&
				    is_access(&s->step[to], &s->cycle->edge[e].to))
					return true;
	return false;
}

/* What the thread of step i did from there to `last` goes behind that. */
static void put_behind(struct story *s, uint32_t i, uint32_t last)
{
	const uint32_t thread = s->step[i].thread;

	for (uint32_t n = last - i + 1; n-- > 0;) {
		if (s->step[i].thread != thread) {
			i++;
			continue;
		}
		const struct am_vstep step = s->step[i];
		const uint64_t order = s->order[i];
		for (uint32_t k = i; k < last; k++) {
			s->step[k] = s->step[k + 1];
			s->order[k] = s->order[k + 1];
		}
		s->step[last] = step;
		s->order[last] = order;
	}
}

/* Sections of one lock do not overlap: the one that ends first was first. */
static void overlapping_sections(struct story *s)
{
	for (uint32_t i = s->n_steps; i-- > 0;) {
		const uint32_t last = s->step[i].kind == AM_ACQUIRE ? end_of_other(s, i) : 0;
		if (last && !leads_into(s, i, last))
			put_behind(s, i, last);
	}
}

void am_story_mend_order(struct story *s)
{
	lone_acquires(s);
	overlapping_sections(s);
}
