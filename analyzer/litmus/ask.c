/* Questions to engines, and what is common to their answers. No I/O. */
/* SPDX-License-Identifier: MIT */
#include "ask.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define X(name, text, meaning) text,
	AM_LIT_PROPERTIES(X)
#undef X
};

static const char *const meanings[] = {
#define X(name, text, meaning) meaning,
	AM_LIT_PROPERTIES(X)
#undef X
};

const char *am_lit_property_name(enum am_lit_property property)
{
	return names[property];
}

const char *am_lit_property_meaning(enum am_lit_property property)
{
	return meanings[property];
}

struct am_lit_verdict *am_lit_report_add(struct am_lit_report *report, enum am_lit_property property,
					 enum am_lit_answer answer)
{
	struct am_lit_verdict *grown =
		realloc(report->verdicts, (report->n + 1) * sizeof(*report->verdicts));

	if (!grown)
		abort();
	report->verdicts = grown;
	grown += report->n++;
	*grown = (struct am_lit_verdict){ .property = property, .answer = answer,
					  .block = UINT32_MAX };
	return grown;
}

struct am_lit_line *am_lit_verdict_line(struct am_lit_verdict *verdict)
{
	struct am_lit_line *grown =
		realloc(verdict->lines, (verdict->n_lines + 1) * sizeof(*verdict->lines));

	if (!grown)
		abort();
	verdict->lines = grown;
	grown += verdict->n_lines++;
	*grown = (struct am_lit_line){ 0 };
	return grown;
}

void am_lit_report_clear(struct am_lit_report *report)
{
	for (uint32_t i = 0; i < report->n; i++)
		free(report->verdicts[i].lines);
	free(report->verdicts);
	*report = (struct am_lit_report){ 0 };
}

int am_lit_report_status(const struct am_lit_report *report)
{
	int status = 0;

	for (uint32_t i = 0; i < report->n; i++) {
		if (report->verdicts[i].answer == AM_LIT_CAN)
			return 1;
		if (report->verdicts[i].answer == AM_LIT_UNDECIDED)
			status = 3;
	}
	return status;
}

static const struct am_lit_stmt *find_in(const struct am_lit_stmt *s, uint32_t block)
{
	for (; s; s = s->next) {
		if (s->kind == AM_LIT_S_ATOMIC && s->id == block)
			return s;
		const struct am_lit_stmt *inner = find_in(s->body, block);
		if (!inner)
			inner = find_in(s->other, block);
		if (inner)
			return inner;
	}
	return NULL;
}

const struct am_lit_stmt *am_lit_find_block(const struct am_lit *lit, uint32_t block,
					    uint32_t *thread)
{
	for (uint32_t t = 0; t < lit->n_threads; t++) {
		const struct am_lit_stmt *s = find_in(lit->threads[t].body, block);
		if (s) {
			*thread = t;
			return s;
		}
	}
	return NULL;
}

static bool expr_asserts(const struct am_lit_expr *e)
{
	return e && (e->kind == AM_LIT_X_ASSERT || expr_asserts(e->a) || expr_asserts(e->b) ||
		     expr_asserts(e->c));
}

static bool asserts(const struct am_lit_stmt *s)
{
	for (; s; s = s->next)
		if (expr_asserts(s->expr) || expr_asserts(s->step) || asserts(s->body) ||
		    asserts(s->other))
			return true;
	return false;
}

bool am_lit_has_assert(const struct am_lit *lit)
{
	for (uint32_t t = 0; t < lit->n_threads; t++)
		if (asserts(lit->threads[t].body))
			return true;
	return false;
}

/* ---- final states ------------------------------------------------------------------------------- */

struct places {
	const struct am_lit_term *term[64];
	uint32_t n;
};

static void add_place(struct places *p, const struct am_lit_term *term)
{
	if (term->kind == AM_LIT_T_CONST || p->n == 64)
		return;
	for (uint32_t i = 0; i < p->n; i++)
		if (!memcmp(p->term[i], term, sizeof(*term)))
			return;
	p->term[p->n++] = term;
}

static void prop_places(struct places *p, const struct am_lit_prop *prop)
{
	if (!prop)
		return;
	if (prop->kind == AM_LIT_P_COMPARE) {
		add_place(p, &prop->left);
		add_place(p, &prop->right);
	}
	prop_places(p, prop->a);
	prop_places(p, prop->b);
}

void am_lit_final_text(const struct am_lit *lit, const uint64_t *cells,
		       const uint64_t *const *locals, char *text, size_t size)
{
	struct places p = { .n = 0 };
	size_t at = 0;

	for (uint32_t i = 0; i < lit->n_locations; i++)
		add_place(&p, &lit->locations[i]);
	prop_places(&p, lit->condition);
	text[0] = 0;
	for (uint32_t i = 0; i < p.n && at + 1 < size; i++) {
		const struct am_lit_term *term = p.term[i];
		char name[80], value[80];
		uint64_t raw;
		if (term->kind == AM_LIT_T_CELL) {
			am_lit_cell_name(lit, term->cell, name, sizeof(name));
			raw = cells[term->cell];
		} else {
			const struct am_lit_thread *t = &lit->threads[term->thread];
			snprintf(name, sizeof(name), "%u:%.60s", t->number,
				 t->locals[term->local].name);
			raw = locals[term->thread][term->local];
		}
		am_lit_value_text(lit, raw, term->type, value, sizeof(value));
		at += (size_t)snprintf(text + at, size - at, "%s%s=%s", i ? " " : "", name, value);
	}
}

/* ---- choice of the engine ------------------------------------------------------------------------ */

void am_lit_ask(const struct am_lit *lit, const struct am_lit_options *options,
		struct am_lit_report *report)
{
	*report = (struct am_lit_report){ 0 };
	if (lit->unmodelled) {
		for (unsigned p = 0; p < AM_LIT_PROP_COUNT; p++) {
			if (!(options->properties & 1u << p))
				continue;
			struct am_lit_verdict *v = am_lit_report_add(
				report, (enum am_lit_property)p, AM_LIT_UNDECIDED);
			snprintf(v->reason, sizeof(v->reason), "'%.40s' (line %u) is not modelled",
				 lit->unmodelled, lit->unmodelled_pos.line);
		}
		return;
	}
	switch (options->engine) {
	case AM_LIT_SMT: am_lit_ask_solver(lit, options, report); break;
	case AM_LIT_ENUMERATE: am_lit_ask_explicit(lit, options, report); break;
	case AM_LIT_MODEL_CHECK: am_lit_model_check(lit, options, report); break;
	}
}
