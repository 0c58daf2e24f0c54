/* The end of a litmus file: locations, filter, exists, ~exists, forall; and how a condition is judged. */
/* SPDX-License-Identifier: MIT */
#include "parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct am_lit_prop *new_prop(struct am_parser *p, enum am_lit_prop_kind kind)
{
	if (++p->nodes > AM_LIT_NODES_MAX)
		am_parse_fail(p, p->token.pos, "the condition is too large");
	struct am_lit_prop *prop = am_parse_alloc(p, sizeof(*prop));
	prop->kind = (uint8_t)kind;
	return prop;
}

static struct am_lit_term cell_term(struct am_parser *p, const struct am_token *name)
{
	uint32_t object;

	if (!am_parse_find_object(p, name, &object))
		am_parse_fail(p, name->pos, "there is no variable '%.*s'",
			      (int)(name->len < 60 ? name->len : 60), name->text);
	const struct am_lit_object *o = &p->lit->objects[object];
	struct am_lit_term term = { .kind = AM_LIT_T_CELL, .cell = o->cell, .type = o->type };
	if (am_parse_accept(p, "[")) {
		const struct am_lit_pos pos = p->token.pos;
		const int64_t index = am_parse_number(p);
		if (index < 0 || index >= o->count)
			am_parse_fail(p, pos, "this element is not in the array");
		am_parse_expect(p, "]");
		term.cell += (uint32_t)index;
	}
	return term;
}

static struct am_lit_term register_term(struct am_parser *p, const struct am_token *number)
{
	am_parse_expect(p, ":");
	const struct am_token name = p->token;
	if (name.kind != AM_TOK_NAME)
		am_parse_fail(p, name.pos, "expected a register's name");
	am_parse_take(p);
	for (uint32_t t = 0; t < p->lit->n_threads; t++) {
		const struct am_lit_thread *thread = &p->lit->threads[t];
		if (thread->number != number->number)
			continue;
		for (uint32_t i = 0; i < thread->n_locals; i++)
			if (strlen(thread->locals[i].name) == name.len &&
			    !memcmp(thread->locals[i].name, name.text, name.len))
				return (struct am_lit_term){ .kind = AM_LIT_T_LOCAL, .thread = t,
							     .local = i,
							     .type = thread->locals[i].type };
		am_parse_fail(p, name.pos, "P%u has no local variable '%.*s'", thread->number,
			      (int)(name.len < 60 ? name.len : 60), name.text);
	}
	am_parse_fail(p, number->pos, "there is no thread P%" PRIu64, number->number);
}

/* A place: 0:r1, x, [x], *x, a[2]. */
static struct am_lit_term place(struct am_parser *p)
{
	const struct am_token token = p->token;

	if (am_parse_accept(p, "[")) {
		const struct am_token name = p->token;
		am_parse_take(p);
		const struct am_lit_term term = cell_term(p, &name);
		am_parse_expect(p, "]");
		return term;
	}
	am_parse_accept(p, "*");
	const struct am_token first = p->token;
	if (first.kind == AM_TOK_NUMBER) {
		am_parse_take(p);
		return register_term(p, &first);
	}
	if (first.kind != AM_TOK_NAME)
		am_parse_fail(p, token.pos, "expected a variable or a register, as in '0:r1'");
	am_parse_take(p);
	return cell_term(p, &first);
}

/* A value: number, name or &name (an address), or a register "0:r1". */
static struct am_lit_term value(struct am_parser *p)
{
	struct am_lit_term term = { .kind = AM_LIT_T_CONST, .type = AM_TYPE_LONG };
	const struct am_token token = p->token;

