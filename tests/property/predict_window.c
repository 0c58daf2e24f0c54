/*
 * Windows of a long run against plain enumeration of the whole: what a window predicts the whole run shows,
 * what is proved no schedule of the whole run breaks, each region is asked about once, and the events of each
 * window can run as they were recorded behind its prologue. usage: predict_window [SEED [COUNT]]
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/load.h"
#include "analyzer/predict/predict.h"
#include "analyzer/trace/text.h"
#include "predict_gen.h"
#include "tests/property/cases.h"

#include <stdio.h>
#include <unistd.h>

static uint64_t regions, windows, predicted, proved, undecided, broken, skipped;

static bool write_run(const struct am_run *run, const char *path)
{
	static char head[] = "!atommon-trace 1 features=0x0 clock=0 start=0 pid=0\n";
	char why[AM_SOURCE_ERROR_MAX];
	struct am_source *empty =
		am_source_open_stream(fmemopen(head, sizeof head - 1, "r"), NULL, "empty", NULL, why);
	struct am_event none;
	FILE *out = fopen(path, "w");
	struct am_text text;

	if (!empty || !out || am_source_next(empty, &none) != 0)
		return false;
	am_text_begin(&text, out, empty, NULL, NULL);
	for (uint32_t e = 0; e < run->raw.n; e++)
		am_text_event(&text, &run->raw.at[e]);
	am_text_end(&text);
	am_source_close(empty);
	return fclose(out) == 0;
}

static bool wrong(const struct am_run *run, const char *what)
{
	printf("# %s\n", what);
	for (uint32_t e = 0; e < run->event.n; e++) {
		const struct am_event *raw = am_run_raw(run, e);
		printf("# %lu T%u %s %#lx %#lx size %u mode %u\n", raw->index, raw->thread,
		       am_kind_name(raw->kind), raw->object, raw->aux, raw->size, raw->mode);
	}
	return false;
}

/* The recorded order of the window runs. */
static bool replays(const struct am_run *run, const struct am_index *index)
{
	struct am_segment all;
	struct am_machine machine;

	am_segment_whole(&all, run, 0);
	for (uint32_t t = 0; t < run->n_threads; t++)
		all.from[t] = all.to[t];
	am_machine_new(&machine, index);
	const bool ok = am_machine_replay(&machine, &all, false);
	am_machine_unload(&machine);
	am_machine_free(&machine);
	am_segment_free(&all);
	return ok;
}

static uint32_t find(const struct am_run *whole, const struct am_run *part, const struct am_run_region *a)
{
	for (uint32_t r = 0; r < whole->region.n; r++) {
		const struct am_run_region *b = &whole->region.at[r];
		if (b->begin_index == a->begin_index &&
		    whole->thread[b->thread].id == part->thread[a->thread].id)
			return r;
	}
	return AM_NONE;
}

/* AM_SEARCH_*, by trying every schedule of the whole run. */
static enum am_search_verdict enumerate(const struct am_run *run, uint32_t region)
{
	struct am_search s = {.max_steps = 60000};
	struct am_segment all;
	struct am_index index;
	struct am_machine machine;

	am_index_build(&index, run);
	am_segment_whole(&all, run, region);
	am_machine_new(&machine, &index);
	am_machine_load(&machine, &all, false);
	am_search_plain(&s, &machine);
	am_machine_unload(&machine);
	am_machine_free(&machine);
	am_segment_free(&all);
	am_index_free(&index);
	const enum am_search_verdict verdict = s.verdict;
	am_search_free(&s);
	return verdict;
}

