/* SPDX-License-Identifier: MIT */
/*
 * Is a merged stream of events one that pthreads could have produced? A step-by-step twin of the
 * merge, deliberately simple: it knows what each primitive promises and nothing of rings, slots or
 * numbers. Used by the stress tests; header only.
 *
 * What it holds to: no lock held twice, no reader beside a writer, a release by its holder; a wait
 * under its mutex and a wake with the mutex free before it; semaphores never negative; nobody
 * leaves a barrier before it is full, one serial thread each time; once routines run once; the
 * child after its fork, nothing after a thread's end, join after end; regions nest.
 */
#ifndef ATOMMON_TESTS_LEGAL_H
#define ATOMMON_TESTS_LEGAL_H

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atommon/event.h"

#define LEGAL_NOBODY UINT32_MAX

struct legal_object {
	uint64_t key; /* address + 1; 0: empty cell */
	uint32_t owner, readers;
	uint64_t count; /* semaphore */
	uint64_t size;	/* barrier: threads it needs */
	uint64_t arrived, left, serials;
	uint32_t runner;  /* once */
	uint8_t known;	  /* init was seen: count and size are meaningful */
	uint8_t done;	  /* once */
	uint8_t was_held; /* ever, in this trace */
};

struct legal_hold {
	uint64_t object;
	uint32_t depth;
};

struct legal_thread {
	uint64_t lost;	 /* that the stream says are missing */
	uint64_t events; /* synchronisation, region and access events: what the program counts */
	uint64_t waiting_on; /* condition + 1 between wait and wake */
	uint64_t at_barrier; /* barrier + 1 between arrive and leave */
	uint32_t regions;
	uint32_t n_holds, room;
	struct legal_hold *hold; /* shared locks */
	uint8_t forked, begun, ended, joined;
};

struct legal {
	struct legal_object *cell;
	uint64_t cells, used;
	struct legal_thread *thread;
	uint32_t n_threads;
	uint64_t events, lost, locks_held, kinds[AM_KINDS];
	bool is_lossy;	/* events may be missing: only count */
	bool is_strict; /* the program reuses no address, and unwinds from no wait */
	bool illegal;
	char why[400];
};

static inline bool legal_no(struct legal *l, const struct am_event *e, const char *fmt, ...)
{
	va_list ap;

	if (l->illegal)
		return false;
	l->illegal = true;
	const int at = snprintf(l->why, sizeof l->why, "event %" PRIu64 ": T%u %s 0x%" PRIx64 ": ",
				e->index, e->thread, am_kind_name(e->kind), e->object);
	va_start(ap, fmt);
	vsnprintf(l->why + at, sizeof l->why - (size_t)at, fmt, ap);
	va_end(ap);
	return false;
}

static inline struct legal_object *legal_find(struct legal *l, uint64_t address)
{
	if (2 * l->used >= l->cells) {
		struct legal_object *old = l->cell;
		const uint64_t n = l->cells;
		l->cells = n ? 2 * n : 1024;
		l->cell = calloc(l->cells, sizeof *l->cell);
		assert(l->cell);
		for (uint64_t i = 0; i < n; i++) {
			if (!old[i].key)
				continue;
			uint64_t at = (old[i].key * UINT64_C(0x9e3779b97f4a7c15)) >> 20;
			while (l->cell[at & (l->cells - 1)].key)
				at++;
			l->cell[at & (l->cells - 1)] = old[i];
		}
		free(old);
	}
	for (uint64_t at = ((address + 1) * UINT64_C(0x9e3779b97f4a7c15)) >> 20;; at++) {
		struct legal_object *o = &l->cell[at & (l->cells - 1)];
		if (o->key == address + 1)
			return o;
		if (!o->key) {
			l->used++;
			*o = (struct legal_object){
				.key = address + 1, .owner = LEGAL_NOBODY, .runner = LEGAL_NOBODY};
			return o;
		}
	}
}

static inline struct legal_thread *legal_of(struct legal *l, uint32_t id)
{
	assert(id < 1u << 24);
	if (id >= l->n_threads) {
		const uint32_t n = 2 * (id + 8);
		l->thread = realloc(l->thread, n * sizeof *l->thread);
		assert(l->thread);
		memset(l->thread + l->n_threads, 0, (n - l->n_threads) * sizeof *l->thread);
		l->n_threads = n;
	}
	return &l->thread[id];
}

