/*
 * The sentences of a violation: what went wrong, and why it cannot be serialised (what to change: remedy.c). They
 * are derived from the kinds of the steps and the locks held at them, never from names.
 */
/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <string.h>

#include "story.h"

const char *am_pattern_name(enum am_pattern pattern)
{
	switch (pattern) {
	case AM_PATTERN_LOST_UPDATE:
		return "lost update";
	case AM_PATTERN_UNREPEATABLE:
		return "unrepeatable read";
	case AM_PATTERN_OVERWRITTEN:
		return "overwritten before own read";
	case AM_PATTERN_DIRTY_READ:
		return "intermediate value seen";
	case AM_PATTERN_MIXED_WRITES:
		return "interleaved writes";
	case AM_PATTERN_CHECK_THEN_ACT:
		return "check then act";
	case AM_PATTERN_FREED:
		return "freed in between";
	case AM_PATTERN_FREED_IN_USE:
		return "freed while in use";
	case AM_PATTERN_TWO_SECTIONS:
		return "split critical section";
	case AM_PATTERN_INCONSISTENT:
		return "inconsistent read";
	case AM_PATTERN_CHAIN:
		return "cyclic dependence";
	case AM_PATTERN_OTHER:
		break;
	}
	return "not serializable";
}

const struct am_vstep *am_story_at(const struct story *s, uint32_t number)
{
	assert(number >= 1 && number <= s->n_steps);
	return &s->step[number - 1];
}

static bool writes(const struct am_vstep *step)
{
	return step->kind == AM_WRITE || step->kind == AM_UPDATE || step->kind == AM_FREE ||
	       step->kind == AM_ALLOC;
}

bool am_story_overlap(const struct am_vstep *a, const struct am_vstep *b)
{
	return a->object == b->object && a->object != AM_NO_OBJECT &&
	       a->offset < b->offset + (b->size ? b->size : 1) &&
	       b->offset < a->offset + (a->size ? a->size : 1);
}

const char *am_step_part(const struct am_vstep *step, char *buf, size_t size)
{
	buf[0] = 0;
	if (step->kind == AM_FREE) /* all of it */
		return buf;
	if (step->part)
		return step->part;
	if (step->offset)
		am_text_into(buf, size, "+%l", step->offset);
	return buf;
}

/* "balance", "accounts[2].balance", "buffer+16" */
const char *am_story_object_text(const struct story *s, const struct am_vstep *step)
{
	if (step->object == AM_NO_OBJECT)
		return "?";
	char buf[24];
	return am_textf(s->arena, "%s%s", s->object[step->object].name,
			am_step_part(step, buf, sizeof buf));
}

static const char *past(const struct am_vstep *step)
{
	switch (step->kind) {
	case AM_READ:
		return "read";
	case AM_WRITE:
		return "wrote";
	case AM_UPDATE:
		return "updated";
	case AM_FREE:
		return "freed";
	case AM_ALLOC:
		return "allocated";
	default:
		return "held";
	}
}

const char *am_story_thread_text(const struct story *s, const struct am_vstep *step)
{
	return am_textf(s->arena, "T%u", s->thread[step->thread].id);
}

/* The transaction of a step, in words. */
static const char *transaction(const struct story *s, const struct am_vstep *step)
{
	const uint32_t id = s->thread[step->thread].id;

	if (step->in_region)
		return am_textf(s->arena, "\"%s\" of T%u", s->v->region, id);
	if (*step->region)
		return am_textf(s->arena, "\"%s\" of T%u", step->region, id);
	return am_textf(s->arena, "step %u of T%u", step->number, id);
}

/* The way leads to one other thread and back: by one of its accesses, or by two in program order. */
bool am_story_has_one_other(const struct story *s)
{
	const uint32_t n = s->cycle->n_edges;

	for (uint32_t i = 0; i < n; i++)
		if ((s->cycle->edge[i].why == AM_EDGE_PROGRAM) != (i != 0 && i + 1 != n))
			return false;
	return n >= 2 && !s->cycle->omitted;
}

static enum am_pattern classify_two(const struct am_vstep *a, const struct am_vstep *z)
{
	if (writes(a))
		return writes(z) ? AM_PATTERN_DIRTY_READ : AM_PATTERN_CHAIN;
	return writes(z) ? AM_PATTERN_CHECK_THEN_ACT : AM_PATTERN_INCONSISTENT;
}

static enum am_pattern classify(const struct story *s)
{
	const uint32_t n = s->cycle->n_edges;
	const struct am_vstep *a = am_story_at(s, s->from[0]), *z = am_story_at(s, s->to[n - 1]);
	const struct am_vstep *in = am_story_at(s, s->to[0]), *out = am_story_at(s, s->from[n - 1]);

