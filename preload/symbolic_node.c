/*
 * Expression nodes: numbering, constants, operations, pins, conditions. Runs in application threads
 * that execute code built with --symbolic, while a trace is recorded. A signal handler that
 * interrupts a record makes no nodes: their numbers must come in the order of the stream.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/symbolic.h"

#include <string.h>

#include "atommon/symbolic.h"
#include "preload/area.h"
#include "preload/export.h"
#include "preload/lane.h"
#include "preload/runtime.h"
#include "preload/shadow.h"

struct am_sym *am_sym_self(void)
{
	if (am_state() < AM_ON || am_opt.mode == AM_MODE_CHECK || am_tls.event || am_tls.muted ||
	    am_tls.inside || (!am_tls.lane && am_thread_self() == AM_NO_THREAD))
		return NULL;
	struct am_sym *s = am_tls.lane->symbolic;
	if (am_unlikely(!s)) {
		s = am_tls.lane->symbolic = am_area_map(sizeof *s);
		if (!s)
			return NULL;
		am_view_touched(0, 0); /* this process has instrumented code */
	}
	if (am_unlikely(s->thread != am_tls.id)) {
		memset(s, 0, sizeof *s);
		s->thread = am_tls.id;
	}
	return s->last < UINT32_MAX - 16 ? s : NULL;
}

/* One unit without number and site: w1 is the operands'. */
static bool put(uint64_t w0, uint64_t w1)
{
	struct am_tls *t = &am_tls;

	if (!am_log_prepare(1, (struct am_here){0, (uintptr_t)__builtin_dwarf_cfa()}))
		return false;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	const uint64_t i = am_reserve(t, 1);
	struct am_unit *u = &am_caches(t)->units[i & t->mask];
	/* Order of the two stores: partner is the acquire load of w0 in ring.c. */
	__atomic_store_n(&u->w1, w1, __ATOMIC_RELAXED);
	__atomic_store_n(&u->w0, w0 | am_phase(t, i), __ATOMIC_RELEASE);
	am_log_leave(t, 0);
	return true;
}

uint32_t am_sym_node(struct am_sym *s, enum am_op op, unsigned width, uint32_t a, uint32_t b,
		     uint32_t c)
{
	const uint64_t object = (uint64_t)op | (uint64_t)width << 8 | (uint64_t)c << 16;

	if (!put(AM_EXPR | object << AM_R_OBJECT_SHIFT, a | (uint64_t)b << 32))
		return 0;
	return ++s->last;
}

uint32_t am_sym_const(struct am_sym *s, unsigned width, uint64_t value)
{
	const uint64_t hash = ((value ^ width) * UINT64_C(0x9e3779b97f4a7c15)) >> 58;
	const uint64_t object = (uint64_t)AM_OP_CONST | (uint64_t)width << 8;

	if (s->constant[hash].node && s->constant[hash].value == value &&
	    s->constant[hash].width == width)
		return s->constant[hash].node;
	if (!put(AM_EXPR | object << AM_R_OBJECT_SHIFT, value))
		return 0;
	s->constant[hash].value = value;
	s->constant[hash].width = width;
	return s->constant[hash].node = ++s->last;
}

void am_sym_pin_node(struct am_sym *s, uint32_t node, uint64_t value, struct am_here here)
{
	struct am_record r = {.kind = AM_PIN, .n_ext = 2};

	if (!node || s->pinned[node % AM_SYM_PINNED] == node)
		return;
	r.ext[0] = am_sym_ext(AM_X_VALUE, value);
	r.ext[1] = am_sym_ext(AM_X_EXPR, node);
	if (am_log_record(&r, here))
		s->pinned[node % AM_SYM_PINNED] = node;
}

void am_sym_condition(enum am_kind kind, uint32_t node, bool outcome, struct am_here here)
{
	struct am_record r = {.kind = (uint8_t)kind, .detail = outcome, .n_ext = 1};

	r.ext[0] = am_sym_ext(AM_X_EXPR, node);
	am_log_record(&r, here);
}

/* ---- computation ------------------------------------------------------------------------------
 */

static bool is_shift(enum am_op op)
{
	return op == AM_OP_SHL || op == AM_OP_LSHR || op == AM_OP_ASHR;
}

