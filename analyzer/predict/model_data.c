/*
 * Memory and expressions of the models. sync and avp see cells and numbers of writers; value and ctp
 * see bytes, values and expressions. Runs in tools.
 */
/* SPDX-License-Identifier: MIT */
#include "model_state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A class is a set of cells that some access covers together; it becomes one object in which each cell
 * has the same few bytes, so that an access of several cells is still one event. A cell holds the
 * number of its last writer within the class, 0 before the segment. A class whose accesses are too
 * wide for that (8 bytes) gives each cell 8 bytes, and a wide access comes apart.
 */
struct class {
	uint32_t object; /* AM_NONE until used */
	uint32_t first;	 /* cell */
	uint32_t cells, widest;
	uint32_t writes;
	uint32_t bytes; /* of a cell */
	uint32_t numbers;
};

/* A data object of value and ctp: neighbouring cells that some access covers together. */
struct block {
	uint32_t object; /* in the program */
	uint64_t base, end;
	uint32_t first_write; /* in the program, of a block whose initial bytes are not known */
	bool is_known;
};

/* The last write to unshared memory: `start` is kept for each cell it covers, the rest for its first. */
struct private_write {
	uint32_t start; /* its first cell plus one, 0: none */
	uint32_t cells, node;
	uint64_t value;
};

struct am_build_data {
	uint32_t *parent;      /* union-find over cells */
	uint32_t *cell_object; /* of each root: its class (sync, avp) or block (value, ctp) */
	VEC(struct class) class;
	VEC(struct block) block;
	uint64_t *number; /* sync, avp: of each write of the span, within its class */
	struct private_write *private; /* by cell: writes to memory of one thread */
	uint32_t *first_node;	 /* by thread: first expression of the span */
	VEC(uint32_t) *node;	 /* by thread: nodes of the program for expressions from there on */
	VEC(uint32_t) pending;	 /* value: reads whose assumption waits for a use; program events */
};

typedef VEC(uint32_t) node_list;

static bool is_bytes(const struct am_build *b)
{
	return b->kind == AM_PREDICT_VALUE || b->kind == AM_PREDICT_CTP;
}

static uint32_t assume(struct am_build *b, uint32_t thread, uint32_t cond)
{
	const uint32_t x = am_ctp_assume(b->ctp, thread, cond);

	am_ctp_at(b->ctp, x)->origin = UINT64_MAX;
	return x;
}

static uint32_t equals(struct am_build *b, uint32_t node, unsigned width, uint64_t value)
{
	return am_ctp_op(b->ctp, AM_OP_EQ, 1, node, am_ctp_const(b->ctp, width, value), 0);
}

static void note(struct am_build *b, uint32_t e, uint32_t x)
{
	am_ctp_at(b->ctp, x)->origin = e;
	am_ctp_at(b->ctp, x)->order = am_run_raw(b->run, e)->order;
	if (b->event[e - b->low] == AM_NONE)
		b->event[e - b->low] = x;
}

static uint32_t root(struct am_build_data *d, uint32_t cell)
{
	while (d->parent[cell] != cell)
		cell = d->parent[cell] = d->parent[d->parent[cell]];
	return cell;
}

static bool is_shared_access(const struct am_build *b, uint32_t e)
{
	const struct am_run_event *r = &b->run->event.at[e];
	return am_segment_has(b->segment, r) && (r->reads || r->writes);
}

/* Unite the cells that one access covers. */
static void unite(struct am_build *b, bool frees)
{
	struct am_build_data *d = b->data;

	for (uint32_t c = 0; c < b->run->n_cells; c++)
		d->parent[c] = c;
	for (uint32_t e = b->low; e < b->high; e++) {
		const struct am_run_event *r = &b->run->event.at[e];
		if (!is_shared_access(b, e) || (!frees && am_run_raw(b->run, e)->kind == AM_FREE))
			continue;
		for (uint32_t c = r->cell + 1; c < r->cell + r->cells; c++)
			d->parent[root(d, c)] = root(d, r->cell);
	}
}

/* ---- sync, avp: cells ------------------------------------------------------------------------------ */

static struct class *class_of(struct am_build *b, uint32_t cell)
{
	return &b->data->class.at[b->data->cell_object[root(b->data, cell)]];
}

