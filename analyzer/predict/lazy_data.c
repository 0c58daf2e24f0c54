/*
 * Values in the lazy engine: offering an access its possible writers, explaining an executed value by
 * literals, and lemmas from that. Tool side.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/lazy.h"

#include <assert.h>

/* Data lemmas about one atom before its cone is given to the solver as bit-vectors. */
enum { LEMMAS_BEFORE_BITS = 12 };
/* Writes of a location up to which sources hidden by others are sorted out beforehand. */
enum { MOST_WRITES_COMPARED = 2000 };

static uint32_t offset_node(struct am_ctp *ctp, uint32_t e)
{
	return ctp->events[e].offset ? ctp->events[e].offset : am_ctp_const(ctp, 64, 0);
}

/* Node: does write w cover this piece of access e? */
uint32_t am_lazy_cover(struct am_lazy *z, uint32_t w, uint32_t e, uint32_t piece)
{
	struct am_ctp *ctp = z->ctp;
	const struct am_ctp_loc *loc = &ctp->locs[ctp->events[e].loc];
	if (ctp->events[w].loc != ctp->events[e].loc)
		return am_ctp_const(ctp, 1, 0);
	if (loc->exact || loc->same_size)
		return am_ctp_overlap(ctp, w, e);
	const uint32_t byte = am_ctp_op(ctp, AM_OP_ADD, 64, offset_node(ctp, e),
					am_ctp_const(ctp, 64, piece), 0);
	return am_ctp_op(ctp, AM_OP_ULT, 1,
			 am_ctp_op(ctp, AM_OP_SUB, 64, byte, offset_node(ctp, w), 0),
			 am_ctp_const(ctp, 64, ctp->events[w].size), 0);
}

/* A read may see its own thread's earlier writes before they reach memory. */
static bool forwards(const struct am_lazy *z, uint32_t w, uint32_t e)
{
	const struct am_ctp_event *s = &z->ctp->events[w], *r = &z->ctp->events[e];
	return (z->options.model == AM_MODEL_TSO || z->options.model == AM_MODEL_PSO) &&
	       r->kind == AM_READ && s->thread == r->thread && s->pos < r->pos;
}

/* Must some write hide w from this piece of e in every run? */
static bool is_hidden(struct am_lazy *z, uint32_t w, uint32_t e, uint32_t piece)
{
	const struct am_list *all = &z->stores[z->ctp->events[e].loc];
	for (uint32_t i = 0; i < all->count && all->count <= MOST_WRITES_COMPARED; i++) {
		const uint32_t v = all->list[i];
		uint64_t covers;
		if (v == w || v == e || z->ctp->events[v].guard ||
		    !am_must_before(&z->must, v, e) ||
		    (w != AM_CTP_NONE && !am_must_before(&z->must, w, v)))
			continue;
		if (am_ctp_is_const(z->ctp, am_lazy_cover(z, v, e, piece), &covers) && covers)
			return true;
	}
	return false;
}

static void watch(struct am_lazy *z, uint32_t e, uint32_t node, uint32_t other)
{
	struct am_list *c = &z->checks[e];
	for (uint32_t i = 0; i < c->count; i += 2)
		if (c->list[i] == node && c->list[i + 1] == other)
			return;
	AM_PUSH(c->list, c->count, c->room) = node;
	AM_PUSH(c->list, c->count, c->room) = other;
}

static void find_sources(struct am_lazy *z, uint32_t e, uint32_t piece, struct am_activation *a)
{
	const struct am_list *all = &z->stores[z->ctp->events[e].loc];
	if (!is_hidden(z, AM_CTP_NONE, e, piece))
		AM_PUSH(a->sources, a->count, a->room) =
			(struct am_source){ .writer = AM_CTP_NONE, .piece = piece };
	for (uint32_t i = 0; i < all->count; i++) {
		const uint32_t w = all->list[i];
		uint64_t covers = 1;
		const bool own_later = z->ctp->events[w].thread == z->ctp->events[e].thread &&
				       z->ctp->events[w].pos > z->ctp->events[e].pos;
		if (w == e || am_must_before(&z->must, e, w) || own_later)
			continue;
		const uint32_t cover = am_lazy_cover(z, w, e, piece);
		if (am_ctp_is_const(z->ctp, cover, &covers) && !covers)
			continue;
		if (am_ctp_is_const(z->ctp, cover, NULL) == false) {
			watch(z, w, cover, e);
			watch(z, e, cover, w);
		}
		if (!is_hidden(z, w, e, piece))
			AM_PUSH(a->sources, a->count, a->room) =
				(struct am_source){ .writer = w, .piece = piece };
	}
}

