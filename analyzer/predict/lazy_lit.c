/*
 * Literals of the lazy engine: events, nodes, orders; the clauses that every query needs. Tool side.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/lazy.h"

#include <assert.h>

void am_lits_add(struct am_lits *lits, int32_t lit)
{
	AM_PUSH(lits->list, lits->count, lits->room) = lit;
}

int32_t am_lazy_fresh(struct am_lazy *z, const char *name)
{
	const int32_t v = am_lazy_hidden(z, name);
	AM_PUSH(z->vars, z->var_count, z->var_room) = v;
	return v;
}

int32_t am_lazy_hidden(struct am_lazy *z, const char *name)
{
	const int32_t v = am_smt_bool(z->smt, name);
	z->truth = am_grow(z->truth, &z->truth_room, (uint32_t)v + 1, sizeof *z->truth);
	z->stats->literals++;
	return v;
}

void am_lazy_clause(struct am_lazy *z, const int32_t *lits, uint32_t count)
{
	z->clause.count = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (lits[i] == AM_SMT_TRUE)
			return;
		if (lits[i] != AM_SMT_FALSE)
			am_lits_add(&z->clause, lits[i]);
	}
	am_smt_clause(z->smt, z->clause.list, z->clause.count);
	z->stats->clauses++;
}

bool am_lazy_truth(const struct am_lazy *z, int32_t lit)
{
	if (lit == AM_SMT_TRUE || lit == AM_SMT_FALSE)
		return lit == AM_SMT_TRUE;
	return lit > 0 ? z->truth[lit] : !z->truth[-lit];
}

#define CLAUSE(z, ...)                                                                             \
	am_lazy_clause(z, (const int32_t[]){ __VA_ARGS__ },                                        \
		       sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t))

static int32_t junction(struct am_lazy *z, bool is_and, int32_t a, int32_t b)
{
	const int32_t s = is_and ? 1 : -1; /* or: not (not a and not b) */
	a *= s;
	b *= s;
	if (a == AM_SMT_FALSE || b == AM_SMT_FALSE || a == -b)
		return s * AM_SMT_FALSE;
	if (a == AM_SMT_TRUE || a == b)
		return s * b;
	if (b == AM_SMT_TRUE)
		return s * a;
	const int32_t v = am_lazy_fresh(z, "n");
	CLAUSE(z, -v, a);
	CLAUSE(z, -v, b);
	CLAUSE(z, v, -a, -b);
	return s * v;
}

int32_t am_lazy_node(struct am_lazy *z, uint32_t node)
{
	if (!node)
		return AM_SMT_TRUE;
	z->node_lit = am_grow(z->node_lit, &z->node_room, z->ctp->node_count, sizeof *z->node_lit);
	if (z->node_lit[node])
		return z->node_lit[node];
	const struct am_expr n = z->ctp->nodes[node];
	int32_t lit;
	assert(n.width == 1);
	if (n.op == AM_OP_CONST)
		lit = n.value & 1 ? AM_SMT_TRUE : AM_SMT_FALSE;
	else if (n.op == AM_OP_NOT)
		lit = -am_lazy_node(z, n.a);
	else if (n.op == AM_OP_AND || n.op == AM_OP_OR)
		lit = junction(z, n.op == AM_OP_AND, am_lazy_node(z, n.a), am_lazy_node(z, n.b));
	else
		lit = am_lazy_fresh(z, "atom");
	z->node_lit[node] = lit;
	return lit;
}

int32_t am_lazy_happens(struct am_lazy *z, uint32_t e)
{
	return junction(z, true, z->x[e], am_lazy_node(z, z->ctp->events[e].guard));
}

void am_lazy_not_executed(struct am_lazy *z, struct am_lits *out, uint32_t e)
{
	am_lits_add(out, -z->x[e]);
	if (z->ctp->events[e].guard)
		am_lits_add(out, -am_lazy_node(z, z->ctp->events[e].guard));
}

/* ---- orders ---------------------------------------------------------------------------------- */

