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
		if (j->region && !am_glob_list(j->region, name))
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

static int predict(struct am_predict_tool *j)
{
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	interruptible();
	if (!am_loaded_open(&j->loaded, j->path, j->atomic)) {
		fprintf(stderr, "atommon-predict: %s\n", j->loaded.error);
		return AM_STATUS_BAD;
	}
	const struct am_run *run = &j->loaded.run;
	const enum am_predict_model strongest = am_predict_model_strongest(run);
	if (j->is_auto)
		j->options.model = strongest;
	if (j->options.model > strongest && run->region.n) {
		fprintf(stderr, "atommon-predict: model %s needs %s, which '%s' does not have; using %s\n",
			am_predict_model_name(j->options.model),
			j->options.model == AM_PREDICT_CTP ? "expressions ('atommon cc --symbolic')"
							   : "accesses and their values",
			j->path, am_predict_model_name(strongest));
		j->options.model = strongest;
	}
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
				     .skip = skip,
				     .stop = &stop,
				     .progress = progress};
	const bool is_complete = am_jobs_run(&jobs, j->results) && !stop;
	free(skip);
	for (uint32_t i = 0; i < run->region.n; i++) {
		j->count[j->results[i].outcome]++;
		if (j->results[i].outcome == AM_OUT_PROVED)
			j->how[j->results[i].how]++;
	}
	if (!am_tool_report(j))
		return AM_STATUS_BAD;
	clock_gettime(CLOCK_MONOTONIC, &end);
	FILE *out = j->format == AM_REPORT_TEXT ? j->out : stderr;
	am_tool_summarise(j, out);
	if (j->stats) {
		/* candidates may take their time; all that was found is told already */
		j->three &= !stop;
		fflush(out);
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		am_tool_stats(j, out,
			    (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
	}
	if (fflush(j->out) != 0 || ferror(j->out)) {
		fprintf(stderr, "atommon-predict: cannot write the output: %s\n", strerror(errno));
		return AM_STATUS_BAD;
	}
	if (j->reported)
		return AM_STATUS_PREDICTED;
	return j->count[AM_OUT_UNDECIDED] || run->regions_lost || !is_complete ? AM_STATUS_UNDECIDED : AM_STATUS_NONE;
}

int main(int argc, char **argv)
{
	static struct am_predict_tool j = {.is_auto = true,
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
	for (uint32_t i = 0; j.results && i < j.loaded.run.region.n; i++)
		am_region_result_free(&j.results[i]);
	free(j.results);
	if (j.predict)
		am_predict_free(j.predict);
	am_loaded_close(&j.loaded);
	return result;
}
