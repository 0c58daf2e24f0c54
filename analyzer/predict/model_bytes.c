/* Accesses, frees and conditions of the models value and ctp. Runs in tools. */
/* SPDX-License-Identifier: MIT */
#include "model_state.h"

#include <stddef.h>

/* Fix what the private write that covers `cell` wrote to its recorded value, and forget it. */
static void pin_private(struct am_build *b, uint32_t thread, uint32_t cell)
{
	struct am_build_data *d = b->data;

	if (!d->private[cell].start)
		return;
	const uint32_t start = d->private[cell].start - 1;
	const struct am_build_private w = d->private[start];
	uint64_t known;
	if (w.node && !am_ctp_is_const(b->ctp, w.node, &known)) {
		if (b->kind == AM_PREDICT_VALUE)
			am_build_settle(b, thread, w.node);
		else
			am_build_assume(b, b->thread[thread], am_build_equals(b, w.node, am_build_width(b, w.node), w.value));
	}
	for (uint32_t c = start; c < start + w.cells; c++)
		d->private[c].start = 0;
}

/* Memory that no other thread touches: an expression passes through it if it comes back whole. */
static void add_private(struct am_build *b, uint32_t e)
{
	struct am_build_data *d = b->data;
	const struct am_run_event *r = &b->run->event.at[e];
	const struct am_event *raw = am_run_raw(b->run, e);
	struct am_build_private *first = &d->private[r->cell];

	if (!r->cells || raw->kind == AM_FREE)
		return;
	const bool whole = first->start == r->cell + 1 && first->cells == r->cells;
	if (raw->kind == AM_READ && whole && first->node && raw->size <= 8) {
		if (raw->expr)
			am_build_set_node(b, r->thread, raw->expr, am_build_resize(b, first->node, 8 * raw->size));
		return;
	}
	for (uint32_t c = r->cell; c < r->cell + r->cells && !whole; c++)
		pin_private(b, r->thread, c);
	if (raw->kind == AM_READ || raw->size > 8)
		return;
	for (uint32_t c = r->cell; c < r->cell + r->cells; c++)
		d->private[c].start = r->cell + 1;
	first->cells = r->cells;
	first->node = raw->kind == AM_WRITE && raw->expr ? am_build_node(b, r->thread, raw->expr) : 0;
	first->value = raw->value;
}

/* What a cell held at first is not known: nobody may read it before its first write. */
static void after_first_writes(struct am_build *b, const struct am_run_event *r, uint32_t x)
{
	for (uint32_t c = r->cell; c < r->cell + r->cells; c++) {
		const uint32_t first = b->data->first_write[c];
		if (first > 1 && am_ctp_at(b->ctp, first - 2)->thread != am_ctp_at(b->ctp, x)->thread)
			am_ctp_order(b->ctp, first - 2, x);
	}
}

static void note_first_write(struct am_build *b, uint32_t cell, uint32_t x)
{
	if (b->data->first_write[cell] == 1)
		b->data->first_write[cell] = x + 2;
}

/* The branch that comes next in this thread, if nothing but expressions is before it; else `otherwise`. */
static uint32_t condition_after(struct am_build *b, const struct am_run_event *r, uint32_t otherwise)
{
	for (uint32_t eid = r->eid + 1; eid <= b->run->thread[r->thread].n; eid++) {
		const struct am_event *next = am_run_raw(b->run, am_run_at(b->run, r->thread, eid));
		if (next->kind == AM_EXPR) {
			am_build_define(b, next, r->thread);
			continue;
		}
		if (next->kind != AM_BRANCH || !next->expr)
			break;
		const uint32_t holds = am_ctp_bool(b->ctp, am_build_node(b, r->thread, next->expr));
		return next->value ? holds : am_ctp_not(b->ctp, holds);
	}
	return otherwise;
}

/*
 * An atomic update: `value` is what it read, `aux` the expression of what it wrote, which the events
 * after it define. A branch that follows at once on what was read (a compare-and-exchange that
 * succeeded) becomes a condition of the step itself: where it does not hold, nothing was written.
 */
static void add_update(struct am_build *b, uint32_t e, uint32_t object, uint32_t offset)
{
	const struct am_run_event *r = &b->run->event.at[e];
	const struct am_event *raw = am_run_raw(b->run, e);
	const unsigned width = 8 * raw->size;
	const uint32_t x = am_ctp_update(b->ctp, b->thread[r->thread], object, offset, raw->size);
	const uint32_t leaf = am_ctp_at(b->ctp, x)->read;
	uint64_t written = raw->value;
	bool is_told = am_build_written(b, raw, &written);
	uint32_t cond = 0;

	am_build_note(b, e, x);
	after_first_writes(b, r, x);
	if (raw->expr)
		am_build_set_node(b, r->thread, raw->expr, leaf);
	if (b->kind != AM_PREDICT_CTP || !is_told) {
		am_ctp_at(b->ctp, x)->cond = am_build_equals(b, leaf, width, raw->value);
		am_ctp_at(b->ctp, x)->value = am_ctp_const(b->ctp, width, written);
		return;
	}
	cond = condition_after(b, r, cond);
	am_ctp_at(b->ctp, x)->cond = cond;
	am_ctp_at(b->ctp, x)->value =
		am_build_resize(b, am_build_node(b, r->thread, (uint32_t)raw->aux), width);
}