static void find_classes(struct am_build *b)
{
	struct am_build_data *d = b->data;

	unite(b, true);
	for (uint32_t e = b->low; e < b->high; e++) {
		const struct am_run_event *r = &b->run->event.at[e];
		if (!is_shared_access(b, e))
			continue;
		uint32_t *at = &d->cell_object[root(d, r->cell)];
		if (*at == AM_NONE) {
			*at = d->class.n;
			*vec_push(&d->class) = (struct class){.object = AM_NONE, .first = AM_NONE};
		}
		struct class *c = &d->class.at[*at];
		const uint32_t end = c->first == AM_NONE ? 0 : c->first + c->cells;
		c->first = r->cell < c->first ? r->cell : c->first;
		c->cells = (r->cell + r->cells > end ? r->cell + r->cells : end) - c->first;
		c->widest = r->cells > c->widest ? r->cells : c->widest;
		c->writes += r->writes;
	}
	for (uint32_t i = 0; i < d->class.n; i++) {
		struct class *c = &d->class.at[i];
		c->bytes = 8;
		if (c->widest == 2)
			c->bytes = 4;
		else if (c->widest > 2 && c->widest <= 4 && c->writes < 30000)
			c->bytes = 2;
		else if (c->widest > 2 && c->widest <= 8 && c->writes < 120)
			c->bytes = 1;
	}
}

/* The numbers that the cells of an access hold, cell by cell, as one value. */
static uint64_t pattern(const struct class *c, const uint64_t *number, uint32_t n)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < n; i++)
		value |= number[i] << 8 * c->bytes * i;
	return value;
}

/* One event: cells [first, first + n) of event e, which fit 8 bytes. */
static uint32_t add_piece(struct am_build *b, uint32_t e, uint32_t first, uint32_t n, uint64_t *expected)
{
	struct class *c = class_of(b, first);
	const struct am_run_event *r = &b->run->event.at[e];
	const uint32_t t = b->thread[r->thread], size = n * c->bytes;
	uint64_t seen[8] = {0}, own[8], other[8];
	char name[32];
	uint32_t x;

	if (c->object == AM_NONE) {
		snprintf(name, sizeof name, "%#lx", (unsigned long)b->run->cell_address[c->first]);
		c->object = am_ctp_data(b->ctp, name, c->cells * c->bytes);
		b->ctp->objects[c->object].aligned = c->widest == 1;
	}
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t w = r->reads ? b->run->writer.at[r->couple + (first - r->cell) + i] : AM_NONE;
		const bool is_within = w != AM_NONE && am_segment_has(b->segment, &b->run->event.at[w]);
		seen[i] = is_within ? b->data->number[w - b->low] : 0;
		own[i] = b->data->number[e - b->low];
		other[i] = own[i] + 1;
	}
	*expected = pattern(c, seen, n);
	const uint32_t offset = am_ctp_const(b->ctp, 64, (uint64_t)(first - c->first) * c->bytes);
	const uint32_t value = am_ctp_const(b->ctp, 8 * size, pattern(c, own, n));
	if (r->writes && r->reads && b->kind == AM_PREDICT_AVP) {
		/* what a broken update writes is nobody's number */
		x = am_ctp_update(b->ctp, t, c->object, offset, size);
		const uint32_t kept = equals(b, am_ctp_at(b->ctp, x)->read, 8 * size, *expected);
		am_ctp_at(b->ctp, x)->value =
			am_ctp_op(b->ctp, AM_OP_ITE, 8 * size, kept, value,
				  am_ctp_const(b->ctp, 8 * size, pattern(c, other, n)));
	} else if (r->writes) {
		x = am_ctp_write(b->ctp, t, c->object, offset, size, value);
	} else {
		x = am_ctp_read(b->ctp, t, c->object, offset, size);
	}
	note(b, e, x);
	return x;
}

