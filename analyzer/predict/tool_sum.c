/* What atommon-predict counts: regions proved, undecided and why, statistics, over all windows. */
/* SPDX-License-Identifier: MIT */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

/* ---- one window ---------------------------------------------------------------------------------------- */

static void name_region(struct am_predict_tool *j, struct am_tool_list *list, const struct am_region_result *r,
			const char *why)
{
	const struct am_run_region *a = &j->loaded.run.region.at[r->region];
	const char *name = am_loaded_string(&j->loaded, a->name), *site = am_loaded_site(&j->loaded, a->site);

	if (!list->to && !(list->to = open_memstream(&list->text, &list->size)))
		return;
	fprintf(list->to, "  %s%s%s%s: %s\n", *name ? name : "region", *site ? " (" : "", site,
		*site ? ")" : "", why);
}

enum { UNDECIDED_MAX = 20 };

/* Each undecided question once, and not too many. */
static void note_undecided(struct am_predict_tool *j, const struct am_region_result *r)
{
	struct am_tool_list *list = &j->undecided;

	if (!strcmp(r->reason, "like other instances of the same region"))
		return;
	if (list->n++ < UNDECIDED_MAX)
		name_region(j, list, r, r->reason);
	else if (list->n == UNDECIDED_MAX + 1 && list->to)
		fputs("  ...\n", list->to);
}

void am_tool_count(struct am_predict_tool *j)
{
	struct am_predict_counts c, *all = &j->counts;

	if (!j->predict)
		return;
	am_predict_triplets(j->predict, 20000000, j->three, &c);
	all->events += c.events;
	all->threads = c.threads > all->threads ? c.threads : all->threads;
	all->cells += c.cells;
	all->shared_cells += c.shared_cells;
	all->candidates += c.candidates;
	all->after_order += c.after_order;
	all->after_locks += c.after_locks;
	all->feasible += c.feasible;
	all->infeasible += c.infeasible;
	all->undecided += c.undecided;
	all->program_events += c.program_events;
}

void am_tool_sum_window(struct am_predict_tool *j)
{
	const struct am_run *run = &j->loaded.run;

	j->windows++;
	j->lost = run->lost;
	j->regions_lost = run->regions_lost;
	for (uint32_t i = 0; i < run->region.n; i++) {
		const struct am_region_result *r = &j->results[i];
		j->regions += r->outcome != AM_OUT_ELSEWHERE;
		j->count[r->outcome]++;
		if (r->outcome == AM_OUT_PROVED)
			j->how[r->how]++;
		if (r->outcome == AM_OUT_PROVED && j->all)
			name_region(j, &j->proved, r, am_how_name((enum am_how)r->how));
		if (r->outcome == AM_OUT_UNDECIDED)
			note_undecided(j, r);
		j->sum.steps += r->steps;
		j->sum.rounds += r->rounds;
		j->sum.interleavings += r->interleavings;
		j->sum.segments += r->segment_events != 0;
		j->sum.segment_events += r->segment_events;
	}
}

/* ---- all of them ---------------------------------------------------------------------------------------- */

static void tell_list(struct am_tool_list *list, FILE *out)
{
	if (!list->to)
		return;
	fclose(list->to);
	fputs(list->text, out);
	free(list->text);
	list->to = NULL;
}

static const char *why_no_region(const struct am_predict_tool *j)
{
	if (!j->atomic || !strstr(j->atomic, "fn:"))
		return "mark some with atommon.h, or choose with --atomic sections or --atomic fn:GLOB";
	if (j->loaded.has_functions)
		return "no function that it entered has such a name";
	return "it has no function entries; build with 'atommon cc' and record with ATOMMON_ATOMIC=fn:GLOB "
	       "(fn:* keeps all functions, to choose from later)";
}