static uint32_t pair_slot(const struct am_lazy *z, uint32_t a, uint32_t b, bool is_section)
{
	uint64_t h = ((uint64_t)a << 32 | b) * UINT64_C(0x9e3779b97f4a7c15) + is_section;
	uint32_t i = (uint32_t)(h >> 33) & (z->pair_hash_size - 1);
	for (; z->pair_hash[i]; i = (i + 1) & (z->pair_hash_size - 1)) {
		const struct am_pair *p = &z->pairs[z->pair_hash[i] - 1];
		if (p->a == a && p->b == b && p->is_section == is_section)
			break;
	}
	return i;
}

static void grow_hash(struct am_lazy *z)
{
	free(z->pair_hash);
	z->pair_hash_size = z->pair_hash_size ? z->pair_hash_size * 2 : 1024;
	z->pair_hash = am_zalloc(z->pair_hash_size, sizeof *z->pair_hash);
	for (uint32_t i = 0; i < z->pair_count; i++) {
		const struct am_pair *p = &z->pairs[i];
		z->pair_hash[pair_slot(z, p->a, p->b, p->is_section)] = i + 1;
	}
}

bool am_lazy_pair_matters(const struct am_lazy *z, const struct am_pair *pair)
{
	return pair->is_lasting || pair->goal == z->goal;
}

static void ask_for(struct am_lazy *z, struct am_pair *p)
{
	z->news += !am_lazy_pair_matters(z, p);
	if (z->is_making)
		p->goal = z->goal;
	else
		p->is_lasting = true;
}

/* ---- orders of two threads are monotone ------------------------------------------------------- */

/* Pairs of two threads beyond which cycles are left to the rounds. */
enum { MOST_COMPARED = 3000 };

/* Of a pair: where its ends stand in their threads, that of the smaller thread first, and the literal
 * "the first before the second". Of sections, the ends are where they open. */
struct spot {
	uint32_t p, q;
	int32_t lit;
};

static struct spot spot_of(const struct am_lazy *z, const struct am_pair *pair)
{
	const struct am_ctp_event *events = z->ctp->events;
	const uint32_t a = pair->is_section ? z->sections[pair->a].open : pair->a;
	const uint32_t b = pair->is_section ? z->sections[pair->b].open : pair->b;
	if (events[a].thread < events[b].thread)
		return (struct spot){ events[a].pos, events[b].pos, pair->lit };
	return (struct spot){ events[b].pos, events[a].pos, -pair->lit };
}

/* The nearest pairs that `from` implies (p' <= p, q <= q'), or that imply it (reversed): of those, a
 * staircase, from which the others follow. */
static void imply_nearest(struct am_lazy *z, const struct am_list *l, struct spot from, bool reversed)
{
	struct am_list near = { 0 };
	const int32_t sign = reversed ? -1 : 1;
	for (uint32_t i = 0; i < l->count; i++) {
		const struct spot s = spot_of(z, &z->pairs[l->list[i]]);
		const uint32_t p = reversed ? s.q : s.p, q = reversed ? s.p : s.q;
		const uint32_t fp = reversed ? from.q : from.p, fq = reversed ? from.p : from.q;
		bool beaten = p > fp || q < fq || s.lit == from.lit;
		for (uint32_t k = 0; k < near.count && !beaten; k++) {
			const struct spot o = spot_of(z, &z->pairs[near.list[k]]);
			const uint32_t op = reversed ? o.q : o.p, oq = reversed ? o.p : o.q;
			beaten = op >= p && oq <= q;
			if (!beaten && p >= op && q <= oq)
				near.list[k--] = near.list[--near.count];
		}
		if (!beaten)
			AM_PUSH(near.list, near.count, near.room) = l->list[i];
	}
	for (uint32_t k = 0; k < near.count; k++) {
		const struct spot s = spot_of(z, &z->pairs[near.list[k]]);
		CLAUSE(z, -sign * from.lit, sign * s.lit);
	}
	free(near.list);
}