/* If piece of e sees s, then write v did not come in between. */
static void between_clause(struct am_lazy *z, uint32_t e, const struct am_source *s, uint32_t v)
{
	struct am_lits c = { 0 };
	const uint32_t w = s->writer;
	const bool own_later = z->ctp->events[v].thread == z->ctp->events[e].thread &&
			       z->ctp->events[v].pos > z->ctp->events[e].pos;
	if (v == w || v == e || own_later)
		return;
	const int32_t cover = am_lazy_node(z, am_lazy_cover(z, v, e, s->piece));
	const int32_t after = forwards(z, v, e) ? AM_SMT_FALSE : am_lazy_before(z, e, v);
	if (cover == AM_SMT_FALSE || after == AM_SMT_TRUE)
		return;
	am_lits_add(&c, -s->lit);
	am_lazy_not_executed(z, &c, v);
	am_lits_add(&c, -cover);
	am_lits_add(&c, after);
	if (w != AM_CTP_NONE)
		am_lits_add(&c, am_lazy_before(z, v, w));
	am_lazy_clause(z, c.list, c.count);
	free(c.list);
}

/* Source s is the one that piece of e sees: it happened before e, nothing that covers the piece came
 * in between. The latter is said at once for few writes, else when execution finds one in between. */
static void source_clauses(struct am_lazy *z, uint32_t e, const struct am_source *s)
{
	const struct am_list *all = &z->stores[z->ctp->events[e].loc];
	const uint32_t w = s->writer;
	if (w != AM_CTP_NONE) {
		const int32_t order = forwards(z, w, e) ? AM_SMT_TRUE : am_lazy_before(z, w, e);
		const int32_t cover = am_lazy_node(z, am_lazy_cover(z, w, e, s->piece));
		am_lazy_clause(z, (int32_t[]){ -s->lit, z->x[w] }, 2);
		am_lazy_clause(z, (int32_t[]){ -s->lit, am_lazy_node(z, z->ctp->events[w].guard) },
			       2);
		am_lazy_clause(z, (int32_t[]){ -s->lit, order }, 2);
		am_lazy_clause(z, (int32_t[]){ -s->lit, cover }, 2);
	}
	for (uint32_t i = 0; i < all->count && all->count <= z->options.eager_writes; i++)
		between_clause(z, e, s, all->list[i]);
}

void am_lazy_activate(struct am_lazy *z, uint32_t e)
{
	if (z->is_active[e])
		return;
	const struct am_ctp_event *v = &z->ctp->events[e];
	const struct am_ctp_loc *loc = &z->ctp->locs[v->loc];
	struct am_activation a = { .pieces = loc->exact || loc->same_size ? 1 : v->size };
	z->is_active[e] = true;
	z->stats->activated_reads++;
	for (uint32_t piece = 0; piece < a.pieces; piece++) {
		const uint32_t first = a.count;
		struct am_lits c = { 0 };
		find_sources(z, e, piece, &a);
		am_lazy_not_executed(z, &c, e);
		for (uint32_t i = first; i < a.count; i++) {
			a.sources[i].lit = am_lazy_fresh(z, "f");
			am_lits_add(&c, a.sources[i].lit);
		}
		am_lazy_clause(z, c.list, c.count);
		free(c.list);
		for (uint32_t i = first; i < a.count; i++)
			source_clauses(z, e, &a.sources[i]);
	}
	z->active[e] = a;
}

/* ---- explanations ---------------------------------------------------------------------------- */

void am_lazy_explain_begin(struct am_lazy *z)
{
	z->mark_stamp++;
}

/* First visit of the node in this explanation? Shared nodes are explained once. */
static bool is_first_visit(struct am_lazy *z, uint32_t node)
{
	z->node_mark = am_grow(z->node_mark, &z->node_mark_room, z->ctp->node_count,
			       sizeof *z->node_mark);
	const bool first = z->node_mark[node] != z->mark_stamp;
	z->node_mark[node] = z->mark_stamp;
	return first;
}

