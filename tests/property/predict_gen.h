/* SPDX-License-Identifier: MIT */
/*
 * Random recorded runs: small threads of random operations, executed by a random scheduler with the
 * real meaning of each operation. What cannot go on (a deadlock) simply stops, as in a killed run.
 */
#ifndef TESTS_PREDICT_GEN_H
#define TESTS_PREDICT_GEN_H

#include "analyzer/predict/run.h"

#include <stdlib.h>
#include <string.h>

struct gen_rng {
	uint64_t s;
};

static inline uint32_t gen_next(struct gen_rng *g, uint32_t below)
{
	g->s ^= g->s << 13;
	g->s ^= g->s >> 7;
	g->s ^= g->s << 17;
	return (uint32_t)((g->s >> 20) % below);
}

struct gen_shape {
	uint32_t threads, ops; /* per thread */
	uint32_t vars, locks;
	bool conds, sems, barrier, forks, wide;
	bool guarded; /* variable v is accessed under lock v, mostly */
};

enum { GEN_OPS = 40, GEN_THREADS = 6 };

struct gen_op {
	uint8_t kind, mode, size, order;
	uint64_t object, aux;
};

struct gen_thread {
	struct gen_op op[GEN_OPS];
	uint32_t n, at;
	bool started;
};

static inline struct gen_op *gen_op(struct gen_thread *t, uint8_t kind, uint64_t object)
{
	struct gen_op *op = &t->op[t->n < GEN_OPS ? t->n++ : GEN_OPS - 1];
	*op = (struct gen_op){.kind = kind, .object = object};
	return op;
}

static inline void gen_access(struct gen_rng *g, const struct gen_shape *shape, struct gen_thread *t)
{
	static const uint8_t kinds[] = {AM_READ, AM_WRITE, AM_READ, AM_WRITE, AM_UPDATE};
	struct gen_op *op = gen_op(t, kinds[gen_next(g, 5)], 0x1000 + 8 * gen_next(g, shape->vars));

	op->size = 8;
	if (op->kind == AM_READ && gen_next(g, 4) == 0)
		op->order = 6; /* one that may be made again if it sees something else */
	if (shape->wide && gen_next(g, 3) == 0) {
		op->size = (uint8_t)(1u << gen_next(g, 3));
		op->object += gen_next(g, 8 / op->size) * op->size;
	}
}

/* A block: an access, or a critical section, a wait, a post... around more of the same. */
static inline void gen_block(struct gen_rng *g, const struct gen_shape *shape, struct gen_thread *t,
			     uint32_t budget, uint32_t depth)
{
	while (budget-- > 0 && t->n + 8 < GEN_OPS) {
		if (shape->guarded && gen_next(g, 8)) {
			const uint32_t v = gen_next(g, shape->vars);
			const uint32_t n = 1 + gen_next(g, 2);
			gen_op(t, AM_ACQUIRE, 0x2000 + 64 * v);
			for (uint32_t i = 0; i < n; i++)
				gen_op(t, gen_next(g, 2) ? AM_READ : AM_WRITE, 0x1000 + 8 * v)->size = 8;
			gen_op(t, AM_RELEASE, 0x2000 + 64 * v);
			continue;
		}
		const uint32_t what = gen_next(g, 10);
		const uint64_t lock = shape->locks ? 0x2000 + 64 * gen_next(g, shape->locks) : 0;
		if (what < 3 && shape->locks && depth < 2) {
			const uint8_t mode = gen_next(g, 4) == 0;
			bool is_held = false;
			for (uint32_t i = 0, held = 0; i < t->n; i++) {
				held += t->op[i].kind == AM_ACQUIRE && t->op[i].object == lock;
				held -= t->op[i].kind == AM_RELEASE && t->op[i].object == lock;
				is_held = held;
			}
			if (is_held)
				continue;
			gen_op(t, AM_ACQUIRE, lock)->mode = mode;
			gen_block(g, shape, t, gen_next(g, 3), depth + 1);
			if (shape->conds && !mode && gen_next(g, 3) == 0) {
				gen_op(t, AM_WAIT, 0x3000)->aux = lock;
				gen_op(t, AM_WAKE, 0x3000)->aux = lock;
			}
			gen_op(t, AM_RELEASE, lock)->mode = mode;
		} else if (what == 3 && shape->conds) {
			gen_op(t, gen_next(g, 2) ? AM_SIGNAL : AM_BROADCAST, 0x3000);
		} else if (what == 4 && shape->sems) {
			gen_op(t, gen_next(g, 2) ? AM_POST : AM_TAKE, 0x4000);
		} else if (what == 5 && shape->barrier && depth == 0) {
			gen_op(t, AM_ARRIVE, 0x5000);
			gen_op(t, AM_LEAVE, 0x5000);
		} else {
			gen_access(g, shape, t);
		}
	}
}

struct gen_state {
	int owner[8], readers[8], sem, arrived, generation, waiting_since[GEN_THREADS], clock;
	int arrival[GEN_THREADS], tokens; /* tokens of condition 0x3000: simple eager choice */
	bool notified[GEN_THREADS], waits[GEN_THREADS];
};

