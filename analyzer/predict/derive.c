/*
 * Derived locks: a flag that is tested free and set in one atomic step, and given back by whoever set
 * it, makes intervals that exclude each other like the sections of a lock. Each is proved before it is
 * used. Tool side.
 *
 * Conditions on a location v (exact: no access overlaps it in part):
 *  1. every write of v lies in an exclusive section of one regular lock m;
 *  2. the writes of each thread to v alternate set, clear, set, clear, ...;
 *  3. a clear writes the constant `free`;
 *  4. a set s has a read r of v before it in its thread, in the same section of m, with no write of v
 *     in between, and whenever s is executed, r was executed and read `free`: the guard of s and the
 *     branches between r and s imply it, whatever all other values are. The solver proves that;
 *  5. a set never writes `free`, whatever it reads. The solver proves that.
 * Claim: between a set and the clear that follows it, no other thread executes a set. By induction over
 * the run: v differs from `free` while somebody is inside (5, and no clear but the insider's own: 2). A
 * set needs `free` at r (4), m keeps others from writing between r and s (1), so nobody is inside.
 * Guards: a clear that may be skipped would leave its thread inside, so a clear's guard must be the
 * set's own; in weak models lock events are full fences, so the argument stands.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/lazy.h"

#include <assert.h>

/* The section of lock m around e, AM_CTP_NONE. */
static uint32_t section_of(const struct am_lazy *z, uint32_t e, uint32_t m)
{
	const struct am_list *in = &z->inside[e];
	for (uint32_t i = 0; i < in->count; i++) {
		const struct am_section *s = &z->sections[in->list[i]];
		if (s->lock == m && !s->shared && !z->irregular[m])
			return in->list[i];
	}
	return AM_CTP_NONE;
}

/* A lock that all writes of the location hold. */
static uint32_t common_lock(const struct am_lazy *z, const struct am_list *writes)
{
	const struct am_list *in = &z->inside[writes->list[0]];
	for (uint32_t i = 0; i < in->count; i++) {
		const uint32_t m = z->sections[in->list[i]].lock;
		bool all = m < z->ctp->object_count;
		for (uint32_t k = 0; k < writes->count && all; k++)
			all = section_of(z, writes->list[k], m) != AM_CTP_NONE;
		if (all)
			return m;
	}
	return AM_CTP_NONE;
}

/* ---- proofs ---------------------------------------------------------------------------------- */

struct proof {
	struct am_lazy *z;
	struct am_smt *smt;
	int32_t *term; /* by node: every leaf is a free variable */
};

static int32_t free_term(struct proof *p, uint32_t node)
{
	if (!node)
		return AM_SMT_TRUE;
	if (p->term[node])
		return p->term[node];
	const struct am_expr n = p->z->ctp->nodes[node];
	const unsigned arity = am_op_arity((enum am_op)n.op);
	int32_t t;
	if (n.op == AM_OP_CONST)
		t = am_smt_bv_const(p->smt, n.width, n.value);
	else if (n.op == AM_OP_READ)
		t = am_smt_bv(p->smt, "r", n.width);
	else
		t = am_smt_op(p->smt, (enum am_op)n.op, n.width, free_term(p, n.a),
			      n.op == AM_OP_EXTRACT ? (int32_t)n.b
			      : arity > 1	    ? free_term(p, n.b)
						    : 0,
			      arity > 2 ? free_term(p, n.c) : 0);
	p->term[node] = t;
	return t;
}

/* Can all of the nodes hold at once? */
static bool possible(struct am_lazy *z, const uint32_t *nodes, uint32_t count)
{
	struct proof p = { .z = z, .smt = am_smt_new("QF_BV", 0) };
	p.term = am_zalloc(z->ctp->node_count, sizeof *p.term);
	for (uint32_t i = 0; i < count; i++)
		am_smt_assert(p.smt, free_term(&p, nodes[i]));
	const bool sat = am_smt_check(p.smt, NULL, 0, 200000) != AM_SMT_UNSAT;
	am_smt_free(p.smt);
	free(p.term);
	return sat;
}

/* ---- recognition ----------------------------------------------------------------------------- */

struct flag {
	struct am_lazy *z;
	const struct am_list *writes;
	uint32_t loc, lock;
	uint64_t free_value;
};

static bool is_write_of(const struct flag *f, uint32_t e)
{
	return am_ctp_is_store(&f->z->ctp->events[e]) && f->z->ctp->events[e].loc == f->loc;
}