static bool explain_source(struct am_lazy *z, uint32_t e, uint32_t piece, struct am_lits *out)
{
	const uint32_t w = z->exec.from[e][piece];
	bool fine = true;
	for (uint32_t i = 0; i < z->active[e].count; i++) {
		const struct am_source s = z->active[e].sources[i];
		if (s.piece != piece)
			continue;
		if (s.writer == w) {
			am_lits_add(out, s.lit);
			fine &= am_lazy_truth(z, s.lit);
		} else if (am_lazy_truth(z, s.lit) && w != AM_CTP_NONE) {
			between_clause(z, e, &s, w);
			fine = false;
		}
	}
	const struct am_ctp_loc *loc = &z->ctp->locs[z->ctp->events[e].loc];
	if (!loc->exact && (w == AM_CTP_NONE || !loc->same_size))
		fine &= am_lazy_explain(z, z->ctp->events[e].offset, out);
	if (w != AM_CTP_NONE) {
		if (!loc->exact && !loc->same_size)
			fine &= am_lazy_explain(z, z->ctp->events[w].offset, out);
		fine &= am_lazy_explain(z, z->ctp->events[w].value, out);
	}
	return fine;
}

bool am_lazy_explain_old(struct am_lazy *z, uint32_t e, struct am_lits *out)
{
	if (z->mark[e] == z->mark_stamp)
		return true;
	z->mark[e] = z->mark_stamp;
	bool fine = z->is_active[e];
	if (!fine)
		am_lazy_activate(z, e);
	for (uint32_t piece = 0; piece < z->active[e].pieces; piece++)
		fine &= explain_source(z, e, piece, out);
	return fine;
}

bool am_lazy_explain(struct am_lazy *z, uint32_t node, struct am_lits *out)
{
	if (!node)
		return true;
	const struct am_expr n = z->ctp->nodes[node];
	if (n.op == AM_OP_CONST || !is_first_visit(z, node))
		return true;
	if (n.op == AM_OP_READ) {
		const uint32_t r = (uint32_t)n.value;
		if (z->exec.state[r] != 2)
			return am_lazy_explain_old(z, r, out);
		/* skipped: its leaf is 0 */
		am_lits_add(out, -am_lazy_node(z, z->ctp->events[r].guard));
		return true;
	}
	const unsigned arity = am_op_arity((enum am_op)n.op);
	bool fine = am_lazy_explain(z, n.a, out);
	if (arity > 1 && n.op != AM_OP_EXTRACT)
		fine &= am_lazy_explain(z, n.b, out);
	if (arity > 2)
		fine &= am_lazy_explain(z, n.c, out);
	return fine;
}

/* ---- claims ---------------------------------------------------------------------------------- */

static void refute_atom(struct am_lazy *z, uint32_t node, bool value)
{
	struct am_lits why = { 0 };
	am_lazy_explain_begin(z);
	if (am_lazy_explain(z, node, &why)) {
		for (uint32_t i = 0; i < why.count; i++)
			why.list[i] = -why.list[i];
		const int32_t lit = am_lazy_node(z, node);
		am_lits_add(&why, value ? lit : -lit);
		am_lazy_clause(z, why.list, why.count);
		z->stats->data_lemmas++;
		z->atom_lemmas = am_grow(z->atom_lemmas, &z->atom_room, z->ctp->node_count,
					 sizeof *z->atom_lemmas);
		if (++z->atom_lemmas[node] == LEMMAS_BEFORE_BITS)
			am_lazy_tie(z, node);
	}
	free(why.list);
}

void am_lazy_refute_claim(struct am_lazy *z, uint32_t node)
{
	const struct am_expr n = z->ctp->nodes[node];
	const bool value = am_exec_eval(&z->exec, node) & 1;
	if (am_lazy_truth(z, am_lazy_node(z, node)) == value)
		return;
	if (n.op == AM_OP_NOT) {
		am_lazy_refute_claim(z, n.a);
	} else if (n.op == AM_OP_AND || n.op == AM_OP_OR) {
		am_lazy_refute_claim(z, n.a);
		am_lazy_refute_claim(z, n.b);
	} else {
		assert(n.op != AM_OP_CONST);
		refute_atom(z, node, value);
	}
}
