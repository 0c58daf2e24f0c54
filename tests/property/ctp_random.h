/* SPDX-License-Identifier: MIT */
/* Generator of random trace programs and the comparison of engines; see ctp_random.c. */
#ifndef ATOMMON_TESTS_CTP_RANDOM_H
#define ATOMMON_TESTS_CTP_RANDOM_H

#include "tests/property/cases.h"
#include "tests/property/ctp_brute.h"

#include "analyzer/predict/rules.h"

#include <inttypes.h>

static uint64_t rng;

static inline uint32_t rnd(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)((rng >> 11) % n);
}

struct gen {
	struct am_ctp *ctp;
	uint32_t x, y, arr, mix, locks[2], sem, cond, barrier;
	uint32_t leaves[8], leaf_count; /* of the current thread, width 32 */
	uint32_t guard, guarded_left;
	bool weak;
};

static inline uint32_t gen_value(struct gen *g)
{
	uint32_t v = am_ctp_const(g->ctp, 32, rnd(3));
	if (g->leaf_count && rnd(3)) {
		const uint32_t leaf = g->leaves[rnd(g->leaf_count)];
		static const enum am_op ops[] = { AM_OP_ADD, AM_OP_SUB, AM_OP_XOR, AM_OP_MUL };
		v = rnd(3) ? am_ctp_op(g->ctp, ops[rnd(4)], 32, leaf, v, 0) : leaf;
	}
	return v;
}

static inline uint32_t gen_cond(struct gen *g)
{
	static const enum am_op ops[] = { AM_OP_EQ, AM_OP_NE, AM_OP_ULT, AM_OP_SGT };
	const uint32_t leaf = g->leaves[rnd(g->leaf_count)];
	return am_ctp_op(g->ctp, ops[rnd(4)], 1, leaf, am_ctp_const(g->ctp, 32, rnd(3)), 0);
}

static inline void gen_leaf(struct gen *g, uint32_t e)
{
	uint32_t leaf = g->ctp->events[e].read;
	if (g->ctp->nodes[leaf].width != 32)
		leaf = am_ctp_op(g->ctp, AM_OP_ZEXT, 32, leaf, 0, 0);
	if (g->leaf_count < 8)
		g->leaves[g->leaf_count++] = leaf;
}

/* An access of a random place. */
static inline uint32_t gen_access(struct gen *g, uint32_t t)
{
	struct am_ctp *c = g->ctp;
	const uint32_t kind = rnd(16);
	uint32_t object = rnd(3) ? g->x : g->y, offset = 0, size = 4;
	if (kind >= 14 && !g->weak) {
		object = g->arr;
		offset = am_ctp_const(c, 64, 4 * rnd(2));
		if (g->leaf_count && rnd(2))
			offset = am_ctp_op(c, AM_OP_MUL, 64,
					   am_ctp_op(c, AM_OP_ZEXT, 64, g->leaves[rnd(g->leaf_count)], 0, 0),
					   am_ctp_const(c, 64, 4), 0);
	} else if (kind == 13 && !g->weak) {
		object = g->mix;
		size = rnd(2) ? 4 : 2;
		offset = am_ctp_const(c, 64, size == 4 ? 0 : 2 * rnd(2));
	}
	uint32_t e;
	if (rnd(2)) {
		e = am_ctp_read(c, t, object, offset, size);
		gen_leaf(g, e);
		if (!rnd(8)) { /* atomic check */
			g->leaves[0] = g->leaves[g->leaf_count - 1];
			c->events[e].cond = gen_cond(g);
		}
	} else if (!rnd(6)) {
		e = am_ctp_update(c, t, object, offset, size);
		const uint32_t one = am_ctp_const(c, size * 8, 1);
		c->events[e].value =
			rnd(2) ? am_ctp_op(c, AM_OP_ADD, size * 8, c->events[e].read, one, 0) : one;
		gen_leaf(g, e);
	} else {
		uint32_t v = gen_value(g);
		if (size == 2)
			v = am_ctp_op(c, AM_OP_TRUNC, 16, v, 0, 0);
		e = am_ctp_write(c, t, object, offset, size, v);
	}
	if (!rnd(4)) {
		static const uint8_t orders[] = { 1, 3, 4, 6 };
		c->events[e].order = orders[rnd(4)];
	}
	return e;
}

