/*
 * The direct encoding: program order, variable definitions, pi-functions, synchronisation; asking and
 * dumping. Tool side; never prints.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/direct.h"
#include "analyzer/predict/slice.h"

#include <assert.h>

/* A held lock: bit 31 and the thread; below it, the number of shared holders. */
enum { SYNC_WIDTH = 32 };
#define WRITER UINT32_C(0x80000000)

void am_direct_assert(struct am_direct *d, int32_t lit)
{
	am_smt_assert(d->smt, lit);
	d->clauses++;
}

void am_direct_clause(struct am_direct *d, const int32_t *lits, uint32_t count)
{
	am_direct_assert(d, am_smt_or(d->smt, lits, count));
}

int32_t am_direct_and(struct am_direct *d, const int32_t *lits, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (lits[i] == AM_SMT_FALSE)
			return AM_SMT_FALSE;
	return am_smt_and(d->smt, lits, count);
}

int32_t am_direct_or(struct am_direct *d, const int32_t *lits, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (lits[i] == AM_SMT_TRUE)
			return AM_SMT_TRUE;
	return am_smt_or(d->smt, lits, count);
}

#define AND(d, ...)                                                                                \
	am_direct_and(d, (const int32_t[]){ __VA_ARGS__ },                                         \
		      sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t))
#define CLAUSE(d, ...)                                                                             \
	am_direct_clause(d, (const int32_t[]){ __VA_ARGS__ },                                      \
			 sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t))

/* HB(a, b), with must-happen-before folded into constants. Equal numbers count in the order of the
 * events, as the witness has it: so HB is total, and HB(b, a) is its negation. */
int32_t am_direct_before(struct am_direct *d, uint32_t a, uint32_t b)
{
	if (a == b || am_must_before(&d->engine->must, b, a))
		return AM_SMT_FALSE;
	if (am_must_before(&d->engine->must, a, b))
		return AM_SMT_TRUE;
	return a < b ? -am_smt_less(d->smt, d->order[b], d->order[a])
		     : am_smt_less(d->smt, d->order[a], d->order[b]);
}

int32_t am_direct_node(struct am_direct *d, uint32_t node)
{
	if (!node)
		return AM_SMT_TRUE;
	d->node = am_grow(d->node, &d->node_room, d->ctp->node_count, sizeof *d->node);
	if (d->node[node])
		return d->node[node];
	const struct am_expr n = d->ctp->nodes[node];
	const unsigned arity = am_op_arity((enum am_op)n.op);
	int32_t t;
	if (n.op == AM_OP_CONST) {
		t = am_smt_bv_const(d->smt, n.width, n.value);
	} else if (n.op == AM_OP_READ) {
		t = am_direct_old(d, (uint32_t)n.value);
		if (d->ctp->events[n.value].guard) /* skipped: 0 */
			t = am_smt_op(d->smt, AM_OP_ITE, n.width,
				      am_direct_node(d, d->ctp->events[n.value].guard), t,
				      am_smt_bv_const(d->smt, n.width, 0));
	} else {
		const int32_t a = am_direct_node(d, n.a);
		const int32_t b = n.op == AM_OP_EXTRACT ? (int32_t)n.b
				  : arity > 1		? am_direct_node(d, n.b)
							: 0;
		const int32_t c = arity > 2 ? am_direct_node(d, n.c) : 0;
		t = am_smt_op(d->smt, (enum am_op)n.op, n.width, a, b, c);
	}
	d->node[node] = t;
	return t;
}

/* ---- pi-functions ---------------------------------------------------------------------------- */

static bool is_lock_event(const struct am_ctp_event *e)
{
	return e->kind == AM_ACQUIRE || e->kind == AM_RELEASE || e->kind == AM_WAIT ||
	       e->kind == AM_WAKE;
}

/* The synchronisation variable that e reads and writes, AM_CTP_NONE. */
static uint32_t sync_variable(const struct am_ctp_event *e)
{
	switch (e->kind) {
	case AM_ACQUIRE:
	case AM_RELEASE:
	case AM_POST:
	case AM_TAKE:
	case AM_ARRIVE:
	case AM_LEAVE:
		return e->object;
	case AM_WAIT:
	case AM_WAKE:
		return e->aux;
	default:
		return AM_CTP_NONE;
	}
}

static int32_t sync_const(struct am_direct *d, uint64_t v)
{
	return am_smt_bv_const(d->smt, SYNC_WIDTH, v);
}

