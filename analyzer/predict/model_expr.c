/* Expressions of the models value and ctp: recorded nodes to nodes of the program. Runs in tools. */
/* SPDX-License-Identifier: MIT */
#include "model_state.h"

#include <stdlib.h>

/* The program's node for expression `id` of a thread: a constant unless it was made in the segment. */
uint32_t am_build_node(struct am_build *b, uint32_t thread, uint32_t id)
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

void am_build_set_node(struct am_build *b, uint32_t thread, uint32_t id, uint32_t node)
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

unsigned am_build_width(const struct am_build *b, uint32_t node)
{
	return b->ctp->nodes[node].width;
}

void am_build_define(struct am_build *b, const struct am_event *raw, uint32_t thread)
{
	const enum am_op op = (enum am_op)(raw->object & 0xff);
	const unsigned width = raw->object >> 8 & 0xff;

	if (op == AM_OP_NONE || op == AM_OP_CONST || op == AM_OP_READ || op >= AM_OP_COUNT || !width ||
	    width > 64)
		return; /* constants are taken from the recorded value */
	const uint32_t a = am_build_node(b, thread, (uint32_t)raw->value);
	const uint32_t second = (uint32_t)(raw->value >> 32);
	const uint32_t y = op == AM_OP_EXTRACT	    ? second
			   : am_op_arity(op) >= 2 ? am_build_node(b, thread, second)
						    : 0;
	const uint32_t z =
		am_op_arity(op) == 3 ? am_build_node(b, thread, (uint32_t)(raw->object >> 16)) : 0;
	am_build_set_node(b, thread, raw->expr, am_ctp_op(b->ctp, op, width, a, y, z));
}

/* `value`: what reads in the cone of a node returned must be as recorded from here on. */
void am_build_settle(struct am_build *b, uint32_t thread, uint32_t node)
{
	struct am_build_data *d = b->data;
	VEC(uint32_t) todo = {0};
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
				am_build_assume(b, b->thread[thread], am_build_equals(b, n, x.width, raw->value));
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

uint32_t am_build_resize(struct am_build *b, uint32_t node, unsigned width)
{
	const unsigned have = am_build_width(b, node);

	if (have == width)
		return node;
	return am_ctp_op(b->ctp, have < width ? AM_OP_ZEXT : AM_OP_TRUNC, width, node, 0, 0);
}

bool am_build_written(const struct am_build *b, const struct am_event *update, uint64_t *value)
{
	for (uint32_t t = 0; t < b->run->n_threads; t++) {
		const struct am_run_thread *thread = &b->run->thread[t];
		if (thread->id != update->thread)
			continue;
		if (!update->expr || !update->aux || update->aux >= thread->node.n)
			return false;
		*value = thread->node.at[update->aux].value;
		return true;
	}
	return false;
}
