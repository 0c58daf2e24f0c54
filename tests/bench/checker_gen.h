/*
 * Serializable event streams of any length for the checkers' benchmarks: threads whose regions
 * really overlap and conflict. Workloads: bank (two locked accounts, short regions), sor (many
 * entities, long regions), star (one hot variable), long (bank beside a region that stays open and
 * comes before all others), pipe (a pipeline of threads). Streamed: memory does not grow with length.
 */
/* SPDX-License-Identifier: MIT */
#ifndef CHECKER_GEN_H
#define CHECKER_GEN_H

#include "atommon/event.h"

#include <stdlib.h>
#include <string.h>

enum workload { BANK, SOR, STAR, LONG, PIPE, WORKLOADS };
static const char *const workload_name[WORKLOADS] = {"bank", "sor", "star", "long", "pipe"};

struct gen_thread {
	uint32_t pc;
	uint64_t a, b, i, row;
};

struct gen {
	enum workload workload;
	uint32_t threads, at;
	uint64_t entities, index, rng, phase, arrived;
	struct gen_thread *thread;
	uint32_t *owner; /* of a lock: thread + 1 */
	uint64_t locks, *done; /* pipe: items finished by each stage */
};

enum { PIPE_SLOTS = 64, SOR_ROW = 32 };
#define VAR(i) (0x100000 + (uint64_t)(i) * 8)
#define LOCK(i) (0x8000000000 + (uint64_t)(i) * 64)
#define OWN(t) (0x9000000000 + (uint64_t)(t) * 64)

static inline uint32_t gen_draw(struct gen *g, uint64_t below)
{
	g->rng ^= g->rng << 13;
	g->rng ^= g->rng >> 7;
	g->rng ^= g->rng << 17;
	return (uint32_t)(((g->rng >> 32) * below) >> 32);
}

static inline void gen_init(struct gen *g, enum workload w, uint32_t threads, uint64_t entities)
{
	memset(g, 0, sizeof *g);
	g->workload = w;
	g->threads = threads;
	g->entities = entities < 2 * (uint64_t)threads ? 2 * (uint64_t)threads : entities;
	g->rng = UINT64_C(88172645463325252);
	g->thread = calloc(threads, sizeof *g->thread);
	g->locks = g->entities < 1 << 20 ? g->entities : 1 << 20;
	g->owner = calloc(g->locks, sizeof *g->owner);
	g->done = calloc(threads + 1, sizeof *g->done);
}

static inline void gen_free(struct gen *g)
{
	free(g->thread);
	free(g->owner);
	free(g->done);
}

static inline bool gen_put(struct gen *g, struct am_event *e, enum am_kind kind, uint64_t object)
{
	e->index = g->index++;
	e->thread = g->at;
	e->kind = (uint8_t)kind;
	e->object = object;
	e->size = kind == AM_READ || kind == AM_WRITE ? 8 : 0;
	e->site = 1 + (uint32_t)kind * 40 + g->thread[g->at].pc;
	e->value = g->index;
	e->flags = e->size ? AM_HAS_VALUE : 0;
	return true;
}

static inline bool gen_lock(struct gen *g, struct am_event *e, uint64_t lock)
{
	uint32_t *o = &g->owner[lock % g->locks];

	if (*o)
		return false;
	*o = g->at + 1;
	return gen_put(g, e, AM_ACQUIRE, LOCK(lock % g->locks));
}

static inline bool gen_unlock(struct gen *g, struct am_event *e, uint64_t lock)
{
	g->owner[lock % g->locks] = 0;
	return gen_put(g, e, AM_RELEASE, LOCK(lock % g->locks));
}

/* A transfer: both accounts locked in order, a private counter after the locks are gone. */
static inline bool gen_bank(struct gen *g, struct am_event *e, struct gen_thread *t)
{
	switch (t->pc) {
	case 0:
		do {
			t->a = gen_draw(g, g->entities);
			t->b = gen_draw(g, g->entities);
		} while (t->a % g->locks == t->b % g->locks);
		if (t->a % g->locks > t->b % g->locks) {
			const uint64_t x = t->a;
			t->a = t->b;
			t->b = x;
		}
		return gen_put(g, e, AM_BEGIN, 1);
	case 1:
		return gen_lock(g, e, t->a);
	case 2:
		return gen_lock(g, e, t->b);
	case 3:
		return gen_put(g, e, AM_READ, VAR(t->a));
	case 4:
		return gen_put(g, e, AM_WRITE, VAR(t->a));
	case 5:
		return gen_put(g, e, AM_READ, VAR(t->b));
	case 6:
		return gen_put(g, e, AM_WRITE, VAR(t->b));
	case 7:
		return gen_unlock(g, e, t->b);
	case 8:
		return gen_unlock(g, e, t->a);
	case 9:
		return gen_put(g, e, AM_READ, OWN(g->at));
	case 10:
		return gen_put(g, e, AM_WRITE, OWN(g->at));
	default:
		return gen_put(g, e, AM_END, 1);
	}
}

