/* Expressions of thread bodies: names, places, operators, by precedence. */
/* SPDX-License-Identifier: MIT */
#include "parse.h"

#include <string.h>

bool am_parse_find_local(const struct am_parser *p, const struct am_token *name, uint32_t *local)
{
	for (uint32_t i = p->n_scope; i-- > 0;) {
		const struct am_lit_local *l = &p->thread->locals[p->scope[i].local];
		if (p->scope[i].is_visible && strlen(l->name) == name->len &&
		    !memcmp(l->name, name->text, name->len)) {
			*local = p->scope[i].local;
			return true;
		}
	}
	for (uint32_t i = 0; i < p->thread->n_locals; i++) {
		const struct am_lit_local *l = &p->thread->locals[i];
		if (l->is_implicit && strlen(l->name) == name->len &&
		    !memcmp(l->name, name->text, name->len)) {
			*local = i;
			return true;
		}
	}
	return false;
}

static struct am_operand of_value(const struct am_lit_expr *e)
{
	return (struct am_operand){ .value = e, .type = e->type, .pos = e->pos };
}

static struct am_operand of_memory(struct am_lit_pos pos, const struct am_lit_expr *address,
				   struct am_lit_type type)
{
	return (struct am_operand){ .place = AM_PLACE_MEMORY, .address = address, .type = type,
				    .pos = pos };
}

const struct am_lit_expr *am_parse_value(struct am_parser *p, const struct am_operand *operand)
{
	if (operand->value)
		return operand->value;
	if (operand->place == AM_PLACE_LOCAL)
		return am_parse_local(p, operand->pos, operand->local);
	if (operand->type.base != AM_LIT_INT && !operand->type.pointers)
		am_parse_fail(p, operand->pos, "this object has no value to read");
	return am_parse_load(p, operand->pos, operand->address, operand->type, AM_LIT_PLAIN);
}

static struct am_operand dereference(struct am_parser *p, struct am_lit_pos pos,
				     const struct am_lit_expr *pointer)
{
	struct am_lit_type type = pointer->type;

	if (!type.pointers) { /* as herd does: a number from somewhere may be an address */
		if (pointer->kind == AM_LIT_X_CONST || !am_parse_has_value(pointer))
			am_parse_fail(p, pos, "only a pointer can be dereferenced");
		type = (struct am_lit_type){ .base = AM_LIT_INT, .bits = 32, .pointers = 1 };
		pointer = am_parse_convert(p, pointer, type);
	}
	type.pointers--;
	return of_memory(pos, pointer, type);
}

/* A name that no declaration of the thread explains is a shared variable. */
static struct am_operand name_operand(struct am_parser *p, const struct am_token *name)
{
	uint32_t index;

	if (am_parse_find_local(p, name, &index))
		return (struct am_operand){ .place = AM_PLACE_LOCAL,
					    .local = index,
					    .type = p->thread->locals[index].type,
					    .pos = name->pos };
	if (am_tok_is(name, "NULL") || am_tok_is(name, "false"))
		return of_value(am_parse_const(p, name->pos, 0, AM_TYPE_INT));
	if (am_tok_is(name, "true"))
		return of_value(am_parse_const(p, name->pos, 1, AM_TYPE_INT));
	if (am_parse_register(p, name, &index))
		return (struct am_operand){ .place = AM_PLACE_LOCAL,
					    .local = index,
					    .type = p->thread->locals[index].type,
					    .pos = name->pos };
	if (!am_parse_find_object(p, name, &index))
		am_parse_fail(p, name->pos, "'%.*s' is not declared",
			      (int)(name->len < 60 ? name->len : 60), name->text);
	const struct am_lit_object *object = &p->lit->objects[index];
	struct am_lit_type pointer = object->type;
	pointer.pointers++;
	const struct am_lit_expr *address =
		am_parse_const(p, name->pos, am_lit_address(object->cell), pointer);
	return object->is_array ? of_value(address) : of_memory(name->pos, address, object->type);
}

static struct am_operand unary(struct am_parser *p);