	if (s->cycle->omitted || n < 2)
		return AM_PATTERN_CHAIN;
	if (am_kind_is_sync(a->kind))
		return n == 2 && a->object == z->object ? AM_PATTERN_TWO_SECTIONS : AM_PATTERN_CHAIN;
	if (in->kind == AM_FREE || out->kind == AM_FREE)
		return AM_PATTERN_FREED;
	if (!am_story_has_one_other(s))
		return AM_PATTERN_CHAIN;
	if ((a->kind == AM_FREE && in->object == a->object) || (z->kind == AM_FREE && out->object == z->object))
		return AM_PATTERN_FREED_IN_USE;
	if (!am_story_overlap(a, z))
		return writes(a) && (writes(in) || writes(out)) ? AM_PATTERN_CHAIN : classify_two(a, z);
	if (!writes(a) && z->kind == AM_UPDATE) /* it takes the new value as it is: nothing is lost */
		return AM_PATTERN_CHECK_THEN_ACT;
	if (!writes(a))
		return writes(z) ? AM_PATTERN_LOST_UPDATE : AM_PATTERN_UNREPEATABLE;
	if (!writes(z))
		return AM_PATTERN_OVERWRITTEN;
	return writes(in) || writes(out) ? AM_PATTERN_MIXED_WRITES : AM_PATTERN_DIRTY_READ;
}

static const char *steps_text(const struct story *s, const struct am_vstep *o, const struct am_vstep *q)
{
	if (o == q)
		return am_textf(s->arena, "step %u", o->number);
	return am_textf(s->arena, "steps %u and %u", o->number < q->number ? o->number : q->number,
			o->number < q->number ? q->number : o->number);
}

static const char *summarise(const struct story *s)
{
	const uint32_t n = s->cycle->n_edges;
	const struct am_vstep *a = am_story_at(s, s->from[0]), *z = am_story_at(s, s->to[n - 1]);
	const struct am_vstep *o = am_story_at(s, s->to[0]), *q = am_story_at(s, s->from[n - 1]);
	const char *me = am_story_thread_text(s, a), *you = am_story_thread_text(s, o);
	const char *what = am_story_object_text(s, a);
	struct am_arena *m = s->arena;

	switch (s->v->pattern) {
	case AM_PATTERN_LOST_UPDATE:
		return am_textf(m, "%s read %s (step %u), %s %s it (step %u), and %s then wrote it from "
				   "the old value (step %u): what %s did is lost.",
				me, what, a->number, you, past(o), o->number, me, z->number, you);
	case AM_PATTERN_UNREPEATABLE:
		return am_textf(m, "%s read %s twice (steps %u and %u) and %s %s it in between (step "
				   "%u): the two reads belong to different states.",
				me, what, a->number, z->number, you, past(q), q->number);
	case AM_PATTERN_OVERWRITTEN:
		return am_textf(m, "%s %s %s (step %u), %s %s it (step %u), and %s then read what is not "
				   "its own (step %u).",
				me, past(a), what, a->number, you, past(q), q->number, me, z->number);
	case AM_PATTERN_DIRTY_READ:
		if (!am_story_overlap(a, z))
			return am_textf(m, "%s %s %s (step %u) and then %s (step %u), and %s read both in "
					   "between (%s): a half-done state was seen.",
					me, past(a), what, a->number, am_story_object_text(s, z), z->number, you,
					steps_text(s, o, q));
		return am_textf(m, "%s %s %s twice (steps %u and %u) and %s read it in between (step "
				   "%u): a half-done state was seen.",
				me, past(a), what, a->number, z->number, you, o->number);
	case AM_PATTERN_MIXED_WRITES:
		return am_textf(m, "%s wrote %s at steps %u and %u, and %s %s it in between (step %u).",
				me, what, a->number, z->number, you, past(o), o->number);
	case AM_PATTERN_CHECK_THEN_ACT:
		if (am_story_overlap(a, z))
			return am_textf(m, "%s read %s (step %u), %s %s it (step %u), and %s then updated it (step "
					   "%u): what was checked no longer held.",
					me, what, a->number, you, past(o), o->number, me, z->number);
		return am_textf(m, "%s read %s (step %u) and went on to %s (step %u), but %s %s %s "
				   "(step %u) in between: what was checked no longer held.",
				me, what, a->number, am_story_object_text(s, z), z->number, you, past(o),
				am_story_object_text(s, o), o->number);
	case AM_PATTERN_FREED:
		if (q->kind == AM_FREE && q->object == z->object && q->object == a->object)
			return am_textf(m, "%s used %s (step %u), %s freed it (step %u), and %s went on to use it "
					   "(step %u).",
					me, what, a->number, am_story_thread_text(s, q), q->number, me, z->number);
		if (q->kind == AM_FREE && q->object == z->object)
			return am_textf(m, "%s freed %s (step %u), and %s went on to use it (step %u), on the "
					   "strength of %s as it was at step %u.",
					am_story_thread_text(s, q), am_story_object_text(s, q), q->number, me, z->number, what,
					a->number);
		return am_textf(m, "%s used %s (step %u) and %s freed it (step %u) before the region was "
				   "done with it.",
				me, what, a->number, o->kind == AM_FREE ? you : am_story_thread_text(s, q),
				o->kind == AM_FREE ? o->number : q->number);
	case AM_PATTERN_FREED_IN_USE:
		if (a->kind == AM_FREE)
			return am_textf(m, "%s freed %s (step %u), and %s %s it after that (step %u), before %s %s %s "
					   "(step %u).",
					me, what, a->number, you, past(o), o->number, me, past(z),
					am_story_object_text(s, z), z->number);
		return am_textf(m, "%s freed %s (step %u), which %s had used (step %u), on the strength of %s as it was at "
				   "step %u: %s may go on to use it.",
				me, am_story_object_text(s, z), z->number, am_story_thread_text(s, q), q->number, what,
				a->number, am_story_thread_text(s, q));
	case AM_PATTERN_TWO_SECTIONS:
		return am_textf(m, "%s held %s in two separate sections of the region (steps %u and %u), "
				   "and %s held it in between (step %u).",
				me, what, a->number, z->number, you, o->number);
	case AM_PATTERN_INCONSISTENT:
		return am_textf(m, "%s read %s (step %u) and then %s (step %u), and %s changed both in between (%s): "
				   "they belong to different states.",
				me, what, a->number, am_story_object_text(s, z), z->number, you, steps_text(s, o, q));
	case AM_PATTERN_CHAIN:
	case AM_PATTERN_OTHER:
		break;
	}
	if (am_story_has_one_other(s) && !am_kind_is_sync(a->kind))
		return am_textf(m, "%s %s %s (step %u) before %s %s it (step %u), and %s %s (step %u) after %s %s "
				   "it (step %u): the region comes both before and after what %s did.",
				me, past(a), what, a->number, you, past(o), o->number, past(z),
				am_story_object_text(s, z), z->number, you, past(q), q->number, you);
	if (s->cycle->omitted)
		return am_textf(m, "At step %u the region depends on others that depend on it: it comes both "
				   "before and after itself. Of the way, %u or more links are not told.",
				z->number, s->cycle->omitted);
	return am_textf(m, "%s went on (step %u) after others had built on its step %u: through %u other "
			   "%s the region comes both before and after itself.",
			me, z->number, a->number, n - 1, n == 2 ? "transaction" : "transactions");
}