static inline uint32_t *legal_hold_of(struct legal_thread *t, uint64_t object)
{
	for (uint32_t i = 0; i < t->n_holds; i++)
		if (t->hold[i].object == object)
			return &t->hold[i].depth;
	if (t->n_holds == t->room) {
		t->room = 2 * t->room + 4;
		t->hold = realloc(t->hold, t->room * sizeof *t->hold);
		assert(t->hold);
	}
	t->hold[t->n_holds] = (struct legal_hold){object, 0};
	return &t->hold[t->n_holds++].depth;
}

static inline bool legal_acquire(struct legal *l, const struct am_event *e, uint64_t lock,
				 bool shared)
{
	struct legal_object *o = legal_find(l, lock);

	if (o->owner != LEGAL_NOBODY)
		return legal_no(l, e, "lock 0x%" PRIx64 " is held by T%u", lock, o->owner);
	o->was_held = 1;
	if (shared) {
		uint32_t *depth = legal_hold_of(legal_of(l, e->thread), lock);
		if ((*depth)++)
			return legal_no(l, e, "a nested read lock was logged");
		o->readers++;
	} else if (o->readers) {
		return legal_no(l, e, "a writer beside %u readers", o->readers);
	} else {
		o->owner = e->thread;
	}
	l->locks_held++;
	return true;
}

static inline bool legal_release(struct legal *l, const struct am_event *e, uint64_t lock,
				 bool shared)
{
	struct legal_object *o = legal_find(l, lock);

	/* A forked child may hold what its parent took. */
	if (!o->was_held && !l->is_strict && e->thread == 0) {
		o->was_held = 1;
		return true;
	}
	if (shared) {
		uint32_t *depth = legal_hold_of(legal_of(l, e->thread), lock);
		if (!*depth || !o->readers)
			return legal_no(l, e, "not a reader of it");
		--*depth;
		o->readers--;
	} else if (o->owner != e->thread) {
		return legal_no(l, e, "lock 0x%" PRIx64 " is not held by this thread (owner %d)",
				lock, (int)o->owner);
	} else {
		o->owner = LEGAL_NOBODY;
	}
	l->locks_held--;
	return true;
}

static inline bool legal_barrier(struct legal *l, const struct am_event *e)
{
	struct legal_object *o = legal_find(l, e->object);
	struct legal_thread *t = legal_of(l, e->thread);

	if (e->kind == AM_ARRIVE) {
		if (t->at_barrier)
			return legal_no(l, e, "arrives at a barrier inside a barrier");
		t->at_barrier = e->object + 1;
		o->arrived++;
		return true;
	}
	if (t->at_barrier != e->object + 1)
		return legal_no(l, e, "leaves a barrier where it never arrived");
	t->at_barrier = 0;
	if (!o->known)
		return true;
	if (o->left >= o->arrived / o->size * o->size)
		return legal_no(l, e, "left before the barrier was full: %" PRIu64 " of %" PRIu64,
				o->arrived, o->size);
	o->left++;
	o->serials += e->mode & 1;
	if (o->serials > o->arrived / o->size)
		return legal_no(l, e, "two serial threads");
	if (o->left == o->arrived && o->serials != o->arrived / o->size)
		return legal_no(l, e, "no serial thread");
	return true;
}

static inline bool legal_once(struct legal *l, const struct am_event *e)
{
	struct legal_object *o = legal_find(l, e->object);

	if (e->kind == AM_ONCE_BEGIN) {
		if ((l->is_strict && o->done) || o->runner != LEGAL_NOBODY)
			return legal_no(l, e, "runs a second time");
		o->runner = e->thread;
		o->done = 0; /* another flag in the same place */
		return true;
	}
	if (o->runner == e->thread) {
		o->runner = LEGAL_NOBODY;
		o->done = !(e->mode & 1); /* abandoned: may run again */
	} else if (!o->done && o->runner != LEGAL_NOBODY) {
		return legal_no(l, e, "seen done while T%u still runs it", o->runner);
	}
	return true;
}

static inline bool legal_life(struct legal *l, const struct am_event *e)
{
	struct legal_thread *t = legal_of(l, (uint32_t)e->object);

	switch (e->kind) {
	case AM_FORK:
		if (t->forked || t->begun)
			return legal_no(l, e, "thread id used twice");
		t->forked = 1;
		return true;
	case AM_THREAD_BEGIN:
		if (e->object != e->thread)
			return legal_no(l, e, "begins another thread");
		if (t->begun || (!t->forked && e->thread != 0 && l->is_strict))
			return legal_no(l, e, "begins %s", t->begun ? "twice" : "before its fork");
		t->begun = 1;
		return true;
	case AM_THREAD_END:
		t->ended = 1;
		return true;
	default:
		if (!t->ended || t->joined)
			return legal_no(l, e, "joined %s", t->joined ? "twice" : "before its end");
		t->joined = 1;
		return true;
	}
}