static struct am_operand primary(struct am_parser *p)
{
	const struct am_token token = p->token;

	if (token.kind == AM_TOK_NUMBER) {
		const bool is_long = token.is_long || token.number > UINT32_MAX ||
				     (token.number > INT32_MAX && !token.is_unsigned);
		struct am_lit_type type = is_long ? AM_TYPE_LONG : AM_TYPE_INT;
		type.is_unsigned = token.is_unsigned || token.number > INT64_MAX;
		am_parse_take(p);
		return of_value(am_parse_const(p, token.pos, token.number, type));
	}
	if (token.kind == AM_TOK_NAME) {
		am_parse_take(p);
		if (!am_tok_is(&p->token, "("))
			return name_operand(p, &token);
		am_parse_take(p);
		const struct am_lit_expr *call = am_parse_call(p, &token);
		if (!call)
			am_parse_fail(p, token.pos, "unknown function '%.*s'",
				      (int)(token.len < 60 ? token.len : 60), token.text);
		return of_value(call);
	}
	if (!am_parse_accept(p, "("))
		am_parse_fail(p, token.pos, "expected an expression");
	struct am_operand operand = am_parse_assignment(p);
	while (am_tok_is(&p->token, ",")) {
		const struct am_lit_expr *left = am_parse_value(p, &operand);
		am_parse_take(p);
		const struct am_operand right = am_parse_assignment(p);
		operand = of_value(am_parse_comma(p, left, am_parse_value(p, &right)));
	}
	am_parse_expect(p, ")");
	return operand;
}

/* place = value, with the address worked out only once. */
static const struct am_lit_expr *assign(struct am_parser *p, struct am_lit_pos pos,
					const struct am_operand *place,
					const struct am_lit_expr *value)
{
	if (place->place == AM_PLACE_LOCAL) {
		/* A register without declaration takes the type of what it gets. */
		if (p->thread->locals[place->local].is_implicit && value->type.pointers)
			p->thread->locals[place->local].type = value->type;
		return am_parse_set(p, pos, place->local, value);
	}
	if (place->place != AM_PLACE_MEMORY || (place->type.base != AM_LIT_INT && !place->type.pointers))
		am_parse_fail(p, place->pos, "this cannot be assigned to");
	return am_parse_store(p, pos, place->address, place->type, value, AM_LIT_PLAIN);
}

static const struct am_lit_expr *update(struct am_parser *p, struct am_lit_pos pos,
					struct am_operand place, const char *op,
					const struct am_lit_expr *value)
{
	const struct am_lit_expr *prepare = NULL;

	if (place.place == AM_PLACE_MEMORY && place.address->kind != AM_LIT_X_CONST &&
	    place.address->kind != AM_LIT_X_LOCAL) {
		const struct am_token name = { .text = "", .pos = pos };
		const uint32_t temp = am_parse_new_local(p, &name, place.address->type);
		prepare = am_parse_set(p, pos, temp, place.address);
		place.address = am_parse_local(p, pos, temp);
	}
	const struct am_lit_expr *e =
		assign(p, pos, &place, am_parse_binary(p, pos, op, am_parse_value(p, &place), value));
	return prepare ? am_parse_comma(p, prepare, e) : e;
}

static struct am_operand postfix(struct am_parser *p)
{
	struct am_operand operand = primary(p);

	for (;;) {
		const struct am_lit_pos pos = p->token.pos;
		if (am_parse_accept(p, "[")) {
			const struct am_lit_expr *base = am_parse_value(p, &operand);
			const struct am_lit_expr *index = am_parse_expression(p);
			am_parse_expect(p, "]");
			if (!base->type.pointers)
				am_parse_fail(p, pos, "only an array or a pointer can be indexed");
			operand = dereference(p, pos, am_parse_binary(p, pos, "+", base, index));
		} else if (am_tok_is(&p->token, "++") || am_tok_is(&p->token, "--")) {
			const char *op = am_tok_is(&p->token, "++") ? "+" : "-";
			const struct am_lit_expr *one = am_parse_const(p, pos, 1, AM_TYPE_INT);
			am_parse_take(p);
			const struct am_lit_expr *after = update(p, pos, operand, op, one);
			operand = of_value(am_parse_convert(
				p, am_parse_binary(p, pos, *op == '+' ? "-" : "+", after, one),
				operand.type));
		} else if (am_tok_is(&p->token, "->") || am_tok_is(&p->token, ".")) {
			am_parse_fail(p, pos, "structures are not supported");
		} else {
			return operand;
		}
	}
}