static inline bool gen_star(struct gen *g, struct am_event *e, struct gen_thread *t)
{
	switch (t->pc) {
	case 0:
		return gen_put(g, e, AM_BEGIN, 2);
	case 1:
		return gen_lock(g, e, 0);
	case 2:
		return gen_put(g, e, AM_READ, VAR(0));
	case 3:
		return gen_put(g, e, AM_WRITE, VAR(0));
	case 4:
		return gen_unlock(g, e, 0);
	case 5:
	case 6:
	case 7:
	case 8:
	case 9:
		return gen_put(g, e, t->pc & 1 ? AM_READ : AM_WRITE, OWN(g->at) + (t->pc & 6) * 4);
	case 10:
		return gen_put(g, e, AM_WRITE, OWN(g->at));
	default:
		return gen_put(g, e, AM_END, 2);
	}
}

/* Rows of a grid, red and black in turn with a barrier between: a region per row. */
static inline bool gen_sor(struct gen *g, struct am_event *e, struct gen_thread *t)
{
	const uint64_t rows = g->entities / SOR_ROW / 2 * 2 < 2 * g->threads ? 2 * g->threads
									  : g->entities / SOR_ROW / 2 * 2;
	if (t->pc == 0) {
		if (t->row == 0)
			t->row = g->at + 1;
		if (t->row > rows / 2) { /* wait for the others of this colour */
			if (t->a == 0) {
				t->a = 1;
				g->arrived++;
			}
			if (g->arrived == g->threads) {
				g->arrived = 0;
				g->phase++;
				for (uint32_t i = 0; i < g->threads; i++) {
					g->thread[i].row = i + 1;
					g->thread[i].a = 0;
				}
			}
			return false;
		}
		t->i = 0;
		return gen_put(g, e, AM_BEGIN, 3);
	}
	const uint64_t row = (t->row - 1) * 2 + (g->phase & 1), column = t->i / 4;
	if (column == SOR_ROW) {
		t->row += g->threads;
		t->pc = 11;
		return gen_put(g, e, AM_END, 3);
	}
	t->pc = 1;
	switch (t->i++ & 3) {
	case 0:
		return gen_put(g, e, AM_READ, VAR((row + rows - 1) % rows * SOR_ROW + column));
	case 1:
		return gen_put(g, e, AM_READ, VAR((row + 1) % rows * SOR_ROW + column));
	case 2:
		return gen_put(g, e, AM_READ, VAR(row * SOR_ROW + column));
	default:
		return gen_put(g, e, AM_WRITE, VAR(row * SOR_ROW + column));
	}
}

/* Stage i takes from buffer i - 1 and puts into buffer i; each buffer has PIPE_SLOTS places. */
static inline bool gen_pipe(struct gen *g, struct am_event *e, struct gen_thread *t)
{
	const uint32_t s = g->at;
	const uint64_t item = t->i % PIPE_SLOTS;

	switch (t->pc) {
	case 0:
		if ((s && g->done[s - 1] <= t->i) || (s + 1 < g->threads && t->i >= g->done[s + 1] + PIPE_SLOTS))
			return false;
		return gen_put(g, e, AM_BEGIN, 4);
	case 1:
		return gen_put(g, e, AM_READ, s ? VAR((uint64_t)(s - 1) * PIPE_SLOTS + item) : OWN(s));
	case 2:
		return gen_put(g, e, AM_READ, OWN(s));
	case 3:
		return gen_put(g, e, AM_WRITE, OWN(s));
	case 4: /* handed over before the region ends */
		g->done[s] = t->i + 1;
		return gen_put(g, e, AM_WRITE, VAR((uint64_t)s * PIPE_SLOTS + item));
	default:
		t->i++;
		t->pc = 11;
		return gen_put(g, e, AM_END, 4);
	}
}

/* Thread 0: one region that writes what all others then read, and stays open. */
static inline bool gen_long(struct gen *g, struct am_event *e, struct gen_thread *t)
{
	if (g->at == 0) {
		if (t->pc == 0)
			return gen_put(g, e, AM_BEGIN, 5);
		const bool first = t->pc == 1;
		t->pc = 2;
		return gen_put(g, e, first ? AM_WRITE : AM_READ, first ? VAR(g->entities) : OWN(0));
	}
	if (!t->row) { /* an access outside any region carries the order on */
		if (g->thread[0].pc < 2)
			return false;
		t->row = 1;
		t->pc = 11;
		return gen_put(g, e, AM_READ, VAR(g->entities));
	}
	return gen_bank(g, e, t);
}

static inline void gen_next(struct gen *g, struct am_event *e)
{
	static bool (*const make[])(struct gen *, struct am_event *, struct gen_thread *) = {
		gen_bank, gen_sor, gen_star, gen_long, gen_pipe};

	for (;;) {
		g->at = gen_draw(g, g->threads);
		struct gen_thread *t = &g->thread[g->at];
		if (make[g->workload](g, e, t)) {
			t->pc = t->pc >= 11 ? 0 : t->pc + 1;
			return;
		}
	}
}

#endif
