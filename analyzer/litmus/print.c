/* Text for people, JSON for programs; see print.h. */
/* SPDX-License-Identifier: MIT */
#include "print.h"
#include "analyzer/report/jsonw.h"

#include <string.h>

static const char *answer_words(const struct am_lit_verdict *v)
{
	if (v->answer == AM_LIT_UNDECIDED)
		return "undecided";
	const bool can = v->answer == AM_LIT_CAN;
	switch (v->property) {
	case AM_LIT_PROP_OUTCOME: return can ? "can happen" : "cannot happen";
	case AM_LIT_PROP_RACE: return can ? "can race" : "no race";
	case AM_LIT_PROP_ASSERT: return can ? "can fail" : "cannot fail";
	default: return can ? "can be broken" : "cannot be broken";
	}
}

static void block_text(const struct am_lit *lit, const struct am_lit_verdict *v, char *text,
		       size_t size)
{
	uint32_t thread;
	const struct am_lit_stmt *s =
		v->block == UINT32_MAX ? NULL : am_lit_find_block(lit, v->block, &thread);

	text[0] = 0;
	if (s)
		snprintf(text, size, " block%s%.60s (P%u, line %u)", s->name ? " " : "",
			 s->name ? s->name : "", lit->threads[thread].number, s->pos.line);
}

/* Thread columns; a mark before the steps that show the property. */
static void witness(const struct am_lit *lit, const struct am_lit_verdict *v, FILE *out)
{
	size_t width = 8;

	for (uint32_t i = 0; i < v->n_lines; i++)
		if (strlen(v->lines[i].text) > width)
			width = strlen(v->lines[i].text);
	const bool in_columns = (width + 3) * lit->n_threads <= 90;
	fprintf(out, "      step ");
	for (uint32_t t = 0; t < lit->n_threads && in_columns; t++) {
		char name[16];
		snprintf(name, sizeof(name), "P%u", lit->threads[t].number);
		fprintf(out, "  %-*s", (int)width + 1, name);
	}
	fputc('\n', out);
	for (uint32_t i = 0; i < v->n_lines; i++) {
		const struct am_lit_line *l = &v->lines[i];
		fprintf(out, "      %3u  ", i + 1);
		if (in_columns)
			fprintf(out, "%*s", (int)((width + 3) * l->thread), "");
		else
			fprintf(out, " P%-3u", lit->threads[l->thread].number);
		fprintf(out, " %c%s", l->is_mark ? '>' : ' ', l->text);
		if (l->line) {
			const size_t left = in_columns ? (width + 3) * (lit->n_threads - l->thread) : 40;
			const size_t used = strlen(l->text) + 2;
			fprintf(out, "%*s  line %u", (int)(left > used ? left - used : 0), "", l->line);
		}
		fputc('\n', out);
	}
}

void am_lit_print_text(const struct am_lit *lit, const struct am_lit_options *options,
		       const struct am_lit_report *report, FILE *out)
{
	fprintf(out, "%s (%s)\n", lit->name, am_model_name(options->model));
	for (uint32_t i = 0; i < report->n; i++) {
		const struct am_lit_verdict *v = &report->verdicts[i];
		char block[120];
		block_text(lit, v, block, sizeof(block));
		fprintf(out, "  %s:%s %s", am_lit_property_name(v->property), block, answer_words(v));
		if (v->property > AM_LIT_PROP_RACE && v->property != AM_LIT_PROP_ASSERT &&
		    v->block == UINT32_MAX && v->answer == AM_LIT_CANNOT)
			fprintf(out, " (there is no atomic block)");
		if (v->reason[0])
			fprintf(out, ": %s", v->reason);
		fputc('\n', out);
		if (v->n_lines)
			witness(lit, v, out);
		if (v->final[0])
			fprintf(out, "      final %s\n", v->final);
	}
}

/* ---- JSON ------------------------------------------------------------------------------------------ */

static void to_file(void *ctx, const char *text, size_t len)
{
	fwrite(text, 1, len, ctx);
}

static void json_verdict(struct am_jsonw *w, const struct am_lit *lit,
			 const struct am_lit_verdict *v)
{
	static const char *const answers[] = { "cannot", "can", "undecided" };
	uint32_t thread;

	am_jsonw_open(w, NULL, '{');
	am_jsonw_text(w, "property", am_lit_property_name(v->property));
	am_jsonw_text(w, "answer", answers[v->answer]);
	const struct am_lit_stmt *s =
		v->block == UINT32_MAX ? NULL : am_lit_find_block(lit, v->block, &thread);
	if (s) {
		am_jsonw_open(w, "block", '{');
		am_jsonw_text(w, "name", s->name ? s->name : "");
		am_jsonw_number(w, "thread", lit->threads[thread].number);
		am_jsonw_number(w, "line", s->pos.line);
		am_jsonw_close(w, '}');
	}
	if (v->reason[0])
		am_jsonw_text(w, "reason", v->reason);
	am_jsonw_number(w, "work", v->work);
	if (v->final[0])
		am_jsonw_text(w, "final", v->final);
	if (v->answer == AM_LIT_CAN) {
		am_jsonw_open(w, "witness", '[');
		for (uint32_t i = 0; i < v->n_lines; i++) {
			am_jsonw_open(w, NULL, '{');
			am_jsonw_number(w, "thread", lit->threads[v->lines[i].thread].number);
			am_jsonw_number(w, "line", v->lines[i].line);
			am_jsonw_text(w, "text", v->lines[i].text);
			am_jsonw_bool(w, "mark", v->lines[i].is_mark);
			am_jsonw_close(w, '}');
		}
		am_jsonw_close(w, ']');
	}
	am_jsonw_close(w, '}');
}

void am_lit_print_json(const struct am_lit *lit, const struct am_lit_options *options,
		       const struct am_lit_report *report, FILE *out)
{
	static const char *const engines[] = { "smt", "enumerate", "model-check" };
	struct am_out sink = { to_file, out };
	struct am_jsonw w;

	am_jsonw_init(&w, &sink);
	am_jsonw_open(&w, NULL, '{');
	am_jsonw_text(&w, "file", lit->file);
	am_jsonw_text(&w, "name", lit->name);
	am_jsonw_text(&w, "model", am_model_name(options->model));
	am_jsonw_text(&w, "engine", engines[options->engine]);
	am_jsonw_number(&w, "status", (uint64_t)am_lit_report_status(report));
	am_jsonw_open(&w, "verdicts", '[');
	for (uint32_t i = 0; i < report->n; i++)
		json_verdict(&w, lit, &report->verdicts[i]);
	am_jsonw_close(&w, ']');
	am_jsonw_close(&w, '}');
	fputc('\n', out);
}

void am_lit_print_json_error(const char *file, const struct am_lit_error *error, FILE *out)
{
	struct am_out sink = { to_file, out };
	struct am_jsonw w;

	am_jsonw_init(&w, &sink);
	am_jsonw_open(&w, NULL, '{');
	am_jsonw_text(&w, "file", file);
	am_jsonw_number(&w, "status", 2);
	am_jsonw_number(&w, "line", error->pos.line);
	am_jsonw_number(&w, "column", error->pos.column);
	am_jsonw_text(&w, "error", error->message);
	am_jsonw_close(&w, '}');
	fputc('\n', out);
}
