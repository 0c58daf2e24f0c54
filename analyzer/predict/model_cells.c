/* Memory of the models sync and avp: cells that hold numbers of writers. Runs in tools. */
/* SPDX-License-Identifier: MIT */
#include "model_state.h"

#include <stdio.h>
#include <stdlib.h>

static struct am_build_class *class_of(struct am_build *b, uint32_t cell)
{
	return &b->data->class.at[b->data->cell_object[am_build_root(b->data, cell)]];
}

void am_build_cells_init(struct am_build *b)
{
	struct am_build_data *d = b->data;

	am_build_unite(b, true);
	for (uint32_t e = b->low; e < b->high; e++) {
		const struct am_run_event *r = &b->run->event.at[e];
		if (!am_build_is_shared(b, e))
			continue;
		uint32_t *at = &d->cell_object[am_build_root(d, r->cell)];
		if (*at == AM_NONE) {
			*at = d->class.n;
			*vec_push(&d->class) = (struct am_build_class){.object = AM_NONE, .first = AM_NONE};
		}
		struct am_build_class *c = &d->class.at[*at];
		const uint32_t end = c->first == AM_NONE ? 0 : c->first + c->cells;
		c->first = r->cell < c->first ? r->cell : c->first;
		c->cells = (r->cell + r->cells > end ? r->cell + r->cells : end) - c->first;
		c->widest = r->cells > c->widest ? r->cells : c->widest;
		c->writes += r->writes;
	}
	for (uint32_t i = 0; i < d->class.n; i++) {
		struct am_build_class *c = &d->class.at[i];
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
static uint64_t pattern(const struct am_build_class *c, const uint64_t *number, uint32_t n)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < n; i++)
		value |= number[i] << 8 * c->bytes * i;
	return value;
}

/* One event: cells [first, first + n) of event e, which fit 8 bytes. */
static uint32_t add_piece(struct am_build *b, uint32_t e, uint32_t first, uint32_t n, uint64_t *expected)
{
	struct am_build_class *c = class_of(b, first);
	const struct am_run_event *r = &b->run->event.at[e];
	const uint32_t t = b->thread[r->thread], size = n * c->bytes;
	uint64_t seen[8] = {0}, own[8];
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
	}
	*expected = pattern(c, seen, n);
	const uint32_t offset = am_ctp_const(b->ctp, 64, (uint64_t)(first - c->first) * c->bytes);
	const uint32_t value = am_ctp_const(b->ctp, 8 * size, pattern(c, own, n));
	if (r->writes && r->reads && b->kind == AM_PREDICT_AVP) {
		/* what a broken update would write, if anything, is not known: it does not happen */
		x = am_ctp_update(b->ctp, t, c->object, offset, size);
		am_ctp_at(b->ctp, x)->cond =
			am_build_equals(b, am_ctp_at(b->ctp, x)->read, 8 * size, *expected);
		am_ctp_at(b->ctp, x)->value = value;
	} else if (r->writes) {
		x = am_ctp_write(b->ctp, t, c->object, offset, size, value);
	} else {
		x = am_ctp_read(b->ctp, t, c->object, offset, size);
		if (b->kind == AM_PREDICT_AVP && am_run_may_repeat(am_run_raw(b->run, e)))
			am_ctp_at(b->ctp, x)->cond =
				am_build_equals(b, am_ctp_at(b->ctp, x)->read, 8 * size, *expected);
	}
	am_build_note(b, e, x);
	return x;
}

void am_build_cells(struct am_build *b, uint32_t e)
{
	const struct am_run_event *r = &b->run->event.at[e];
	struct am_build_class *c = class_of(b, r->cell);
	const uint32_t piece = r->cells * c->bytes <= 8 ? r->cells : 1;
	const uint32_t first = b->ctp->event_count;
	VEC(uint64_t) expected = {0};

	if (r->writes) {
		b->data->number[e - b->low] = ++c->numbers;
	}
	for (uint32_t i = 0; i < r->cells; i += piece)
		add_piece(b, e, r->cell + i, piece, vec_push(&expected));
	for (uint32_t i = 0; b->kind == AM_PREDICT_AVP && r->reads && !r->writes && i < expected.n; i++) {
		const uint32_t leaf = am_ctp_at(b->ctp, first + i)->read;
		am_build_assume(b, b->thread[r->thread], am_build_equals(b, leaf, 8 * piece * c->bytes, expected.at[i]));
	}
	free(expected.at);
}