AM_EXPORT uint32_t __atommon_sym_op(uint32_t what, uint32_t a, uint32_t b, uint64_t va, uint64_t vb)
{
	const enum am_op op = what & 0xff;
	const unsigned width = what >> 8 & 0xff, operand = what >> 16 & 0xff;
	struct am_sym *s = a | b ? am_sym_self() : NULL;

	if (!s)
		return 0;
	if (is_shift(op) && vb >= operand) { /* undefined in C: whatever came out, came out */
		am_sym_pin_node(s, a, va, AM_HERE);
		am_sym_pin_node(s, b, vb, AM_HERE);
		return 0;
	}
	const bool is_binary = am_op_arity(op) == 2;
	a = a ? a : am_sym_const(s, operand, va);
	if (is_binary)
		b = b ? b : am_sym_const(s, operand, vb);
	return a && (b || !is_binary) ? am_sym_node(s, op, width, a, b, 0) : 0;
}

AM_EXPORT uint32_t __atommon_sym_ite(uint32_t what, uint32_t c, uint32_t a, uint32_t b, uint64_t va,
				     uint64_t vb)
{
	const unsigned width = what >> 8 & 0xff;
	struct am_sym *s;

	if (c == 0)
		return what >> 24 ? a : b;
	s = am_sym_self();
	if (!s)
		return 0;
	a = a ? a : am_sym_const(s, width, va);
	b = b ? b : am_sym_const(s, width, vb);
	return a && b ? am_sym_node(s, AM_OP_ITE, width, c, a, b) : 0;
}

AM_EXPORT void __atommon_sym_pin(uint32_t node, uint64_t value)
{
	struct am_sym *s = node ? am_sym_self() : NULL;

	if (s)
		am_sym_pin_node(s, node, value, AM_HERE);
}

/* ---- conditions -------------------------------------------------------------------------------
 */

static void untaken(const void *address, uint64_t size, uint32_t line, struct am_here here)
{
	struct am_record r = {.kind = AM_UNTAKEN, .n_ext = 2, .object = (uintptr_t)address};

	r.ext[0] = am_sym_ext(AM_X_SIZE, size);
	r.ext[1] = am_sym_ext(AM_X_AUX, line);
	am_log_record(&r, here);
}

/* Address 0: unknown memory, or an assertion; the size says which. A side that writes nothing still tells where the sides meet. */
static void not_taken(const struct am_sym_side *side, struct am_here here)
{
	for (uint32_t i = 0; i < side->n; i++)
		untaken(side->write[i].address, side->write[i].size, side->merge_line, here);
	if (side->others || side->n == 0)
		untaken(NULL, side->others, side->merge_line, here);
}

AM_EXPORT void __atommon_sym_branch(uint32_t node, uint32_t outcome, const struct am_sym_side *side)
{
	if (!node || !am_sym_self())
		return;
	am_sym_condition(outcome & AM_SYM_ASSERT ? AM_ASSERT : AM_BRANCH, node,
			 outcome & AM_SYM_TAKEN, AM_HERE);
	if (!(outcome & AM_SYM_ASSERT))
		not_taken(side, AM_HERE);
}

AM_EXPORT void __atommon_sym_switch(uint32_t node, uint64_t value, uint32_t width, uint32_t n,
				    const uint64_t *cases, const struct am_sym_side *sides)
{
	enum { MANY = 16 };
	struct am_sym *s = node ? am_sym_self() : NULL;
	uint32_t hit = 0;

	if (!s)
		return;
	while (hit < n && cases[hit] != value)
		hit++;
	if (hit == n && n > MANY) {
		am_sym_pin_node(s, node, value, AM_HERE);
	} else {
		for (uint32_t i = hit < n ? hit : 0; i < (hit < n ? hit + 1 : n); i++) {
			const uint32_t c = am_sym_const(s, width, cases[i]);
			const uint32_t eq = c ? am_sym_node(s, AM_OP_EQ, 1, node, c, 0) : 0;
			if (eq)
				am_sym_condition(AM_BRANCH, eq, hit < n, AM_HERE);
		}
	}
	not_taken(sides, AM_HERE);
}
