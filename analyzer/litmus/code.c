/* Statements to instructions, one thread after the other. Memory: malloc; ends the tool if none. */
/* SPDX-License-Identifier: MIT */
#include "code.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct loop {
	struct loop *outer;
	uint32_t *breaks, *continues; /* instructions to patch */
	uint32_t n_breaks, n_continues;
};

struct coder {
	const struct am_lit *lit;
	struct am_code_thread *out;
	uint32_t temps, temps_max; /* in use now, most ever */
	uint32_t n_counters;
	struct loop *loop;
	uint32_t *returns, n_returns;
};

static uint32_t emit(struct coder *c, struct am_insn insn)
{
	struct am_code_thread *out = c->out;

	if (out->n == out->room) {
		out->room = out->room ? out->room * 2 : 64;
		void *grown = realloc(out->insns, out->room * sizeof(*out->insns));
		if (!grown)
			abort();
		out->insns = grown;
	}
	out->insns[out->n] = insn;
	return out->n++;
}

static void push(uint32_t **list, uint32_t *n, uint32_t value)
{
	uint32_t *grown = realloc(*list, (*n + 1) * sizeof(**list));

	if (!grown)
		abort();
	*list = grown;
	grown[(*n)++] = value;
}

/* Temporaries get their numbers behind the locals; counters behind those when their number is known. */
static uint32_t temp(struct coder *c)
{
	const uint32_t t = c->out->first_temp + c->temps++;

	if (c->temps > c->temps_max)
		c->temps_max = c->temps;
	return t;
}

static void patch(struct coder *c, uint32_t insn)
{
	c->out->insns[insn].imm = c->out->n;
}

static uint32_t expr(struct coder *c, const struct am_lit_expr *e);

/* a ? b : d, both into one register; b and d may be NULL (0 and 1 of the logical operators). */
static uint32_t choose(struct coder *c, const struct am_lit_expr *e, const struct am_lit_expr *yes,
		       uint64_t no_yes, const struct am_lit_expr *no, uint64_t no_no)
{
	const uint32_t dst = temp(c);
	const uint32_t test = expr(c, e->a);
	const uint32_t skip = emit(c, (struct am_insn){ .code = AM_CODE_ZERO, .a = test });

	if (yes)
		emit(c, (struct am_insn){ .code = AM_CODE_MOVE, .dst = dst, .a = expr(c, yes) });
	else
		emit(c, (struct am_insn){ .code = AM_CODE_CONST, .dst = dst, .imm = no_yes });
	const uint32_t over = emit(c, (struct am_insn){ .code = AM_CODE_JUMP });
	patch(c, skip);
	if (no)
		emit(c, (struct am_insn){ .code = AM_CODE_MOVE, .dst = dst, .a = expr(c, no) });
	else
		emit(c, (struct am_insn){ .code = AM_CODE_CONST, .dst = dst, .imm = no_no });
	patch(c, over);
	return dst;
}

static const enum am_code_op plain_steps[] = {
	[AM_LIT_X_LOCK] = AM_CODE_LOCK,		  [AM_LIT_X_UNLOCK] = AM_CODE_UNLOCK,
	[AM_LIT_X_TRYLOCK] = AM_CODE_TRYLOCK,	  [AM_LIT_X_ISLOCKED] = AM_CODE_ISLOCKED,
	[AM_LIT_X_POST] = AM_CODE_POST,		  [AM_LIT_X_TAKE] = AM_CODE_TAKE,
	[AM_LIT_X_SIGNAL] = AM_CODE_SIGNAL,	  [AM_LIT_X_BROADCAST] = AM_CODE_BROADCAST,
	[AM_LIT_X_ASSERT] = AM_CODE_ASSERT,	  [AM_LIT_X_ASSUME] = AM_CODE_ASSUME,
};

