/*
 * atommon-predict: which regions of a recorded run would another schedule of the same events break?
 * Status 0 nothing, 1 predicted, 2 bad usage or input, 3 undecided.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/jobs.h"
#include "analyzer/predict/load.h"
#include "analyzer/predict/schedule.h"
#include "analyzer/report/offline.h"

#include "atommon/options.h"
#include "atommon/regions.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_NONE, STATUS_PREDICTED, STATUS_BAD, STATUS_UNDECIDED };

static const char usage[] =
	"usage: atommon-predict [options] TRACE\n"
	"  TRACE is a trace file (.atm), the ring file of a killed process, text or STD.\n"
	"\n"
	"what\n"
	"  --model M         auto (default), sync, avp, value, ctp; see atommon-predict(1)\n"
	"  --atomic WHAT     what a region is: marked, sections, fn:GLOB, comma list (default: marked\n"
	"                    ones, and functions named when the run was recorded)\n"
	"  --region GLOBS    only regions with these names\n"
	"  --suppressions F  file of patterns that are not reported (may be repeated)\n"
	"how\n"
	"  --engine E        auto (default), smt, dpor, enumerate\n"
	"  --context-bound N dpor: at most N preemptive switches\n"
	"  --max-segment N   events of a segment at most (default 4000)\n"
	"  --budget N        work per region, in thousands of steps (default 200)\n"
	"  --jobs N          worker processes (default: number of processors)\n"
	"  --shard I/N       only part I (from 0) of N of the questions; the parts add up\n"
	"  --no-segments     search the whole run for each region\n"
	"  --no-static       no proofs before the search\n"
	"output\n"
	"  --json, --sarif   instead of text\n"
	"  --stats           what each stage settled\n"
	"  --three           put every three-access candidate to the solver, for --stats\n"
	"  --all             name proved regions too\n"
	"  --witness-dir DIR one schedule file per prediction\n"
	"  --smt2-dir DIR    one SMT-LIB file per solver query\n"
	"  -o, --output FILE write there instead of standard output\n"
	"      --help, --version\n";

enum {
	OPT_MODEL = 256,
	OPT_ATOMIC,
	OPT_REGION,
	OPT_SUPPRESSIONS,
	OPT_ENGINE,
	OPT_CONTEXT,
	OPT_SEGMENT,
	OPT_BUDGET,
	OPT_JOBS,
	OPT_SHARD,
	OPT_NO_SEGMENTS,
	OPT_NO_STATIC,
	OPT_JSON,
	OPT_SARIF,
	OPT_STATS,
	OPT_THREE,
	OPT_ALL,
	OPT_WITNESS,
	OPT_SMT2,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option long_options[] = {
	{"model", required_argument, NULL, OPT_MODEL},
	{"atomic", required_argument, NULL, OPT_ATOMIC},
	{"region", required_argument, NULL, OPT_REGION},
	{"suppressions", required_argument, NULL, OPT_SUPPRESSIONS},
	{"engine", required_argument, NULL, OPT_ENGINE},
	{"context-bound", required_argument, NULL, OPT_CONTEXT},
	{"max-segment", required_argument, NULL, OPT_SEGMENT},
	{"budget", required_argument, NULL, OPT_BUDGET},
	{"jobs", required_argument, NULL, OPT_JOBS},
	{"shard", required_argument, NULL, OPT_SHARD},
	{"no-segments", no_argument, NULL, OPT_NO_SEGMENTS},
	{"no-static", no_argument, NULL, OPT_NO_STATIC},
	{"json", no_argument, NULL, OPT_JSON},
	{"sarif", no_argument, NULL, OPT_SARIF},
	{"stats", no_argument, NULL, OPT_STATS},
	{"three", no_argument, NULL, OPT_THREE},
	{"all", no_argument, NULL, OPT_ALL},
	{"witness-dir", required_argument, NULL, OPT_WITNESS},
	{"smt2-dir", required_argument, NULL, OPT_SMT2},
	{"output", required_argument, NULL, 'o'},
	{"help", no_argument, NULL, OPT_HELP},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

struct job {
	const char *path, *atomic, *region, *output, *witness_dir;
	const char *suppressions[64];
	unsigned n_suppressions;
	bool is_auto, stats, three, all;
	enum am_report_format format;
	struct am_predict_options options;
	uint32_t jobs, shard, shards;
	FILE *out;
	struct am_loaded loaded;
	struct am_predict *predict;
	struct am_region_result *results;
	uint64_t count[AM_OUT_SKIPPED + 1], how[AM_HOW_SOLVER + 1];
	uint64_t reported;
};

static volatile int stop;

static void on_interrupt(int sig)
{
	(void)sig;
	stop = 1;
}

static int bad_usage(const char *what, const char *about)
{
	fprintf(stderr, "atommon-predict: %s '%s'\nTry 'atommon-predict --help'.\n", what, about);
	return STATUS_BAD;
}

/* ---- options ------------------------------------------------------------------------------------------ */