static void add_cells(struct am_build *b, uint32_t e)
{
	const struct am_run_event *r = &b->run->event.at[e];
	struct class *c = class_of(b, r->cell);
	const uint32_t piece = r->cells * c->bytes <= 8 ? r->cells : 1;
	const uint32_t first = b->ctp->event_count;
	VEC(uint64_t) expected = {0};

	if (r->writes) {
		b->data->number[e - b->low] = c->numbers + 1;
		c->numbers += 2; /* one more for an update that breaks */
	}
	for (uint32_t i = 0; i < r->cells; i += piece)
		add_piece(b, e, r->cell + i, piece, vec_push(&expected));
	for (uint32_t i = 0; b->kind == AM_PREDICT_AVP && r->reads && i < expected.n; i++) {
		const uint32_t leaf = am_ctp_at(b->ctp, first + i)->read;
		assume(b, b->thread[r->thread], equals(b, leaf, 8 * piece * c->bytes, expected.at[i]));
	}
	free(expected.at);
}

/* ---- value, ctp: bytes ------------------------------------------------------------------------------ */

/* The value of byte `address` that an access with a known value read or wrote. */
static bool byte_of(const struct am_event *raw, uint64_t address, uint8_t *byte)
{
	if (!(raw->flags & AM_HAS_VALUE) || raw->size > 8 || address < raw->object ||
	    address - raw->object >= raw->size)
		return false;
	const uint64_t value = raw->kind == AM_UPDATE ? raw->aux : raw->value;
	*byte = (uint8_t)(value >> 8 * (address - raw->object));
	return true;
}

/* The byte at the start of the segment: what the last write before left. */
static bool byte_before(const struct am_build *b, uint32_t cell, uint64_t address, uint8_t *byte)
{
	uint32_t last = AM_NONE;

	for (uint32_t t = 0; t < b->run->n_threads; t++) {
		const struct am_index_entry *e =
			am_index_last(b->index, cell, t, b->segment->from[t]);
		if (!e || e->last_write == AM_NONE)
			continue;
		const uint32_t w = am_run_at(b->run, t, b->index->entry[e->last_write].eid);
		last = last == AM_NONE || w > last ? w : last;
	}
	return last != AM_NONE && byte_of(am_run_raw(b->run, last), address, byte);
}

/* First access in recorded order to each byte tells, or does not tell, what was there before. */
static void find_initial(struct am_build *b)
{
	struct am_build_data *d = b->data;
	uint8_t *seen = am_xalloc(b->run->n_cells, 1);

	for (uint32_t e = b->low; e < b->high; e++) {
		const struct am_event *raw = am_run_raw(b->run, e);
		const struct am_run_event *r = &b->run->event.at[e];
		if (!is_shared_access(b, e))
			continue;
		for (uint32_t c = r->cell; c < r->cell + r->cells; c++) {
			if (seen[c]++)
				continue;
			seen[c] = 1;
			const uint32_t at = d->cell_object[root(d, c)];
			if (at == AM_NONE)
				continue; /* a free of what nobody else in the segment touches */
			struct block *block = &d->block.at[at];
			const uint64_t end = b->run->cell_address[c + 1];
			for (uint64_t a = b->run->cell_address[c]; a < end; a++) {
				struct am_event as_read = *raw;
				uint8_t byte = 0;
				as_read.kind = AM_READ;
				if (r->reads ? byte_of(&as_read, a, &byte)
					     : byte_before(b, c, a, &byte))
					am_ctp_init(b->ctp, block->object, (uint32_t)(a - block->base), 1,
						    byte);
				else
					block->is_known = false;
			}
		}
	}
	free(seen);
}

static void find_blocks(struct am_build *b)
{
	struct am_build_data *d = b->data;
	const struct am_run *run = b->run;

	unite(b, false);
	for (uint32_t e = b->low; e < b->high; e++) {
		const struct am_run_event *r = &run->event.at[e];
		if (!is_shared_access(b, e) || am_run_raw(run, e)->kind == AM_FREE)
			continue;
		uint32_t *at = &d->cell_object[root(d, r->cell)];
		if (*at == AM_NONE) {
			*at = d->block.n;
			*vec_push(&d->block) = (struct block){.base = UINT64_MAX, .is_known = true,
							      .first_write = AM_NONE};
		}
		struct block *block = &d->block.at[*at];
		const uint64_t low = run->cell_address[r->cell];
		const uint64_t high = run->cell_address[r->cell + r->cells];
		block->base = low < block->base ? low : block->base;
		block->end = high > block->end ? high : block->end;
	}
	for (uint32_t i = 0; i < d->block.n; i++) {
		struct block *block = &d->block.at[i];
		char name[32];
		snprintf(name, sizeof name, "%#lx", (unsigned long)block->base);
		block->object = am_ctp_data(b->ctp, name, (uint32_t)(block->end - block->base));
	}
	for (uint32_t e = b->low; e < b->high; e++) {
		const struct am_run_event *r = &run->event.at[e];
		const struct am_event *raw = am_run_raw(run, e);
		if (!is_shared_access(b, e) || raw->kind == AM_FREE)
			continue;
		const struct block *block = &d->block.at[d->cell_object[root(d, r->cell)]];
		if (raw->size && (raw->object - block->base) % raw->size)
			b->ctp->objects[block->object].aligned = false;
	}
	find_initial(b);
}