static inline void gen_step(struct gen *g, uint32_t t, int *held, uint32_t *left)
{
	struct am_ctp *c = g->ctp;
	uint32_t e;
	const uint32_t what = rnd(20);
	if (what < 11) {
		e = gen_access(g, t);
	} else if (what < 14) {
		const uint32_t l = rnd(2);
		e = am_ctp_event(c, t, held[l] ? AM_RELEASE : AM_ACQUIRE, g->locks[l]);
		if (held[l])
			c->events[e].mode = (uint8_t)(held[l] - 1);
		else if (!rnd(6))
			c->events[e].mode = AM_SHARED;
		held[l] = held[l] ? 0 : 1 + c->events[e].mode;
	} else if (what == 14) {
		e = am_ctp_event(c, t, rnd(2) ? AM_POST : AM_TAKE, g->sem);
	} else if (what == 15 && held[0] == 1 && *left > 2) {
		am_ctp_wait(c, t, g->cond, g->locks[0]);
		e = am_ctp_wake(c, t, g->cond, g->locks[0]);
		--*left;
		return;
	} else if (what == 15) {
		e = am_ctp_event(c, t, rnd(3) ? AM_SIGNAL : AM_BROADCAST, g->cond);
	} else if (what == 16 && *left > 2) {
		am_ctp_event(c, t, AM_ARRIVE, g->barrier);
		e = am_ctp_event(c, t, AM_LEAVE, g->barrier);
		--*left;
		return;
	} else if (what == 17 && g->leaf_count) {
		e = am_ctp_assume(c, t, gen_cond(g));
	} else if (what == 18 && g->leaf_count) {
		e = am_ctp_assert(c, t, gen_cond(g));
	} else if (what == 19) {
		e = am_ctp_event(c, t, AM_FENCE, AM_CTP_NONE);
		static const uint8_t orders[] = { 0, 3, 4, 6 };
		c->events[e].order = orders[rnd(4)];
	} else {
		e = gen_access(g, t);
	}
	/* guards on a few consecutive events: an if */
	if (g->guarded_left == 0 && g->leaf_count && !rnd(6)) {
		g->guarded_left = 1 + rnd(2);
		g->guard = gen_cond(g);
	} else if (g->guarded_left) {
		const struct am_ctp_event *v = &c->events[e];
		if (am_ctp_is_access(v) || v->kind == AM_FENCE || v->kind == AM_SIGNAL ||
		    v->kind == AM_POST || v->kind == AM_ASSERT)
			c->events[e].guard = g->guard;
		g->guarded_left--;
	}
}

