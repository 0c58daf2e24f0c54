/*
 * The sentences of a violation: what went wrong, why it cannot be serialised, what to change. They
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

static const struct am_vstep *at(const struct story *s, uint32_t number)
{
	assert(number >= 1 && number <= s->n_steps);
	return &s->step[number - 1];
}

static bool writes(const struct am_vstep *step)
{
	return step->kind == AM_WRITE || step->kind == AM_UPDATE || step->kind == AM_FREE ||
	       step->kind == AM_ALLOC;
}

static bool overlaps(const struct am_vstep *a, const struct am_vstep *b)
{
	return a->object == b->object && a->object != AM_NO_OBJECT &&
	       a->offset < b->offset + (b->size ? b->size : 1) &&
	       b->offset < a->offset + (a->size ? a->size : 1);
}

const char *am_step_part(const struct am_vstep *step, char *buf, size_t size)
{
	if (step->part)
		return step->part;
	buf[0] = 0;
	if (step->offset)
		am_text_into(buf, size, "+%l", step->offset);
	return buf;
}

/* "balance", "accounts[2].balance", "buffer+16" */
static const char *object_text(const struct story *s, const struct am_vstep *step)
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

static const char *thread_text(const struct story *s, const struct am_vstep *step)
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
static bool has_one_other(const struct story *s)
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
	const struct am_vstep *a = at(s, s->from[0]), *z = at(s, s->to[n - 1]);
	const struct am_vstep *in = at(s, s->to[0]), *out = at(s, s->from[n - 1]);

	if (s->cycle->omitted || n < 2)
		return AM_PATTERN_CHAIN;
	if (am_kind_is_sync(a->kind))
		return n == 2 && a->object == z->object ? AM_PATTERN_TWO_SECTIONS : AM_PATTERN_CHAIN;
	if (in->kind == AM_FREE || out->kind == AM_FREE)
		return AM_PATTERN_FREED;
	if (!has_one_other(s))
		return AM_PATTERN_CHAIN;
	if (!overlaps(a, z))
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
	return am_textf(s->arena, "steps %u and %u", o->number, q->number);
}