static const char *edge_words(const struct story *s, const struct am_vstep *from,
			      const struct am_vstep *to, bool is_program)
{
	const char *t = am_story_thread_text(s, from), *u = am_story_thread_text(s, to);

	if (is_program)
		return am_textf(s->arena, "%s did both, step %u first: %s precedes a later %s", t,
				from->number, transaction(s, from), transaction(s, to));
	const bool is_sync = am_kind_is_sync(from->kind);
	return am_textf(s->arena, "%s %s %s before %s %s%s: %s precedes %s", t, past(from),
			am_story_object_text(s, from), u, is_sync ? "did" : past(to), is_sync ? "" : " it",
			transaction(s, from), transaction(s, to));
}

/*
 * Is the region a critical section that was taken for one, and does it come back in a critical section of its own
 * (on a lock that it took after its first step)? Then each of its steps may well be an operation that is complete in
 * itself, as when two items are put into a queue under a lock that is not the queue's, or a maintainer looks at one
 * list and then at another. What is written from an old value, or used after it was freed, speaks for a mistake.
 */
static bool is_nested_guess(const struct story *s)
{
	const struct am_vstep *a = am_story_at(s, s->from[0]), *z = am_story_at(s, s->to[s->cycle->n_edges - 1]);

	if (s->v->pattern == AM_PATTERN_LOST_UPDATE || s->v->pattern == AM_PATTERN_FREED)
		return false;
	for (uint32_t lock = 0; lock < s->n_objects; lock++)
		if (s->key[lock][0] == 's' && am_story_held_at(s, lock, z).acquired > a->number)
			return true;
	return false;
}

void am_story_tell(struct story *s)
{
	struct am_violation *v = s->v;
	const uint32_t n = s->cycle->n_edges;
	struct am_vedge *edge = am_arena_get(s->arena, n * sizeof *edge);

	v->pattern = classify(s);
	v->omitted = s->cycle->omitted;
	v->is_lock_level = am_kind_is_sync(s->cycle->edge[0].from.kind);
	v->is_guess = !*am_story_string(s, s->cycle->region) && s->cycle->region_site &&
		      (v->is_lock_level || is_nested_guess(s));
	for (uint32_t i = 0; edge && i < n; i++) {
		const bool is_program = s->cycle->edge[i].why == AM_EDGE_PROGRAM;
		edge[i] = (struct am_vedge){
			.from = s->from[i], .to = s->to[i], .is_program = is_program,
			.why = edge_words(s, am_story_at(s, s->from[i]), am_story_at(s, s->to[i]), is_program)};
		v->is_program_order |= is_program;
	}
	v->edge = edge;
	v->n_edges = edge ? n : 0;
	v->summary = summarise(s);
	v->fix = am_textf(s->arena, "%s%s", v->is_guess ? "Only if these sections belong together. " : "",
			  am_story_remedy(s));
	v->suppression = am_textf(s->arena, "id:%s  %s in %s", v->id, am_pattern_name(v->pattern),
				  v->region);
}
