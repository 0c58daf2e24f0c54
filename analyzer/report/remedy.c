/*
 * What to change: derived from the locks held at the steps that are told, and from what went wrong; never from
 * names. Runs in the drain thread and in tools.
 */
/* SPDX-License-Identifier: MIT */
#include "story.h"

#include <string.h>

/* The way out of the region (a to o), and back (q to z); between o and q it may lead anywhere. */
struct way {
	const struct am_vstep *a, *o, *q, *z;
	bool has_one_other;
};

struct am_hold am_story_held_at(const struct story *s, uint32_t lock, const struct am_vstep *step)
{
	struct am_hold h = {0, 0};

	for (uint32_t i = 0; i < step->number; i++) {
		const struct am_vstep *x = &s->step[i];
		if (x->thread != step->thread || x->object != lock)
			continue;
		if (x->kind == AM_ACQUIRE || x->kind == AM_WAKE)
			h = (struct am_hold){x->number, x->mode};
		else if (x->number != step->number && (x->kind == AM_RELEASE || x->kind == AM_WAIT))
			h.acquired = 0;
	}
	return h;
}

static bool is_lock(const struct story *s, uint32_t object)
{
	return s->key[object][0] == 's';
}

/* A lock that lies in what the region frees at its last step cannot be held until then. */
static bool is_gone(const struct story *s, uint32_t lock, const struct am_vstep *z)
{
	if (z->kind != AM_FREE || z->object == AM_NO_OBJECT)
		return false;
	const struct am_vobject *block = &s->object[z->object];
	return s->object[lock].address - block->address < block->size;
}

/* The first release of the lock by the region between two steps, or NULL. */
static const struct am_vstep *released_between(const struct story *s, uint32_t lock, const struct way *w)
{
	for (uint32_t i = w->a->number - 1; i < w->z->number - 1; i++)
		if (s->step[i].thread == w->a->thread && s->step[i].object == lock &&
		    (s->step[i].kind == AM_RELEASE || s->step[i].kind == AM_WAIT))
			return &s->step[i];
	return NULL;
}

/* "step 5 of T2", "steps 5 to 7 of T2": what others did in between. */
static const char *theirs_text(const struct story *s, const struct way *w)
{
	const struct am_vstep *first = w->o->number < w->q->number ? w->o : w->q;
	const struct am_vstep *last = first == w->o ? w->q : w->o;

	if (first == last || !w->has_one_other)
		return am_textf(s->arena, "step %u of %s", w->o->number, am_story_thread_text(s, w->o));
	return am_textf(s->arena, "steps %u to %u of %s", first->number, last->number,
			am_story_thread_text(s, w->o));
}

/* Does the other thread hold the lock from its one step to its other? */
static bool covers(const struct story *s, uint32_t lock, const struct way *w)
{
	const uint32_t acquired = am_story_held_at(s, lock, w->o).acquired;

	return acquired && w->o->thread == w->q->thread && acquired == am_story_held_at(s, lock, w->q).acquired;
}

static const char *remedy_split(const struct story *s, uint32_t lock, const struct way *w)
{
	const struct am_vstep *gap = released_between(s, lock, w);
	const char *name = s->object[lock].name, *too = "";
	const uint32_t from = am_story_held_at(s, lock, w->a).acquired;

	if (w->has_one_other && !am_story_held_at(s, lock, w->o).acquired)
		too = am_textf(s->arena, " Take it around %s, too.", theirs_text(s, w));
	if (!gap) /* lock level: the release was not kept */
		return am_textf(s->arena, "Hold %s from step %u to step %u without letting go in between.%s",
				name, from, w->z->number, too);
	const struct am_vframe *f = am_place_frame(gap->place);
	const bool is_told = f && !am_frame_is_wrapper(f);
	return am_textf(s->arena, "Hold %s from step %u to step %u: %s at step %u%s%s%s lets other threads "
				  "in before the region is done.%s",
			name, from, w->z->number,
			gap->kind == AM_WAIT ? "the condition wait" : "the release", gap->number,
			is_told ? " (" : "", is_told ? am_place_text(gap->place, s->arena) : "",
			is_told ? ")" : "", too);
}