static bool number(const char *text, uint64_t most, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *out <= most;
}

static bool choose_model(struct job *j, const char *text)
{
	j->is_auto = !strcmp(text, "auto");
	for (int m = AM_PREDICT_SYNC; m <= AM_PREDICT_CTP; m++)
		if (!strcmp(text, am_predict_model_name((enum am_predict_model)m))) {
			j->options.model = (enum am_predict_model)m;
			return true;
		}
	return j->is_auto;
}

static bool choose_engine(struct job *j, const char *text)
{
	static const char *const names[] = {"auto", "smt", "dpor", "enumerate"};

	for (unsigned i = 0; i < 4; i++)
		if (!strcmp(text, names[i])) {
			j->options.engine = (enum am_predict_engine)i;
			return true;
		}
	return false;
}

static bool choose_shard(struct job *j, const char *text)
{
	unsigned i, n;
	char rest;

	if (sscanf(text, "%u/%u%c", &i, &n, &rest) != 2 || !n || i >= n)
		return false;
	j->shard = i;
	j->shards = n;
	return true;
}

static int parse(struct job *j, int argc, char **argv)
{
	uint64_t n;
	int c;

	while ((c = getopt_long(argc, argv, "o:", long_options, NULL)) != -1) {
		bool ok = true;
		switch (c) {
		case OPT_MODEL: ok = choose_model(j, optarg); break;
		case OPT_ATOMIC: ok = !am_regions_bad(j->atomic = optarg); break;
		case OPT_REGION: j->region = optarg; break;
		case OPT_SUPPRESSIONS:
			ok = j->n_suppressions < 64;
			if (ok)
				j->suppressions[j->n_suppressions++] = optarg;
			break;
		case OPT_ENGINE: ok = choose_engine(j, optarg); break;
		case OPT_CONTEXT:
			ok = number(optarg, UINT32_MAX - 1, &n);
			j->options.context_bound = (uint32_t)n;
			break;
		case OPT_SEGMENT:
			ok = number(optarg, 10000000, &n) && n;
			j->options.max_segment = (uint32_t)n;
			break;
		case OPT_BUDGET:
			ok = number(optarg, UINT64_MAX / 1000, &n) && n;
			j->options.steps = n * 1000;
			j->options.rounds = n * 100;
			break;
		case OPT_JOBS:
			ok = number(optarg, 1024, &n) && n;
			j->jobs = (uint32_t)n;
			break;
		case OPT_SHARD: ok = choose_shard(j, optarg); break;
		case OPT_NO_SEGMENTS: j->options.no_segments = true; break;
		case OPT_NO_STATIC: j->options.no_static = true; break;
		case OPT_JSON: j->format = AM_REPORT_JSON; break;
		case OPT_SARIF: j->format = AM_REPORT_SARIF; break;
		case OPT_STATS: j->stats = true; break;
		case OPT_THREE: j->stats = j->three = true; break;
		case OPT_ALL: j->all = true; break;
		case OPT_WITNESS: j->witness_dir = optarg; break;
		case OPT_SMT2: j->options.smt2_dir = optarg; break;
		case 'o': j->output = optarg; break;
		case OPT_HELP: fputs(usage, stdout); return -1;
		case OPT_VERSION: puts("atommon-predict " ATOMMON_VERSION); return -1;
		default: fprintf(stderr, "Try 'atommon-predict --help'.\n"); return STATUS_BAD;
		}
		if (!ok)
			return bad_usage("bad value", optarg);
	}
	if (optind + 1 != argc)
		return bad_usage(optind == argc ? "no trace given" : "more than one trace:",
				 optind == argc ? "" : argv[optind + 1]);
	j->path = argv[optind];
	return 0;
}