static inline struct am_ctp *gen_program(bool weak, uint32_t size)
{
	struct gen g = { .ctp = am_ctp_new(), .weak = weak };
	struct am_ctp *c = g.ctp;
	g.x = am_ctp_data(c, "x", 4);
	g.y = am_ctp_data(c, "y", 4);
	g.arr = am_ctp_data(c, "a", 8);
	g.mix = am_ctp_data(c, "m", 4);
	g.locks[0] = am_ctp_object(c, AM_CTP_LOCK, "l");
	g.locks[1] = am_ctp_object(c, AM_CTP_LOCK, "k");
	g.sem = am_ctp_object(c, AM_CTP_SEM, "s");
	c->objects[g.sem].count = rnd(2);
	g.cond = am_ctp_object(c, AM_CTP_COND, "c");
	g.barrier = am_ctp_object(c, AM_CTP_BARRIER, "b");
	c->objects[g.barrier].count = 1 + rnd(2);
	am_ctp_init(c, g.x, 0, 4, rnd(2));
	c->spurious = !rnd(10);
	const uint32_t threads = 2 + !rnd(3);
	for (uint32_t t = 0; t < threads; t++)
		am_ctp_thread(c, (const char *[]){ "A", "B", "C" }[t]);
	for (uint32_t t = 0; t < threads; t++) {
		int held[2] = { 0, 0 };
		uint32_t left = size / threads + (t < size % threads);
		bool inside = false;
		uint32_t region = 0;
		g.leaf_count = 0;
		g.guarded_left = 0;
		if (t == 0 && threads == 2 && !rnd(6)) {
			am_ctp_event(c, 0, AM_FORK, 1);
			left--;
		}
		for (; left; left--) {
			if (!inside && rnd(2)) {
				region = am_ctp_region(c, "r");
				am_ctp_event(c, t, AM_BEGIN, region);
				inside = true;
			}
			gen_step(&g, t, held, &left);
			if (inside && !rnd(4)) {
				am_ctp_event(c, t, AM_END, region);
				inside = false;
			}
		}
		if (inside)
			am_ctp_event(c, t, AM_END, region);
		for (uint32_t l = 0; l < 2; l++)
			if (held[l] && rnd(4)) {
				const uint32_t e = am_ctp_event(c, t, AM_RELEASE, g.locks[l]);
				c->events[e].mode = (uint8_t)(held[l] - 1);
			}
		if (t == 1 && threads == 3 && !rnd(6))
			am_ctp_event(c, t, AM_JOIN, 0);
	}
	return c;
}

/* Every query that makes sense for the program, up to the room. */
static inline uint32_t all_queries(struct am_ctp *c, struct am_query *q)
{
	uint32_t n = 0;
	for (uint32_t a = 0; a < c->event_count && n < BRUTE_QUERIES - 40; a++) {
		const struct am_ctp_event *e = &c->events[a];
		if (e->kind == AM_ASSERT)
			q[n++] = (struct am_query){ .property = AM_PROP_ASSERT, .a = a };
		if (e->pos + 1 == c->threads[e->thread].length)
			q[n++] = (struct am_query){ .property = AM_PROP_REACH, .a = a,
						    .complete = rnd(2) };
		for (uint32_t b = a + 1; b < c->event_count && n < BRUTE_QUERIES - 40; b++) {
			const struct am_ctp_event *f = &c->events[b];
			if (!am_ctp_is_access(e) || !am_ctp_is_access(f) || e->thread == f->thread ||
			    (!am_ctp_is_store(e) && !am_ctp_is_store(f)) || e->loc != f->loc)
				continue;
			if (!((e->order || e->kind == AM_UPDATE) && (f->order || f->kind == AM_UPDATE)))
				q[n++] = (struct am_query){ .property = AM_PROP_RACE, .a = a, .b = b };
			for (uint32_t d = a + 1; d < c->event_count && n < BRUTE_QUERIES - 40; d++)
				if (c->events[d].thread == e->thread && am_ctp_is_access(&c->events[d]) &&
				    c->events[d].loc == f->loc)
					q[n++] = (struct am_query){ .property = AM_PROP_THREE, .a = a,
								    .b = b, .c = d, .plain = !rnd(4) };
		}
	}
	for (uint32_t r = 0; r < c->region_count && n < BRUTE_QUERIES - 4; r++) {
		q[n++] = (struct am_query){ .property = AM_PROP_SERIAL, .region = r };
		q[n++] = (struct am_query){ .property = AM_PROP_STRONG, .region = r };
		q[n++] = (struct am_query){ .property = AM_PROP_WINDOW, .region = r };
	}
	return n;
}