/*
 * The lock that the region holds at both of its steps, or at the first, but lets go of in between;
 * rather one that the other thread holds at its step, and over both if there are two. AM_NO_OBJECT.
 * Of one held at the first step only, with the other thread not holding it, `least` 0 tells.
 */
static uint32_t split_lock(const struct story *s, const struct way *w, uint32_t least)
{
	uint32_t found = AM_NO_OBJECT, best = least;

	for (uint32_t lock = s->n_objects; lock-- > 0;) {
		const uint32_t at_a = am_story_held_at(s, lock, w->a).acquired;
		const uint32_t at_z = am_story_held_at(s, lock, w->z).acquired;
		if (!is_lock(s, lock) || !at_a || at_a == at_z || is_gone(s, lock, w->z))
			continue;
		const uint32_t worth = covers(s, lock, w)			    ? 4
				       : am_story_held_at(s, lock, w->o).acquired ? 3
				       : at_z					    ? 2
										    : 1;
		if (worth > best) {
			best = worth;
			found = lock;
		}
	}
	return found;
}

/* Where the other thread's two steps have locks of their own: the one that it holds over both. */
static uint32_t their_lock(const struct story *s, const struct way *w)
{
	for (uint32_t lock = 0; lock < s->n_objects && w->o != w->q; lock++)
		if (is_lock(s, lock) && covers(s, lock, w) && !am_story_held_at(s, lock, w->a).acquired &&
		    !is_gone(s, lock, w->z))
			return lock;
	return AM_NO_OBJECT;
}

/* A lock that is held at the region's last step alone: it may be the one that is meant. */
static uint32_t last_lock(const struct story *s, const struct way *w)
{
	for (uint32_t lock = 0; lock < s->n_objects; lock++)
		if (is_lock(s, lock) && am_story_held_at(s, lock, w->z).acquired && !is_gone(s, lock, w->z))
			return lock;
	return AM_NO_OBJECT;
}

/* What the region holds at both steps does not keep the other out. NULL: it holds nothing so. */
static const char *remedy_throughout(const struct story *s, const struct way *w)
{
	for (uint32_t lock = 0; lock < s->n_objects; lock++) {
		const struct am_hold ha = am_story_held_at(s, lock, w->a), ho = am_story_held_at(s, lock, w->o);
		if (!is_lock(s, lock) || !ha.acquired || ha.acquired != am_story_held_at(s, lock, w->z).acquired)
			continue;
		if (!ho.acquired)
			return am_textf(s->arena, "%s is held throughout (from step %u), but step %u of %s "
						  "is done without it: take %s there too.",
					s->object[lock].name, ha.acquired, w->o->number,
					am_story_thread_text(s, w->o), s->object[lock].name);
		if (ho.mode == AM_SHARED)
			return am_textf(s->arena, "%s is only held shared: take it exclusively (for "
						  "writing) from step %u on.",
					s->object[lock].name, ha.acquired);
	}
	return NULL;
}

static uint32_t lock_at_theirs(const struct story *s, const struct way *w)
{
	for (uint32_t lock = 0; lock < s->n_objects; lock++)
		if (is_lock(s, lock) && am_story_held_at(s, lock, w->o).acquired && !is_gone(s, lock, w->z))
			return lock;
	return AM_NO_OBJECT;
}

static const char *remedy_no_lock(const struct story *s, const struct way *w)
{
	const uint32_t last = last_lock(s, w);
	const char *hint = last == AM_NO_OBJECT ? ""
						: am_textf(s->arena, " %s, under which step %u is done, may be the one.",
							   s->object[last].name, w->z->number);

	return am_textf(s->arena, "Hold one lock from step %u to step %u, and take the same lock around %s.%s",
			w->a->number, w->z->number, theirs_text(s, w), hint);
}