/*
 * In sc a run, with what it leaves out put behind it, is one order of all events that keeps program
 * order: so a before b means that all up to a in its thread come before all from b on in its. The
 * literal of two sections is the order of their opens there.
 */
static void keep_monotone(struct am_lazy *z, uint32_t index)
{
	const struct am_pair *pair = &z->pairs[index];
	const uint32_t a = pair->is_section ? z->sections[pair->a].open : pair->a;
	const uint32_t b = pair->is_section ? z->sections[pair->b].open : pair->b;
	const uint32_t s = z->ctp->events[a].thread, t = z->ctp->events[b].thread;
	if (z->options.model != AM_MODEL_SC)
		return;
	assert(s != t);
	struct am_list *l = &z->between[(s < t ? s : t) * z->ctp->thread_count + (s < t ? t : s)];
	if (l->count >= MOST_COMPARED)
		return;
	const struct spot spot = spot_of(z, pair);
	imply_nearest(z, l, spot, false);
	imply_nearest(z, l, spot, true);
	AM_PUSH(l->list, l->count, l->room) = index;
}

/* The literal "a before b", a < b by number; *is_new if it was made now. */
static int32_t pair(struct am_lazy *z, uint32_t a, uint32_t b, bool is_section, bool *is_new)
{
	if (z->pair_count * 2 >= z->pair_hash_size)
		grow_hash(z);
	const uint32_t i = pair_slot(z, a, b, is_section);
	*is_new = !z->pair_hash[i];
	if (!*is_new) {
		ask_for(z, &z->pairs[z->pair_hash[i] - 1]);
		return z->pairs[z->pair_hash[i] - 1].lit;
	}
	const int32_t lit = am_lazy_hidden(z, is_section ? "s" : "o");
	AM_PUSH(z->pairs, z->pair_count, z->pair_room) =
		(struct am_pair){ .a = a, .b = b, .lit = lit, .is_section = is_section };
	z->pair_hash[i] = z->pair_count;
	ask_for(z, &z->pairs[z->pair_count - 1]);
	keep_monotone(z, z->pair_count - 1);
	return lit;
}

/* Sections s and t exclude each other; true iff s comes first. Made together with its exclusion:
 * if both opened, the first one was closed before the second one opened. */
int32_t am_lazy_sections_before(struct am_lazy *z, uint32_t s, uint32_t t)
{
	assert(s != t);
	const uint32_t a = s < t ? s : t, b = s < t ? t : s;
	bool is_new;
	const int32_t lit = pair(z, a, b, true, &is_new);
	if (is_new) {
		const struct am_section *sa = &z->sections[a], *sb = &z->sections[b];
		struct am_lits c = { 0 };
		for (int first = 0; first < 2; first++) {
			const uint32_t close = first ? sa->close : sb->close;
			c.count = 0;
			am_lazy_not_executed(z, &c, sa->open);
			am_lazy_not_executed(z, &c, sb->open);
			am_lits_add(&c, first ? -lit : lit);
			am_lits_add(&c, close == AM_CTP_NONE ? AM_SMT_FALSE : z->x[close]);
			am_lazy_clause(z, c.list, c.count);
		}
		free(c.list);
	}
	return s == a ? lit : -lit;
}

int32_t am_lazy_before(struct am_lazy *z, uint32_t a, uint32_t b)
{
	assert(a != b);
	if (am_must_before(&z->must, a, b))
		return AM_SMT_TRUE;
	if (am_must_before(&z->must, b, a))
		return AM_SMT_FALSE;
	uint32_t s, t;
	if (am_lazy_common(z, a, b, &s, &t))
		return am_lazy_sections_before(z, s, t);
	bool is_new;
	return a < b ? pair(z, a, b, false, &is_new) : -pair(z, b, a, false, &is_new);
}

/* ---- the skeleton ---------------------------------------------------------------------------- */