/* ---- progress ------------------------------------------------------------------------------------------ */

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

/* ---- reports --------------------------------------------------------------------------------------------- */

static void write_out(void *ctx, const char *bytes, size_t n)
{
	fwrite(bytes, 1, n, ((struct job *)ctx)->out);
}

static void complain(void *ctx, const char *message)
{
	(void)ctx;
	fprintf(stderr, "atommon-predict: %s\n", message);
}

static bool read_suppressions(struct job *j, struct am_suppressions *s)
{
	const time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	const uint32_t today = (uint32_t)((tm.tm_year + 1900) * 10000 + (tm.tm_mon + 1) * 100 + tm.tm_mday);
	for (unsigned i = 0; i < j->n_suppressions; i++) {
		FILE *f = fopen(j->suppressions[i], "r");
		VEC(char) text = {0};
		int c;
		if (!f) {
			fprintf(stderr, "atommon-predict: cannot read '%s': %s\n", j->suppressions[i],
				strerror(errno));
			return false;
		}
		while ((c = getc(f)) != EOF)
			*vec_push(&text) = (char)c;
		fclose(f);
		am_suppressions_parse(s, j->suppressions[i], text.at ? text.at : "", text.n, today,
				      complain, NULL);
		free(text.at);
	}
	return true;
}

static void write_schedule(struct job *j, const struct am_region_result *r, const char *id)
{
	const struct am_run_region *a = &j->loaded.run.region.at[r->region];
	const struct am_schedule_head head = {j->path, id, am_loaded_string(&j->loaded, a->name),
					      am_predict_model_name(r->model)};
	char path[4096];

	if (!j->witness_dir)
		return;
	if (mkdir(j->witness_dir, 0777) != 0 && errno != EEXIST) {
		fprintf(stderr, "atommon-predict: cannot make '%s': %s\n", j->witness_dir, strerror(errno));
		return;
	}
	snprintf(path, sizeof path, "%s/%s.schedule", j->witness_dir, id);
	FILE *out = fopen(path, "w");
	bool ok = out && am_schedule_write(&j->loaded.run, r, &head, am_loaded_site, &j->loaded, out);
	ok = out && fclose(out) == 0 && ok;
	if (!ok)
		fprintf(stderr, "atommon-predict: cannot write '%s': %s\n", path, strerror(errno));
}

/* A step of the witness, with the value it has there and not the recorded one. */
static struct am_event witness_event(const struct am_run *run, const struct am_region_result *r, uint32_t i)
{
	struct am_event e = *am_run_raw(run, r->witness[i]);

	if (e.kind != AM_READ && e.kind != AM_WRITE && e.kind != AM_UPDATE)
		return e;
	e.flags &= (uint8_t)~AM_HAS_VALUE;
	e.value = r->value[i];
	if (r->is_known[i])
		e.flags |= AM_HAS_VALUE;
	return e;
}

static void correct(struct am_access *x, const struct am_event *steps, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (steps[i].index == x->index && steps[i].kind == x->kind) {
			x->value = steps[i].value;
			x->flags = steps[i].flags;
			return;
		}
}