static bool is_shared(const struct am_ctp_event *e)
{
	return (e->kind == AM_ACQUIRE || e->kind == AM_RELEASE) && e->mode == AM_SHARED;
}

/* What e leaves in its synchronisation variable. */
static int32_t sync_value(struct am_direct *d, uint32_t e)
{
	const struct am_ctp_event *v = &d->ctp->events[e];
	const int32_t old = d->old[e], one = sync_const(d, 1);
	switch (v->kind) {
	case AM_ACQUIRE:
	case AM_WAKE:
		return is_shared(v) ? am_smt_op(d->smt, AM_OP_ADD, SYNC_WIDTH, old, one, 0)
				    : sync_const(d, WRITER + v->thread);
	case AM_RELEASE:
	case AM_WAIT:
		return is_shared(v) ? am_smt_op(d->smt, AM_OP_SUB, SYNC_WIDTH, old, one, 0)
				    : sync_const(d, 0);
	case AM_POST:
	case AM_ARRIVE:
		return am_smt_op(d->smt, AM_OP_ADD, SYNC_WIDTH, old, one, 0);
	case AM_TAKE:
		return am_smt_op(d->smt, AM_OP_SUB, SYNC_WIDTH, old, one, 0);
	default:
		return old;
	}
}

static bool defines(const struct am_ctp_event *v, const struct am_ctp_event *e)
{
	if (am_ctp_is_access(e))
		return am_ctp_is_store(v) && v->loc == e->loc;
	const uint32_t o = sync_variable(e);
	return sync_variable(v) == o && v->kind != AM_LEAVE;
}

/* Does the definition in w reach this piece of e? A literal. */
static int32_t covers(struct am_direct *d, uint32_t w, uint32_t e, uint32_t piece, bool by_byte)
{
	struct am_ctp *ctp = d->ctp;
	if (!am_ctp_is_access(&ctp->events[e]))
		return AM_SMT_TRUE;
	if (!by_byte)
		return am_direct_node(d, am_ctp_overlap(ctp, w, e));
	const uint32_t zero = am_ctp_const(ctp, 64, 0);
	const uint32_t p = ctp->events[e].offset ? ctp->events[e].offset : zero;
	const uint32_t q = ctp->events[w].offset ? ctp->events[w].offset : zero;
	const uint32_t at = am_ctp_op(ctp, AM_OP_SUB, 64,
				      am_ctp_op(ctp, AM_OP_ADD, 64, p,
						am_ctp_const(ctp, 64, piece), 0),
				      q, 0);
	return am_direct_node(d, am_ctp_op(ctp, AM_OP_ULT, 1, at,
					   am_ctp_const(ctp, 64, ctp->events[w].size), 0));
}

/* Byte `piece` of e as w wrote it, a node. */
static uint32_t byte_node(struct am_ctp *ctp, uint32_t w, uint32_t e, uint32_t piece)
{
	const uint32_t zero = am_ctp_const(ctp, 64, 0);
	const uint32_t p = ctp->events[e].offset ? ctp->events[e].offset : zero;
	const uint32_t q = ctp->events[w].offset ? ctp->events[w].offset : zero;
	uint32_t at = am_ctp_op(ctp, AM_OP_ADD, 64, p, am_ctp_const(ctp, 64, piece), 0);
	at = am_ctp_op(ctp, AM_OP_SUB, 64, at, q, 0);
	at = am_ctp_op(ctp, AM_OP_MUL, 64, at, am_ctp_const(ctp, 64, 8), 0);
	uint32_t v = ctp->events[w].value;
	if (ctp->nodes[v].width < 64)
		v = am_ctp_op(ctp, AM_OP_ZEXT, 64, v, 0, 0);
	return am_ctp_op(ctp, AM_OP_TRUNC, 8, am_ctp_op(ctp, AM_OP_LSHR, 64, v, at, 0), 0, 0);
}

