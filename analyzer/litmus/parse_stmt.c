/* Threads: parameters, declarations and statements of a litmus program. */
/* SPDX-License-Identifier: MIT */
#include "parse.h"

#include <ctype.h>
#include <string.h>

uint32_t am_parse_new_local(struct am_parser *p, const struct am_token *name,
			    struct am_lit_type type)
{
	struct am_lit_thread *thread = p->thread;

	if (thread->n_locals >= AM_LIT_LOCALS_MAX)
		am_parse_fail(p, name->pos, "more than %d local variables", AM_LIT_LOCALS_MAX);
	thread->locals[thread->n_locals] = (struct am_lit_local){
		.name = am_parse_string(p, name->text, name->len), .type = type
	};
	return thread->n_locals++;
}

static uint32_t declare(struct am_parser *p, const struct am_token *name, struct am_lit_type type,
			uint32_t scope_start)
{
	for (uint32_t i = scope_start; i < p->n_scope; i++) {
		const char *other = p->thread->locals[p->scope[i].local].name;
		if (p->scope[i].is_visible && strlen(other) == name->len &&
		    !memcmp(other, name->text, name->len))
			am_parse_fail(p, name->pos, "'%.*s' is declared twice",
				      (int)(name->len < 60 ? name->len : 60), name->text);
	}
	if (p->n_scope == AM_LIT_LOCALS_MAX)
		am_parse_fail(p, name->pos, "more than %d local variables", AM_LIT_LOCALS_MAX);
	const uint32_t local = am_parse_new_local(p, name, type);
	p->scope[p->n_scope++] = (struct am_scope_entry){ local, true };
	return local;
}

bool am_parse_register(struct am_parser *p, const struct am_token *name, uint32_t *local)
{
	struct am_lit_type type = AM_TYPE_INT;
	bool is_register = name->len > 1 && name->text[0] == 'r' &&
			   isdigit((unsigned char)name->text[1]);

	for (const struct am_pending *pending = p->pending; pending; pending = pending->next)
		if (pending->thread == p->thread->number && pending->reg.len == name->len &&
		    !memcmp(pending->reg.text, name->text, name->len)) {
			is_register = true;
			type.pointers = pending->is_address;
			if (pending->has_type)
				type = pending->type;
		}
	if (!is_register)
		return false;
	/* It belongs to the whole thread, whatever block it appears in first: in no scope. */
	*local = am_parse_new_local(p, name, type);
	p->thread->locals[*local].is_implicit = true;
	return true;
}

static struct am_lit_stmt *new_stmt(struct am_parser *p, enum am_lit_stmt_kind kind,
				    struct am_lit_pos pos)
{
	if (++p->nodes > AM_LIT_NODES_MAX)
		am_parse_fail(p, pos, "the program is too large");
	struct am_lit_stmt *s = am_parse_alloc(p, sizeof(*s));
	s->kind = (uint8_t)kind;
	s->pos = pos;
	return s;
}

static struct am_lit_stmt *expr_stmt(struct am_parser *p, const struct am_lit_expr *e)
{
	struct am_lit_stmt *s = new_stmt(p, AM_LIT_S_EXPR, e->pos);

	s->expr = e;
	return s;
}

static struct am_lit_stmt *statement(struct am_parser *p, uint32_t scope_start);
static struct am_lit_stmt *block(struct am_parser *p);

static struct am_lit_stmt *braces(struct am_parser *p)
{
	struct am_lit_stmt *s = block(p);

	am_parse_expect(p, "}");
	return s;
}