/* Conditions 4 and 5. */
static bool is_set(const struct flag *f, uint32_t s)
{
	struct am_ctp *ctp = f->z->ctp;
	const struct am_ctp_event e = ctp->events[s];
	const struct am_ctp_thread *t = &ctp->threads[e.thread];
	const uint32_t section = section_of(f->z, s, f->lock);
	const uint32_t open = f->z->sections[section].open;
	const unsigned width = e.size * 8;
	const uint32_t same = am_ctp_op(ctp, AM_OP_EQ, 1, e.value,
					am_ctp_const(ctp, width, f->free_value), 0);
	uint32_t nodes[64], count = 0;

	if (e.kind != AM_WRITE || possible(f->z, &same, 1))
		return false;
	nodes[count++] = e.guard;
	for (uint32_t i = e.pos; i-- > ctp->events[open].pos && count < 62;) {
		const uint32_t r = t->events[i];
		const struct am_ctp_event v = ctp->events[r];
		if (is_write_of(f, r))
			return false;
		if (v.kind == AM_BRANCH && !v.guard)
			nodes[count++] = v.cond;
		if (v.kind != AM_READ || v.loc != f->loc)
			continue;
		/* executed whenever s is, and saw something else than free? */
		if (v.guard && v.guard != e.guard)
			return false;
		if (v.cond)
			nodes[count++] = v.cond;
		nodes[count++] = am_ctp_op(ctp, AM_OP_NE, 1, v.read,
					   am_ctp_const(ctp, width, f->free_value), 0);
		return !possible(f->z, nodes, count);
	}
	return false;
}

static bool is_clear(const struct flag *f, uint32_t e, uint32_t set)
{
	const struct am_ctp_event *v = &f->z->ctp->events[e];
	uint64_t k;
	return v->kind == AM_WRITE && am_ctp_is_const(f->z->ctp, v->value, &k) &&
	       k == f->free_value && v->guard == f->z->ctp->events[set].guard;
}

/* The thread's writes alternate; fills the intervals, or returns false. */
static bool thread_intervals(const struct flag *f, uint32_t thread, struct am_list *out)
{
	const struct am_ctp_thread *t = &f->z->ctp->threads[thread];
	uint32_t set = AM_CTP_NONE;
	for (uint32_t i = 0; i < t->length; i++) {
		const uint32_t e = t->events[i];
		if (!is_write_of(f, e))
			continue;
		if (set == AM_CTP_NONE) {
			if (!is_set(f, e))
				return false;
			set = e;
		} else {
			if (!is_clear(f, e, set))
				return false;
			AM_PUSH(out->list, out->count, out->room) = set;
			AM_PUSH(out->list, out->count, out->room) = e;
			set = AM_CTP_NONE;
		}
	}
	if (set != AM_CTP_NONE) {
		AM_PUSH(out->list, out->count, out->room) = set;
		AM_PUSH(out->list, out->count, out->room) = AM_CTP_NONE;
	}
	return true;
}

/* The value that a clear would write: constants written under the lock, tried one by one. */
static bool try_value(struct flag *f, struct am_list *out)
{
	out->count = 0;
	for (uint32_t t = 0; t < f->z->ctp->thread_count; t++)
		if (!thread_intervals(f, t, out))
			return false;
	return out->count > 2;
}

static void use(struct flag *f, const struct am_list *found, uint32_t lock)
{
	struct am_lazy *z = f->z;
	const uint32_t first = z->section_count;
	for (uint32_t i = 0; i < found->count; i += 2)
		am_lazy_add_section(
			z, (struct am_section){ .open = found->list[i],
						.close = found->list[i + 1],
						.lock = lock,
						.thread = z->ctp->events[found->list[i]].thread });
	z->stats->derived_locks++;
	const uint32_t n = z->section_count - first;
	if (n > 600)
		return; /* too many pairs: asked for only when an order folds onto them */
	for (uint32_t s = first; s < z->section_count; s++)
		for (uint32_t t = first; t < s; t++) {
			const struct am_section *a = &z->sections[s], *b = &z->sections[t];
			if (a->thread == b->thread || am_must_before(&z->must, a->open, b->open) ||
			    am_must_before(&z->must, b->open, a->open))
				continue;
			z->stats->derived_pairs += am_lazy_exclude(z, s, t);
		}
}

void am_lazy_derive_locks(struct am_lazy *z)
{
	const struct am_ctp *ctp = z->ctp;
	uint32_t next = ctp->object_count;
	for (uint32_t loc = 0; loc < ctp->loc_count && next < z->lock_count; loc++) {
		struct flag f = { .z = z, .writes = &z->stores[loc], .loc = loc };
		struct am_list found = { 0 };
		if (!ctp->locs[loc].exact || f.writes->count < 2)
			continue;
		f.lock = common_lock(z, f.writes);
		uint64_t tried[4];
		uint32_t tries = 0;
		for (uint32_t i = 0; i < f.writes->count && tries < 4 && f.lock != AM_CTP_NONE; i++) {
			uint64_t k;
			bool seen = false;
			if (!am_ctp_is_const(ctp, ctp->events[f.writes->list[i]].value, &k))
				continue;
			for (uint32_t j = 0; j < tries; j++)
				seen |= tried[j] == k;
			if (seen)
				continue;
			tried[tries++] = f.free_value = k;
			if (try_value(&f, &found)) {
				use(&f, &found, next++);
				break;
			}
		}
		free(found.list);
	}
}
