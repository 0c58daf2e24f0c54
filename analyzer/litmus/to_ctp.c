/*
 * Symbolic execution of each thread along all its paths at once. `live` is the path condition; an
 * assignment under it keeps the old value where it does not hold, so that no phi nodes are needed
 * where branches meet. Twin of code.c and vm.c, with which it shares the syntax tree only.
 */
/* SPDX-License-Identifier: MIT */
#include "to_ctp_priv.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_MAX = 20000, NODES_MAX = 2000000 };

static _Noreturn void give_up(struct am_build *b, struct am_lit_pos pos, const char *why)
{
	b->out->unsupported = why;
	b->out->unsupported_pos = pos;
	longjmp(b->fail, 1);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

uint32_t am_build_const(struct am_build *b, unsigned width, uint64_t value)
{
	return am_ctp_const(b->ctp, width, value & am_lit_mask(width));
}

static bool is_const(const struct am_build *b, uint32_t node, uint64_t value)
{
	uint64_t v;

	return node && am_ctp_is_const(b->ctp, node, &v) && v == value;
}

static bool is_false(const struct am_build *b, uint32_t guard)
{
	return guard && is_const(b, guard, 0);
}

static uint32_t negated(struct am_build *b, uint32_t guard)
{
	return guard ? am_ctp_not(b->ctp, guard) : am_build_const(b, 1, 0);
}

static uint32_t both(struct am_build *b, uint32_t x, uint32_t y)
{
	const uint32_t n = am_ctp_and(b->ctp, x, y);

	return is_const(b, n, 1) ? 0 : n;
}

static uint32_t either(struct am_build *b, uint32_t x, uint32_t y)
{
	if (!x || !y)
		return 0;
	const uint32_t n = am_ctp_op(b->ctp, AM_OP_OR, 1, x, y, 0);
	return is_const(b, n, 1) ? 0 : n;
}

static uint32_t select_node(struct am_build *b, uint32_t guard, uint32_t yes, uint32_t no)
{
	if (!guard || yes == no)
		return yes;
	if (is_false(b, guard))
		return no;
	return am_ctp_op(b->ctp, AM_OP_ITE, b->ctp->nodes[yes].width, guard, yes, no);
}

/* To a width; values of narrow types lie zero-extended in memory. */
uint32_t am_build_resize(struct am_build *b, uint32_t node, unsigned width)
{
	const unsigned have = b->ctp->nodes[node].width;

	if (have == width)
		return node;
	return am_ctp_op(b->ctp, have < width ? AM_OP_ZEXT : AM_OP_TRUNC, width, node, 0, 0);
}

/* ---- events ---------------------------------------------------------------------------------- */

struct am_lit_event *am_build_note(struct am_build *b, uint32_t event, enum am_lit_origin origin,
				     struct am_lit_pos pos)
{
	if (event >= EVENTS_MAX || b->ctp->node_count > NODES_MAX)
		give_up(b, pos, "the unrolled program is too large");
	if (event >= b->events_room) {
		b->events_room = b->events_room ? 2 * b->events_room : 256;
		void *grown = realloc(b->out->events, b->events_room * sizeof(*b->out->events));
		if (!grown)
			abort();
		b->out->events = grown;
	}
	struct am_lit_event *e = &b->out->events[event];
	*e = (struct am_lit_event){ .origin = (uint8_t)origin, .pos = pos, .cell = b->lit->n_cells };
	if (b->live)
		am_ctp_at(b->ctp, event)->guard = b->live;
	am_ctp_at(b->ctp, event)->origin = pos.line;
	return e;
}

static uint32_t sync_event(struct am_build *b, enum am_kind kind, uint32_t object,
			   struct am_lit_pos pos)
{
	const uint32_t e = am_ctp_event(b->ctp, b->thread, kind, object);

	am_build_note(b, e, AM_LIT_O_PROGRAM, pos);
	return e;
}

static uint8_t c11_order(enum am_lit_order order)
{
	static const uint8_t orders[] = { [AM_LIT_PLAIN] = 0, [AM_LIT_RELAXED] = 1,
					  [AM_LIT_ACQUIRE] = 3, [AM_LIT_RELEASE] = 4,
					  [AM_LIT_FULL] = 6 };

	return orders[order];
}

static uint32_t sync_object(struct am_build *b, uint32_t address, struct am_lit_pos pos)
{
	uint64_t at;

	if (!am_ctp_is_const(b->ctp, address, &at))
		give_up(b, pos, "a synchronisation object behind a computed pointer");
	const uint32_t cell = am_lit_cell_at(b->lit, at);
	if (cell == b->lit->n_cells || b->object[cell] == AM_CTP_NONE)
		give_up(b, pos, "this address is not one of a synchronisation object");
	return b->object[cell];
}

static void finish_access(struct am_build *b, uint32_t event, const struct am_where *w,
			  const struct am_lit_expr *e)
{
	struct am_lit_event *note = am_build_note(b, event, AM_LIT_O_PROGRAM, e->pos);

	note->cell = w->cell;
	note->type = e->type;
	am_ctp_at(b->ctp, event)->order = c11_order(e->order);
}

static uint32_t rmw_value(struct am_build *b, const struct am_lit_expr *e, uint32_t old, uint32_t x,
			  uint32_t y)
{
	const unsigned width = am_lit_width(e->type);
	struct am_ctp *ctp = b->ctp;

	switch ((enum am_lit_rmw)e->rmw) {
	case AM_LIT_XCHG: return x;
	case AM_LIT_ADD: return am_ctp_op(ctp, AM_OP_ADD, width, old, x, 0);
	case AM_LIT_SUB: return am_ctp_op(ctp, AM_OP_SUB, width, old, x, 0);
	case AM_LIT_AND: return am_ctp_op(ctp, AM_OP_AND, width, old, x, 0);
	case AM_LIT_OR: return am_ctp_op(ctp, AM_OP_OR, width, old, x, 0);
	case AM_LIT_XOR: return am_ctp_op(ctp, AM_OP_XOR, width, old, x, 0);
	case AM_LIT_CMPXCHG:
		return am_ctp_op(ctp, AM_OP_ITE, width, am_ctp_op(ctp, AM_OP_EQ, 1, old, x, 0), y, old);
	case AM_LIT_ADD_UNLESS:
		return am_ctp_op(ctp, AM_OP_ITE, width, am_ctp_op(ctp, AM_OP_EQ, 1, old, y, 0), old,
				 am_ctp_op(ctp, AM_OP_ADD, width, old, x, 0));
	}
	return old;
}

/* ---- expressions ----------------------------------------------------------------------------- */

static uint32_t expr(struct am_build *b, const struct am_lit_expr *e);

/* Evaluates `e` only where `test` holds as well. */
static uint32_t expr_under(struct am_build *b, uint32_t test, const struct am_lit_expr *e)
{
	const uint32_t live = b->live;

	b->live = both(b, live, test);
	const uint32_t value = expr(b, e);
	b->live = live;
	return value;
}

static uint32_t access_expr(struct am_build *b, const struct am_lit_expr *e)
{
	const uint32_t address = expr(b, e->a);
	const uint32_t x = e->b ? expr(b, e->b) : 0, y = e->c ? expr(b, e->c) : 0;
	const uint32_t live = b->live;
	const unsigned width = am_lit_width(e->type);
	const struct am_where w = am_build_locate(b, address, e->type, e->pos);
	uint32_t event, value = x;

	if (!w.size) { /* nothing happens after a wrong address; the thread has stopped */
		b->live = live;
		return am_build_const(b, width, 0);
	}
	if (e->kind == AM_LIT_X_STORE) {
		event = am_ctp_write(b->ctp, b->thread, w.object, w.offset, w.size,
				     am_build_resize(b, x, w.size * 8));
	} else if (e->kind == AM_LIT_X_LOAD) {
		event = am_ctp_read(b->ctp, b->thread, w.object, w.offset, w.size);
		value = am_build_resize(b, am_ctp_at(b->ctp, event)->read, width);
	} else {
		event = am_ctp_update(b->ctp, b->thread, w.object, w.offset, w.size);
		value = am_build_resize(b, am_ctp_at(b->ctp, event)->read, width);
		const uint32_t put = am_build_resize(b, rmw_value(b, e, value, x, y), w.size * 8);
		am_ctp_at(b->ctp, event)->value = put;
	}
	finish_access(b, event, &w, e);
	return value;
}

static uint32_t sync_expr(struct am_build *b, const struct am_lit_expr *e)
{
	static const enum am_kind kinds[] = { [AM_LIT_X_LOCK] = AM_ACQUIRE,
					      [AM_LIT_X_UNLOCK] = AM_RELEASE,
					      [AM_LIT_X_POST] = AM_POST,
					      [AM_LIT_X_TAKE] = AM_TAKE,
					      [AM_LIT_X_SIGNAL] = AM_SIGNAL,
					      [AM_LIT_X_BROADCAST] = AM_BROADCAST };
	const uint32_t object = sync_object(b, expr(b, e->a), e->pos);

	if (b->out->lock_data && (e->kind == AM_LIT_X_LOCK || e->kind == AM_LIT_X_UNLOCK ||
				  e->kind == AM_LIT_X_TRYLOCK || e->kind == AM_LIT_X_ISLOCKED))
		return am_build_lock_as_data(b, e, object);
	if (e->kind == AM_LIT_X_WAIT) {
		if (b->out->lock_data)
			give_up(b, e->pos, "cond_wait beside trylock or is_locked");
		const uint32_t mutex = sync_object(b, expr(b, e->b), e->pos);
		am_build_note(b, am_ctp_wait(b->ctp, b->thread, object, mutex), AM_LIT_O_PROGRAM, e->pos);
		am_build_note(b, am_ctp_wake(b->ctp, b->thread, object, mutex), AM_LIT_O_PROGRAM, e->pos);
	} else if (e->kind == AM_LIT_X_BARRIER) {
		sync_event(b, AM_ARRIVE, object, e->pos);
		sync_event(b, AM_LEAVE, object, e->pos);
	} else {
		sync_event(b, kinds[e->kind], object, e->pos);
	}
	return am_build_const(b, 32, 0);
}

static uint32_t expr(struct am_build *b, const struct am_lit_expr *e)
{
	uint32_t x, y, event;

	switch ((enum am_lit_expr_kind)e->kind) {
	case AM_LIT_X_CONST: return am_build_const(b, am_lit_width(e->type), e->value);
	case AM_LIT_X_LOCAL: return b->locals[e->local];
	case AM_LIT_X_OP: {
		const unsigned width = am_lit_width(e->type);
		const bool is_comparison = e->op >= AM_OP_EQ && e->op <= AM_OP_SGE;
		x = expr(b, e->a);
		y = e->b ? expr(b, e->b) : 0;
		const uint32_t n = am_ctp_op(b->ctp, e->op, is_comparison ? 1 : width, x, y, 0);
		return is_comparison ? am_build_resize(b, n, width) : n;
	}
	case AM_LIT_X_LOGAND:
		x = expr(b, e->a);
		y = expr_under(b, x, e->b);
		return am_build_resize(b, select_node(b, x, y, am_build_const(b, 1, 0)), 32);
	case AM_LIT_X_LOGOR:
		x = expr(b, e->a);
		y = expr_under(b, negated(b, x), e->b);
		return am_build_resize(b, select_node(b, x, am_build_const(b, 1, 1), y), 32);
	case AM_LIT_X_SELECT: {
		const uint32_t test = expr(b, e->a);
		x = expr_under(b, test, e->b);
		y = expr_under(b, negated(b, test), e->c);
		return select_node(b, test, x, y);
	}
	case AM_LIT_X_COMMA: expr(b, e->a); return expr(b, e->b);
	case AM_LIT_X_SET:
		x = expr(b, e->a);
		b->locals[e->local] = select_node(b, b->live, x, b->locals[e->local]);
		return x;
	case AM_LIT_X_LOAD:
	case AM_LIT_X_STORE:
	case AM_LIT_X_RMW: return access_expr(b, e);
	case AM_LIT_X_FENCE:
		event = sync_event(b, AM_FENCE, AM_CTP_NONE, e->pos);
		am_ctp_at(b->ctp, event)->order = e->order == AM_LIT_MB	 ? 6 :
						  e->order == AM_LIT_RMB ? 3 :
									   4;
		break;
	case AM_LIT_X_FORK: sync_event(b, AM_FORK, e->local, e->pos); break;
	case AM_LIT_X_JOIN: sync_event(b, AM_JOIN, e->local, e->pos); break;
	case AM_LIT_X_ASSERT:
		x = expr(b, e->a);
		am_build_note(b, am_ctp_assert(b->ctp, b->thread, x), AM_LIT_O_ASSERT, e->pos);
		break;
	case AM_LIT_X_ASSUME:
		x = expr(b, e->a);
		am_build_note(b, am_ctp_assume(b->ctp, b->thread, x), AM_LIT_O_PROGRAM, e->pos);
		break;
	case AM_LIT_X_NOTHING:
	case AM_LIT_X_RCU_LOCK:
	case AM_LIT_X_RCU_UNLOCK: break;
	case AM_LIT_X_GRACE: give_up(b, e->pos, "RCU grace periods are not modelled");
	case AM_LIT_X_TRYLOCK:
	case AM_LIT_X_ISLOCKED:
	case AM_LIT_X_LOCK:
	case AM_LIT_X_UNLOCK:
	case AM_LIT_X_POST:
	case AM_LIT_X_TAKE:
	case AM_LIT_X_WAIT:
	case AM_LIT_X_SIGNAL:
	case AM_LIT_X_BROADCAST:
	case AM_LIT_X_BARRIER: return sync_expr(b, e);
	}
	return am_build_const(b, 32, 0);
}

/* ---- statements ------------------------------------------------------------------------------ */

static void statements(struct am_build *b, const struct am_lit_stmt *s);

/* A condition that is no constant: where it is evaluated, for the order matrix. */
static uint32_t test_expr(struct am_build *b, const struct am_lit_expr *e)
{
	const uint32_t node = expr(b, e);

	if (b->options->control && !am_ctp_is_const(b->ctp, node, NULL)) {
		const uint32_t event = am_ctp_event(b->ctp, b->thread, AM_PIN, AM_CTP_NONE);
		am_build_note(b, event, AM_LIT_O_CONTROL, e->pos)->cond = node;
	}
	return node;
}

static void loop(struct am_build *b, const struct am_lit_stmt *s)
{
	struct am_frame frame = { .outer = b->loop, .broke = am_build_const(b, 1, 0) };
	const uint32_t no = am_build_const(b, 1, 0);

	b->loop = &frame;
	for (uint32_t round = 0;; round++) {
		if (!s->test_last && s->expr && !is_false(b, b->live)) {
			const uint32_t test = test_expr(b, s->expr);
			frame.broke = either(b, frame.broke, both(b, b->live, negated(b, test)));
			b->live = both(b, b->live, test);
		}
		if (is_false(b, b->live))
			break;
		if (round == b->options->unroll) {
			const uint32_t e = am_ctp_assert(b->ctp, b->thread, no);
			am_build_note(b, e, AM_LIT_O_BOUND, s->pos);
			b->out->has_bound = true;
			b->live = no;
			break;
		}
		frame.skipped = no;
		statements(b, s->body);
		b->live = either(b, b->live, frame.skipped);
		if (s->step && !is_false(b, b->live))
			expr(b, s->step);
		if (s->test_last && !is_false(b, b->live)) {
			const uint32_t test = test_expr(b, s->expr);
			frame.broke = either(b, frame.broke, both(b, b->live, negated(b, test)));
			b->live = both(b, b->live, test);
		}
	}
	b->live = frame.broke;
	b->loop = frame.outer;
}

static void atomic(struct am_build *b, const struct am_lit_stmt *s)
{
	char name[80];
	uint32_t region = 0;
	const bool is_outer = b->depth++ == 0;

	if (is_outer) {
		if (s->name)
			snprintf(name, sizeof(name), "%s", s->name);
		else
			snprintf(name, sizeof(name), "P%u:%u", b->lit->threads[b->thread].number,
				 s->pos.line);
		region = am_ctp_region(b->ctp, name);
		uint32_t *grown = realloc(b->out->blocks, (region + 1) * sizeof(*grown));
		if (!grown)
			abort();
		b->out->blocks = grown;
		grown[region] = s->id;
		sync_event(b, AM_BEGIN, region, s->pos);
	}
	const uint32_t live = b->live;
	statements(b, s->body);
	if (is_outer) {
		/* The way in is the way out: the block cannot be left by a jump. */
		b->live = live;
		sync_event(b, AM_END, region, s->pos);
	}
	b->live = live;
	b->depth--;
}

static void statements(struct am_build *b, const struct am_lit_stmt *s)
{
	const uint32_t no = am_build_const(b, 1, 0);

	for (; s && !is_false(b, b->live); s = s->next) {
		switch ((enum am_lit_stmt_kind)s->kind) {
		case AM_LIT_S_EXPR: expr(b, s->expr); break;
		case AM_LIT_S_BLOCK: statements(b, s->body); break;
		case AM_LIT_S_ATOMIC: atomic(b, s); break;
		case AM_LIT_S_LOOP: loop(b, s); break;
		case AM_LIT_S_IF: {
			const uint32_t test = test_expr(b, s->expr), live = b->live;
			b->live = both(b, live, test);
			statements(b, s->body);
			const uint32_t after = b->live;
			b->live = both(b, live, negated(b, test));
			statements(b, s->other);
			b->live = after == both(b, live, test) &&
						  b->live == both(b, live, negated(b, test)) ?
					  live :
					  either(b, after, b->live);
			break;
		}
		case AM_LIT_S_BREAK:
			b->loop->broke = either(b, b->loop->broke, b->live);
			b->live = no;
			break;
		case AM_LIT_S_CONTINUE:
			b->loop->skipped = either(b, b->loop->skipped, b->live);
			b->live = no;
			break;
		case AM_LIT_S_RETURN: b->live = no; break;
		}
	}
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool uses(const struct am_lit_expr *e, enum am_lit_expr_kind kind)
{
	return e && (e->kind == kind || uses(e->a, kind) || uses(e->b, kind) || uses(e->c, kind));
}

static bool stmt_uses(const struct am_lit_stmt *s, enum am_lit_expr_kind kind)
{
	for (; s; s = s->next)
		if (uses(s->expr, kind) || uses(s->step, kind) || stmt_uses(s->body, kind) ||
		    stmt_uses(s->other, kind))
			return true;
	return false;
}

static void thread(struct am_build *b, uint32_t t)
{
	const struct am_lit_thread *thread = &b->lit->threads[t];

	b->thread = t;
	b->live = 0;
	b->depth = 0;
	b->loop = NULL;
	b->locals = b->finals[t];
	for (uint32_t i = 0; i < thread->n_locals; i++)
		b->locals[i] = am_build_const(b, am_lit_width(thread->locals[i].type),
					thread->locals[i].init);
	statements(b, thread->body);
}

/* False: give up, or (need_merge) try again with all variables in one object. */
static bool attempt(struct am_build *b)
{
	if (setjmp(b->fail))
		return false;
	am_build_objects(b);
	for (uint32_t t = 0; t < b->lit->n_threads; t++) {
		char name[16];
		snprintf(name, sizeof(name), "P%u", b->lit->threads[t].number);
		am_ctp_thread(b->ctp, name);
	}
	for (uint32_t t = 0; t < b->lit->n_threads; t++)
		thread(b, t);
	if (b->options->observe)
		am_build_observe(b);
	b->out->unsupported = am_ctp_finish(b->ctp);
	return true;
}

static void reset(struct am_build *b)
{
	am_ctp_free(b->out->ctp);
	free(b->out->events);
	free(b->out->blocks);
	free(b->out->object_cell);
	const bool lock_data = b->out->lock_data;
	*b->out = (struct am_lit_ctp){ .observer = AM_CTP_NONE, .lock_data = lock_data };
	b->ctp = b->out->ctp = am_ctp_new();
	b->events_room = 0;
	b->need_merge = false;
}

struct am_lit_ctp *am_lit_to_ctp(const struct am_lit *lit, const struct am_lit_ctp_options *options)
{
	struct am_build b = { .lit = lit, .options = options };

	b.out = calloc(1, sizeof(*b.out));
	b.object = calloc(lit->n_cells + 1, sizeof(*b.object));
	b.finals = calloc(lit->n_threads, sizeof(*b.finals));
	if (!b.out || !b.object || !b.finals)
		abort();
	for (uint32_t t = 0; t < lit->n_threads; t++) {
		const struct am_lit_stmt *body = lit->threads[t].body;
		b.finals[t] = calloc(lit->threads[t].n_locals + 1, sizeof(**b.finals));
		if (!b.finals[t])
			abort();
		b.out->lock_data |= stmt_uses(body, AM_LIT_X_TRYLOCK) ||
				    stmt_uses(body, AM_LIT_X_ISLOCKED);
	}
	reset(&b);
	if (!attempt(&b) && b.need_merge) {
		reset(&b);
		b.merged = true;
		attempt(&b);
	}
	b.out->finals = b.finals;
	b.out->n_threads = lit->n_threads;
	free(b.object);
	return b.out;
}

void am_lit_ctp_free(struct am_lit_ctp *out)
{
	if (!out)
		return;
	am_ctp_free(out->ctp);
	free(out->events);
	free(out->blocks);
	free(out->object_cell);
	for (uint32_t t = 0; t < out->n_threads; t++)
		free(out->finals[t]);
	free(out->finals);
	free(out);
}