static int32_t initial(struct am_direct *d, uint32_t e, uint32_t piece, uint32_t size)
{
	const struct am_ctp_event *v = &d->ctp->events[e];
	if (!am_ctp_is_access(v)) {
		const struct am_ctp_object *o = &d->ctp->objects[sync_variable(v)];
		return sync_const(d, o->class == AM_CTP_SEM ? o->count : 0);
	}
	const struct am_ctp_object *o = &d->ctp->objects[v->object];
	uint64_t at = 0;
	const bool fixed = !v->offset || am_ctp_is_const(d->ctp, v->offset, &at);
	int32_t t = am_smt_bv_const(d->smt, size * 8, 0);
	for (uint64_t start = at; start + piece + size <= o->size && o->init; start++) {
		uint64_t value = 0;
		for (uint32_t k = 0; k < size; k++)
			value |= (uint64_t)o->init[start + piece + k] << (8 * k);
		const int32_t c = am_smt_bv_const(d->smt, size * 8, value);
		if (fixed)
			return c;
		const int32_t here = am_smt_eq(d->smt, am_direct_node(d, v->offset),
					       am_smt_bv_const(d->smt, 64, start));
		t = am_smt_op(d->smt, AM_OP_ITE, size * 8, here, c, t);
	}
	return t;
}

static int32_t definition(struct am_direct *d, uint32_t w, uint32_t e, uint32_t piece, bool by_byte)
{
	if (!am_ctp_is_access(&d->ctp->events[e])) {
		am_direct_old(d, w);
		return sync_value(d, w);
	}
	return am_direct_node(d, by_byte ? byte_node(d->ctp, w, e, piece)
					 : d->ctp->events[w].value);
}

/* Takes a lock exclusively. */
static bool takes(const struct am_ctp_event *e)
{
	return e->kind == AM_WAKE || (e->kind == AM_ACQUIRE && e->mode != AM_SHARED);
}

/*
 * part = the latest definition before e (section 4.2): one disjunct per definition: its value, it is
 * executed before e, every other one is not executed, or does not reach, or is before it, or after e.
 */
static void pi_function(struct am_direct *d, uint32_t e, uint32_t piece, bool by_byte, int32_t part,
			uint32_t size)
{
	struct am_lits any = { 0 }, all = { 0 };
	const struct am_ctp *ctp = d->ctp;
	am_lits_add(&any, -d->run[e]);
	for (uint32_t i = 0; i <= ctp->event_count; i++) {
		const bool is_initial = i == ctp->event_count;
		if (!is_initial && (i == e || !defines(&ctp->events[i], &ctp->events[e]) ||
				    am_must_before(&d->engine->must, e, i)))
			continue;
		/* a lock is taken when free: only what frees it can be the definition (section 4.3) */
		if (!is_initial && takes(&ctp->events[e]) && takes(&ctp->events[i]))
			continue;
		all.count = 0;
		if (is_initial) {
			am_lits_add(&all, am_smt_eq(d->smt, part, initial(d, e, piece, size)));
		} else {
			am_lits_add(&all, d->run[i]);
			am_lits_add(&all, am_direct_before(d, i, e));
			am_lits_add(&all, covers(d, i, e, piece, by_byte));
			am_lits_add(&all,
				    am_smt_eq(d->smt, part, definition(d, i, e, piece, by_byte)));
		}
		for (uint32_t j = 0; j < ctp->event_count; j++) {
			if (j == i || j == e || !defines(&ctp->events[j], &ctp->events[e]) ||
			    am_must_before(&d->engine->must, e, j))
				continue;
			const int32_t out[] = { -d->run[j], -covers(d, j, e, piece, by_byte),
						is_initial ? AM_SMT_FALSE
							   : am_direct_before(d, j, i),
						am_direct_before(d, e, j) };
			am_lits_add(&all, am_direct_or(d, out, 4));
		}
		am_lits_add(&any, am_direct_and(d, all.list, all.count));
	}
	am_direct_clause(d, any.list, any.count);
	free(any.list);
	free(all.list);
}

int32_t am_direct_old(struct am_direct *d, uint32_t e)
{
	const struct am_ctp_event *v = &d->ctp->events[e];
	if (d->old[e])
		return d->old[e];
	if (!am_ctp_is_access(v)) {
		d->old[e] = am_smt_bv(d->smt, "pi", SYNC_WIDTH);
		pi_function(d, e, 0, false, d->old[e], SYNC_WIDTH / 8);
		return d->old[e];
	}
	const uint32_t size = v->size;
	const struct am_ctp_loc *loc = &d->ctp->locs[v->loc];
	d->old[e] = am_smt_bv(d->smt, "pi", size * 8);
	if (loc->exact || loc->same_size) {
		pi_function(d, e, 0, false, d->old[e], size);
		return d->old[e];
	}
	for (uint32_t k = 0; k < size; k++) {
		const int32_t byte = size == 1 ? d->old[e]
					       : am_smt_op(d->smt, AM_OP_EXTRACT, 8, d->old[e],
							   (int32_t)(8 * k), 0);
		pi_function(d, e, k, true, byte, 1);
	}
	return d->old[e];
}