/* "int r1 = READ_ONCE(*x), *r2;" becomes assignments. */
static struct am_lit_stmt *declaration(struct am_parser *p, struct am_lit_type base,
				       uint32_t scope_start)
{
	struct am_lit_stmt *first = new_stmt(p, AM_LIT_S_BLOCK, p->token.pos);
	const struct am_lit_stmt **tail = &first->body;

	do {
		struct am_lit_type type = base;
		am_parse_stars(p, &type);
		const struct am_token name = p->token;
		if (name.kind != AM_TOK_NAME)
			am_parse_fail(p, name.pos, "expected a variable's name");
		am_parse_take(p);
		if (type.base != AM_LIT_INT && !type.pointers)
			am_parse_fail(p, name.pos, "only numbers and pointers can be local");
		if (am_tok_is(&p->token, "["))
			am_parse_fail(p, p->token.pos, "arrays must be shared: declare it in the init "
						       "block");
		const struct am_lit_pos pos = p->token.pos;
		const uint32_t local = declare(p, &name, type, scope_start);
		if (am_parse_accept(p, "=")) {
			const struct am_operand value = am_parse_assignment(p);
			struct am_lit_stmt *s = expr_stmt(
				p, am_parse_set(p, pos, local, am_parse_value(p, &value)));
			*tail = s;
			tail = &s->next;
		}
		struct am_lit_local *l = &p->thread->locals[local];
		l->has_range = am_parse_range(p, &l->low, &l->high);
	} while (am_parse_accept(p, ","));
	am_parse_expect(p, ";");
	return first;
}

static const struct am_lit_expr *test(struct am_parser *p)
{
	am_parse_expect(p, "(");
	const struct am_lit_expr *e = am_parse_truth(p, am_parse_expression(p));
	am_parse_expect(p, ")");
	return e;
}

static const struct am_lit_stmt *scoped(struct am_parser *p)
{
	const uint32_t start = p->n_scope;
	const struct am_lit_stmt *s = statement(p, start);

	p->n_scope = start;
	return s;
}

static struct am_lit_stmt *new_loop(struct am_parser *p, struct am_lit_pos pos)
{
	struct am_lit_stmt *s = new_stmt(p, AM_LIT_S_LOOP, pos);

	s->id = p->lit->n_loops++;
	return s;
}

static const struct am_lit_stmt *loop_body(struct am_parser *p)
{
	p->loops_open++;
	const struct am_lit_stmt *body = scoped(p);
	p->loops_open--;
	return body;
}

static struct am_lit_stmt *for_loop(struct am_parser *p, struct am_lit_pos pos)
{
	struct am_lit_stmt *outer = new_stmt(p, AM_LIT_S_BLOCK, pos);
	const uint32_t start = p->n_scope;
	const struct am_lit_stmt **tail = &outer->body;
	struct am_lit_type type;

	am_parse_expect(p, "(");
	if (am_parse_type(p, &type)) {
		struct am_lit_stmt *s = declaration(p, type, start);
		*tail = s;
		tail = &s->next;
	} else if (!am_parse_accept(p, ";")) {
		struct am_lit_stmt *s = expr_stmt(p, am_parse_expression(p));
		*tail = s;
		tail = &s->next;
		am_parse_expect(p, ";");
	}
	struct am_lit_stmt *loop = new_loop(p, pos);
	*tail = loop;
	if (!am_tok_is(&p->token, ";"))
		loop->expr = am_parse_truth(p, am_parse_expression(p));
	am_parse_expect(p, ";");
	if (!am_tok_is(&p->token, ")"))
		loop->step = am_parse_expression(p);
	am_parse_expect(p, ")");
	loop->body = loop_body(p);
	p->n_scope = start;
	return outer;
}

static struct am_lit_stmt *atomic_block(struct am_parser *p, struct am_lit_pos pos)
{
	struct am_lit_stmt *s = new_stmt(p, AM_LIT_S_ATOMIC, pos);
	const bool was_atomic = p->in_atomic;

	if (p->token.kind == AM_TOK_NAME) {
		s->name = am_parse_string(p, p->token.text, p->token.len);
		am_parse_take(p);
	} else if (p->token.kind == AM_TOK_STRING) {
		s->name = am_parse_string(p, p->token.text + 1, p->token.len - 2);
		am_parse_take(p);
	}
	s->id = p->lit->n_blocks++;
	p->in_atomic = true;
	const unsigned loops = p->loops_open;
	p->loops_open = 0; /* no break or continue out of the block */
	s->body = braces(p);
	p->loops_open = loops;
	p->in_atomic = was_atomic;
	return s;
}

