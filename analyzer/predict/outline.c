/* The outline of a long run: a table of words, sets of locks interned, as Eraser does (Savage et al. 1997). */
/* SPDX-License-Identifier: MIT */
#include "outline.h"

#include "vec.h"

#include <stdlib.h>
#include <string.h>

enum { SHARED = 1, WRITTEN = 2, IS_LOCK = 4, IS_RENEWED = 8 };

struct word {
	uint64_t key;	/* address / 8 + 1; 0: free */
	uint32_t owner; /* thread that touched it last */
	uint16_t set;	/* locks held at every access so far */
	uint8_t flags;
};

struct holder {
	uint32_t thread;
	VEC(uint64_t) held; /* alone, ascending */
	uint32_t set;	    /* UINT32_MAX: not looked up since it changed */
};

struct set {
	VEC(uint64_t) lock;
};

struct am_outline {
	struct word *word;
	uint64_t mask, n_words; /* of the table, less one; in use */
	VEC(struct holder) holder;
	uint32_t last_holder;
	VEC(struct set) set; /* [0] is empty, and stands for those that are too many */
	uint32_t *table;     /* open hash of sets, plus one */
};

enum { SETS_MAX = UINT16_MAX, TABLE = 2 * (SETS_MAX + 1), FIRST_WORDS = 1 << 12 };

/* ---- sets of locks ------------------------------------------------------------------------------ */

static uint32_t intern(struct am_outline *o, const uint64_t *lock, uint32_t n)
{
	uint64_t h = n;

	for (uint32_t i = 0; i < n; i++)
		h = (h ^ lock[i]) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t slot = (uint32_t)(h >> 40) % TABLE;
	for (; o->table[slot]; slot = (slot + 1) % TABLE) {
		const struct set *s = &o->set.at[o->table[slot] - 1];
		if (s->lock.n == n && (n == 0 || !memcmp(s->lock.at, lock, n * sizeof *lock)))
			return o->table[slot] - 1;
	}
	if (o->set.n == SETS_MAX)
		return 0;
	struct set *s = vec_push(&o->set);
	for (uint32_t i = 0; i < n; i++)
		*vec_push(&s->lock) = lock[i];
	o->table[slot] = o->set.n;
	return o->set.n - 1;
}

static bool has_lock(const uint64_t *at, uint32_t n, uint64_t lock)
{
	for (uint32_t i = 0; i < n; i++)
		if (at[i] == lock)
			return true;
	return false;
}

static uint32_t intersection(struct am_outline *o, uint32_t a, uint32_t b)
{
	uint64_t common[64];
	uint32_t n = 0;

	if (a == b || a == 0 || b == 0)
		return a == b ? a : 0;
	for (uint32_t i = 0; i < o->set.at[a].lock.n && n < 64; i++)
		if (has_lock(o->set.at[b].lock.at, o->set.at[b].lock.n, o->set.at[a].lock.at[i]))
			common[n++] = o->set.at[a].lock.at[i];
	return n == o->set.at[a].lock.n ? a : intern(o, common, n);
}

static struct holder *holder_of(struct am_outline *o, uint32_t thread)
{
	if (o->last_holder < o->holder.n && o->holder.at[o->last_holder].thread == thread)
		return &o->holder.at[o->last_holder];
	for (o->last_holder = 0; o->last_holder < o->holder.n; o->last_holder++)
		if (o->holder.at[o->last_holder].thread == thread)
			return &o->holder.at[o->last_holder];
	struct holder *h = vec_push(&o->holder);
	h->thread = thread;
	return h;
}

static void take(struct holder *h, uint64_t lock)
{
	uint32_t at = h->held.n;

	vec_push(&h->held);
	for (; at > 0 && h->held.at[at - 1] > lock; at--)
		h->held.at[at] = h->held.at[at - 1];
	h->held.at[at] = lock;
	h->set = UINT32_MAX;
}

static void give(struct holder *h, uint64_t lock)
{
	for (uint32_t i = 0; i < h->held.n; i++)
		if (h->held.at[i] == lock) {
			for (h->held.n--; i < h->held.n; i++)
				h->held.at[i] = h->held.at[i + 1];
			h->set = UINT32_MAX;
			return;
		}
}

static uint32_t set_of(struct am_outline *o, struct holder *h)
{
	if (h->set == UINT32_MAX)
		h->set = intern(o, h->held.at, h->held.n);
	return h->set;
}

/* ---- words --------------------------------------------------------------------------------------- */

static struct word *find(const struct am_outline *o, uint64_t key)
{
	uint64_t i = key * UINT64_C(0x9e3779b97f4a7c15) >> 20 & o->mask;

	while (o->word[i].key && o->word[i].key != key)
		i = (i + 1) & o->mask;
	return &o->word[i];
}