static inline bool gen_can(const struct gen_state *s, const struct gen_thread *threads, uint32_t t)
{
	const struct gen_op *op = &threads[t].op[threads[t].at];
	const uint32_t lock = (uint32_t)((op->kind == AM_WAKE ? op->aux : op->object) - 0x2000) / 64;

	switch (op->kind) {
	case AM_ACQUIRE:
		return !s->owner[lock] && (op->mode == AM_SHARED || !s->readers[lock]);
	case AM_WAKE:
		return s->notified[t] && !s->owner[lock] && !s->readers[lock];
	case AM_TAKE:
		return s->sem > 0;
	case AM_LEAVE:
		return s->generation > s->arrival[t];
	case AM_JOIN:
		return threads[op->object].at == threads[op->object].n;
	default:
		return true;
	}
}

static inline void gen_do(struct gen_rng *g, struct gen_state *s, struct gen_thread *threads,
			  uint32_t n, uint32_t t, uint32_t barrier)
{
	const struct gen_op *op = &threads[t].op[threads[t].at];
	const uint64_t locked = op->kind == AM_WAIT || op->kind == AM_WAKE ? op->aux : op->object;
	const uint32_t lock = (uint32_t)(locked - 0x2000) / 64;

	switch (op->kind) {
	case AM_ACQUIRE:
		if (op->mode == AM_SHARED)
			s->readers[lock]++;
		else
			s->owner[lock] = 1;
		break;
	case AM_RELEASE:
		if (op->mode == AM_SHARED)
			s->readers[lock]--;
		else
			s->owner[lock] = 0;
		break;
	case AM_WAIT:
		s->owner[lock] = 0;
		s->waits[t] = true;
		s->notified[t] = false;
		break;
	case AM_WAKE:
		s->owner[lock] = 1;
		s->waits[t] = s->notified[t] = false;
		break;
	case AM_SIGNAL:
	case AM_BROADCAST: {
		const uint32_t first = gen_next(g, n);
		for (uint32_t i = 0; i < n; i++) {
			const uint32_t u = (first + i) % n;
			if (!s->waits[u] || s->notified[u])
				continue;
			s->notified[u] = true;
			if (op->kind == AM_SIGNAL)
				break;
		}
		break;
	}
	case AM_POST:
		s->sem++;
		break;
	case AM_TAKE:
		s->sem--;
		break;
	case AM_ARRIVE:
		s->arrival[t] = s->generation;
		if (++s->arrived == (int)barrier) {
			s->arrived = 0;
			s->generation++;
		}
		break;
	case AM_FORK:
		threads[op->object].started = true;
		break;
	default:
		break;
	}
	threads[t].at++;
}

/* Wrap a random stretch of a thread in a region; regions do not overlap, may not nest here. */
static inline void gen_regions(struct gen_rng *g, struct gen_thread *t)
{
	if (t->n < 2 || gen_next(g, 4) == 0 || t->n + 2 >= GEN_OPS)
		return;
	const uint32_t first = gen_next(g, t->n - 1), last = first + 1 + gen_next(g, t->n - first - 1);
	memmove(&t->op[last + 2], &t->op[last + 1], (t->n - last - 1) * sizeof t->op[0]);
	t->op[last + 1] = (struct gen_op){.kind = AM_END, .object = 1};
	memmove(&t->op[first + 1], &t->op[first], (t->n + 1 - first) * sizeof t->op[0]);
	t->op[first] = (struct gen_op){.kind = AM_BEGIN, .object = 1};
	t->n += 2;
}

static inline void gen_run(struct gen_rng *g, const struct gen_shape *shape, struct am_run *run)
{
	static struct gen_thread threads[GEN_THREADS];
	struct gen_state state = {0};
	uint64_t index = 0;

	memset(threads, 0, sizeof threads);
	for (uint32_t t = 0; t < shape->threads; t++) {
		gen_block(g, shape, &threads[t], 1 + gen_next(g, shape->ops), 0);
		gen_regions(g, &threads[t]);
		threads[t].started = !shape->forks || t == 0;
	}
	for (uint32_t t = 1; shape->forks && t < shape->threads; t++) {
		struct gen_thread *main = &threads[0];
		if (main->n + 2 >= GEN_OPS)
			break;
		memmove(&main->op[1], &main->op[0], main->n++ * sizeof main->op[0]);
		main->op[0] = (struct gen_op){.kind = AM_FORK, .object = t};
		if (gen_next(g, 2))
			gen_op(main, AM_JOIN, t);
	}
	am_run_init(run);
	const struct am_event sem = {.kind = AM_INIT, .mode = AM_OBJ_SEM, .object = 0x4000, .aux = 1};
	const struct am_event barrier = {
		.kind = AM_INIT, .mode = AM_OBJ_BARRIER, .object = 0x5000, .aux = 2};
	state.sem = 1;
	if (shape->sems)
		am_run_add(run, &sem);
	if (shape->barrier)
		am_run_add(run, &barrier);
	for (;;) {
		uint32_t ready[GEN_THREADS], n = 0;
		for (uint32_t t = 0; t < shape->threads; t++)
			if (threads[t].started && threads[t].at < threads[t].n &&
			    gen_can(&state, threads, t))
				ready[n++] = t;
		if (!n)
			break;
		const uint32_t t = ready[gen_next(g, n)];
		const struct gen_op *op = &threads[t].op[threads[t].at];
		const struct am_event event = {.index = index++,
					       .object = op->object,
					       .aux = op->aux,
					       .thread = t,
					       .size = op->size,
					       .order = op->order,
					       .kind = op->kind,
					       .mode = op->mode};
		am_run_add(run, &event);
		gen_do(g, &state, threads, shape->threads, t, 2);
	}
	am_run_finish(run);
}

#endif