/* ---- synchronisation ------------------------------------------------------------------------- */

/* The assume part of a synchronisation event, over its pi-function. */
static int32_t sync_assume(struct am_direct *d, uint32_t e)
{
	const struct am_ctp_event *v = &d->ctp->events[e];
	const int32_t old = am_direct_old(d, e), zero = sync_const(d, 0);
	const int32_t writer = sync_const(d, WRITER);
	switch (v->kind) {
	case AM_ACQUIRE:
	case AM_WAKE:
		return is_shared(v) ? am_smt_op(d->smt, AM_OP_ULT, 1, old, writer, 0)
				    : am_smt_eq(d->smt, old, zero);
	case AM_RELEASE:
	case AM_WAIT:
		if (!is_shared(v))
			return am_smt_eq(d->smt, old, sync_const(d, WRITER + v->thread));
		return AND(d, am_smt_op(d->smt, AM_OP_ULT, 1, old, writer, 0),
			   am_smt_op(d->smt, AM_OP_UGT, 1, old, zero, 0));
	case AM_TAKE:
		return am_smt_op(d->smt, AM_OP_SGT, 1, old, zero, 0);
	default:
		return AM_SMT_TRUE;
	}
}

/* leave: the generation of the thread's own arrival is full. */
static int32_t leave_assume(struct am_direct *d, uint32_t e)
{
	const struct am_ctp_event *v = &d->ctp->events[e];
	const int32_t n = sync_const(d, d->ctp->objects[v->object].count);
	if (v->match == AM_CTP_NONE)
		return AM_SMT_FALSE;
	const int32_t rank = am_direct_old(d, v->match), now = am_direct_old(d, e);
	int32_t need = am_smt_op(d->smt, AM_OP_UDIV, SYNC_WIDTH, rank, n, 0);
	need = am_smt_op(d->smt, AM_OP_ADD, SYNC_WIDTH, need, sync_const(d, 1), 0);
	need = am_smt_op(d->smt, AM_OP_MUL, SYNC_WIDTH, need, n, 0);
	return am_smt_op(d->smt, AM_OP_UGE, 1, now, need, 0);
}

/* wake: a signal of its own, or a broadcast, between the wait and the wake. */
static void notifications(struct am_direct *d, uint32_t cond)
{
	const struct am_ctp *ctp = d->ctp;
	struct am_list signals = { 0 };
	struct am_lits used = { 0 }; /* by wake, then by signal */
	uint32_t wakes = 0;
	for (uint32_t s = 0; s < ctp->event_count; s++)
		if ((ctp->events[s].kind == AM_SIGNAL || ctp->events[s].kind == AM_BROADCAST) &&
		    ctp->events[s].object == cond)
			AM_PUSH(signals.list, signals.count, signals.room) = s;
	for (uint32_t e = 0; e < ctp->event_count; e++) {
		const struct am_ctp_event *v = &ctp->events[e];
		if (v->kind != AM_WAKE || v->object != cond)
			continue;
		if (v->match == AM_CTP_NONE) {
			am_direct_assert(d, -d->run[e]);
			continue;
		}
		if (ctp->spurious || (v->flags & (AM_TIMED_OUT | AM_CANCELLED)))
			continue;
		struct am_lits any = { 0 };
		am_lits_add(&any, -d->run[e]);
		wakes++;
		for (uint32_t i = 0; i < signals.count; i++) {
			const uint32_t s = signals.list[i];
			const int32_t m = am_smt_bool(d->smt, "m");
			am_lits_add(&any, m);
			am_lits_add(&used, m);
			CLAUSE(d, -m, d->run[s]);
			CLAUSE(d, -m, am_direct_before(d, v->match, s));
			CLAUSE(d, -m, am_direct_before(d, s, e));
		}
		am_direct_clause(d, any.list, any.count);
		free(any.list);
	}
	for (uint32_t i = 0; i < signals.count; i++)
		for (uint32_t a = 0; a < wakes && ctp->events[signals.list[i]].kind == AM_SIGNAL; a++)
			for (uint32_t b = 0; b < a; b++)
				CLAUSE(d, -used.list[a * signals.count + i],
				       -used.list[b * signals.count + i]);
	free(signals.list);
	free(used.list);
}