/* A symbolic offset lies within its object: an access beyond it is no event of this program. */
static void bound_skeleton(struct am_lazy *z, uint32_t e)
{
	const struct am_ctp_event v = z->ctp->events[e];
	if (!am_ctp_is_access(&v) || !v.offset || am_ctp_is_const(z->ctp, v.offset, NULL))
		return;
	const uint32_t size = z->ctp->objects[v.object].size;
	z->bound[e] = size < v.size ? am_ctp_const(z->ctp, 1, 0)
				    : am_ctp_op(z->ctp, AM_OP_ULE, 1, v.offset,
						am_ctp_const(z->ctp, 64, size - v.size), 0);
	CLAUSE(z, -z->x[e], -am_lazy_node(z, v.guard), am_lazy_node(z, z->bound[e]));
}

static void thread_skeleton(struct am_lazy *z, const struct am_ctp_thread *t)
{
	for (uint32_t i = 0; i < t->length; i++) {
		const uint32_t e = t->events[i];
		const struct am_ctp_event *v = &z->ctp->events[e];
		if (z->must.never[e])
			CLAUSE(z, -z->x[e]);
		if (i) {
			const uint32_t p = t->events[i - 1];
			const struct am_ctp_event *u = &z->ctp->events[p];
			CLAUSE(z, -z->x[e], z->x[p]);
			if (u->kind == AM_ASSERT)
				CLAUSE(z, -z->x[e], -am_lazy_node(z, u->guard),
				       am_lazy_node(z, u->cond));
		} else if (t->fork != AM_CTP_NONE) {
			CLAUSE(z, -z->x[e], z->x[t->fork]);
			CLAUSE(z, -z->x[e], am_lazy_node(z, z->ctp->events[t->fork].guard));
		}
		am_lazy_node(z, v->guard);
		bound_skeleton(z, e);
		v = &z->ctp->events[e];
		if (v->cond && v->kind != AM_ASSERT)
			CLAUSE(z, -z->x[e], -am_lazy_node(z, v->guard), am_lazy_node(z, v->cond));
	}
}

/* A join that is executed: the thread is through, its last assertion held. */
static void join_skeleton(struct am_lazy *z, uint32_t e)
{
	const struct am_ctp_event *v = &z->ctp->events[e];
	const struct am_ctp_thread *t = &z->ctp->threads[v->object];
	if (!t->length)
		return;
	const uint32_t last = t->events[t->length - 1];
	const struct am_ctp_event *u = &z->ctp->events[last];
	const int32_t g = am_lazy_node(z, v->guard);
	CLAUSE(z, -z->x[e], -g, z->x[last]);
	if (u->kind == AM_ASSERT)
		CLAUSE(z, -z->x[e], -g, -am_lazy_node(z, u->guard), am_lazy_node(z, u->cond));
	for (uint32_t i = 0; v->guard && i < t->length; i++)
		CLAUSE(z, -z->x[e], -g, am_lazy_before(z, t->events[i], e));
}

void am_lazy_skeleton(struct am_lazy *z)
{
	const struct am_ctp *ctp = z->ctp;
	for (uint32_t e = 0; e < ctp->event_count; e++)
		z->x[e] = am_lazy_fresh(z, "x");
	for (uint32_t t = 0; t < ctp->thread_count; t++)
		thread_skeleton(z, &ctp->threads[t]);
	for (uint32_t e = 0; e < ctp->event_count; e++)
		if (ctp->events[e].kind == AM_JOIN)
			join_skeleton(z, e);
	for (uint32_t i = 0; i < ctp->order_count; i++)
		CLAUSE(z, -z->x[ctp->orders[i].after], z->x[ctp->orders[i].before]);
	for (uint32_t e = 0; e < ctp->event_count && z->options.model == AM_MODEL_SC; e++)
		for (uint32_t i = z->must.first[e]; i < z->must.first[e + 1]; i++)
			if (ctp->events[z->must.out[i]].thread != ctp->events[e].thread)
				CLAUSE(z, -z->x[z->must.out[i]], z->x[e]);
}