	if (am_parse_accept(p, "NULL"))
		return term;
	if (token.kind == AM_TOK_NAME || am_tok_is(&token, "&")) {
		am_parse_accept(p, "&");
		const struct am_token name = p->token;
		if (name.kind != AM_TOK_NAME)
			am_parse_fail(p, name.pos, "expected a variable's name");
		am_parse_take(p);
		term.value = am_lit_address(cell_term(p, &name).cell);
		return term;
	}
	if (token.kind == AM_TOK_NUMBER) {
		am_parse_take(p);
		if (am_tok_is(&p->token, ":"))
			return register_term(p, &token);
		term.value = token.number;
		return term;
	}
	term.value = (uint64_t)am_parse_number(p);
	return term;
}

static const struct am_lit_prop *proposition(struct am_parser *p, int least);

static const struct am_lit_prop *atom(struct am_parser *p)
{
	static const struct {
		const char *text;
		enum am_op op;
	} ops[] = { { "=", AM_OP_EQ }, { "==", AM_OP_EQ }, { "!=", AM_OP_NE }, { "<>", AM_OP_NE },
		    { "<", AM_OP_SLT }, { "<=", AM_OP_SLE }, { ">", AM_OP_SGT }, { ">=", AM_OP_SGE } };
	struct am_lit_prop *prop;

	am_parse_deeper(p, p->token.pos);
	if (am_parse_accept(p, "~") || am_parse_accept(p, "not") || am_parse_accept(p, "!")) {
		prop = new_prop(p, AM_LIT_P_NOT);
		prop->a = atom(p);
	} else if (am_parse_accept(p, "(")) {
		const struct am_lit_prop *inner = proposition(p, 0);
		am_parse_expect(p, ")");
		p->depth--;
		return inner;
	} else if (am_parse_accept(p, "true")) {
		prop = new_prop(p, AM_LIT_P_TRUE);
	} else if (am_parse_accept(p, "false")) {
		prop = new_prop(p, AM_LIT_P_NOT);
		prop->a = new_prop(p, AM_LIT_P_TRUE);
	} else {
		prop = new_prop(p, AM_LIT_P_COMPARE);
		prop->left = place(p);
		size_t i = 0;
		while (i < sizeof(ops) / sizeof(*ops) && !am_parse_accept(p, ops[i].text))
			i++;
		if (i == sizeof(ops) / sizeof(*ops))
			am_parse_fail(p, p->token.pos, "expected a comparison, as in 'x=1'");
		prop->op = (uint8_t)ops[i].op;
		prop->right = value(p);
	}
	p->depth--;
	return prop;
}

/* Levels: 0 implication (to the right), 1 or, 2 and. */
static const struct am_lit_prop *proposition(struct am_parser *p, int least)
{
	if (least > 2)
		return atom(p);
	am_parse_deeper(p, p->token.pos);
	const struct am_lit_prop *left = proposition(p, least + 1);
	if (least == 0 && am_parse_accept(p, "=>")) {
		struct am_lit_prop *negated = new_prop(p, AM_LIT_P_NOT);
		negated->a = left;
		struct am_lit_prop *either = new_prop(p, AM_LIT_P_OR);
		either->a = negated;
		either->b = proposition(p, 0);
		left = either;
	}
	while (least > 0 && (least == 1 ? am_parse_accept(p, "\\/") || am_parse_accept(p, "||") :
					  am_parse_accept(p, "/\\") || am_parse_accept(p, "&&"))) {
		struct am_lit_prop *both = new_prop(p, least == 1 ? AM_LIT_P_OR : AM_LIT_P_AND);
		both->a = left;
		both->b = proposition(p, least + 1);
		left = both;
	}
	p->depth--;
	return left;
}

static void locations(struct am_parser *p)
{
	struct am_lit_term terms[256];
	uint32_t n = 0;

	am_parse_expect(p, "[");
	while (!am_tok_is(&p->token, "]")) {
		if (n == sizeof(terms) / sizeof(*terms))
			am_parse_fail(p, p->token.pos, "too many locations");
		struct am_lit_type type;
		am_parse_type(p, &type); /* herd lets a type come before a place */
		terms[n++] = place(p);
		if (!am_parse_accept(p, ";") && !am_parse_accept(p, ","))
			break;
	}
	am_parse_expect(p, "]");
	p->lit->locations = am_parse_alloc(p, sizeof(*terms) * (n + p->lit->n_locations));
	memcpy(p->lit->locations, terms, n * sizeof(*terms));
	p->lit->n_locations = n;
}