static inline bool legal_counted(unsigned kind)
{
	return (kind >= AM_THREAD_BEGIN && kind <= AM_UPDATE) || kind == AM_INIT ||
	       kind == AM_DESTROY;
}

static inline bool legal_init(struct legal *l, const struct am_event *e)
{
	struct legal_object *o = legal_find(l, e->object);
	const uint64_t key = o->key;

	if (o->owner != LEGAL_NOBODY || o->readers)
		return legal_no(l, e, "%s while held", e->kind == AM_INIT ? "made anew" : "unmade");
	if (e->kind == AM_DESTROY)
		return true;
	*o = (struct legal_object){.key = key, .owner = LEGAL_NOBODY, .runner = LEGAL_NOBODY};
	o->known = e->mode == AM_OBJ_SEM || (e->mode == AM_OBJ_BARRIER && e->aux);
	o->count = o->size = e->aux;
	return true;
}

/* False once the stream is illegal; l->why says where and why. */
static inline bool legal_event(struct legal *l, const struct am_event *e)
{
	struct legal_thread *t = legal_of(l, e->thread);

	l->events++;
	l->kinds[e->kind]++;
	if (e->kind == AM_LOST) {
		l->lost += e->aux;
		t->lost += e->aux;
		return true;
	}
	if (!legal_counted(e->kind))
		return true;
	t->events++;
	if (l->is_lossy)
		return true;
	/* The last round of destructors and exit handlers may come after it. */
	if (t->ended && (l->is_strict || t->joined))
		return legal_no(l, e, "after the thread's end");
	/* A library may make threads behind our back; they show up with their first event. */
	if (!t->begun && !t->forked && !l->is_strict)
		t->begun = e->kind != AM_THREAD_BEGIN;
	if (!t->begun && e->thread != 0 && e->kind != AM_THREAD_BEGIN)
		return legal_no(l, e, "before the thread's begin");
	if (t->waiting_on && e->kind != AM_WAKE && !(e->flags & AM_NESTED) && l->is_strict)
		return legal_no(l, e, "inside a wait");
	switch (e->kind) {
	case AM_THREAD_BEGIN:
	case AM_THREAD_END:
	case AM_FORK:
	case AM_JOIN:
		return legal_life(l, e);
	case AM_ACQUIRE:
		return legal_acquire(l, e, e->object, e->mode & AM_SHARED);
	case AM_RELEASE:
		return legal_release(l, e, e->object, e->mode & AM_SHARED);
	case AM_WAIT:
		t->waiting_on = e->object + 1;
		return !e->aux || legal_release(l, e, e->aux, false);
	case AM_WAKE:
		if (t->waiting_on != e->object + 1)
			return legal_no(l, e, "wakes from a wait that it is not in");
		t->waiting_on = 0;
		return !e->aux || legal_acquire(l, e, e->aux, false);
	case AM_POST:
		legal_find(l, e->object)->count++;
		return true;
	case AM_TAKE: {
		struct legal_object *o = legal_find(l, e->object);
		if (o->known && !o->count)
			return legal_no(l, e, "the semaphore is at zero");
		o->count -= o->count > 0;
		return true;
	}
	case AM_ARRIVE:
	case AM_LEAVE:
		return legal_barrier(l, e);
	case AM_ONCE_BEGIN:
	case AM_ONCE_END:
		return legal_once(l, e);
	case AM_BEGIN:
		t->regions++;
		return true;
	case AM_END:
		return t->regions-- ? true : legal_no(l, e, "no region is open");
	case AM_INIT:
	case AM_DESTROY:
		return legal_init(l, e);
	default:
		return true;
	}
}

/* The run came to its end: nothing may be left open. */
static inline bool legal_finish(struct legal *l)
{
	const struct am_event last = {.index = l->events};

	if (l->locks_held)
		return legal_no(l, &last, "%" PRIu64 " locks are still held", l->locks_held);
	for (uint64_t i = 0; i < l->cells; i++)
		if (l->cell[i].key && l->cell[i].known && l->cell[i].left != l->cell[i].arrived)
			return legal_no(l, &last, "a barrier is not complete");
	for (uint32_t i = 0; i < l->n_threads; i++)
		if (l->thread[i].waiting_on || l->thread[i].regions)
			return legal_no(l, &last, "T%u ends inside a wait or region", i);
	return !l->illegal;
}

static inline void legal_free(struct legal *l)
{
	for (uint32_t i = 0; i < l->n_threads; i++)
		free(l->thread[i].hold);
	free(l->thread);
	free(l->cell);
}

#endif