/* ---- expressions ------------------------------------------------------------------------------------ */

/* The program's node for expression `id` of a thread: a constant unless it was made in the segment. */
static uint32_t node_of(struct am_build *b, uint32_t thread, uint32_t id)
{
	struct am_build_data *d = b->data;
	const struct am_run_thread *t = &b->run->thread[thread];
	const uint32_t first = d->first_node[thread];

	if (id >= first && id - first < d->node[thread].n && d->node[thread].at[id - first])
		return d->node[thread].at[id - first];
	if (!id || id >= t->node.n || !t->node.at[id].width)
		return am_ctp_const(b->ctp, 1, 0);
	return am_ctp_const(b->ctp, t->node.at[id].width, t->node.at[id].value);
}

static void set_node(struct am_build *b, uint32_t thread, uint32_t id, uint32_t node)
{
	struct am_build_data *d = b->data;

	if (!id || id >= b->run->thread[thread].node.n)
		return;
	if (d->first_node[thread] == AM_NONE)
		d->first_node[thread] = id;
	if (id < d->first_node[thread])
		return;
	while (d->node[thread].n <= id - d->first_node[thread])
		*vec_push(&d->node[thread]) = 0;
	d->node[thread].at[id - d->first_node[thread]] = node;
}

static unsigned width_of(const struct am_build *b, uint32_t node)
{
	return b->ctp->nodes[node].width;
}

static void define(struct am_build *b, const struct am_event *raw, uint32_t thread)
{
	const enum am_op op = (enum am_op)(raw->object & 0xff);
	const unsigned width = raw->object >> 8 & 0xff;

	if (op == AM_OP_NONE || op == AM_OP_CONST || op == AM_OP_READ || op >= AM_OP_COUNT || !width ||
	    width > 64)
		return; /* constants are taken from the recorded value */
	const uint32_t a = node_of(b, thread, (uint32_t)raw->value);
	const uint32_t second = (uint32_t)(raw->value >> 32);
	const uint32_t y = op == AM_OP_EXTRACT	    ? second
			   : am_op_arity(op) >= 2 ? node_of(b, thread, second)
						    : 0;
	const uint32_t z =
		am_op_arity(op) == 3 ? node_of(b, thread, (uint32_t)(raw->object >> 16)) : 0;
	set_node(b, thread, raw->expr, am_ctp_op(b->ctp, op, width, a, y, z));
}

/* `value`: what reads in the cone of a node returned must be as recorded from here on. */
static void settle(struct am_build *b, uint32_t thread, uint32_t node)
{
	struct am_build_data *d = b->data;
	node_list todo = {0};
	uint8_t *seen;

	if (!d->pending.n || !node)
		return;
	seen = am_xalloc(b->ctp->node_count, 1);
	*vec_push(&todo) = node;
	while (todo.n) {
		const uint32_t n = todo.at[--todo.n];
		const struct am_expr x = b->ctp->nodes[n];
		if (seen[n]++)
			continue;
		if (x.op == AM_OP_READ) {
			for (uint32_t i = 0; i < d->pending.n; i++) {
				const uint32_t read = d->pending.at[i];
				if (am_ctp_at(b->ctp, read)->read != n)
					continue;
				const struct am_event *raw =
					am_run_raw(b->run, (uint32_t)am_ctp_at(b->ctp, read)->origin);
				d->pending.at[i] = d->pending.at[--d->pending.n];
				assume(b, b->thread[thread], equals(b, n, x.width, raw->value));
				break;
			}
			continue;
		}
		const uint32_t operand[] = {x.a, x.op == AM_OP_EXTRACT ? 0 : x.b, x.c};
		for (unsigned i = 0; i < am_op_arity((enum am_op)x.op); i++)
			if (operand[i])
				*vec_push(&todo) = operand[i];
	}
	free(todo.at);
	free(seen);
}