static void report(struct job *j, struct am_reporter *reporter, const struct am_region_result *r)
{
	const struct am_run *run = &j->loaded.run;
	const struct am_violation *told = NULL;
	static struct am_cycle cycle;
	char moved[1024];

	if (!am_vpath_find(run, r->region, r->witness, r->witness_n, &cycle))
		return;
	am_schedule_moved(run, r, &cycle, moved, sizeof moved);
	const struct am_event **events = am_xalloc(r->witness_n, sizeof *events);
	struct am_event *steps = am_xalloc(r->witness_n, sizeof *steps);
	for (uint32_t i = 0; i < r->witness_n; i++) {
		steps[i] = witness_event(run, r, i);
		events[i] = &steps[i];
	}
	for (uint32_t i = 0; i < cycle.n_edges; i++) {
		correct(&cycle.edge[i].from, steps, r->witness_n);
		correct(&cycle.edge[i].to, steps, r->witness_n);
	}
	const struct am_witness witness = {
		.event = events,
		.n_events = r->witness_n,
		.moved = moved,
		.model = am_predict_model_name(r->model),
		.status = r->model == AM_PREDICT_SYNC ? AM_POTENTIAL : AM_PREDICTED};
	if (am_reporter_cycle(reporter, &cycle, &witness, &told))
		j->reported++;
	if (told)
		write_schedule(j, r, told->id);
	free(events);
	free(steps);
}

static bool report_all(struct job *j)
{
	struct am_suppressions *suppressions = am_suppressions_new(&j->loaded.mem);
	char next[4200];

	snprintf(next, sizeof next, "atommon-predict --witness-dir schedules %s", j->path);
	if (!suppressions || !read_suppressions(j, suppressions))
		return false;
	const struct am_reporter_config config = {
		.tables = &j->loaded.tables,
		.symbolizer = am_offline_symbolizer(j->loaded.symbols),
		.suppressions = suppressions,
		.format = j->format,
		.style = {.colour = j->out == stdout && isatty(1) && !getenv("NO_COLOR")},
		.out = {write_out, j},
		.max_reports = UINT32_MAX,
		.status = AM_PREDICTED,
		.model = am_predict_model_name(j->options.model),
		.next = j->witness_dir ? "" : next};
	struct am_reporter *reporter = am_reporter_new(&config, &j->loaded.mem);
	if (!reporter)
		return false;
	for (uint32_t i = 0; i < j->loaded.events.n; i++)
		am_reporter_event(reporter, &j->loaded.events.at[i]);
	for (uint32_t i = 0; i < j->loaded.run.region.n; i++)
		if (j->results[i].outcome == AM_OUT_PREDICTED)
			report(j, reporter, &j->results[i]);
	am_reporter_finish(reporter);
	am_reporter_free(reporter);
	am_suppressions_free(suppressions);
	return true;
}

/* ---- what was not predicted ---------------------------------------------------------------------------- */

static void name_region(struct job *j, FILE *out, const struct am_region_result *r, const char *why)
{
	const struct am_run_region *a = &j->loaded.run.region.at[r->region];
	const char *name = am_loaded_string(&j->loaded, a->name), *site = am_loaded_site(&j->loaded, a->site);

	fprintf(out, "  %s%s%s%s: %s\n", *name ? name : "region", *site ? " (" : "", site, *site ? ")" : "",
		why);
}

/* Each undecided question once, with how many regions it stands for. */
static void tell_undecided(struct job *j, FILE *out)
{
	const struct am_run *run = &j->loaded.run;
	uint32_t told = 0;

	for (uint32_t i = 0; i < run->region.n; i++) {
		const struct am_region_result *r = &j->results[i];
		if (r->outcome != AM_OUT_UNDECIDED ||
		    !strcmp(r->reason, "like other instances of the same region"))
			continue;
		if (told++ == 20)
			fprintf(out, "  ...\n");
		if (told > 20)
			break;
		name_region(j, out, r, r->reason);
	}
}

static void summarise(struct job *j, FILE *out)
{
	const struct am_run *run = &j->loaded.run;
	const uint64_t undecided = j->count[AM_OUT_UNDECIDED] + run->regions_lost;

	fprintf(out, "atommon-predict: %u regions: %lu predicted to break%s, %lu proved, %lu undecided",
		run->region.n, j->count[AM_OUT_PREDICTED],
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
		tell_undecided(j, out);
	}
	if (run->regions_lost)
		fprintf(out,
			"undecided: %lu regions behind a hole of %lu lost events; record with "
			"ATOMMON_OVERFLOW=block\n",
			run->regions_lost, run->lost);
	if (!run->region.n && !run->regions_lost)
		fprintf(out, "no region in this trace: mark some with atommon.h, or choose with --atomic "
			     "sections or --atomic fn:GLOB\n");
	for (uint32_t i = 0; j->all && i < run->region.n; i++)
		if (j->results[i].outcome == AM_OUT_PROVED)
			name_region(j, out, &j->results[i], am_how_name((enum am_how)j->results[i].how));
}

