/*
 * atommon-predict: which regions of a recorded run would another schedule of the same events break?
 * Status 0 nothing, 1 predicted, 2 bad usage or input, 3 undecided.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/tool.h"

#include "atommon/options.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile int stop;

static void on_interrupt(int sig)
{
	(void)sig;
	stop = 1;
}

static void progress(void *ctx, uint32_t done, uint32_t all)
{
	static time_t started, last;
	const time_t now = time(NULL);

	(void)ctx;
	if (!started)
		started = now;
	if (now == last || !isatty(2))
		return;
	last = now;
	const double spent = (double)(now - started);
	const double left = done ? spent * (double)(all - done) / (double)done : 0;
	fprintf(stderr, "\r\033[K%u of %u regions, about %.0f s left", done, all, left);
	if (done == all)
		fprintf(stderr, "\r\033[K");
	fflush(stderr);
}

static uint8_t *settle(struct am_predict_tool *j)
{
	const struct am_run *run = &j->loaded.run;
	uint8_t *skip = am_xalloc(run->region.n, 1);

	for (uint32_t i = 0; i < run->region.n; i++) {
		const char *name = am_loaded_string(&j->loaded, run->region.at[i].name);
		skip[i] = 0xff;
		if (!am_loaded_is_own(&j->loaded, &run->region.at[i]))
			skip[i] = AM_OUT_ELSEWHERE;
		else if (j->region && !am_glob_list(j->region, name))
			skip[i] = AM_OUT_SKIPPED;
		else if (am_loaded_is_observed(&j->loaded, i))
			skip[i] = AM_OUT_OBSERVED;
	}
	return skip;
}

/* A total is shared evenly, whatever each region needs: what one gets must not depend on the others. */
static void share_budget(struct am_predict_tool *j)
{
	const uint64_t regions = j->loaded.run.region.n ? j->loaded.run.region.n : 1;

	if (!j->total || j->total / regions >= j->options.steps)
		return;
	j->options.steps = j->total / regions ? j->total / regions : 1;
	j->options.rounds = j->options.steps / 10 ? j->options.steps / 10 : 1;
}

static void interruptible(void)
{
	struct sigaction act = {.sa_handler = on_interrupt};

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* The strongest model that the trace supports, or what was asked for if it does. */
static void choose_model(struct am_predict_tool *j)
{
	const struct am_run *run = &j->loaded.run;
	const bool is_long = j->loaded.outline != NULL;
	enum am_predict_model strongest = am_predict_model_strongest(run);

	if (is_long && strongest > AM_PREDICT_AVP)
		strongest = AM_PREDICT_AVP;
	if (j->is_auto)
		j->options.model = strongest;
	if (j->options.model <= strongest || !run->region.n)
		return;
	if (is_long)
		fprintf(stderr, "atommon-predict: '%s' has more than %u events (--window), too many for model %s; "
				"using %s\n",
			j->path, j->window, am_predict_model_name(j->options.model),
			am_predict_model_name(strongest));
	else
		fprintf(stderr, "atommon-predict: model %s needs %s, which '%s' does not have; using %s\n",
			am_predict_model_name(j->options.model),
			j->options.model == AM_PREDICT_CTP ? "expressions ('atommon cc --symbolic')"
							   : "accesses and their values",
			j->path, am_predict_model_name(strongest));
	j->options.model = strongest;
}

static void forget_window(struct am_predict_tool *j)
{
	for (uint32_t i = 0; j->results && i < j->loaded.run.region.n; i++)
		am_region_result_free(&j->results[i]);
	free(j->results);
	j->results = NULL;
	if (j->predict)
		am_predict_free(j->predict);
	j->predict = NULL;
}

/* False: not all regions could be asked about. */
static bool predict_window(struct am_predict_tool *j)
{
	const struct am_run *run = &j->loaded.run;

	share_budget(j);
	j->predict = am_predict_new(run, &j->options);
	j->results = am_xalloc(run->region.n, sizeof *j->results);
	uint8_t *skip = settle(j);
	const struct am_jobs jobs = {.run = run,
				     .predict = j->predict,
				     .is_whole = run->event.n <= j->options.max_segment,
				     .jobs = j->jobs,
				     .shard = j->shard,
				     .shards = j->shards,
				     .tries = 8,
				     .known = &j->known,
				     .skip = skip,
				     .stop = &stop,
				     .progress = progress};
	const bool is_complete = am_jobs_run(&jobs, j->results) && !stop;
	free(skip);
	am_tool_sum_window(j);
	am_tool_report_window(j);
	return is_complete;
}

static int predict(struct am_predict_tool *j)
{
	struct timespec begin, end;
	bool is_complete = true;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	interruptible();
	if (!am_loaded_open(&j->loaded, j->path, j->atomic, j->window) || !am_tool_report_begin(j)) {
		if (*j->loaded.error)
			fprintf(stderr, "atommon-predict: %s\n", j->loaded.error);
		return AM_STATUS_BAD;
	}
	j->options.outline = j->loaded.outline;
	while (is_complete && !am_loaded_is_over(&j->loaded)) {
		if (j->stats)
			am_tool_count(j);
		forget_window(j);
		if (!am_loaded_next(&j->loaded, am_tool_see, j))
			break;
		if (!j->windows)
			choose_model(j);
		is_complete = predict_window(j);
	}
	am_tool_report_end(j);
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (*j->loaded.error)
		fprintf(stderr, "atommon-predict: %s\n", j->loaded.error);
	FILE *out = j->format == AM_REPORT_TEXT ? j->out : stderr;
	am_tool_summarise(j, out);
	if (j->stats) {
		/* candidates may take their time; all that was found is told already */
		j->three &= !stop;
		fflush(out);
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		am_tool_count(j);
		am_tool_stats(j, out,
			    (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
	}
	if (fflush(j->out) != 0 || ferror(j->out)) {
		fprintf(stderr, "atommon-predict: cannot write the output: %s\n", strerror(errno));
		return AM_STATUS_BAD;
	}
	if (*j->loaded.error)
		return AM_STATUS_BAD;
	if (j->reported)
		return AM_STATUS_PREDICTED;
	return j->count[AM_OUT_UNDECIDED] || j->regions_lost || !is_complete ? AM_STATUS_UNDECIDED : AM_STATUS_NONE;
}

int main(int argc, char **argv)
{
	static struct am_predict_tool j = {.is_auto = true,
			       .window = 8000000,
			       .options = {.context_bound = UINT32_MAX,
					   .max_segment = 4000,
					   .steps = 200000,
					   .rounds = 20000}};
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);

	j.jobs = processors > 0 ? (uint32_t)processors : 1;
	const int status = am_tool_parse(&j, argc, argv);
	if (status)
		return status < 0 ? 0 : status;
	j.out = j.output ? fopen(j.output, "w") : stdout;
	if (!j.out) {
		fprintf(stderr, "atommon-predict: cannot write '%s': %s\n", j.output, strerror(errno));
		return AM_STATUS_BAD;
	}
	const int result = predict(&j);
	forget_window(&j);
	free(j.known.predicted.at);
	am_loaded_close(&j.loaded);
	return result;
}