static const char *summarise(const struct story *s)
{
	const uint32_t n = s->cycle->n_edges;
	const struct am_vstep *a = at(s, s->from[0]), *z = at(s, s->to[n - 1]);
	const struct am_vstep *o = at(s, s->to[0]), *q = at(s, s->from[n - 1]);
	const char *me = thread_text(s, a), *you = thread_text(s, o);
	const char *what = object_text(s, a);
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
		if (!overlaps(a, z))
			return am_textf(m, "%s %s %s (step %u) and then %s (step %u), and %s read both in "
					   "between (%s): a half-done state was seen.",
					me, past(a), what, a->number, object_text(s, z), z->number, you,
					steps_text(s, o, q));
		return am_textf(m, "%s %s %s twice (steps %u and %u) and %s read it in between (step "
				   "%u): a half-done state was seen.",
				me, past(a), what, a->number, z->number, you, o->number);
	case AM_PATTERN_MIXED_WRITES:
		return am_textf(m, "%s wrote %s at steps %u and %u, and %s %s it in between (step %u).",
				me, what, a->number, z->number, you, past(o), o->number);
	case AM_PATTERN_CHECK_THEN_ACT:
		if (overlaps(a, z))
			return am_textf(m, "%s read %s (step %u), %s %s it (step %u), and %s then updated it (step "
					   "%u): what was checked no longer held.",
					me, what, a->number, you, past(o), o->number, me, z->number);
		return am_textf(m, "%s read %s (step %u) and went on to %s (step %u), but %s %s %s "
				   "(step %u) in between: what was checked no longer held.",
				me, what, a->number, object_text(s, z), z->number, you, past(o),
				object_text(s, o), o->number);
	case AM_PATTERN_FREED:
		if (q->kind == AM_FREE && q->object == z->object && q->object == a->object)
			return am_textf(m, "%s used %s (step %u), %s freed it (step %u), and %s went on to use it "
					   "(step %u).",
					me, what, a->number, thread_text(s, q), q->number, me, z->number);
		if (q->kind == AM_FREE && q->object == z->object)
			return am_textf(m, "%s freed %s (step %u), and %s went on to use it (step %u), on the "
					   "strength of %s as it was at step %u.",
					thread_text(s, q), object_text(s, q), q->number, me, z->number, what,
					a->number);
		return am_textf(m, "%s used %s (step %u) and %s freed it (step %u) before the region was "
				   "done with it.",
				me, what, a->number, o->kind == AM_FREE ? you : thread_text(s, q),
				o->kind == AM_FREE ? o->number : q->number);
	case AM_PATTERN_TWO_SECTIONS:
		return am_textf(m, "%s held %s in two separate sections of the region (steps %u and %u), "
				   "and %s held it in between (step %u).",
				me, what, a->number, z->number, you, o->number);
	case AM_PATTERN_INCONSISTENT:
		return am_textf(m, "%s read %s (step %u) and then %s (step %u), and %s changed both in between (%s): "
				   "they belong to different states.",
				me, what, a->number, object_text(s, z), z->number, you, steps_text(s, o, q));
	case AM_PATTERN_CHAIN:
	case AM_PATTERN_OTHER:
		break;
	}
	if (has_one_other(s) && !am_kind_is_sync(a->kind))
		return am_textf(m, "%s %s %s (step %u) before %s %s it (step %u), and %s %s (step %u) after %s %s "
				   "it (step %u): the region comes both before and after what %s did.",
				me, past(a), what, a->number, you, past(o), o->number, past(z),
				object_text(s, z), z->number, you, past(q), q->number, you);
	if (s->cycle->omitted)
		return am_textf(m, "At step %u the region depends on others that depend on it: it comes both "
				   "before and after itself. Of the way, %u or more links are not told.",
				z->number, s->cycle->omitted);
	return am_textf(m, "%s went on (step %u) after others had built on its step %u: through %u other "
			   "%s the region comes both before and after itself.",
			me, z->number, a->number, n - 1, n == 2 ? "transaction" : "transactions");
}

/* ---- remedy --------------------------------------------------------------------------------- */

struct hold {
	uint32_t acquired; /* step, 0: not held */
	uint8_t mode;
};

/* Is the lock held at the step, as far as the told steps show? */
static struct hold held_at(const struct story *s, uint32_t lock, const struct am_vstep *step)
{
	struct hold h = {0, 0};

	for (uint32_t i = 0; i < step->number; i++) {
		const struct am_vstep *x = &s->step[i];
		if (x->thread != step->thread || x->object != lock)
			continue;
		if (x->kind == AM_ACQUIRE || x->kind == AM_WAKE)
			h = (struct hold){x->number, x->mode};
		else if (x->number != step->number && (x->kind == AM_RELEASE || x->kind == AM_WAIT))
			h.acquired = 0;
	}
	return h;
}

/* The first release of the lock by the region between two steps, or NULL. */
static const struct am_vstep *released_between(const struct story *s, uint32_t lock,
					       const struct am_vstep *a, const struct am_vstep *z)
{
	for (uint32_t i = a->number - 1; i < z->number - 1; i++)
		if (s->step[i].thread == a->thread && s->step[i].object == lock &&
		    (s->step[i].kind == AM_RELEASE || s->step[i].kind == AM_WAIT))
			return &s->step[i];
	return NULL;
}