/* ---- the formula ----------------------------------------------------------------------------- */

static void program_order(struct am_direct *d)
{
	const struct am_ctp *ctp = d->ctp;
	for (uint32_t a = 0; a < ctp->event_count; a++)
		for (uint32_t i = d->engine->must.first[a]; i < d->engine->must.first[a + 1]; i++) {
			const uint32_t b = d->engine->must.out[i];
			am_direct_assert(d, am_smt_less(d->smt, d->order[a], d->order[b]));
		}
	for (uint32_t i = 0; i < ctp->order_count; i++)
		CLAUSE(d, -d->x[ctp->orders[i].after], d->x[ctp->orders[i].before]);
	for (uint32_t t = 0; t < ctp->thread_count; t++) {
		const struct am_ctp_thread *th = &ctp->threads[t];
		for (uint32_t i = 0; i < th->length; i++) {
			const uint32_t e = th->events[i];
			if (d->engine->must.never[e])
				am_direct_assert(d, -d->x[e]);
			if (i == 0) {
				if (th->fork != AM_CTP_NONE)
					CLAUSE(d, -d->x[e], d->run[th->fork]);
				continue;
			}
			const uint32_t p = th->events[i - 1];
			CLAUSE(d, -d->x[e], d->x[p]);
			if (ctp->events[p].kind == AM_ASSERT)
				CLAUSE(d, -d->x[e], -d->run[p],
				       am_direct_node(d, ctp->events[p].cond));
		}
	}
}

static void event_formula(struct am_direct *d, uint32_t e)
{
	struct am_ctp *ctp = d->ctp;
	const struct am_ctp_event v = ctp->events[e];
	if (v.cond && v.kind != AM_ASSERT)
		CLAUSE(d, -d->run[e], am_direct_node(d, v.cond));
	if (is_lock_event(&v) || v.kind == AM_TAKE)
		CLAUSE(d, -d->run[e], sync_assume(d, e));
	if (v.kind == AM_LEAVE)
		CLAUSE(d, -d->run[e], leave_assume(d, e));
	if (v.kind == AM_JOIN && ctp->threads[v.object].length) {
		const struct am_ctp_thread *t = &ctp->threads[v.object];
		const uint32_t last = t->events[t->length - 1];
		CLAUSE(d, -d->run[e], d->x[last]);
		CLAUSE(d, -d->run[e], am_direct_before(d, last, e));
		if (ctp->events[last].kind == AM_ASSERT)
			CLAUSE(d, -d->run[e], -d->run[last],
			       am_direct_node(d, ctp->events[last].cond));
	}
	if (am_ctp_is_access(&v) && v.offset && !am_ctp_is_const(ctp, v.offset, NULL)) {
		const uint32_t size = ctp->objects[v.object].size;
		const uint32_t in = am_ctp_op(ctp, AM_OP_ULE, 1, v.offset,
					      am_ctp_const(ctp, 64, size - v.size), 0);
		CLAUSE(d, -d->run[e], am_direct_node(d, in));
	}
}

void am_direct_build(struct am_direct *d, struct am_engine *engine)
{
	const uint32_t n = engine->ctp->event_count;
	*d = (struct am_direct){ .engine = engine, .ctp = engine->ctp };
	d->smt = am_smt_new("ALL", engine->options.budget.ms);
	d->order = am_zalloc(n, sizeof *d->order);
	d->x = am_zalloc(n, sizeof *d->x);
	d->run = am_zalloc(n, sizeof *d->run);
	d->old = am_zalloc(n, sizeof *d->old);
	for (uint32_t e = 0; e < n; e++) {
		d->order[e] = am_smt_int(d->smt, "O");
		d->x[e] = am_smt_bool(d->smt, "X");
		d->run[e] = d->ctp->events[e].guard ? am_smt_bool(d->smt, "g") : d->x[e];
	}
	for (uint32_t e = 0; e < n; e++)
		if (d->ctp->events[e].guard)
			am_direct_assert(d, am_smt_iff(d->smt, d->run[e],
						       AND(d, d->x[e],
							   am_direct_node(d, d->ctp->events[e].guard))));
	program_order(d);
	for (uint32_t e = 0; e < n; e++)
		event_formula(d, e);
	for (uint32_t o = 0; o < d->ctp->object_count; o++)
		if (d->ctp->objects[o].class == AM_CTP_COND)
			notifications(d, o);
}

