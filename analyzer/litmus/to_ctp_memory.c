/*
 * Memory of a trace program: one object per variable, or one for all where addresses are computed; locks
 * as variables where a program asks whether a lock is taken.
 */
/* SPDX-License-Identifier: MIT */
#include "to_ctp_priv.h"

#include <stdlib.h>

static void note_object(struct am_build *b, uint32_t object, uint32_t cell)
{
	uint32_t *grown = realloc(b->out->object_cell, (object + 1) * sizeof(*grown));

	if (!grown)
		abort();
	b->out->object_cell = grown;
	grown[object] = cell;
}

void am_build_objects(struct am_build *b)
{
	static const enum am_ctp_class classes[] = { [AM_LIT_LOCK] = AM_CTP_LOCK,
						     [AM_LIT_SEM] = AM_CTP_SEM,
						     [AM_LIT_COND] = AM_CTP_COND,
						     [AM_LIT_BARRIER] = AM_CTP_BARRIER };
	const struct am_lit *lit = b->lit;

	b->out->memory = AM_CTP_NONE;
	if (b->merged) {
		b->out->memory =
			am_ctp_data(b->ctp, "memory", lit->n_cells * AM_LIT_CELL_BYTES);
		note_object(b, b->out->memory, lit->n_cells);
	}
	for (uint32_t c = 0; c < lit->n_cells; c++) {
		const struct am_lit_type type = lit->objects[lit->cells[c].object].type;
		const bool is_sync = type.base != AM_LIT_INT && type.base != AM_LIT_VOID &&
				     !type.pointers;
		const uint64_t init = lit->cells[c].init;
		char name[80];

		am_lit_cell_name(lit, c, name, sizeof(name));
		b->object[c] = AM_CTP_NONE;
		if (is_sync && type.base == AM_LIT_LOCK && b->out->lock_data) {
			b->object[c] = am_ctp_data(b->ctp, name, 8);
		} else if (is_sync) {
			b->object[c] = am_ctp_object(b->ctp, classes[type.base], name);
			b->ctp->objects[b->object[c]].count =
				type.base == AM_LIT_BARRIER && !init ? 1 : (uint32_t)init;
		} else if (b->merged) {
			am_ctp_init(b->ctp, b->out->memory, c * AM_LIT_CELL_BYTES, 8, init);
			continue;
		} else {
			b->object[c] = am_ctp_data(b->ctp, name, 8);
			am_ctp_init(b->ctp, b->object[c], 0, 8, init);
		}
		note_object(b, b->object[c], c);
	}
}

static unsigned bytes_of(struct am_lit_type type)
{
	const unsigned bits = am_lit_width(type);

	return bits <= 8 ? 1 : bits / 8;
}

struct am_where am_build_locate(struct am_build *b, uint32_t address, struct am_lit_type type,
			   struct am_lit_pos pos)
{
	const uint32_t n = b->lit->n_cells;
	uint64_t at;

	if (am_ctp_is_const(b->ctp, address, &at)) {
		const uint32_t cell = am_lit_cell_at(b->lit, at);
		if (cell == n) {
			const uint32_t e = am_ctp_assert(b->ctp, b->thread, am_build_const(b, 1, 0));
			am_build_note(b, e, AM_LIT_O_FAULT, pos);
			b->live = am_build_const(b, 1, 0);
			return (struct am_where){ .cell = n };
		}
		if (!b->merged)
			return (struct am_where){ b->object[cell], 0, bytes_of(type), cell };
		return (struct am_where){ b->out->memory,
				       am_build_const(b, 64, (uint64_t)cell * AM_LIT_CELL_BYTES),
				       AM_LIT_CELL_BYTES, cell };
	}
	if (!b->merged) {
		b->need_merge = true;
		longjmp(b->fail, 1);
	}
	const uint32_t offset = am_ctp_op(b->ctp, AM_OP_SUB, 64, address,
					  am_build_const(b, 64, AM_LIT_ADDRESS_BASE), 0);
	const uint32_t inside = am_ctp_op(b->ctp, AM_OP_ULT, 1, offset,
					  am_build_const(b, 64, (uint64_t)n * AM_LIT_CELL_BYTES), 0);
	const uint32_t rest = am_ctp_op(b->ctp, AM_OP_AND, 64, offset,
					am_build_const(b, 64, AM_LIT_CELL_BYTES - 1), 0);
	const uint32_t even = am_ctp_op(b->ctp, AM_OP_EQ, 1, rest, am_build_const(b, 64, 0), 0);
	const uint32_t e = am_ctp_assert(b->ctp, b->thread, am_ctp_and(b->ctp, inside, even));
	am_build_note(b, e, AM_LIT_O_FAULT, pos);
	return (struct am_where){ b->out->memory, offset, AM_LIT_CELL_BYTES, n };
}

static uint32_t lock_update(struct am_build *b, uint32_t object, struct am_lit_pos pos,
			    uint32_t *was_free)
{
	const uint32_t e = am_ctp_update(b->ctp, b->thread, object, 0, 8);
	const uint32_t read = am_ctp_at(b->ctp, e)->read;

	am_build_note(b, e, AM_LIT_O_PROGRAM, pos)->type =
		(struct am_lit_type){ .base = AM_LIT_INT, .bits = 64 };
	am_ctp_at(b->ctp, e)->order = 6;
	*was_free = am_ctp_op(b->ctp, AM_OP_EQ, 1, read, am_build_const(b, 64, 0), 0);
	return e;
}

uint32_t am_build_lock_as_data(struct am_build *b, const struct am_lit_expr *e, uint32_t object)
{
	const uint32_t mine = am_build_const(b, 64, b->thread + 1);
	uint32_t was_free;

	if (e->kind == AM_LIT_X_ISLOCKED) {
		const uint32_t r = am_ctp_read(b->ctp, b->thread, object, 0, 8);
		const uint32_t read = am_ctp_at(b->ctp, r)->read;
		am_build_note(b, r, AM_LIT_O_PROGRAM, e->pos);
		am_ctp_at(b->ctp, r)->order = 1;
		return am_build_resize(b, am_ctp_bool(b->ctp, read), 32);
	}
	const uint32_t u = lock_update(b, object, e->pos, &was_free);
	const uint32_t read = am_ctp_at(b->ctp, u)->read;
	if (e->kind == AM_LIT_X_UNLOCK) {
		am_ctp_at(b->ctp, u)->cond = am_ctp_op(b->ctp, AM_OP_EQ, 1, read, mine, 0);
		am_ctp_at(b->ctp, u)->value = am_build_const(b, 64, 0);
		return am_build_const(b, 32, 0);
	}
	am_ctp_at(b->ctp, u)->value = am_ctp_op(b->ctp, AM_OP_ITE, 64, was_free, mine, read);
	if (e->kind == AM_LIT_X_LOCK)
		am_ctp_at(b->ctp, u)->cond = was_free;
	return am_build_resize(b, was_free, 32);
}
