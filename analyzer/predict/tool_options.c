/* Options of atommon-predict. */
/* SPDX-License-Identifier: MIT */
#include "tool.h"

#include "atommon/regions.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

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
	"  --window N        events held in memory at once (default 8000000); a longer run is\n"
	"                    analysed in windows that overlap\n"
	"  --budget N        work per region, in thousands of steps (default 200)\n"
	"  --total N         work for all regions together, shared evenly among them\n"
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
	OPT_WINDOW,
	OPT_BUDGET,
	OPT_TOTAL,
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
	{"window", required_argument, NULL, OPT_WINDOW},
	{"budget", required_argument, NULL, OPT_BUDGET},
	{"total", required_argument, NULL, OPT_TOTAL},
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

static int bad_usage(const char *what, const char *about)
{
	fprintf(stderr, "atommon-predict: %s '%s'\nTry 'atommon-predict --help'.\n", what, about);
	return AM_STATUS_BAD;
}

static bool number(const char *text, uint64_t most, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *out <= most;
}

static bool choose_model(struct am_predict_tool *j, const char *text)
{
	j->is_auto = !strcmp(text, "auto");
	for (int m = AM_PREDICT_SYNC; m <= AM_PREDICT_CTP; m++)
		if (!strcmp(text, am_predict_model_name((enum am_predict_model)m))) {
			j->options.model = (enum am_predict_model)m;
			return true;
		}
	return j->is_auto;
}

static bool choose_engine(struct am_predict_tool *j, const char *text)
{
	static const char *const names[] = {"auto", "smt", "dpor", "enumerate"};

	for (unsigned i = 0; i < 4; i++)
		if (!strcmp(text, names[i])) {
			j->options.engine = (enum am_predict_engine)i;
			return true;
		}
	return false;
}

static bool choose_shard(struct am_predict_tool *j, const char *text)
{
	unsigned i, n;
	char rest;

	if (sscanf(text, "%u/%u%c", &i, &n, &rest) != 2 || !n || i >= n)
		return false;
	j->shard = i;
	j->shards = n;
	return true;
}

int am_tool_parse(struct am_predict_tool *j, int argc, char **argv)
{
	char what[60];
	uint64_t n;
	int c, at = 0;

	while ((c = getopt_long(argc, argv, "o:", long_options, &at)) != -1) {
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
		case OPT_WINDOW:
			ok = number(optarg, UINT32_MAX / 2, &n) && n >= 100;
			j->window = (uint32_t)n;
			break;
		case OPT_BUDGET:
			ok = number(optarg, UINT64_MAX / 1000, &n) && n;
			j->options.steps = n * 1000;
			j->options.rounds = n * 100;
			break;
		case OPT_TOTAL:
			ok = number(optarg, UINT64_MAX / 1000, &n) && n;
			j->total = n * 1000;
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
		default: fprintf(stderr, "Try 'atommon-predict --help'.\n"); return AM_STATUS_BAD;
		}
		if (!ok) {
			snprintf(what, sizeof what, "--%s: bad value", long_options[at].name);
			return bad_usage(what, optarg);
		}
	}
	if (optind == argc) {
		fprintf(stderr, "atommon-predict: no trace given\nTry 'atommon-predict --help'.\n");
		return AM_STATUS_BAD;
	}
	if (optind + 1 != argc)
		return bad_usage("more than one trace:", argv[optind + 1]);
	j->path = argv[optind];
	return 0;
}