/* Proofs by order and locks hold whatever is read; what do the others stand on? */
static void tell_assumption(const struct am_predict_tool *j, FILE *out)
{
	const uint64_t n = j->how[AM_HOW_STATIC] + j->how[AM_HOW_SEARCH] + j->how[AM_HOW_SOLVER];
	const uint64_t n_data = j->how[AM_HOW_SEARCH] + j->how[AM_HOW_SOLVER];

	if (!j->is_auto || j->options.model == AM_PREDICT_SYNC)
		return;
	if (j->options.model != AM_PREDICT_CTP && n)
		fprintf(out, "proved as far as reads get their recorded values: a program built with "
			     "'atommon cc --symbolic' also shows what other values lead to\n");
	else if (n_data)
		fprintf(out, "%lu proved by data: schedules that make a branch go another way than in this run "
			     "are not followed; '--model sync' shows what they may lead to\n", n_data);
}

void am_tool_summarise(struct am_predict_tool *j, FILE *out)
{
	const uint64_t undecided = j->count[AM_OUT_UNDECIDED] + j->regions_lost;

	fprintf(out, "atommon-predict: %lu regions: %lu predicted to break%s, %lu proved, %lu undecided",
		j->regions, j->count[AM_OUT_PREDICTED],
		j->options.model == AM_PREDICT_SYNC ? " (potential: data was ignored)" : "",
		j->count[AM_OUT_PROVED], undecided);
	if (j->count[AM_OUT_SAME])
		fprintf(out, ", %lu more instances of the predicted ones", j->count[AM_OUT_SAME]);
	if (j->count[AM_OUT_OBSERVED])
		fprintf(out, ", %lu broken in the recorded run already (see atommon-check)",
			j->count[AM_OUT_OBSERVED]);
	if (j->count[AM_OUT_SKIPPED])
		fprintf(out, ", %lu not asked for", j->count[AM_OUT_SKIPPED]);
	fprintf(out, "; model %s\n", am_predict_model_name(j->options.model));
	if (j->count[AM_OUT_UNDECIDED]) {
		fprintf(out, "undecided:\n");
		tell_list(&j->undecided, out);
	}
	if (j->regions_lost)
		fprintf(out,
			"undecided: %lu regions behind a hole of %lu lost events; record with "
			"ATOMMON_OVERFLOW=block\n",
			j->regions_lost, j->lost);
	if (am_source_info(j->loaded.source)->is_cut)
		fprintf(out, "the trace ends inside a chunk: the rest of it is missing\n");
	if (!j->regions && !j->regions_lost)
		fprintf(out, "no region in this trace: %s\n", why_no_region(j));
	tell_assumption(j, out);
	tell_list(&j->proved, out);
}

void am_tool_stats(struct am_predict_tool *j, FILE *out, double seconds)
{
	const struct am_predict_counts *c = &j->counts;
	const struct am_tool_sums *sum = &j->sum;

	if (j->windows > 1)
		fprintf(out, "  windows %lu, which overlap\n", j->windows);
	fprintf(out, "  events %lu, threads %lu, locations %lu, shared %lu\n", c->events, c->threads, c->cells,
		c->shared_cells);
	fprintf(out, "  three-access candidates %lu, after must-happen-before %lu, after nested locks %lu\n",
		c->candidates, c->after_order, c->after_locks);
	if (j->three)
		fprintf(out, "  of these feasible %lu, infeasible %lu, undecided %lu; solver's events %lu\n",
			c->feasible, c->infeasible, c->undecided, c->program_events);
	fprintf(out, "  proved: too few shared accesses %lu, must-happen-before %lu, locks %lu, static check %lu, "
		     "search %lu, solver %lu\n",
		j->how[AM_HOW_EMPTY], j->how[AM_HOW_ORDER], j->how[AM_HOW_LOCKS], j->how[AM_HOW_STATIC],
		j->how[AM_HOW_SEARCH], j->how[AM_HOW_SOLVER]);
	fprintf(out, "  segments %lu, events in each %.1f; steps %lu, interleavings %lu, solver rounds %lu\n",
		sum->segments, sum->segments ? (double)sum->segment_events / (double)sum->segments : 0,
		sum->steps, sum->interleavings, sum->rounds);
	fprintf(out, "  time %.2f s\n", seconds);
}
