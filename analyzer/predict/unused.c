/* Where the last use of each expression lies: one pass backwards (see unused.h). Runs in tools. */
/* SPDX-License-Identifier: MIT */
#include "unused.h"

#include "atommon/expr.h"
#include "vec.h"

#include <stdlib.h>

struct expected {
	uint64_t object;
	uint32_t size, node;
};

struct thread {
	VEC(uint32_t) last; /* by node: 1 + position of its last use, 0 none */
	/* What compare-and-exchanges that succeeded expected, and of which bytes; the earliest at the end. */
	VEC(struct expected) attempt;
	uint32_t step;	    /* position of the step of the thread behind the one at hand */
	/* A compare-and-exchange: the outcome of its comparison, the two sides; and what it expects, if it is that step. */
	uint32_t outcome, found, expected, confirmed;
};

static uint32_t *last_of(struct thread *t, uint64_t node)
{
	enum { FAR = 1 << 24 }; /* no node */

	if (!node || node > t->last.n + (uint64_t)FAR)
		return NULL;
	while (t->last.n <= node)
		*vec_push(&t->last) = 0;
	return &t->last.at[node];
}

static void use(struct thread *t, uint64_t node, uint32_t at)
{
	uint32_t *last = last_of(t, node);

	if (last && *last < at)
		*last = at;
}

/* Whatever uses the node uses what it is made of. */
static void pass_on(struct thread *t, const struct am_event *e)
{
	const enum am_op op = (enum am_op)(e->object & 0xff);
	const uint32_t *last = last_of(t, e->expr);
	const uint32_t at = last ? *last : 0;

	if (!at || op >= AM_OP_COUNT)
		return;
	const unsigned arity = am_op_arity(op);
	if (arity >= 1)
		use(t, (uint32_t)e->value, at);
	if (arity >= 2 && op != AM_OP_EXTRACT)
		use(t, e->value >> 32, at);
	if (arity == 3)
		use(t, e->object >> 16 & UINT32_MAX, at);
}

static bool is_step(uint8_t kind)
{
	switch (kind) {
	case AM_EXPR:
	case AM_PIN:
	case AM_BRANCH:
	case AM_ASSERT:
	case AM_UNTAKEN:
	case AM_CALL:
	case AM_FENCE:
	case AM_ENTER:
	case AM_LEAVE_FN:
		return false;
	default:
		return true;
	}
}

static void define(struct am_event *e)
{
	const uint64_t width = e->size >= 8 ? 64 : 8 * e->size;

	*e = (struct am_event){.index = e->index, .thread = e->thread, .site = e->site, .kind = AM_EXPR,
			       .object = AM_OP_CONST | width << 8, .value = e->value, .expr = e->expr};
}

static void add_attempt(struct thread *t, const struct am_event *e, uint32_t node)
{
	*vec_push(&t->attempt) = (struct expected){e->object, e->size, node};
}

static bool is_expected(const struct thread *t, const struct am_event *read)
{
	enum { NEAREST = 64 };
	const uint32_t n = t->attempt.n;

	for (uint32_t i = n; i-- > 0 && n - i <= NEAREST;)
		if (t->attempt.at[i].node == read->expr && t->attempt.at[i].object == read->object &&
		    t->attempt.at[i].size == read->size)
			return true;
	return false;
}

/* Backwards: the branch, the comparison, the exchange itself. */
static void follow_exchange(struct thread *t, const struct am_event *e)
{
	if (e->kind == AM_BRANCH) {
		t->outcome = e->value ? e->expr : 0;
		t->found = t->expected = 0;
	} else if (e->kind == AM_EXPR && e->expr == t->outcome && (e->object & 0xff) == AM_OP_EQ) {
		t->found = (uint32_t)e->value;
		t->expected = (uint32_t)(e->value >> 32);
	} else if (is_step(e->kind)) {
		t->confirmed = e->kind == AM_UPDATE && e->expr && e->expr == t->found ? t->expected : 0;
		if (t->confirmed)
			add_attempt(t, e, t->confirmed);
		t->found = t->expected = t->outcome = 0;
	}
}

/* From the last event to the first: what comes later was looked at. */
static void look(struct thread *t, struct am_event *e, uint32_t at)
{
	const bool is_marked = e->kind == AM_READ && e->mode == AM_UNUSED_MARK;

	if (is_marked)
		e->mode = 0;
	if (is_marked && e->flags & AM_HAS_VALUE) {
		const uint32_t *last = last_of(t, e->expr);
		/* Used by its branch at most; or a compare-and-exchange sees to it that the value is right. */
		if (!last || !*last || (t->step && *last - 1 < t->step - 1) || t->confirmed == e->expr) {
			define(e);
			return;
		}
		if (is_expected(t, e))
			e->order |= AM_ORDER_AGAIN;
	}
	follow_exchange(t, e);
	if (e->kind == AM_EXPR)
		pass_on(t, e);
	else if (e->kind == AM_WRITE || e->kind == AM_BRANCH || e->kind == AM_ASSERT || e->kind == AM_PIN)
		use(t, e->expr, at + 1);
	else if (e->kind == AM_UPDATE)
		use(t, e->aux, at + 1);
	if (is_step(e->kind))
		t->step = at + 1;
}

void am_unused_replace(struct am_event *events, uint32_t n)
{
	VEC(struct thread) threads = {0};
	bool is_needed = false;

	for (uint32_t i = 0; i < n && !is_needed; i++)
		is_needed = events[i].kind == AM_READ && events[i].mode == AM_UNUSED_MARK;
	for (uint32_t i = n; is_needed && i-- > 0;) {
		while (threads.n <= events[i].thread)
			*vec_push(&threads) = (struct thread){0};
		look(&threads.at[events[i].thread], &events[i], i);
	}
	for (uint32_t i = 0; i < threads.n; i++)
		free(threads.at[i].last.at), free(threads.at[i].attempt.at);
	free(threads.at);
}