static void grow(struct am_outline *o)
{
	struct word *old = o->word;
	const uint64_t n = old ? o->mask + 1 : 0;

	o->mask = n ? 2 * n - 1 : FIRST_WORDS - 1;
	o->word = am_xalloc(o->mask + 1, sizeof *o->word);
	for (uint64_t i = 0; i < n; i++)
		if (old[i].key)
			*find(o, old[i].key) = old[i];
	free(old);
}

/* The word, made if need be. */
static struct word *have(struct am_outline *o, uint64_t key, uint32_t thread, uint32_t set)
{
	if (o->n_words * 4 >= (o->mask + 1) * 3)
		grow(o);
	struct word *w = find(o, key);
	if (!w->key) {
		o->n_words++;
		*w = (struct word){.key = key, .owner = thread, .set = (uint16_t)set};
	}
	return w;
}

static void touch(struct am_outline *o, struct word *w, uint32_t thread, uint32_t set, bool writes)
{
	w->flags |= (w->owner != thread ? SHARED : 0) | (writes ? WRITTEN : 0);
	w->owner = thread;
	w->set = (uint16_t)intersection(o, w->set, set);
}

static uint64_t last_byte(const struct am_event *e)
{
	const uint64_t bytes = e->kind == AM_FREE ? e->aux : e->size;

	return e->object + (bytes ? bytes - 1 : 0);
}

static void access_words(struct am_outline *o, const struct am_event *e)
{
	const uint32_t set = set_of(o, holder_of(o, e->thread));

	for (uint64_t key = e->object / 8 + 1; key <= last_byte(e) / 8 + 1; key++)
		touch(o, have(o, key, e->thread, set), e->thread, set, e->kind != AM_READ);
}

/* A block is given back: a write of those of its words that are known. */
static void free_words(struct am_outline *o, const struct am_event *e)
{
	const uint64_t first = e->object / 8 + 1, last = last_byte(e) / 8 + 1;
	const uint32_t set = set_of(o, holder_of(o, e->thread));

	if (last - first <= o->mask) {
		for (uint64_t key = first; key <= last; key++) {
			struct word *w = find(o, key);
			if (w->key)
				touch(o, w, e->thread, set, true);
		}
		return;
	}
	for (uint64_t i = 0; i <= o->mask; i++)
		if (o->word[i].key >= first && o->word[i].key <= last)
			touch(o, &o->word[i], e->thread, set, true);
}

/* ---- the pass ------------------------------------------------------------------------------------- */

struct am_outline *am_outline_new(void)
{
	struct am_outline *o = am_xalloc(1, sizeof *o);

	o->table = am_xalloc(TABLE, sizeof *o->table);
	grow(o);
	intern(o, NULL, 0);
	return o;
}

void am_outline_free(struct am_outline *o)
{
	if (!o)
		return;
	for (uint32_t i = 0; i < o->holder.n; i++)
		free(o->holder.at[i].held.at);
	for (uint32_t i = 0; i < o->set.n; i++)
		free(o->set.at[i].lock.at);
	free(o->holder.at);
	free(o->set.at);
	free(o->table);
	free(o->word);
	free(o);
}

/* A lock that is made anew at its address is another one, and guards nothing of what the first did. */
static void renew(struct am_outline *o, const struct am_event *e)
{
	struct word *w = have(o, e->object / 8 + 1, e->thread, 0);

	w->flags |= w->flags & IS_LOCK ? IS_RENEWED : IS_LOCK;
}

void am_outline_add(struct am_outline *o, const struct am_event *e)
{
	switch (e->kind) {
	case AM_ACQUIRE:
		if (e->mode != AM_SHARED)
			take(holder_of(o, e->thread), e->object);
		break;
	case AM_RELEASE:
		give(holder_of(o, e->thread), e->object);
		break;
	case AM_WAIT:
		give(holder_of(o, e->thread), e->aux);
		break;
	case AM_WAKE:
		if (e->aux)
			take(holder_of(o, e->thread), e->aux);
		break;
	case AM_INIT:
		renew(o, e);
		break;
	case AM_READ:
	case AM_WRITE:
	case AM_UPDATE:
		access_words(o, e);
		break;
	case AM_FREE:
		free_words(o, e);
		break;
	default:
		break;
	}
}

bool am_outline_is_shared(const struct am_outline *o, const struct am_event *access)
{
	for (uint64_t key = access->object / 8 + 1; key <= last_byte(access) / 8 + 1; key++)
		if ((find(o, key)->flags & (SHARED | WRITTEN)) == (SHARED | WRITTEN))
			return true;
	return false;
}

bool am_outline_guards(const struct am_outline *o, const struct am_event *access, uint64_t lock)
{
	if (find(o, lock / 8 + 1)->flags & IS_RENEWED)
		return false;
	for (uint64_t key = access->object / 8 + 1; key <= last_byte(access) / 8 + 1; key++) {
		const struct set *s = &o->set.at[find(o, key)->set];
		if (!has_lock(s->lock.at, s->lock.n, lock))
			return false;
	}
	return true;
}