/* "atomic {", "atomic name {", "atomic "name" {": else it is an ordinary name. */
static bool at_atomic(const struct am_parser *p)
{
	struct am_lexer ahead = p->lexer;

	if (!am_tok_is(&p->token, "atomic"))
		return false;
	struct am_token next = am_lex_next(&ahead);
	if (next.kind == AM_TOK_NAME || next.kind == AM_TOK_STRING)
		next = am_lex_next(&ahead);
	return am_tok_is(&next, "{");
}

static struct am_lit_stmt *jump(struct am_parser *p, enum am_lit_stmt_kind kind,
				struct am_lit_pos pos)
{
	if (kind != AM_LIT_S_RETURN && !p->loops_open)
		am_parse_fail(p, pos, "there is no loop to leave here");
	if (kind == AM_LIT_S_RETURN && p->in_atomic)
		am_parse_fail(p, pos, "an atomic block cannot be left by return");
	struct am_lit_stmt *s = new_stmt(p, kind, pos);
	am_parse_expect(p, ";");
	return s;
}

static struct am_lit_stmt *plain_statement(struct am_parser *p, uint32_t scope_start)
{
	const struct am_lit_pos pos = p->token.pos;
	struct am_lit_type type;

	if (am_tok_is(&p->token, "{"))
		return braces(p);
	if (am_parse_accept(p, ";"))
		return new_stmt(p, AM_LIT_S_BLOCK, pos);
	if (at_atomic(p)) {
		am_parse_take(p);
		return atomic_block(p, pos);
	}
	if (am_parse_accept(p, "if")) {
		struct am_lit_stmt *s = new_stmt(p, AM_LIT_S_IF, pos);
		s->expr = test(p);
		s->body = scoped(p);
		if (am_parse_accept(p, "else"))
			s->other = scoped(p);
		return s;
	}
	if (am_parse_accept(p, "while")) {
		struct am_lit_stmt *s = new_loop(p, pos);
		s->expr = test(p);
		s->body = loop_body(p);
		return s;
	}
	if (am_parse_accept(p, "do")) {
		struct am_lit_stmt *s = new_loop(p, pos);
		s->test_last = true;
		s->body = loop_body(p);
		am_parse_expect(p, "while");
		s->expr = test(p);
		am_parse_expect(p, ";");
		return s;
	}
	if (am_parse_accept(p, "for"))
		return for_loop(p, pos);
	if (am_parse_accept(p, "break"))
		return jump(p, AM_LIT_S_BREAK, pos);
	if (am_parse_accept(p, "continue"))
		return jump(p, AM_LIT_S_CONTINUE, pos);
	if (am_parse_accept(p, "return"))
		return jump(p, AM_LIT_S_RETURN, pos);
	if (am_tok_is(&p->token, "goto") || am_tok_is(&p->token, "switch"))
		am_parse_fail(p, pos, "'%.*s' is not supported", (int)p->token.len, p->token.text);
	if (am_parse_type(p, &type))
		return declaration(p, type, scope_start);
	struct am_lit_stmt *s = expr_stmt(p, am_parse_expression(p));
	am_parse_expect(p, ";");
	return s;
}

static struct am_lit_stmt *statement(struct am_parser *p, uint32_t scope_start)
{
	am_parse_deeper(p, p->token.pos);
	struct am_lit_stmt *s = plain_statement(p, scope_start);
	p->depth--;
	return s;
}

static struct am_lit_stmt *block(struct am_parser *p)
{
	const uint32_t start = p->n_scope;
	struct am_lit_stmt *outer = new_stmt(p, AM_LIT_S_BLOCK, p->token.pos);
	const struct am_lit_stmt **tail = &outer->body;