static const char *remedy_lock(const struct story *s, const struct way *w)
{
	if (!w->a->in_region) /* its way out of the region is not known */
		return am_textf(s->arena, "Hold one lock from the begin of the region to step %u, and take it "
					  "wherever other threads touch the same data.",
				w->z->number);
	const uint32_t split = split_lock(s, w, 1), over = their_lock(s, w);
	if (over != AM_NO_OBJECT && (split == AM_NO_OBJECT || !covers(s, split, w)))
		return am_textf(s->arena, "Hold %s, which %s holds from step %u to step %u, from before step %u to "
					  "step %u.",
				s->object[over].name, am_story_thread_text(s, w->o), w->o->number, w->q->number,
				w->a->number, w->z->number);
	if (split != AM_NO_OBJECT)
		return remedy_split(s, split, w);
	const char *throughout = remedy_throughout(s, w);
	if (throughout)
		return throughout;
	const uint32_t theirs = lock_at_theirs(s, w);
	if (theirs != AM_NO_OBJECT)
		return am_textf(s->arena, "Hold %s, which %s holds at step %u, from step %u to step %u.",
				s->object[theirs].name, am_story_thread_text(s, w->o), w->o->number, w->a->number,
				w->z->number);
	const uint32_t first = split_lock(s, w, 0);
	return first != AM_NO_OBJECT ? remedy_split(s, first, w) : remedy_no_lock(s, w);
}

/* Does the region let go of a lock between its steps, or take one? Then it looks again on purpose. */
static bool changes_locks(const struct story *s, const struct way *w)
{
	for (uint32_t lock = 0; lock < s->n_objects; lock++)
		if (is_lock(s, lock) && am_story_held_at(s, lock, w->a).acquired !=
						am_story_held_at(s, lock, w->z).acquired)
			return true;
	return false;
}

/* Half-done state: others look at what is written first, and then at the rest. */
static const char *remedy_publish(const struct story *s, const struct way *w)
{
	if (changes_locks(s, w))
		return "";
	if (am_story_overlap(w->a, w->z) || w->o == w->q)
		return " Or prepare the value aside and publish it by a single write.";
	if (w->o->number > w->q->number)
		return "";
	return am_textf(s->arena, " Or complete %s first (step %u), and publish it by a single write of %s (step %u) "
				  "at the end.",
			am_story_object_text(s, w->z), w->z->number, am_story_object_text(s, w->a), w->a->number);
}

static const char *remedy_other(const struct story *s, const struct way *w)
{
	const struct am_vstep *a = w->a, *z = w->z;

	switch (s->v->pattern) {
	case AM_PATTERN_LOST_UPDATE:
		if (a->size != z->size || a->size > 16)
			return "";
		return " Or make the read and the write one atomic operation (a fetch-and-add, an exchange, or a "
		       "compare-and-exchange that retries when the value has changed).";
	case AM_PATTERN_UNREPEATABLE:
		return changes_locks(s, w) ? "" : " Or read once, keep the value in a local variable, and use only that.";
	case AM_PATTERN_DIRTY_READ:
		return remedy_publish(s, w);
	case AM_PATTERN_OVERWRITTEN:
		if (a->kind != AM_UPDATE)
			return "";
		return am_textf(s->arena, " Or use what the operation at step %u returned, instead of reading again.",
				a->number);
	case AM_PATTERN_CHECK_THEN_ACT:
		if (am_story_overlap(a, z))
			return " Or make the check and the update one operation: a compare-and-exchange that checks "
			       "again when the value has changed.";
		return am_textf(s->arena, " Or check %s again under the lock before step %u.",
				am_story_object_text(s, a), z->number);
	case AM_PATTERN_FREED:
		return " Or keep the block alive with a reference held by the region.";
	case AM_PATTERN_FREED_IN_USE:
		if (a->kind == AM_FREE)
			return " Or free the block only when no other thread can find it any more.";
		return " Or let whoever uses the block hold a reference to it, and free it with the last one.";
	default:
		return "";
	}
}

const char *am_story_remedy(const struct story *s)
{
	const uint32_t n = s->cycle->n_edges;
	const struct way w = {.a = am_story_at(s, s->from[0]), .o = am_story_at(s, s->to[0]),
			      .q = am_story_at(s, s->from[n - 1]), .z = am_story_at(s, s->to[n - 1]),
			      .has_one_other = am_story_has_one_other(s)};

	return am_textf(s->arena, "%s%s", remedy_lock(s, &w), remedy_other(s, &w));
}
