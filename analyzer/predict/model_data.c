/* Memory of the models: what the four have in common, and its life. Runs in tools. */
/* SPDX-License-Identifier: MIT */
#include "model_state.h"
#include "unused.h"

#include <stdlib.h>
#include <string.h>

static bool is_bytes(const struct am_build *b)
{
	return b->kind == AM_PREDICT_VALUE || b->kind == AM_PREDICT_CTP;
}

uint32_t am_build_assume(struct am_build *b, uint32_t thread, uint32_t cond)
{
	const uint32_t x = am_ctp_assume(b->ctp, thread, cond);

	am_ctp_at(b->ctp, x)->origin = UINT64_MAX;
	return x;
}

uint32_t am_build_equals(struct am_build *b, uint32_t node, unsigned width, uint64_t value)
{
	return am_ctp_op(b->ctp, AM_OP_EQ, 1, node, am_ctp_const(b->ctp, width, value), 0);
}

void am_build_note(struct am_build *b, uint32_t e, uint32_t x)
{
	am_ctp_at(b->ctp, x)->origin = e;
	am_ctp_at(b->ctp, x)->order = am_run_raw(b->run, e)->order & AM_ORDER_MASK;
	if (am_is_vouched(am_run_raw(b->run, e)))
		am_ctp_at(b->ctp, x)->flags |= AM_CTP_VOUCHED;
	if (b->event[e - b->low] == AM_NONE)
		b->event[e - b->low] = x;
}

uint32_t am_build_root(struct am_build_data *d, uint32_t cell)
{
	while (d->parent[cell] != cell)
		cell = d->parent[cell] = d->parent[d->parent[cell]];
	return cell;
}

bool am_build_is_shared(const struct am_build *b, uint32_t e)
{
	const struct am_run_event *r = &b->run->event.at[e];
	return am_segment_has(b->segment, r) && (r->reads || r->writes);
}

/* Unite the cells that one access covers. */
void am_build_unite(struct am_build *b, bool frees)
{
	struct am_build_data *d = b->data;

	for (uint32_t c = 0; c < b->run->n_cells; c++)
		d->parent[c] = c;
	for (uint32_t e = b->low; e < b->high; e++) {
		const struct am_run_event *r = &b->run->event.at[e];
		if (!am_build_is_shared(b, e) || (!frees && am_run_raw(b->run, e)->kind == AM_FREE))
			continue;
		for (uint32_t c = r->cell + 1; c < r->cell + r->cells; c++)
			d->parent[am_build_root(d, c)] = am_build_root(d, r->cell);
	}
}


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
		am_build_cells_init(b);
		return;
	}
	d->private = am_xalloc(cells, sizeof *d->private);
	d->first_write = am_xalloc(cells, sizeof *d->first_write);
	am_build_blocks_init(b);
}

const char *am_build_data(struct am_build *b, uint32_t e, bool inside)
{
	const struct am_run_event *r = &b->run->event.at[e];

	if (!inside)
		return NULL;
	if (is_bytes(b))
		am_build_bytes(b, e);
	else if (r->reads || r->writes)
		am_build_cells(b, e);
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
	free(d->first_write);
	free(d->pending.at);
	free(d);
}