static const char *remedy_split(const struct story *s, uint32_t lock, const struct am_vstep *a,
				const struct am_vstep *z)
{
	const struct am_vstep *gap = released_between(s, lock, a, z);
	const char *name = s->object[lock].name;
	const uint32_t from = held_at(s, lock, a).acquired;

	if (!gap) /* lock level: the release was not kept */
		return am_textf(s->arena, "Hold %s from step %u to step %u without letting go in between.",
				name, from, z->number);
	const struct am_vframe *f = am_place_frame(gap->place);
	const bool is_told = f && !am_frame_is_wrapper(f);
	return am_textf(s->arena, "Hold %s from step %u to step %u: %s at step %u%s%s%s lets other threads "
				  "in before the region is done.",
			name, from, z->number,
			gap->kind == AM_WAIT ? "the condition wait" : "the release", gap->number,
			is_told ? " (" : "", is_told ? am_place_text(gap->place, s->arena) : "",
			is_told ? ")" : "");
}

/* Does the other thread hold the lock from its one step to its other? */
static bool covers(const struct story *s, uint32_t lock, const struct am_vstep *o, const struct am_vstep *q)
{
	const uint32_t acquired = held_at(s, lock, o).acquired;

	return acquired && o->thread == q->thread && acquired == held_at(s, lock, q).acquired;
}

/*
 * The lock that the region holds at both of its steps, or at the first, but lets go of in between;
 * rather one that the other thread holds at its step, and over both if there are two. AM_NO_OBJECT.
 */
static uint32_t split_lock(const struct story *s, const struct am_vstep *a, const struct am_vstep *o,
			   const struct am_vstep *q, const struct am_vstep *z)
{
	uint32_t found = AM_NO_OBJECT, best = 0;

	for (uint32_t lock = s->n_objects; lock-- > 0;) {
		const struct hold ha = held_at(s, lock, a), hz = held_at(s, lock, z);
		if (s->key[lock][0] != 's' || !ha.acquired || ha.acquired == hz.acquired)
			continue;
		const uint32_t worth = covers(s, lock, o, q) ? 3 : held_at(s, lock, o).acquired ? 2 : hz.acquired != 0;
		if (worth > best) {
			best = worth;
			found = lock;
		}
	}
	return found;
}

/* Where the other thread's two steps have locks of their own: the one that it holds over both. */
static uint32_t their_lock(const struct story *s, const struct am_vstep *a, const struct am_vstep *o,
			   const struct am_vstep *q)
{
	for (uint32_t lock = 0; lock < s->n_objects && o != q; lock++)
		if (s->key[lock][0] == 's' && covers(s, lock, o, q) && !held_at(s, lock, a).acquired)
			return lock;
	return AM_NO_OBJECT;
}

static const char *remedy_lock(const struct story *s)
{
	const uint32_t n = s->cycle->n_edges;
	const struct am_vstep *a = at(s, s->from[0]), *z = at(s, s->to[n - 1]), *o = at(s, s->to[0]);
	const struct am_vstep *q = at(s, s->from[n - 1]);
	uint32_t theirs = AM_NO_OBJECT;

	if (!a->in_region) /* its way out of the region is not known */
		return am_textf(s->arena, "Hold one lock from the begin of the region to step %u, and take it "
					  "wherever other threads touch the same data.",
				z->number);
	const uint32_t split = split_lock(s, a, o, q, z), over = their_lock(s, a, o, q);
	if (over != AM_NO_OBJECT && (split == AM_NO_OBJECT || !covers(s, split, o, q)))
		return am_textf(s->arena, "Hold %s, which %s holds from step %u to step %u, from before step %u to "
					  "step %u.",
				s->object[over].name, thread_text(s, o), o->number, q->number, a->number,
				z->number);
	if (split != AM_NO_OBJECT)
		return remedy_split(s, split, a, z);
	for (uint32_t lock = 0; lock < s->n_objects; lock++) {
		if (s->key[lock][0] != 's')
			continue;
		const struct hold ha = held_at(s, lock, a), hz = held_at(s, lock, z);
		const struct hold ho = held_at(s, lock, o);
		if (ha.acquired && ha.acquired == hz.acquired && !ho.acquired)
			return am_textf(s->arena, "%s is held throughout (from step %u), but step %u of %s "
						  "is done without it: take %s there too.",
					s->object[lock].name, ha.acquired, o->number,
					thread_text(s, o), s->object[lock].name);
		if (ha.acquired && ha.acquired == hz.acquired && ho.mode == AM_SHARED)
			return am_textf(s->arena, "%s is only held shared: take it exclusively (for "
						  "writing) from step %u on.",
					s->object[lock].name, ha.acquired);
		if (ho.acquired && theirs == AM_NO_OBJECT)
			theirs = lock;
	}
	if (theirs != AM_NO_OBJECT)
		return am_textf(s->arena, "Hold %s, which %s holds at step %u, from step %u to step %u.",
				s->object[theirs].name, thread_text(s, o), o->number, a->number,
				z->number);
	return am_textf(s->arena, "Hold one lock from step %u to step %u, and take the same lock around step "
				  "%u of %s.",
			a->number, z->number, o->number, thread_text(s, o));
}