/* Does the witness do what it says? By the brute-force judge. */
static inline bool witness_fine(struct am_ctp *c, enum am_model model, const struct am_query *q,
				const struct am_answer *a)
{
	bool hit = false;
	struct brute b = { .ctp = c, .model = model, .queries = q, .query_count = 1, .hit = &hit };
	bool fine = true;
	am_exec_init(&b.x, c, model);
	/* skipped events are not in the run: step them when they are due */
	for (uint32_t e = 0; e < c->event_count; e++) {
		bool listed = false;
		for (uint32_t i = 0; i < a->length; i++)
			listed |= a->run[i] == e;
		if (!listed && c->events[e].guard)
			b.assumed |= 1u << e;
	}
	for (uint32_t i = 0; i < a->length && fine; i++) {
		const uint32_t e = a->run[i];
		const struct am_ctp_thread *t = &c->threads[c->events[e].thread];
		for (uint32_t k = 0; k < c->events[e].pos; k++) {
			const uint32_t p = t->events[k];
			if (!b.x.state[p] && (b.assumed >> p & 1) && brute_may_be_next(&b, p) &&
			    am_exec_step(&b.x, p) == AM_STEP_SKIPPED)
				b.run[b.length++] = p;
		}
		fine = brute_may_be_next(&b, e) && am_exec_step(&b.x, e) == AM_STEP_OK;
		b.run[b.length++] = e;
	}
	for (uint32_t e = 0; e < c->event_count && fine && q->complete; e++)
		if (!b.x.state[e] && (b.assumed >> e & 1) && am_exec_step(&b.x, e) == AM_STEP_SKIPPED)
			b.run[b.length++] = e;
	fine = fine && brute_has(&b, q);
	am_exec_clear(&b.x);
	return fine;
}

static struct {
	uint64_t programs, queries, feasible, undecided, skipped;
} total;

static inline bool compare(struct am_ctp *c, enum am_model model, enum am_encoding encoding,
			   bool derived, const struct am_query *q, uint32_t n, const bool *hit,
			   bool unserializable, bool all, uint64_t seed)
{
	struct am_engine_options o = am_engine_defaults();
	o.model = model;
	o.encoding = encoding;
	o.no_derived_locks = !derived;
	o.eager_writes = derived ? o.eager_writes : 0;
	struct am_engine *engine = am_engine_new(c, &o);
	bool fine = true, any_serial = false;
	for (uint32_t i = 0; i < n && fine; i++) {
		struct am_answer a;
		am_engine_ask(engine, &q[i], &a);
		const bool yes = a.verdict == AM_FEASIBLE;
		total.queries++;
		total.feasible += yes;
		total.undecided += a.verdict == AM_UNDECIDED;
		const bool same = a.verdict == AM_UNDECIDED ? false : yes == hit[i];
		any_serial |= q[i].property == AM_PROP_SERIAL && yes;
		if (!same || (yes && !witness_fine(c, model, &q[i], &a))) {
			printf("# seed %" PRIu64 " model %s encoding %d derived %d: %s a=t%u b=t%u c=t%u "
			       "region %u plain %d complete %d: engine %d (%s), brute force %d\n",
			       seed, am_model_name(model), encoding, derived,
			       am_property_name(q[i].property), q[i].a + 1, q[i].b + 1, q[i].c + 1,
			       q[i].region, q[i].plain, q[i].complete, a.verdict,
			       a.reason ? a.reason : same ? "bad witness" : "", hit[i]);
			for (uint32_t k = 0; k < a.length; k++)
				printf("%s t%u", k ? "" : "#  ", a.run[k] + 1);
			printf("\n");
			am_ctp_dump(c, stdout);
			fflush(stdout);
			fine = false;
		}
		am_answer_clear(&a);
	}
	/* some region is blamed iff some run is not serializable (sc only: engine.h) */
	if (fine && all && model == AM_MODEL_SC && any_serial != unserializable) {
		printf("# seed %" PRIu64 " model %s encoding %d: serializability: engine %d, brute %d\n",
		       seed, am_model_name(model), encoding, any_serial, unserializable);
		am_ctp_dump(c, stdout);
		fine = false;
	}
	am_engine_free(engine);
	return fine;
}