static uint32_t expr(struct coder *c, const struct am_lit_expr *e)
{
	struct am_insn insn = { .pos = e->pos, .order = e->order, .type = e->type };

	switch ((enum am_lit_expr_kind)e->kind) {
	case AM_LIT_X_CONST:
		insn.code = AM_CODE_CONST;
		insn.imm = e->value;
		break;
	case AM_LIT_X_LOCAL: /* a copy: the variable may change before the value is used */
		insn.code = AM_CODE_MOVE;
		insn.a = e->local;
		break;
	case AM_LIT_X_OP:
		insn.code = AM_CODE_EVAL;
		insn.op = e->op;
		insn.bits = e->bits;
		insn.width = (uint8_t)am_lit_width(e->type);
		insn.a = expr(c, e->a);
		insn.b = e->b ? expr(c, e->b) : insn.a;
		insn.c = e->c ? expr(c, e->c) : insn.a;
		break;
	case AM_LIT_X_LOGAND: return choose(c, e, e->b, 0, NULL, 0);
	case AM_LIT_X_LOGOR: return choose(c, e, NULL, 1, e->b, 0);
	case AM_LIT_X_SELECT: return choose(c, e, e->b, 0, e->c, 0);
	case AM_LIT_X_COMMA: expr(c, e->a); return expr(c, e->b);
	case AM_LIT_X_SET: {
		const uint32_t value = expr(c, e->a);
		emit(c, (struct am_insn){ .code = AM_CODE_MOVE, .dst = e->local, .a = value,
					  .pos = e->pos });
		return value;
	}
	case AM_LIT_X_LOAD:
		insn.code = AM_CODE_LOAD;
		insn.a = expr(c, e->a);
		break;
	case AM_LIT_X_STORE:
		insn.code = AM_CODE_STORE;
		insn.a = expr(c, e->a);
		insn.b = expr(c, e->b);
		emit(c, insn);
		if (e->order == AM_LIT_FULL) /* nothing after it may pass it */
			emit(c, (struct am_insn){ .code = AM_CODE_FENCE, .order = AM_LIT_MB,
						  .pos = e->pos });
		return insn.b;
	case AM_LIT_X_RMW:
		insn.code = AM_CODE_RMW;
		insn.op = e->rmw;
		insn.a = expr(c, e->a);
		insn.b = expr(c, e->b);
		insn.c = e->c ? expr(c, e->c) : insn.b;
		break;
	case AM_LIT_X_WAIT:
		insn.code = AM_CODE_WAIT;
		insn.a = expr(c, e->a);
		insn.imm = e->b != NULL;
		insn.b = e->b ? expr(c, e->b) : insn.a;
		emit(c, insn);
		insn.code = AM_CODE_WAKE;
		break;
	case AM_LIT_X_BARRIER:
		insn.code = AM_CODE_ARRIVE;
		insn.a = expr(c, e->a);
		emit(c, insn);
		insn.code = AM_CODE_LEAVE;
		break;
	case AM_LIT_X_FENCE:
		insn.code = AM_CODE_FENCE;
		break;
	case AM_LIT_X_FORK:
	case AM_LIT_X_JOIN:
		insn.code = e->kind == AM_LIT_X_FORK ? AM_CODE_FORK : AM_CODE_JOIN;
		insn.imm = e->local;
		break;
	case AM_LIT_X_NOTHING:
	case AM_LIT_X_RCU_LOCK:
	case AM_LIT_X_RCU_UNLOCK:
	case AM_LIT_X_GRACE: return c->out->first_temp;
	case AM_LIT_X_LOCK:
	case AM_LIT_X_UNLOCK:
	case AM_LIT_X_TRYLOCK:
	case AM_LIT_X_ISLOCKED:
	case AM_LIT_X_POST:
	case AM_LIT_X_TAKE:
	case AM_LIT_X_SIGNAL:
	case AM_LIT_X_BROADCAST:
	case AM_LIT_X_ASSERT:
	case AM_LIT_X_ASSUME:
		insn.code = (uint8_t)plain_steps[e->kind];
		insn.a = expr(c, e->a);
		break;
	}
	insn.dst = temp(c);
	emit(c, insn);
	return insn.dst;
}

/* Everything a statement computed is dead at its end. */
static void clear(struct coder *c)
{
	c->temps = 0;
	emit(c, (struct am_insn){ .code = AM_CODE_CLEAR });
}

static void statements(struct coder *c, const struct am_lit_stmt *s);