void am_direct_clear(struct am_direct *d)
{
	am_smt_free(d->smt);
	free(d->order);
	free(d->x);
	free(d->run);
	free(d->old);
	free(d->node);
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct placed {
	int64_t at;
	uint32_t event;
};

static int by_order(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

/* The model's linearisation, executed; false if the interpreter disagrees. */
static bool witness(struct am_direct *d, struct am_answer *answer)
{
	const uint32_t n = d->ctp->event_count;
	struct placed *p = am_zalloc(n, sizeof *p);
	struct am_exec x;
	uint32_t count = 0;
	bool fine = true;
	for (uint32_t e = 0; e < n; e++)
		if (am_smt_true(d->smt, d->x[e]))
			p[count++] = (struct placed){ am_smt_number(d->smt, d->order[e]), e };
	qsort(p, count, sizeof *p, by_order);
	am_exec_init(&x, d->ctp, AM_MODEL_SC);
	answer->run = am_zalloc(count, sizeof *answer->run);
	for (uint32_t i = 0; i < count && fine; i++) {
		const enum am_step s = am_exec_step(&x, p[i].event);
		fine = s == AM_STEP_OK || s == AM_STEP_SKIPPED;
		if (s == AM_STEP_OK)
			answer->run[answer->length++] = p[i].event;
	}
	am_exec_clear(&x);
	free(p);
	return fine;
}

static void count(struct am_engine *engine, struct am_direct *d)
{
	struct am_smt_stats s;
	am_smt_get_stats(d->smt, &s);
	engine->stats.literals += s.variables;
	engine->stats.clauses += d->clauses;
	engine->stats.conflicts += s.conflicts;
	engine->stats.decisions += s.decisions;
	engine->stats.propagations += s.propagations;
	engine->stats.checks += s.checks;
}

/* The part of the program that the query needs, as an engine of its own. */
struct sliced {
	struct am_slice slice;
	struct am_engine engine;
};

static struct am_query slice_off(struct sliced *part, struct am_engine *engine,
				 const struct am_query *query)
{
	am_slice_make(&part->slice, engine->ctp, query);
	part->engine = (struct am_engine){ .ctp = part->slice.ctp, .options = engine->options };
	am_must_init(&part->engine.must, part->engine.ctp, AM_MODEL_SC);
	return am_slice_query(&part->slice, query);
}

static void put_back(struct sliced *part)
{
	am_must_clear(&part->engine.must);
	am_slice_clear(&part->slice);
}

void am_direct_ask(struct am_engine *engine, const struct am_query *query,
		   struct am_answer *answer)
{
	answer->verdict = AM_UNDECIDED;
	if (engine->options.model != AM_MODEL_SC) {
		answer->reason = "the direct encoding knows sequential consistency only";
		return;
	}
	struct am_direct d;
	struct sliced part;
	const struct am_query q = slice_off(&part, engine, query);
	am_direct_build(&d, &part.engine);
	am_direct_assert(&d, am_direct_property(&d, &q));
	answer->rounds = 1;
	switch (am_smt_check(d.smt, NULL, 0, engine->options.budget.units)) {
	case AM_SMT_UNSAT:
		answer->verdict = AM_INFEASIBLE;
		break;
	case AM_SMT_UNKNOWN:
		answer->reason = am_smt_error(d.smt) ? "the solver failed" : "solver budget used up";
		break;
	case AM_SMT_SAT:
		if (witness(&d, answer)) {
			answer->verdict = AM_FEASIBLE;
			am_slice_restore(&part.slice, answer);
		} else
			answer->reason = "internal: the model is not a run of the program";
	}
	engine->stats.sliced_events = part.engine.ctp->event_count;
	count(engine, &d);
	am_direct_clear(&d);
	put_back(&part);
}

bool am_engine_dump_smt2(struct am_engine *engine, const struct am_query *query, FILE *out)
{
	struct am_direct d;
	struct sliced part;
	const struct am_query q = slice_off(&part, engine, query);
	am_direct_build(&d, &part.engine);
	am_direct_assert(&d, am_direct_property(&d, &q));
	const bool fine = am_smt_dump(d.smt, NULL, 0, out);
	am_direct_clear(&d);
	put_back(&part);
	return fine;
}
