/*
 * The observer of a trace program: a thread that joins all others, reads what the final condition names
 * and branches on it. The outcome is possible iff that branch is reached.
 */
/* SPDX-License-Identifier: MIT */
#include "to_ctp_priv.h"

#include <stdlib.h>

struct observer {
	struct am_build *b;
	uint32_t *cells; /* nodes of final values, 0 not read yet */
};

static uint32_t term_node(struct observer *o, const struct am_lit_term *term)
{
	struct am_build *b = o->b;
	uint32_t node;

	if (term->kind == AM_LIT_T_CONST)
		return am_build_const(b, 64, term->value);
	if (term->kind == AM_LIT_T_LOCAL) {
		node = b->finals[term->thread][term->local];
	} else {
		if (!o->cells[term->cell]) {
			const struct am_where w = am_build_locate(
				b, am_build_const(b, 64, am_lit_address(term->cell)), term->type,
				(struct am_lit_pos){ 0, 0 });
			const uint32_t e =
				am_ctp_read(b->ctp, b->thread, w.object, w.offset, w.size);
			am_build_note(b, e, AM_LIT_O_OBSERVER, (struct am_lit_pos){ 0, 0 });
			b->out->events[e].cell = term->cell;
			b->out->events[e].type = term->type;
			o->cells[term->cell] = am_build_resize(b, am_ctp_at(b->ctp, e)->read,
						       am_lit_width(term->type));
		}
		node = o->cells[term->cell];
	}
	const bool is_signed = !term->type.is_unsigned && !term->type.pointers;
	const unsigned width = b->ctp->nodes[node].width;
	return width == 64 ? node :
			     am_ctp_op(b->ctp, is_signed ? AM_OP_SEXT : AM_OP_ZEXT, 64, node, 0, 0);
}

static uint32_t prop_node(struct observer *o, const struct am_lit_prop *p)
{
	struct am_build *b = o->b;

	switch ((enum am_lit_prop_kind)p->kind) {
	case AM_LIT_P_TRUE: return am_build_const(b, 1, 1);
	case AM_LIT_P_NOT: return am_ctp_not(b->ctp, prop_node(o, p->a));
	case AM_LIT_P_AND: {
		const uint32_t x = prop_node(o, p->a);
		return am_ctp_op(b->ctp, AM_OP_AND, 1, x, prop_node(o, p->b), 0);
	}
	case AM_LIT_P_OR: {
		const uint32_t x = prop_node(o, p->a);
		return am_ctp_op(b->ctp, AM_OP_OR, 1, x, prop_node(o, p->b), 0);
	}
	case AM_LIT_P_COMPARE: break;
	}
	const uint32_t left = term_node(o, &p->left);
	return am_ctp_op(b->ctp, p->op, 1, left, term_node(o, &p->right), 0);
}

void am_build_observe(struct am_build *b)
{
	struct observer o = { .b = b, .cells = calloc(b->lit->n_cells + 1, sizeof(uint32_t)) };
	const struct am_lit_pos nowhere = { 0, 0 };

	if (!o.cells)
		abort();
	b->thread = am_ctp_thread(b->ctp, "observer");
	b->live = 0;
	for (uint32_t t = 0; t < b->lit->n_threads; t++) {
		const uint32_t e = am_ctp_event(b->ctp, b->thread, AM_JOIN, t);
		am_build_note(b, e, AM_LIT_O_OBSERVER, nowhere);
	}
	uint32_t asked = b->lit->condition ? prop_node(&o, b->lit->condition) : am_build_const(b, 1, 1);
	if (b->options->negate)
		asked = am_ctp_not(b->ctp, asked);
	if (b->lit->filter)
		asked = am_ctp_op(b->ctp, AM_OP_AND, 1, asked, prop_node(&o, b->lit->filter), 0);
	b->out->observer = am_ctp_assume(b->ctp, b->thread, asked);
	am_build_note(b, b->out->observer, AM_LIT_O_OBSERVER, nowhere);
	free(o.cells);
}