static void loop(struct coder *c, const struct am_lit_stmt *s)
{
	struct loop l = { .outer = c->loop };
	const uint32_t counter = c->n_counters++;

	c->loop = &l;
	emit(c, (struct am_insn){ .code = AM_CODE_ENTER, .dst = counter });
	const uint32_t top = c->out->n;
	uint32_t leave = UINT32_MAX;
	if (!s->test_last && s->expr) {
		leave = emit(c, (struct am_insn){ .code = AM_CODE_ZERO, .a = expr(c, s->expr) });
		clear(c);
	}
	emit(c, (struct am_insn){ .code = AM_CODE_AGAIN, .dst = counter, .pos = s->pos });
	statements(c, s->body);
	for (uint32_t i = 0; i < l.n_continues; i++)
		patch(c, l.continues[i]);
	if (s->step) {
		expr(c, s->step);
		clear(c);
	}
	if (s->test_last) {
		leave = emit(c, (struct am_insn){ .code = AM_CODE_ZERO, .a = expr(c, s->expr) });
		clear(c);
	}
	emit(c, (struct am_insn){ .code = AM_CODE_JUMP, .imm = top });
	if (leave != UINT32_MAX)
		patch(c, leave);
	for (uint32_t i = 0; i < l.n_breaks; i++)
		patch(c, l.breaks[i]);
	clear(c);
	emit(c, (struct am_insn){ .code = AM_CODE_ENTER, .dst = counter });
	free(l.breaks);
	free(l.continues);
	c->loop = l.outer;
}

static void statements(struct coder *c, const struct am_lit_stmt *s)
{
	for (; s; s = s->next) {
		uint32_t skip, over;

		switch ((enum am_lit_stmt_kind)s->kind) {
		case AM_LIT_S_EXPR:
			expr(c, s->expr);
			clear(c);
			break;
		case AM_LIT_S_IF:
			skip = emit(c, (struct am_insn){ .code = AM_CODE_ZERO, .a = expr(c, s->expr) });
			clear(c);
			statements(c, s->body);
			over = emit(c, (struct am_insn){ .code = AM_CODE_JUMP });
			patch(c, skip);
			clear(c);
			statements(c, s->other);
			patch(c, over);
			break;
		case AM_LIT_S_LOOP: loop(c, s); break;
		case AM_LIT_S_BREAK:
			push(&c->loop->breaks, &c->loop->n_breaks,
			     emit(c, (struct am_insn){ .code = AM_CODE_JUMP }));
			break;
		case AM_LIT_S_CONTINUE:
			push(&c->loop->continues, &c->loop->n_continues,
			     emit(c, (struct am_insn){ .code = AM_CODE_JUMP }));
			break;
		case AM_LIT_S_RETURN:
			push(&c->returns, &c->n_returns,
			     emit(c, (struct am_insn){ .code = AM_CODE_JUMP }));
			break;
		case AM_LIT_S_ATOMIC:
			emit(c, (struct am_insn){ .code = AM_CODE_BEGIN, .imm = s->id, .pos = s->pos });
			statements(c, s->body);
			emit(c, (struct am_insn){ .code = AM_CODE_END, .imm = s->id, .pos = s->pos });
			break;
		case AM_LIT_S_BLOCK: statements(c, s->body); break;
		}
	}
}

static void thread(const struct am_lit *lit, const struct am_lit_thread *t,
		   struct am_code_thread *out)
{
	struct coder c = { .lit = lit, .out = out };

	out->first_temp = t->n_locals;
	statements(&c, t->body);
	for (uint32_t i = 0; i < c.n_returns; i++)
		patch(&c, c.returns[i]);
	free(c.returns);
	clear(&c);
	emit(&c, (struct am_insn){ .code = AM_CODE_HALT });
	out->first_counter = out->first_temp + (c.temps_max ? c.temps_max : 1);
	out->n_regs = out->first_counter + c.n_counters;
	for (uint32_t i = 0; i < out->n; i++)
		if (out->insns[i].code == AM_CODE_ENTER || out->insns[i].code == AM_CODE_AGAIN)
			out->insns[i].dst += out->first_counter;
}

struct am_code *am_code_new(const struct am_lit *lit)
{
	struct am_code *code = calloc(1, sizeof(*code));

	if (!code)
		return NULL;
	code->lit = lit;
	code->threads = calloc(lit->n_threads, sizeof(*code->threads));
	if (!code->threads) {
		free(code);
		return NULL;
	}
	for (uint32_t t = 0; t < lit->n_threads; t++)
		thread(lit, &lit->threads[t], &code->threads[t]);
	return code;
}

void am_code_free(struct am_code *code)
{
	if (!code)
		return;
	for (uint32_t t = 0; t < code->lit->n_threads; t++)
		free(code->threads[t].insns);
	free(code->threads);
	free(code);
}