static struct am_operand prefix_operator(struct am_parser *p, const struct am_token *op)
{
	struct am_operand operand = unary(p);

	if (am_tok_is(op, "*"))
		return dereference(p, op->pos, am_parse_value(p, &operand));
	if (am_tok_is(op, "&")) {
		if (operand.place != AM_PLACE_MEMORY) {
			/* An array is its own address already. */
			if (operand.value && operand.value->type.pointers)
				return operand;
			am_parse_fail(p, op->pos, "only a shared variable has an address");
		}
		/* The constant or computed address is the pointer; its type says to what. */
		return of_value(operand.address);
	}
	if (am_tok_is(op, "++") || am_tok_is(op, "--"))
		return of_value(update(p, op->pos, operand, am_tok_is(op, "++") ? "+" : "-",
				       am_parse_const(p, op->pos, 1, AM_TYPE_INT)));
	const struct am_lit_expr *e = am_parse_value(p, &operand);
	const struct am_lit_expr *zero = am_parse_const(p, op->pos, 0, AM_TYPE_INT);
	if (am_tok_is(op, "!"))
		return of_value(am_parse_binary(p, op->pos, "==", e, zero));
	if (am_tok_is(op, "-"))
		return of_value(am_parse_binary(p, op->pos, "-", zero, e));
	if (am_tok_is(op, "~"))
		return of_value(am_parse_binary(p, op->pos, "^", e,
						am_parse_const(p, op->pos, UINT64_MAX, AM_TYPE_INT)));
	return of_value(am_parse_convert(p, e, am_parse_promoted(e->type))); /* unary plus */
}