/* The rules decide reachability like brute force does, in every model. */
static inline bool compare_rules(struct am_ctp *c, enum am_model model, const struct am_query *q,
				 uint32_t n, const bool *hit, uint64_t seed)
{
	for (uint32_t i = 0; i < n; i++) {
		if (q[i].property != AM_PROP_REACH || q[i].complete)
			continue;
		const struct am_rules_query rq = { .model = model, .reach = q[i].a,
						   .explain = !(seed % 3) };
		struct am_rules_answer a;
		am_rules_ask(c, &rq, &a);
		total.queries++;
		const bool same = a.verdict != AM_UNDECIDED && (a.verdict == AM_FEASIBLE) == hit[i];
		if (!same || (rq.explain && a.verdict == AM_INFEASIBLE && !a.use_count)) {
			printf("# seed %" PRIu64 " model %s rules: reach t%u: rules %d (%s), brute %d\n",
			       seed, am_model_name(model), q[i].a + 1, a.verdict,
			       a.reason ? a.reason : "", hit[i]);
			am_ctp_dump(c, stdout);
			fflush(stdout);
			am_rules_clear(&a);
			return false;
		}
		am_rules_clear(&a);
	}
	return true;
}

static inline bool one_program(uint64_t seed, bool direct)
{
	rng = seed * UINT64_C(0x9e3779b97f4a7c15) + 88172645463325252u;
	for (int i = 0; i < 8; i++)
		rnd(2);
	const enum am_model model = rnd(2) ? AM_MODEL_SC : (enum am_model)(1 + rnd(3));
	struct am_ctp *c = gen_program(model != AM_MODEL_SC, 4 + rnd(model == AM_MODEL_SC ? 6 : 4));
	const char *wrong = am_ctp_finish(c);
	struct am_query q[BRUTE_QUERIES];
	bool hit[BRUTE_QUERIES] = { false };
	bool fine = true;
	if (wrong || c->event_count > BRUTE_EVENTS) {
		if (wrong)
			printf("# seed %" PRIu64 ": %s\n", seed, wrong);
		total.skipped++;
		am_ctp_free(c);
		return !wrong;
	}
	const uint32_t n = all_queries(c, q);
	bool cyclic;
	if (brute_force(c, model, q, n, hit, 8000, &cyclic)) {
		const bool all = n < BRUTE_QUERIES - 40;
		total.programs++;
		fine = compare(c, model, AM_ENCODE_LAZY, true, q, n, hit, cyclic, all, seed) &&
		       compare(c, model, AM_ENCODE_LAZY, false, q, n, hit, cyclic, all, seed) &&
		       (seed % 16 != 1 || c->event_count > 11 ||
			compare_rules(c, model, q, n, hit, seed)) &&
		       (!direct || model != AM_MODEL_SC ||
			(seed % 8 && !getenv("ATOMMON_TEST_DIRECT_ALL")) ||
			compare(c, model, AM_ENCODE_DIRECT, false, q, n < 10 ? n : 10, hit, cyclic,
				false, seed));
	} else {
		total.skipped++;
	}
	am_ctp_free(c);
	return fine;
}

static inline int random_main(int argc, char **argv)
{
	const char *env = getenv("ATOMMON_TEST_SEED");
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10)
			      : env    ? strtoull(env, NULL, 10)
				       : 1;
	env = getenv("ATOMMON_TEST_COUNT");
	const uint64_t count = env && argc <= 2 ? strtoull(env, NULL, 10) : cases_wanted(argc, argv, 200);
	const bool direct = !getenv("ATOMMON_TEST_NO_DIRECT");
	uint64_t bad = 0;
	for (uint64_t i = 0; i < count && bad < 3; i++)
		bad += !one_program(seed + i, direct);
	printf("# seed %" PRIu64 ": %" PRIu64 " programs (%" PRIu64 " skipped), %" PRIu64
	       " queries, %" PRIu64 " feasible, %" PRIu64 " undecided\n",
	       seed, total.programs, total.skipped, total.queries, total.feasible, total.undecided);
	printf("%s 1 - random programs: engines and brute force agree\n1..1\n", bad ? "not ok" : "ok");
	return bad != 0;
}

#endif