static bool check_window(const struct am_run *whole, struct am_loaded *l, uint32_t *asked)
{
	const struct am_predict_options options = {.model = AM_PREDICT_AVP, .context_bound = UINT32_MAX,
						   .max_segment = 100, .steps = 20000, .rounds = 200,
						   .engine = AM_ENGINE_DPOR, .outline = l->outline};
	const struct am_run *run = &l->run;
	struct am_index index;
	bool ok = true;

	windows++;
	am_index_build(&index, run);
	if (!replays(run, &index))
		ok = wrong(run, "a window cannot run as it was recorded");
	struct am_predict *predict = am_predict_new(run, &options);
	for (uint32_t r = 0; ok && r < run->region.n; r++) {
		struct am_region_result result;
		if (!am_loaded_is_own(l, &run->region.at[r]))
			continue;
		const uint32_t same = find(whole, run, &run->region.at[r]);
		if (same == AM_NONE)
			return wrong(run, "a region that the run does not have");
		asked[same]++;
		am_predict_region(predict, r, &result);
		const enum am_search_verdict verdict = enumerate(whole, same);
		skipped += verdict == AM_SEARCH_BUDGET;
		regions++;
		predicted += result.outcome == AM_OUT_PREDICTED;
		proved += result.outcome == AM_OUT_PROVED;
		undecided += result.outcome == AM_OUT_UNDECIDED;
		broken += verdict == AM_SEARCH_FOUND;
		if (result.outcome == AM_OUT_PREDICTED && verdict == AM_SEARCH_NONE)
			ok = wrong(whole, "predicted in a window, and no schedule of the run breaks it");
		if (result.outcome == AM_OUT_PROVED && verdict == AM_SEARCH_FOUND)
			ok = wrong(whole, "proved, and a schedule of the run breaks it");
		am_region_result_free(&result);
	}
	am_predict_free(predict);
	am_index_free(&index);
	return ok;
}

static bool check_run(struct gen_rng *g, const char *path)
{
	const struct gen_shape shape = {.threads = 2 + gen_next(g, 2),
					.ops = 3 + gen_next(g, 4),
					.vars = 1 + gen_next(g, 3),
					.locks = 1 + gen_next(g, 2),
					.conds = gen_next(g, 3) == 0,
					.sems = gen_next(g, 4) == 0,
					.barrier = gen_next(g, 4) == 0,
					.forks = gen_next(g, 3) == 0,
					.wide = gen_next(g, 3) == 0,
					.guarded = gen_next(g, 3) != 0};
	struct am_loaded l, whole;
	struct am_run run;

	gen_run(g, &shape, &run);
	if (!write_run(&run, path))
		return wrong(&run, "cannot write the trace");
	if (!am_loaded_open(&whole, path, NULL, UINT32_MAX) || !am_loaded_next(&whole, NULL, NULL))
		return wrong(&run, whole.error);
	bool ok = am_loaded_open(&l, path, NULL, 4 + gen_next(g, run.raw.n)) || wrong(&run, l.error);
	uint32_t *asked = am_xalloc(whole.run.region.n + 1, sizeof *asked);
	while (ok && am_loaded_next(&l, NULL, NULL))
		ok = check_window(&whole.run, &l, asked);
	for (uint32_t r = 0; ok && r < whole.run.region.n; r++)
		if (asked[r] != 1)
			ok = wrong(&whole.run, "a region that was not asked about once");
	am_loaded_close(&l);
	am_loaded_close(&whole);
	am_run_free(&run);
	free(asked);
	return ok;
}

int main(int argc, char **argv)
{
	const uint64_t count = cases_wanted(argc, argv, 3000);
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	char path[] = "/tmp/atommon-window-XXXXXX";
	uint64_t i = 0;
	bool ok = true;

	close(mkstemp(path));
	for (; ok && i < count; i++) {
		struct gen_rng g = {(seed + i) * UINT64_C(0x9e3779b97f4a7c15) + 1};
		for (int k = 0; k < 8; k++)
			gen_next(&g, 2);
		ok = check_run(&g, path);
		if (!ok)
			printf("# seed %lu\n", seed + i);
	}
	unlink(path);
	printf("%s 1 - windows and the whole run agree: %lu regions in %lu windows of %lu runs from seed %lu, %lu broken, "
	       "%lu predicted, %lu proved, %lu undecided, %lu too large to enumerate\n1..1\n",
	       ok ? "ok" : "not ok", regions, windows, i, seed, broken, predicted, proved, undecided, skipped);
	return !ok;
}