static void add_read(struct am_build *b, uint32_t e, const struct am_build_block *block)
{
	const struct am_run_event *r = &b->run->event.at[e];
	const struct am_event *raw = am_run_raw(b->run, e);
	const uint32_t t = b->thread[r->thread];
	const uint32_t offset = am_ctp_const(b->ctp, 64, raw->object - block->base);
	uint32_t x;

	if (raw->kind == AM_UPDATE) {
		add_update(b, e, block->object, offset);
		return;
	}
	x = am_ctp_read(b->ctp, t, block->object, offset, raw->size);
	am_build_note(b, e, x);
	after_first_writes(b, r, x);
	const uint32_t leaf = am_ctp_at(b->ctp, x)->read;
	if (raw->expr)
		am_build_set_node(b, r->thread, raw->expr, leaf);
	/* One that would lead elsewhere may be made again (vain.h): no verdict may rest on it, so it does not happen. */
	if (am_run_may_repeat(raw))
		am_ctp_at(b->ctp, x)->cond = raw->expr && b->kind == AM_PREDICT_CTP
						     ? condition_after(b, r, 0)
						     : am_build_equals(b, leaf, 8 * raw->size, raw->value);
	if (!raw->expr) {
		am_build_assume(b, t, am_build_equals(b, leaf, 8 * raw->size, raw->value));
		return;
	}
	if (b->kind == AM_PREDICT_VALUE)
		*vec_push(&b->data->pending) = x;
}

static void add_write(struct am_build *b, uint32_t e, const struct am_build_block *block)
{
	const struct am_run_event *r = &b->run->event.at[e];
	const struct am_event *raw = am_run_raw(b->run, e);
	const uint32_t t = b->thread[r->thread];
	uint32_t value = am_ctp_const(b->ctp, 8 * raw->size, raw->value);

	if (raw->expr && b->kind == AM_PREDICT_CTP)
		value = am_build_resize(b, am_build_node(b, r->thread, raw->expr), 8 * raw->size);
	else if (raw->expr)
		am_build_settle(b, r->thread, am_build_node(b, r->thread, raw->expr));
	const uint32_t offset = am_ctp_const(b->ctp, 64, raw->object - block->base);
	const uint32_t x = am_ctp_write(b->ctp, t, block->object, offset, raw->size, value);
	am_build_note(b, e, x);
	for (uint32_t c = r->cell; c < r->cell + r->cells; c++)
		note_first_write(b, c, x);
}

/* What is freed holds no value any more. */
static void add_free(struct am_build *b, uint32_t e)
{
	struct am_build_data *d = b->data;
	const struct am_run_event *r = &b->run->event.at[e];

	for (uint32_t c = r->cell; c < r->cell + r->cells; c++) {
		const uint32_t at = d->cell_object[am_build_root(d, c)];
		if (at == AM_NONE || !b->run->cell_shared[c])
			continue;
		const struct am_build_block *block = &d->block.at[at];
		const uint64_t end = b->run->cell_address[c + 1];
		for (uint64_t a = b->run->cell_address[c]; a < end; a++) {
			const uint32_t x = am_ctp_write(
				b->ctp, b->thread[r->thread], block->object,
				am_ctp_const(b->ctp, 64, a - block->base), 1, am_ctp_const(b->ctp, 8, 0xdf));
			am_build_note(b, e, x);
			note_first_write(b, c, x);
		}
	}
}

/* A condition, or a value that must stay: branch, assertion, pin. */
static void add_condition(struct am_build *b, uint32_t e)
{
	const struct am_run_event *r = &b->run->event.at[e];
	const struct am_event *raw = am_run_raw(b->run, e);

	if (!raw->expr)
		return;
	const uint32_t node = am_build_node(b, r->thread, raw->expr);
	if (b->kind == AM_PREDICT_VALUE) {
		am_build_settle(b, r->thread, node);
		return;
	}
	const unsigned width = am_build_width(b, node);
	const uint64_t mask = width >= 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
	uint32_t cond;
	if (raw->kind == AM_PIN)
		cond = am_build_equals(b, node, width, raw->value & mask);
	else
		cond = raw->value ? am_ctp_bool(b->ctp, node) : am_ctp_not(b->ctp, am_ctp_bool(b->ctp, node));
	uint64_t known;
	if (am_ctp_is_const(b->ctp, cond, &known) && known)
		return;
	const uint32_t x = am_ctp_assume(b->ctp, b->thread[r->thread], cond);
	am_build_note(b, e, x);
}

void am_build_bytes(struct am_build *b, uint32_t e)
{
	struct am_build_data *d = b->data;
	const struct am_run_event *r = &b->run->event.at[e];
	const struct am_event *raw = am_run_raw(b->run, e);

	switch (raw->kind) {
	case AM_EXPR:
		am_build_define(b, raw, r->thread);
		break;
	case AM_BRANCH:
	case AM_ASSERT:
	case AM_PIN:
		add_condition(b, e);
		break;
	case AM_FREE:
		if (r->writes)
			add_free(b, e);
		break;
	case AM_READ:
	case AM_WRITE:
	case AM_UPDATE:
		if (!r->reads && !r->writes) {
			add_private(b, e);
			break;
		}
		if (raw->kind == AM_WRITE)
			add_write(b, e, &d->block.at[d->cell_object[am_build_root(d, r->cell)]]);
		else
			add_read(b, e, &d->block.at[d->cell_object[am_build_root(d, r->cell)]]);
		break;
	default:
		break;
	}
}