void am_parse_final(struct am_parser *p)
{
	struct am_lit *lit = p->lit;

	while (p->token.kind != AM_TOK_END) {
		enum am_lit_quantifier quantifier;
		if (am_parse_accept(p, ";"))
			continue;
		if (am_parse_accept(p, "locations")) {
			locations(p);
			continue;
		}
		if (am_parse_accept(p, "filter")) {
			lit->filter = proposition(p, 0);
			continue;
		}
		if (am_parse_accept(p, "exists")) {
			quantifier = AM_LIT_EXISTS;
		} else if (am_parse_accept(p, "forall")) {
			quantifier = AM_LIT_FORALL;
		} else if (am_tok_is(&p->token, "~") || am_tok_is(&p->token, "not")) {
			am_parse_take(p);
			am_parse_expect(p, "exists");
			quantifier = AM_LIT_NEVER;
		} else {
			am_parse_fail(p, p->token.pos,
				      "expected a thread, 'locations', 'filter', 'exists', '~exists' "
				      "or 'forall'");
		}
		if (lit->quantifier != AM_LIT_NO_CONDITION)
			am_parse_fail(p, p->token.pos, "there is a final condition already");
		lit->quantifier = quantifier;
		lit->condition = proposition(p, 0);
	}
}

static uint64_t term_value(const struct am_lit_term *term, const uint64_t *cells,
			   const uint64_t *const *locals)
{
	const uint64_t raw = term->kind == AM_LIT_T_CONST ? term->value :
			     term->kind == AM_LIT_T_CELL  ? cells[term->cell] :
							    locals[term->thread][term->local];

	return (uint64_t)am_lit_extend(raw, term->type);
}

bool am_lit_prop_holds(const struct am_lit_prop *prop, const uint64_t *cells,
		       const uint64_t *const *locals)
{
	switch ((enum am_lit_prop_kind)prop->kind) {
	case AM_LIT_P_TRUE: return true;
	case AM_LIT_P_NOT: return !am_lit_prop_holds(prop->a, cells, locals);
	case AM_LIT_P_AND:
		return am_lit_prop_holds(prop->a, cells, locals) &&
		       am_lit_prop_holds(prop->b, cells, locals);
	case AM_LIT_P_OR:
		return am_lit_prop_holds(prop->a, cells, locals) ||
		       am_lit_prop_holds(prop->b, cells, locals);
	case AM_LIT_P_COMPARE: break;
	}
	return am_op_eval(prop->op, 1, 64, term_value(&prop->left, cells, locals),
			  term_value(&prop->right, cells, locals), 0);
}

void am_lit_cell_name(const struct am_lit *lit, uint32_t cell, char *text, size_t size)
{
	const struct am_lit_object *object = &lit->objects[lit->cells[cell].object];

	if (object->is_array)
		snprintf(text, size, "%s[%u]", object->name, cell - object->cell);
	else
		snprintf(text, size, "%s", object->name);
}

void am_lit_value_text(const struct am_lit *lit, uint64_t value_, struct am_lit_type type, char *text,
		       size_t size)
{
	const uint32_t cell = type.pointers ? am_lit_cell_at(lit, value_) : lit->n_cells;
	const int64_t number = am_lit_extend(value_, type);

	if (cell < lit->n_cells && size > 1) {
		text[0] = '&';
		am_lit_cell_name(lit, cell, text + 1, size - 1);
	} else if (type.is_unsigned && !type.pointers) {
		snprintf(text, size, "%" PRIu64, (uint64_t)number);
	} else {
		snprintf(text, size, "%" PRId64, number);
	}
}