static bool at_type(const struct am_parser *p)
{
	static const char *const words[] = { "int", "unsigned", "signed", "long", "short", "char",
					     "bool", "_Bool", "void", "const", "volatile", "struct",
					     "intptr_t", "uintptr_t", "u8", "u16", "u32", "u64",
					     "s8", "s16", "s32", "s64", "int8_t", "int16_t",
					     "int32_t", "int64_t", "uint8_t", "uint16_t",
					     "uint32_t", "uint64_t", "size_t" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (am_tok_is(&p->token, words[i]))
			return true;
	return false;
}

static struct am_operand unary(struct am_parser *p)
{
	static const char *const ops[] = { "*", "&", "!", "-", "+", "~", "++", "--" };
	const struct am_token token = p->token;
	struct am_operand operand;

	am_parse_deeper(p, token.pos);
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (token.kind == AM_TOK_PUNCT && am_parse_accept(p, ops[i])) {
			operand = prefix_operator(p, &token);
			p->depth--;
			return operand;
		}
	if (am_tok_is(&token, "(")) {
		const struct am_lexer saved = p->lexer;
		am_parse_take(p);
		if (at_type(p)) {
			struct am_lit_type type;
			am_parse_type(p, &type);
			am_parse_stars(p, &type);
			am_parse_expect(p, ")");
			operand = unary(p);
			operand = type.base == AM_LIT_VOID && !type.pointers ?
					  operand :
					  of_value(am_parse_convert(p, am_parse_value(p, &operand),
								    type));
			p->depth--;
			return operand;
		}
		p->lexer = saved;
		p->token = token;
	}
	operand = postfix(p);
	p->depth--;
	return operand;
}

static int precedence(const struct am_token *token)
{
	static const struct {
		const char *text;
		int level;
	} levels[] = { { "||", 1 }, { "&&", 2 }, { "|", 3 }, { "^", 4 }, { "&", 5 },
		       { "==", 6 }, { "!=", 6 }, { "<", 7 }, { ">", 7 }, { "<=", 7 },
		       { ">=", 7 }, { "<<", 8 }, { ">>", 8 }, { "+", 9 }, { "-", 9 },
		       { "*", 10 }, { "/", 10 }, { "%", 10 } };

	if (token->kind == AM_TOK_PUNCT)
		for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
			if (am_tok_is(token, levels[i].text))
				return levels[i].level;
	return 0;
}

static const struct am_lit_expr *logical(struct am_parser *p, struct am_lit_pos pos, bool is_and,
					 const struct am_lit_expr *a, const struct am_lit_expr *b)
{
	struct am_lit_expr *e = am_parse_node(p, is_and ? AM_LIT_X_LOGAND : AM_LIT_X_LOGOR, pos);

	e->a = am_parse_truth(p, a);
	e->b = am_parse_truth(p, b);
	e->type = AM_TYPE_INT;
	return e;
}

static struct am_operand climb(struct am_parser *p, int least)
{
	struct am_operand left = unary(p);

	for (int level; (level = precedence(&p->token)) >= least && level;) {
		const struct am_token op = p->token;
		char text[4] = { 0 };
		memcpy(text, op.text, op.len < 3 ? op.len : 3);
		const struct am_lit_expr *a = am_parse_value(p, &left);
		am_parse_take(p);
		am_parse_deeper(p, op.pos);
		const struct am_operand right = climb(p, level + 1);
		p->depth--;
		const struct am_lit_expr *b = am_parse_value(p, &right);
		left = of_value(level <= 2 ? logical(p, op.pos, level == 2, a, b) :
					     am_parse_binary(p, op.pos, text, a, b));
	}
	return left;
}

static struct am_operand conditional(struct am_parser *p)
{
	struct am_operand test = climb(p, 1);
	const struct am_lit_pos pos = p->token.pos;

	if (!am_parse_accept(p, "?"))
		return test;
	struct am_lit_expr *e = am_parse_node(p, AM_LIT_X_SELECT, pos);
	e->a = am_parse_truth(p, am_parse_value(p, &test));
	const struct am_lit_expr *yes = am_parse_expression(p);
	am_parse_expect(p, ":");
	am_parse_deeper(p, pos);
	const struct am_operand other = conditional(p);
	p->depth--;
	const struct am_lit_expr *no = am_parse_value(p, &other);
	e->type = yes->type.pointers ? yes->type :
		  no->type.pointers  ? no->type :
				       am_parse_common(yes->type, no->type);
	e->b = am_parse_convert(p, yes, e->type);
	e->c = am_parse_convert(p, no, e->type);
	return of_value(e);
}

struct am_operand am_parse_assignment(struct am_parser *p)
{
	static const char *const updates[] = { "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
					       "<<=", ">>=" };

	am_parse_deeper(p, p->token.pos);
	struct am_operand left = conditional(p);
	const struct am_token op = p->token;
	if (am_parse_accept(p, "=")) {
		const struct am_operand right = am_parse_assignment(p);
		left = of_value(assign(p, op.pos, &left, am_parse_value(p, &right)));
	} else if (op.kind == AM_TOK_PUNCT) {
		for (size_t i = 0; i < sizeof(updates) / sizeof(*updates); i++) {
			if (!am_parse_accept(p, updates[i]))
				continue;
			char text[4] = { 0 };
			memcpy(text, updates[i], strlen(updates[i]) - 1);
			const struct am_operand right = am_parse_assignment(p);
			left = of_value(update(p, op.pos, left, text, am_parse_value(p, &right)));
			break;
		}
	}
	p->depth--;
	return left;
}

const struct am_lit_expr *am_parse_expression(struct am_parser *p)
{
	const struct am_operand first = am_parse_assignment(p);
	const struct am_lit_expr *e = am_parse_value(p, &first);

	while (am_parse_accept(p, ",")) {
		const struct am_operand next = am_parse_assignment(p);
		e = am_parse_comma(p, e, am_parse_value(p, &next));
	}
	return e;
}