static uint32_t resize(struct am_build *b, uint32_t node, unsigned width)
{
	const unsigned have = width_of(b, node);

	if (have == width)
		return node;
	return am_ctp_op(b->ctp, have < width ? AM_OP_ZEXT : AM_OP_TRUNC, width, node, 0, 0);
}

/* Fix what the private write that covers `cell` wrote to its recorded value, and forget it. */
static void pin_private(struct am_build *b, uint32_t thread, uint32_t cell)
{
	struct am_build_data *d = b->data;

	if (!d->private[cell].start)
		return;
	const uint32_t start = d->private[cell].start - 1;
	const struct private_write w = d->private[start];
	uint64_t known;
	if (w.node && !am_ctp_is_const(b->ctp, w.node, &known)) {
		if (b->kind == AM_PREDICT_VALUE)
			settle(b, thread, w.node);
		else
			assume(b, b->thread[thread], equals(b, w.node, width_of(b, w.node), w.value));
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
	struct private_write *first = &d->private[r->cell];

	if (!r->cells || raw->kind == AM_FREE)
		return;
	const bool whole = first->start == r->cell + 1 && first->cells == r->cells;
	if (raw->kind == AM_READ && whole && first->node && raw->size <= 8) {
		if (raw->expr)
			set_node(b, r->thread, raw->expr, resize(b, first->node, 8 * raw->size));
		return;
	}
	for (uint32_t c = r->cell; c < r->cell + r->cells && !whole; c++)
		pin_private(b, r->thread, c);
	if (raw->kind == AM_READ || raw->size > 8)
		return;
	for (uint32_t c = r->cell; c < r->cell + r->cells; c++)
		d->private[c].start = r->cell + 1;
	first->cells = r->cells;
	first->node = raw->kind == AM_WRITE && raw->expr ? node_of(b, r->thread, raw->expr) : 0;
	first->value = raw->value;
}

static void add_read(struct am_build *b, uint32_t e, const struct block *block)
{
	const struct am_run_event *r = &b->run->event.at[e];
	const struct am_event *raw = am_run_raw(b->run, e);
	const uint32_t t = b->thread[r->thread];
	const uint32_t offset = am_ctp_const(b->ctp, 64, raw->object - block->base);
	uint32_t x;

	if (raw->kind == AM_UPDATE) {
		/* the new value is known only for the old one recorded: keep that */
		x = am_ctp_update(b->ctp, t, block->object, offset, raw->size);
		const uint32_t leaf = am_ctp_at(b->ctp, x)->read;
		am_ctp_at(b->ctp, x)->cond = equals(b, leaf, 8 * raw->size, raw->value);
		am_ctp_at(b->ctp, x)->value = am_ctp_const(b->ctp, 8 * raw->size, raw->aux);
		if (raw->expr)
			set_node(b, r->thread, raw->expr, leaf);
		note(b, e, x);
		return;
	}
	x = am_ctp_read(b->ctp, t, block->object, offset, raw->size);
	note(b, e, x);
	if (!block->is_known && block->first_write != AM_NONE &&
	    am_ctp_at(b->ctp, block->first_write)->thread != t)
		am_ctp_order(b->ctp, block->first_write, x);
	const uint32_t leaf = am_ctp_at(b->ctp, x)->read;
	if (!raw->expr) {
		assume(b, t, equals(b, leaf, 8 * raw->size, raw->value));
		return;
	}
	set_node(b, r->thread, raw->expr, leaf);
	if (b->kind == AM_PREDICT_VALUE)
		*vec_push(&b->data->pending) = x;
}

static void add_write(struct am_build *b, uint32_t e, struct block *block)
{
	const struct am_run_event *r = &b->run->event.at[e];
	const struct am_event *raw = am_run_raw(b->run, e);
	const uint32_t t = b->thread[r->thread];
	uint32_t value = am_ctp_const(b->ctp, 8 * raw->size, raw->value);

	if (raw->expr && b->kind == AM_PREDICT_CTP)
		value = resize(b, node_of(b, r->thread, raw->expr), 8 * raw->size);
	else if (raw->expr)
		settle(b, r->thread, node_of(b, r->thread, raw->expr));
	const uint32_t offset = am_ctp_const(b->ctp, 64, raw->object - block->base);
	const uint32_t x = am_ctp_write(b->ctp, t, block->object, offset, raw->size, value);
	note(b, e, x);
	if (block->first_write == AM_NONE)
		block->first_write = x;
}

/* What is freed holds no value any more. */
static void add_free(struct am_build *b, uint32_t e)
{
	struct am_build_data *d = b->data;
	const struct am_run_event *r = &b->run->event.at[e];

	for (uint32_t c = r->cell; c < r->cell + r->cells; c++) {
		const uint32_t at = d->cell_object[root(d, c)];
		if (at == AM_NONE || !b->run->cell_shared[c])
			continue;
		const struct block *block = &d->block.at[at];
		const uint64_t end = b->run->cell_address[c + 1];
		for (uint64_t a = b->run->cell_address[c]; a < end; a++) {
			const uint32_t x = am_ctp_write(
				b->ctp, b->thread[r->thread], block->object,
				am_ctp_const(b->ctp, 64, a - block->base), 1, am_ctp_const(b->ctp, 8, 0xdf));
			note(b, e, x);
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
	const uint32_t node = node_of(b, r->thread, raw->expr);
	if (b->kind == AM_PREDICT_VALUE) {
		settle(b, r->thread, node);
		return;
	}
	const unsigned width = width_of(b, node);
	const uint64_t mask = width >= 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
	uint32_t cond;
	if (raw->kind == AM_PIN)
		cond = equals(b, node, width, raw->value & mask);
	else
		cond = raw->value ? am_ctp_bool(b->ctp, node) : am_ctp_not(b->ctp, am_ctp_bool(b->ctp, node));
	uint64_t known;
	if (am_ctp_is_const(b->ctp, cond, &known) && known)
		return;
	const uint32_t x = am_ctp_assume(b->ctp, b->thread[r->thread], cond);
	note(b, e, x);
}

static void add_bytes(struct am_build *b, uint32_t e)
{
	struct am_build_data *d = b->data;
	const struct am_run_event *r = &b->run->event.at[e];
	const struct am_event *raw = am_run_raw(b->run, e);

	switch (raw->kind) {
	case AM_EXPR:
		define(b, raw, r->thread);
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
			add_write(b, e, &d->block.at[d->cell_object[root(d, r->cell)]]);
		else
			add_read(b, e, &d->block.at[d->cell_object[root(d, r->cell)]]);
		break;
	default:
		break;
	}
}

/* ---- life -------------------------------------------------------------------------------------------- */

void am_build_data_init(struct am_build *b)
{
	const uint32_t cells = b->run->n_cells;
	struct am_build_data *d = b->data = am_xalloc(1, sizeof *d);

	d->cell_object = am_xalloc(cells, sizeof *d->cell_object);
	memset(d->cell_object, 0xff, cells * sizeof *d->cell_object);
	d->first_node = am_xalloc(b->run->n_threads, sizeof *d->first_node);
	memset(d->first_node, 0xff, b->run->n_threads * sizeof *d->first_node);
	d->node = am_xalloc(b->run->n_threads, sizeof *d->node);
	d->parent = am_xalloc(cells, sizeof *d->parent);
	if (!is_bytes(b)) {
		d->number = am_xalloc(b->high - b->low, sizeof *d->number);
		find_classes(b);
		return;
	}
	d->private = am_xalloc(cells, sizeof *d->private);
	find_blocks(b);
}

const char *am_build_data(struct am_build *b, uint32_t e, bool inside)
{
	const struct am_run_event *r = &b->run->event.at[e];

	if (!inside)
		return NULL;
	if (is_bytes(b))
		add_bytes(b, e);
	else if (r->reads || r->writes)
		add_cells(b, e);
	return NULL;
}

void am_build_data_free(struct am_build *b)
{
	struct am_build_data *d = b->data;

	for (uint32_t t = 0; t < b->run->n_threads; t++)
		free(d->node[t].at);
	free(d->node);
	free(d->first_node);
	free(d->parent);
	free(d->cell_object);
	free(d->block.at);
	free(d->class.at);
	free(d->number);
	free(d->private);
	free(d->pending.at);
	free(d);
}
