/* See ask_rules.h. Prints the matrix of Yang et al., Fig. 5, and the reasons of an impossibility. */
/* SPDX-License-Identifier: MIT */
#include "ask_rules.h"
#include "to_ctp.h"

#include <stdlib.h>
#include <string.h>

struct query {
	struct am_lit_ctp *lc;
	struct am_rules_answer answer;
};

static bool ask(const struct am_lit *lit, const struct am_lit_options *options,
		const struct am_lit_rules_options *rules, struct query *q)
{
	const struct am_lit_ctp_options how = { .unroll = options->unroll,
						.observe = lit->condition != NULL,
						.negate = lit->quantifier == AM_LIT_FORALL,
						.control = rules->matrix };
	struct am_rules_query query = { .model = options->model,
					.without = rules->without,
					.complete = true,
					.matrix = rules->matrix,
					.explain = rules->explain,
					.budget = am_engine_defaults().budget };

	*q = (struct query){ .lc = am_lit_to_ctp(lit, &how) };
	if (q->lc->unsupported)
		return false;
	query.reach = q->lc->observer;
	am_rules_ask(q->lc->ctp, &query, &q->answer);
	return true;
}

static void finish(struct query *q)
{
	if (!q->lc->unsupported)
		am_rules_clear(&q->answer);
	am_lit_ctp_free(q->lc);
}

void am_lit_ask_rules(const struct am_lit *lit, const struct am_lit_options *options,
		      const struct am_lit_rules_options *rules, struct am_lit_report *report)
{
	struct query q;

	*report = (struct am_lit_report){ 0 };
	struct am_lit_verdict *v = am_lit_report_add(report, AM_LIT_PROP_OUTCOME, AM_LIT_UNDECIDED);
	if (lit->unmodelled || !lit->condition) {
		snprintf(v->reason, sizeof(v->reason), "rules are asked about a final condition");
		return;
	}
	if (!ask(lit, options, rules, &q)) {
		snprintf(v->reason, sizeof(v->reason), "not supported: %s", q.lc->unsupported);
		finish(&q);
		return;
	}
	v->answer = q.answer.verdict == AM_FEASIBLE   ? AM_LIT_CAN :
		    q.answer.verdict == AM_INFEASIBLE ? AM_LIT_CANNOT :
							AM_LIT_UNDECIDED;
	if (v->answer == AM_LIT_UNDECIDED)
		snprintf(v->reason, sizeof(v->reason), "%s",
			 q.answer.reason ? q.answer.reason : "the solver gave up");
	else if (q.lc->has_bound && v->answer == AM_LIT_CANNOT) {
		v->answer = AM_LIT_UNDECIDED;
		snprintf(v->reason, sizeof(v->reason), "a loop may run into the bound (--unroll)");
	}
	finish(&q);
}

/* Is it of the program, and not of the observer? */
static bool is_shown(const struct query *q, uint32_t item)
{
	const uint32_t n = q->lc->ctp->event_count;

	if (item >= n)
		return q->lc->object_cell[item - n] != UINT32_MAX;
	const uint8_t kind = q->lc->ctp->events[item].kind;
	return q->lc->events[item].origin != AM_LIT_O_OBSERVER && kind != AM_BEGIN && kind != AM_END &&
	       kind != AM_ASSERT && kind != AM_BRANCH;
}

static void item_text(const struct am_lit *lit, const struct query *q, uint32_t item, char *text,
		      size_t size)
{
	const struct am_ctp *ctp = q->lc->ctp;

	if (item >= ctp->event_count) {
		snprintf(text, size, "init  %s", ctp->objects[item - ctp->event_count].name);
		return;
	}
	const int at = snprintf(text, size, "%-5s ", ctp->threads[ctp->events[item].thread].name);
	am_lit_ctp_event_text(lit, q->lc, item, NULL, text + at, size - (size_t)at);
	char *unknown = strstr(text, " = ?");
	if (unknown)
		*unknown = 0;
}

static void matrix(const struct am_lit *lit, const struct query *q, FILE *out)
{
	const struct am_rules_answer *a = &q->answer;
	uint32_t *number = calloc(q->lc->ctp->event_count + q->lc->ctp->object_count + 1,
				  sizeof(*number));
	uint32_t n = 0;

	if (!number)
		abort();
	fprintf(out, "  events\n");
	for (uint32_t i = 0; i < a->item_count; i++) {
		char text[120];
		if (!is_shown(q, a->items[i]))
			continue;
		number[a->items[i]] = ++n;
		item_text(lit, q, a->items[i], text, sizeof(text));
		const uint32_t line = a->items[i] < q->lc->ctp->event_count ?
					      q->lc->events[a->items[i]].pos.line :
					      0;
		fprintf(out, "    (%u) %s", n, text);
		if (line)
			fprintf(out, ", line %u", line);
		fputc('\n', out);
	}
	fprintf(out, "  order: row before column; 1 always, 0 never, X not determined\n       ");
	for (uint32_t i = 1; i <= n; i++)
		fprintf(out, "%3u", i);
	fputc('\n', out);
	for (uint32_t i = 0; i < a->item_count; i++) {
		if (!number[a->items[i]])
			continue;
		fprintf(out, "    %3u", number[a->items[i]]);
		for (uint32_t j = 0; j < a->item_count; j++)
			if (number[a->items[j]])
				fprintf(out, "%3c", a->matrix[i * a->item_count + j]);
		fputc('\n', out);
	}
	fprintf(out, "  one interleaving:");
	for (uint32_t i = 0; i < a->length; i++)
		if (number[a->run[i]])
			fprintf(out, " %u", number[a->run[i]]);
	fputc('\n', out);
	free(number);
}

static void explanation(const struct am_lit *lit, const struct query *q, FILE *out)
{
	const struct am_rules_answer *a = &q->answer;

	fprintf(out, "  impossible because of, all together:\n");
	for (uint32_t i = 0; i < a->use_count; i++) {
		const struct am_rule_use *use = &a->uses[i];
		fprintf(out, "    %-17s", am_rule_name(use->rule));
		for (uint32_t k = 0; k < use->count; k++) {
			char text[120];
			item_text(lit, q, use->events[k], text, sizeof(text));
			fprintf(out, "%s%s", k ? "; " : " ", text);
			if (use->events[k] < q->lc->ctp->event_count &&
			    q->lc->events[use->events[k]].pos.line)
				fprintf(out, " (line %u)", q->lc->events[use->events[k]].pos.line);
		}
		fputc('\n', out);
	}
}

void am_lit_print_rules(const struct am_lit *lit, const struct am_lit_options *options,
			const struct am_lit_rules_options *rules, FILE *out)
{
	struct query q;

	if (lit->unmodelled)
		return;
	if (!ask(lit, options, rules, &q))
		fprintf(out, "  rules: not supported: %s\n", q.lc->unsupported);
	else if (q.answer.verdict == AM_UNDECIDED)
		fprintf(out, "  rules: undecided: %s\n", q.answer.reason ? q.answer.reason : "budget");
	else if (q.answer.verdict == AM_FEASIBLE && rules->matrix)
		matrix(lit, &q, out);
	else if (q.answer.verdict == AM_INFEASIBLE && rules->explain)
		explanation(lit, &q, out);
	finish(&q);
}
