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
 * A set may also be one atomic update that happens only if it reads `free`, and never writes it: an exchange or a
 * compare-and-exchange that a branch follows at once. Nothing comes between its read and its write, so that where all
 * sets are such no lock m is needed (in sc). Nor need 3 hold then: the insider's next write ends
 * the interval whatever it writes, for as long as that is not `free` nobody gets in at all.
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
	int32_t *term; /* by node: a leaf is a free variable, or what it is always */
};

/* The write that a read sees in every run, AM_CTP_NONE: before it, and no other can come in between. */
static uint32_t sole_source(const struct am_lazy *z, uint32_t read)
{
	const struct am_ctp_event *r = &z->ctp->events[read];
	const struct am_list *stores = &z->stores[r->loc];
	uint32_t last = AM_CTP_NONE;

	if (!z->ctp->locs[r->loc].exact || stores->count > 64)
		return AM_CTP_NONE;
	for (uint32_t i = 0; i < stores->count; i++) {
		const uint32_t w = stores->list[i];
		if (am_must_before(&z->must, w, read) && (last == AM_CTP_NONE || am_must_before(&z->must, last, w)))
			last = w;
	}
	for (uint32_t i = 0; i < stores->count && last != AM_CTP_NONE; i++) {
		const uint32_t w = stores->list[i];
		if (w != last && w != read && !am_must_before(&z->must, w, last) && !am_must_before(&z->must, read, w))
			return AM_CTP_NONE;
	}
	return last != AM_CTP_NONE && !z->ctp->events[last].guard ? last : AM_CTP_NONE;
}

static int32_t free_term(struct proof *p, uint32_t node);

/* What a read is, as far as it is the same in every run; else it may be anything. */
static int32_t read_term(struct proof *p, const struct am_expr *n)
{
	const uint32_t w = sole_source(p->z, (uint32_t)n->value);

	if (w == AM_CTP_NONE || !p->z->ctp->events[w].value ||
	    p->z->ctp->nodes[p->z->ctp->events[w].value].width != n->width)
		return am_smt_bv(p->smt, "r", n->width);
	return free_term(p, p->z->ctp->events[w].value);
}

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
		t = read_term(p, &n);
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
	uint32_t loc, lock; /* lock: AM_CTP_NONE, then every set must be one step */
	uint64_t free_value, initial;
};

static bool is_write_of(const struct flag *f, uint32_t e)
{
	return am_ctp_is_store(&f->z->ctp->events[e]) && f->z->ctp->events[e].loc == f->loc;
}

/* That what is read there is one of the values that the flag ever has; 0: all that is known of these is their number. */
static uint32_t is_among(const struct flag *f, uint32_t read, unsigned width)
{
	struct am_ctp *ctp = f->z->ctp;
	uint32_t any = am_ctp_op(ctp, AM_OP_EQ, 1, read, am_ctp_const(ctp, width, f->initial), 0);
	uint64_t k, last = f->initial;

	for (uint32_t i = 0; i < f->writes->count; i++) {
		if (!am_ctp_is_const(ctp, ctp->events[f->writes->list[i]].value, &k))
			return 0;
		if (k != last)
			any = am_ctp_op(ctp, AM_OP_OR, 1, any,
					am_ctp_op(ctp, AM_OP_EQ, 1, read, am_ctp_const(ctp, width, k), 0), 0);
		last = k;
	}
	return any;
}

/* 4 and 5 of an atomic update: it happens only if its condition holds. */
static bool is_set_at_once(const struct flag *f, const struct am_ctp_event *e)
{
	struct am_ctp *ctp = f->z->ctp;
	const uint32_t free_node = am_ctp_const(ctp, e->size * 8, f->free_value);
	const uint32_t taken[] = { e->cond, am_ctp_op(ctp, AM_OP_NE, 1, e->read, free_node, 0),
				   is_among(f, e->read, e->size * 8) };
	const uint32_t left[] = { e->cond, am_ctp_op(ctp, AM_OP_EQ, 1, e->value, free_node, 0) };

	return e->cond && !possible(f->z, taken, 3) && !possible(f->z, left, 2);
}

/* Conditions 4 and 5. */
static bool is_set(const struct flag *f, uint32_t s)
{
	struct am_ctp *ctp = f->z->ctp;
	const struct am_ctp_event e = ctp->events[s];
	const struct am_ctp_thread *t = &ctp->threads[e.thread];
	const unsigned width = e.size * 8;
	const uint32_t same = am_ctp_op(ctp, AM_OP_EQ, 1, e.value,
					am_ctp_const(ctp, width, f->free_value), 0);
	uint32_t nodes[64], count = 0;

	if (e.kind == AM_UPDATE)
		return is_set_at_once(f, &e);
	if (e.kind != AM_WRITE || f->lock == AM_CTP_NONE || possible(f->z, &same, 1))
		return false;
	const uint32_t open = f->z->sections[section_of(f->z, s, f->lock)].open;
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
	if (f->lock == AM_CTP_NONE)
		return v->guard == f->z->ctp->events[set].guard;
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

/* Tries `value` as what the flag is when nobody is inside. True: the lock with this number is derived. */
static bool derive(struct flag *f, uint64_t value, uint32_t lock)
{
	struct am_list found = { 0 };

	f->free_value = value;
	const bool is_found = try_value(f, &found);
	if (is_found)
		use(f, &found, lock);
	free(found.list);
	return is_found;
}

static uint64_t initial_value(const struct am_ctp *ctp, const struct am_ctp_event *e)
{
	const struct am_ctp_object *o = &ctp->objects[e->object];
	uint64_t start = 0, value = 0;

	if (!o->init || (e->offset && !am_ctp_is_const(ctp, e->offset, &start)))
		return 0;
	for (unsigned k = 0; k < e->size && start + k < o->size; k++)
		value |= (uint64_t)o->init[start + k] << (8 * k);
	return value;
}

void am_lazy_derive_locks(struct am_lazy *z)
{
	const struct am_ctp *ctp = z->ctp;
	uint32_t next = ctp->object_count;
	for (uint32_t loc = 0; loc < ctp->loc_count && next < z->lock_count; loc++) {
		struct flag f = { .z = z, .writes = &z->stores[loc], .loc = loc };
		if (!ctp->locs[loc].exact || f.writes->count < 2)
			continue;
		f.lock = common_lock(z, f.writes);
		f.initial = initial_value(ctp, &ctp->events[f.writes->list[0]]);
		if (f.lock == AM_CTP_NONE && z->options.model != AM_MODEL_SC)
			continue;
		uint64_t tried[4] = { 0 }; /* 0 is what most are at first, and no write may say so */
		uint32_t tries = 1;
		bool is_found = derive(&f, 0, next);
		for (uint32_t i = 0; i < f.writes->count && tries < 4 && !is_found; i++) {
			uint64_t k;
			bool seen = false;
			if (!am_ctp_is_const(ctp, ctp->events[f.writes->list[i]].value, &k))
				continue;
			for (uint32_t j = 0; j < tries; j++)
				seen |= tried[j] == k;
			if (seen)
				continue;
			tried[tries++] = k;
			is_found = derive(&f, k, next);
		}
		next += is_found;
	}
}