static void print_stats(struct job *j, FILE *out, double seconds)
{
	struct am_predict_counts c;
	uint64_t steps = 0, rounds = 0, interleavings = 0, segments = 0, events = 0;

	am_predict_triplets(j->predict, 20000000, j->three, &c);
	for (uint32_t i = 0; i < j->loaded.run.region.n; i++) {
		const struct am_region_result *r = &j->results[i];
		steps += r->steps;
		rounds += r->rounds;
		interleavings += r->interleavings;
		segments += r->segment_events != 0;
		events += r->segment_events;
	}
	fprintf(out, "  events %lu, threads %lu, locations %lu, shared %lu\n", c.events, c.threads, c.cells,
		c.shared_cells);
	fprintf(out, "  three-access candidates %lu, after must-happen-before %lu, after nested locks %lu\n",
		c.candidates, c.after_order, c.after_locks);
	if (j->three)
		fprintf(out, "  of these feasible %lu, infeasible %lu, undecided %lu; solver's events %lu\n",
			c.feasible, c.infeasible, c.undecided, c.program_events);
	fprintf(out, "  proved: no shared accesses %lu, must-happen-before %lu, locks %lu, static check %lu, "
		     "search %lu, solver %lu\n",
		j->how[AM_HOW_EMPTY], j->how[AM_HOW_ORDER], j->how[AM_HOW_LOCKS], j->how[AM_HOW_STATIC],
		j->how[AM_HOW_SEARCH], j->how[AM_HOW_SOLVER]);
	fprintf(out, "  segments %lu, events in each %.1f; steps %lu, interleavings %lu, solver rounds %lu\n",
		segments, segments ? (double)events / (double)segments : 0, steps, interleavings, rounds);
	fprintf(out, "  time %.2f s\n", seconds);
}

/* ---- main ------------------------------------------------------------------------------------------------- */

static uint8_t *settle(struct job *j)
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

static void interruptible(void)
{
	struct sigaction act = {.sa_handler = on_interrupt};

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int predict(struct job *j)
{
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	interruptible();
	if (!am_loaded_open(&j->loaded, j->path, j->atomic)) {
		fprintf(stderr, "atommon-predict: %s\n", j->loaded.error);
		return STATUS_BAD;
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
	if (!report_all(j))
		return STATUS_BAD;
	clock_gettime(CLOCK_MONOTONIC, &end);
	FILE *out = j->format == AM_REPORT_TEXT ? j->out : stderr;
	summarise(j, out);
	if (j->stats)
		print_stats(j, out,
			    (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
	if (fflush(j->out) != 0 || ferror(j->out)) {
		fprintf(stderr, "atommon-predict: cannot write the output: %s\n", strerror(errno));
		return STATUS_BAD;
	}
	if (j->reported)
		return STATUS_PREDICTED;
	return j->count[AM_OUT_UNDECIDED] || run->regions_lost || !is_complete ? STATUS_UNDECIDED : STATUS_NONE;
}

int main(int argc, char **argv)
{
	static struct job j = {.is_auto = true,
			       .options = {.context_bound = UINT32_MAX,
					   .max_segment = 4000,
					   .steps = 200000,
					   .rounds = 20000}};
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);

	j.jobs = processors > 0 ? (uint32_t)processors : 1;
	const int status = parse(&j, argc, argv);
	if (status)
		return status < 0 ? 0 : status;
	j.out = j.output ? fopen(j.output, "w") : stdout;
	if (!j.out) {
		fprintf(stderr, "atommon-predict: cannot write '%s': %s\n", j.output, strerror(errno));
		return STATUS_BAD;
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