static const char *remedy_other(const struct story *s)
{
	const uint32_t n = s->cycle->n_edges;
	const struct am_vstep *a = at(s, s->from[0]), *z = at(s, s->to[n - 1]);

	switch (s->v->pattern) {
	case AM_PATTERN_LOST_UPDATE:
		if (a->size != z->size || a->size > 16)
			return "";
		return " Or make the read and the write one atomic operation (a fetch-and-add, or a "
		       "compare-and-exchange that retries when the value has changed).";
	case AM_PATTERN_UNREPEATABLE:
		return " Or read once, keep the value in a local variable, and use only that.";
	case AM_PATTERN_DIRTY_READ:
		return " Or prepare the value aside and publish it by a single write.";
	case AM_PATTERN_OVERWRITTEN:
		if (a->kind != AM_UPDATE)
			return "";
		return am_textf(s->arena, " Or use what the operation at step %u returned, instead of reading again.",
				a->number);
	case AM_PATTERN_CHECK_THEN_ACT:
		if (overlaps(a, z))
			return " Or make the check and the update one operation: a compare-and-exchange that checks "
			       "again when the value has changed.";
		return am_textf(s->arena, " Or check %s again under the lock before step %u.",
				object_text(s, a), z->number);
	case AM_PATTERN_FREED:
		return " Or keep the block alive with a reference held by the region.";
	default:
		return "";
	}
}

static const char *edge_words(const struct story *s, const struct am_vstep *from,
			      const struct am_vstep *to, bool is_program)
{
	const char *t = thread_text(s, from), *u = thread_text(s, to);

	if (is_program)
		return am_textf(s->arena, "%s did both, step %u first: %s precedes a later %s", t,
				from->number, transaction(s, from), transaction(s, to));
	const bool is_sync = am_kind_is_sync(from->kind);
	return am_textf(s->arena, "%s %s %s before %s %s%s: %s precedes %s", t, past(from),
			object_text(s, from), u, is_sync ? "did" : past(to), is_sync ? "" : " it",
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
	const struct am_vstep *a = at(s, s->from[0]), *z = at(s, s->to[s->cycle->n_edges - 1]);

	if (s->v->pattern == AM_PATTERN_LOST_UPDATE || s->v->pattern == AM_PATTERN_FREED)
		return false;
	for (uint32_t lock = 0; lock < s->n_objects; lock++)
		if (s->key[lock][0] == 's' && held_at(s, lock, z).acquired > a->number)
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
			.why = edge_words(s, at(s, s->from[i]), at(s, s->to[i]), is_program)};
		v->is_program_order |= is_program;
	}
	v->edge = edge;
	v->n_edges = edge ? n : 0;
	v->summary = summarise(s);
	v->fix = am_textf(s->arena, "%s%s%s", v->is_guess ? "Only if these sections belong together. " : "",
			  remedy_lock(s), remedy_other(s));
	v->suppression = am_textf(s->arena, "id:%s  %s in %s", v->id, am_pattern_name(v->pattern),
				  v->region);
}