	am_parse_expect(p, "{");
	while (!am_tok_is(&p->token, "}")) {
		if (p->token.kind == AM_TOK_END)
			am_parse_fail(p, p->token.pos, "expected '}' before the end of the file");
		struct am_lit_stmt *s = statement(p, start);
		*tail = s;
		tail = &s->next;
	}
	p->n_scope = start;
	return outer; /* the closing brace is the caller's: it may end a thread */
}

/* A parameter names the shared variable of the same name: a pointer to it, or to its elements. */
static void parameter(struct am_parser *p)
{
	struct am_lit_type type;
	uint32_t object;

	if (!am_parse_type(p, &type))
		am_parse_fail(p, p->token.pos, "expected a type");
	am_parse_stars(p, &type);
	const struct am_token name = p->token;
	if (name.kind != AM_TOK_NAME)
		am_parse_fail(p, name.pos, "expected a parameter's name");
	am_parse_take(p);
	while (am_parse_accept(p, "[")) {
		if (p->token.kind == AM_TOK_NUMBER)
			am_parse_take(p);
		am_parse_expect(p, "]");
		type.pointers++;
	}
	const uint32_t local = declare(p, &name, type, 0);
	struct am_lit_type pointee = type;
	if (!type.pointers) {
		if (type.base == AM_LIT_INT)
			return; /* an ordinary register; the init block may set it */
		/* "spinlock_t l": the object itself is meant. */
		p->thread->locals[local].type.pointers = 1;
	} else {
		pointee.pointers--;
	}
	if (!am_parse_find_object(p, &name, &object))
		object = am_parse_object(p, &name, pointee, 1, false);
	struct am_lit_object *o = &p->lit->objects[object];
	if (!o->is_typed) {
		o->type = pointee;
		o->is_typed = true;
	} else if ((o->type.base == AM_LIT_INT) != (pointee.base == AM_LIT_INT) && !pointee.pointers &&
		   pointee.base != AM_LIT_VOID) {
		am_parse_fail(p, name.pos, "'%s' is declared as something else", o->name);
	}
	p->thread->locals[local].init = am_lit_address(o->cell);
}

static struct am_lit_thread *new_thread(struct am_parser *p)
{
	struct am_lit *lit = p->lit;
	const struct am_token name = p->token;
	uint32_t number = 0, t = 0;

	for (size_t i = 1; i < name.len; i++) {
		if (!isdigit((unsigned char)name.text[i]) || number > 0xffff)
			am_parse_fail(p, name.pos, "expected a thread, 'P0(...) { ... }'");
		number = number * 10 + (uint32_t)(name.text[i] - '0');
	}
	while (t < lit->n_threads && lit->threads[t].number != number)
		t++;
	if (t < lit->n_threads && lit->threads[t].n_locals != UINT32_MAX)
		am_parse_fail(p, name.pos, "thread P%u is defined twice", number);
	if (t == AM_LIT_THREADS_MAX)
		am_parse_fail(p, name.pos, "more than %d threads", AM_LIT_THREADS_MAX);
	struct am_lit_thread *thread = &lit->threads[t];
	if (t == lit->n_threads) {
		*thread = (struct am_lit_thread){ .number = number };
		lit->n_threads++;
	}
	thread->n_locals = 0;
	thread->locals = am_parse_alloc(p, AM_LIT_LOCALS_MAX * sizeof(*thread->locals));
	am_parse_take(p);
	return thread;
}

void am_parse_thread(struct am_parser *p)
{
	p->thread = new_thread(p);
	p->n_scope = 0;
	p->loops_open = 0;
	p->in_atomic = false;
	am_parse_expect(p, "(");
	if (!am_tok_is(&p->token, ")") && !am_tok_is(&p->token, "void")) {
		do
			parameter(p);
		while (am_parse_accept(p, ","));
	} else {
		am_parse_accept(p, "void");
	}
	p->lexer.in_body = true; /* before the token behind ")": a body may begin with (*x) */
	am_parse_expect(p, ")");
	p->thread->body = block(p);
	p->lexer.in_body = false;
	am_parse_expect(p, "}");
}
