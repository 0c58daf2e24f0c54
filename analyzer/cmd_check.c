/*
 * atommon-check: the live checker, offline. Reads a trace (.atm, ring, text or STD), reports each
 * region that was not serializable. Status 0 none, 1 a violation, 2 bad usage or input, 3 undecided
 * (events were lost, or the memory ceiling was reached, and no violation was found).
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/atomic.h"
#include "analyzer/report/offline.h"
#include "analyzer/trace/names.h"
#include "analyzer/trace/source.h"
#include "analyzer/trace/symbols.h"
#include "atommon/mem.h"
#include "atommon/regions.h"
#include "atommon/report.h"
#include "atommon/vain.h"
#include "atommon/waited.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PROGRESS_EVENTS = 1 << 16, SUPPRESSIONS_MAX = 1 << 24, LOOK_ROOM = 1 << 18 };

struct check {
	const char *path, *output, *atomic;
	enum am_conflicts conflicts;
	enum am_report_format format;
	bool full, verify, stats, no_symbols, quiet, no_progress;
	uint64_t memory; /* of the checker; 0: no ceiling */
	uint32_t max_reports;

	FILE *out;
	struct am_mem mem, twin_mem, report_mem;
	struct am_source *source;
	struct am_symbols *symbols;
	struct am_names names;
	struct am_atomic *regions;
	struct am_waited *waited;
	struct am_vain *vain;
	struct am_checker *checker;
	struct am_fullgraph *twin;
	struct am_reporter *reporter;
	struct am_suppressions *suppressions;
	struct am_tables tables;
	uint64_t events, threads;
	bool found, twin_found, disagree;
	struct timespec start;
	uint64_t told_ns;
};

static const char usage[] =
	"usage: atommon-check [options] TRACE\n"
	"  Reports each region of a recorded run that was not serializable. TRACE is a trace file\n"
	"  (.atm), the ring file of a killed process, the text form or the STD form of RAPID; '-' is\n"
	"  standard input.\n"
	"\n"
	"  --atomic LIST       what a region is: marked, sections, fn:GLOB; comma list (default: marked\n"
	"                      ones, and functions named when the run was recorded)\n"
	"  --conflicts WHAT    data, locks, both, auto (default: data if the trace shows accesses,\n"
	"                      else locks)\n"
	"  --full              use the classic conflict graph: slow, memory grows with the run\n"
	"  --verify            run both checkers; they must agree\n"
	"  --stats             graph sizes, peak memory, events per second\n"
	"  --format FORMAT     text (default), json (one object a line), sarif\n"
	"  --json, --sarif     the same, shorter\n"
	"  --suppressions FILE do not report what this file names; may be repeated\n"
	"  --max-reports N     distinct reports in full (default 50)\n"
	"  --memory SIZE       ceiling of the checker's memory, with K, M or G (default: none)\n"
	"  --no-symbols        no functions, files, lines and variables\n"
	"  --no-progress       no line that tells how far it got\n"
	"  -q, --quiet         no summary\n"
	"  -o, --output FILE   write reports there instead of standard output\n"
	"      --help, --version\n"
	"\n"
	"  Status: 0 no violation, 1 a violation, 2 bad usage or input, 3 undecided.\n";

static int bad_usage(const char *what, const char *about)
{
	fprintf(stderr, "atommon-check: %s '%s'\nTry 'atommon-check --help'.\n", what, about);
	return 2;
}

/* ---- options ------------------------------------------------------------------------------- */

static int choice(const char *text, const char *const *names, int n)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(text, names[i]))
			return i;
	return -1;
}

static bool parse_size(const char *text, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || errno)
		return false;
	static const char units[] = "KMG";
	const char *unit = *end ? strchr(units, *end) : NULL;
	if (unit && *v <= UINT64_MAX >> (10 * (unit - units + 1))) {
		*v <<= 10 * (unit - units + 1);
		end++;
	}
	return *end == 0;
}

static void complain(void *ctx, const char *message)
{
	(void)ctx;
	fprintf(stderr, "atommon-check: %s\n", message);
}

static bool read_suppressions(struct check *c, const char *path)
{
	FILE *f = fopen(path, "rbe");
	char *text = f ? malloc(SUPPRESSIONS_MAX) : NULL;
	const time_t now = time(NULL);
	struct tm day;

	if (!text) {
		fprintf(stderr, "atommon-check: cannot read '%s': %s\n", path, strerror(errno));
		if (f)
			fclose(f);
		return false;
	}
	const size_t n = fread(text, 1, SUPPRESSIONS_MAX, f);
	localtime_r(&now, &day);
	if (!c->suppressions)
		c->suppressions = am_suppressions_new(&c->report_mem);
	if (c->suppressions)
		am_suppressions_parse(c->suppressions, path, text, n,
				      (uint32_t)((day.tm_year + 1900) * 10000 + (day.tm_mon + 1) * 100 + day.tm_mday),
				      complain, NULL);
	free(text);
	fclose(f);
	return true;
}

/* -1: go on; else the exit status. */
static int parse(struct check *c, int argc, char **argv)
{
	static const struct option options[] = {
		{"atomic", required_argument, NULL, 'a'},      {"conflicts", required_argument, NULL, 'c'},
		{"full", no_argument, NULL, 'f'},	       {"verify", no_argument, NULL, 'v'},
		{"stats", no_argument, NULL, 's'},	       {"format", required_argument, NULL, 'F'},
		{"suppressions", required_argument, NULL, 'S'}, {"max-reports", required_argument, NULL, 'm'},
		{"memory", required_argument, NULL, 'M'},      {"no-symbols", no_argument, NULL, 'y'},
		{"no-progress", no_argument, NULL, 'p'},       {"quiet", no_argument, NULL, 'q'},
		{"output", required_argument, NULL, 'o'},      {"help", no_argument, NULL, 'h'},
		{"json", no_argument, NULL, 'j'},	       {"sarif", no_argument, NULL, 'J'},
		{"version", no_argument, NULL, 'V'},	       {NULL, 0, NULL, 0},
	};
	static const char *const conflicts[] = {"data", "locks", "both", "auto"};
	static const char *const formats[] = {"text", "json", "sarif"};
	uint64_t number;
	int o, i;

	c->conflicts = AM_CONFLICTS_AUTO;
	c->max_reports = 50;
	while ((o = getopt_long(argc, argv, "qo:", options, NULL)) != -1) {
		switch (o) {
		case 'a':
			if (am_regions_bad(optarg))
				return bad_usage("--atomic: expected marked, sections or fn:GLOB, got",
						 am_regions_bad(optarg));
			c->atomic = optarg;
			break;
		case 'c':
			if ((i = choice(optarg, conflicts, 4)) < 0)
				return bad_usage("--conflicts: expected data, locks, both or auto, got", optarg);
			c->conflicts = (enum am_conflicts)i;
			break;
		case 'F':
			if ((i = choice(optarg, formats, 3)) < 0)
				return bad_usage("--format: expected text, json or sarif, got", optarg);
			c->format = (enum am_report_format)i;
			break;
		case 'j':
			c->format = AM_REPORT_JSON;
			break;
		case 'J':
			c->format = AM_REPORT_SARIF;
			break;
		case 'm':
			if (!parse_size(optarg, &number) || number > UINT32_MAX)
				return bad_usage("--max-reports: expected a number, got", optarg);
			c->max_reports = (uint32_t)number;
			break;
		case 'M':
			if (!parse_size(optarg, &c->memory) || c->memory < 1 << 20)
				return bad_usage("--memory: expected a size of at least 1M, got", optarg);
			break;
		case 'S':
			if (!read_suppressions(c, optarg))
				return 2;
			break;
		case 'f':
			c->full = true;
			break;
		case 'v':
			c->verify = true;
			break;
		case 's':
			c->stats = true;
			break;
		case 'y':
			c->no_symbols = true;
			break;
		case 'p':
			c->no_progress = true;
			break;
		case 'q':
			c->quiet = true;
			break;
		case 'o':
			c->output = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case 'V':
			puts("atommon-check " ATOMMON_VERSION);
			return 0;
		default:
			fputs("Try 'atommon-check --help'.\n", stderr);
			return 2;
		}
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "atommon-check: expected one trace, got %d\nTry 'atommon-check --help'.\n",
			argc - optind);
		return 2;
	}
	c->path = argv[optind];
	return -1;
}

/* ---- the way of an event ------------------------------------------------------------------- */

static void on_cycle(void *ctx, const struct am_cycle *cycle)
{
	struct check *c = ctx;

	c->found = true;
	am_vain_cycle(c->vain, cycle);
}

static void on_sound_cycle(void *ctx, const struct am_cycle *cycle)
{
	am_waited_cycle(((struct check *)ctx)->waited, cycle);
}

static void on_judged_cycle(void *ctx, const struct am_cycle *cycle)
{
	am_reporter_cycle(((struct check *)ctx)->reporter, cycle, NULL, NULL);
}

static void on_twin_cycle(void *ctx, const struct am_cycle *cycle)
{
	struct check *c = ctx;

	(void)cycle;
	c->twin_found = true;
}

/* Both must find the first violation at the same event; from then on each goes its own way. */
static void verify(struct check *c, const struct am_event *event)
{
	struct am_checker_stats s;

	if (!c->twin || !c->verify)
		return;
	am_fullgraph_event(c->twin, event);
	am_fullgraph_stats(c->twin, &s);
	if (c->found != c->twin_found && !s.forgotten) {
		fprintf(stderr,
			"atommon-check: the checkers disagree at event %" PRIu64 " of thread %u: the summarised "
			"graph says %s, the full graph %s; please report this\n",
			event->index, event->thread, c->found ? "violation" : "none",
			c->twin_found ? "violation" : "none");
		c->disagree = true;
	}
	if (c->found || c->twin_found || s.forgotten)
		c->verify = false;
}

static void on_event(void *ctx, const struct am_event *event)
{
	struct check *c = ctx;

	if (am_is_waited_on(event))
		return;
	if (c->full)
		am_fullgraph_event(c->twin, event);
	else
		am_checker_event(c->checker, event);
	verify(c, event);
	am_reporter_event(c->reporter, event);
}

static void behind_regions(void *ctx, const struct am_event *event)
{
	am_waited_event(((struct check *)ctx)->waited, event);
}

static void behind_waited(void *ctx, const struct am_event *event)
{
	am_vain_event(((struct check *)ctx)->vain, event);
}

static uint64_t elapsed_ns(const struct check *c)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)(now.tv_sec - c->start.tv_sec) * 1000000000u + (uint64_t)now.tv_nsec -
	       (uint64_t)c->start.tv_nsec;
}

static void progress(struct check *c, bool is_last)
{
	const uint64_t ns = elapsed_ns(c);

	if (c->no_progress || (is_last ? !c->told_ns : ns < c->told_ns + 200000000u))
		return;
	c->told_ns = ns;
	if (is_last)
		fputs("\r\033[K", stderr);
	else
		fprintf(stderr, "\r%" PRIu64 " events, %.1f million/s, %" PRIu64 " MiB read\033[K", c->events,
			(double)c->events * 1e3 / (double)ns, am_source_info(c->source)->file_bytes >> 20);
}

/* What the reader says, or NULL. */
static const char *read_all(struct check *c)
{
	struct am_event event;
	int r;

	while ((r = am_source_next(c->source, &event)) > 0) {
		c->events++;
		c->threads += event.kind == AM_THREAD_BEGIN;
		am_names_event(&c->names, &event);
		am_atomic_event(c->regions, &event);
		if (c->events % PROGRESS_EVENTS == 0)
			progress(c, false);
	}
	am_vain_finish(c->vain);
	am_waited_hurry(c->waited);
	progress(c, true);
	return r < 0 ? am_source_error(c->source) : NULL;
}

/* ---- reports ------------------------------------------------------------------------------- */

static void put(void *ctx, const char *bytes, size_t n)
{
	fwrite(bytes, 1, n, ((struct check *)ctx)->out);
}

static void refresh(void *ctx)
{
	struct check *c = ctx;

	c->tables = *am_source_tables(c->source);
	if (c->regions)
		am_atomic_tables(c->regions, &c->tables);
}

static bool is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *v = getenv(names[i]);
		if (v && *v)
			return strstr(v, "UTF-8") || strstr(v, "utf8") || strstr(v, "utf-8");
	}
	return false;
}

static bool open_all(struct check *c)
{
	const struct am_checker_config fast = {c->conflicts, on_cycle, c};
	const struct am_checker_config twin = {c->conflicts, c->full ? on_cycle : on_twin_cycle, c};
	const char *no_colour = getenv("NO_COLOR");
	static char next[4200];

	snprintf(next, sizeof next, "atommon-predict %s", c->path);
	if (!c->no_symbols)
		c->symbols = am_symbols_new();
	am_names_init(&c->names, c->source, c->symbols);
	const struct am_reporter_config report = {
		.tables = &c->tables,
		.refresh = refresh,
		.symbolizer = c->symbols ? am_offline_symbolizer(c->symbols) : (struct am_symbolizer){0},
		.suppressions = c->suppressions,
		.format = c->format,
		.style = {.colour = isatty(fileno(c->out)) && !(no_colour && *no_colour), .ascii = !is_utf8()},
		.out = {put, c},
		.max_reports = c->max_reports,
		.status = AM_OBSERVED,
		.model = "",
		.next = strcmp(c->path, "-") ? next : "",
	};
	c->reporter = am_reporter_new(&report, &c->report_mem);
	if (!c->full)
		c->checker = am_checker_new(&fast, &c->mem);
	if (c->full || c->verify)
		c->twin = am_fullgraph_new(&twin, c->full ? &c->mem : &c->twin_mem);
	const struct am_waited_config waited = {.out = behind_waited, .ctx = c, .on_cycle = on_judged_cycle, .cycle_ctx = c};
	c->waited = am_waited_new(&waited, &c->report_mem);
	const struct am_vain_config vain = {.out = on_event, .ctx = c, .on_cycle = on_sound_cycle,
					    .cycle_ctx = c, .room = LOOK_ROOM};
	c->vain = am_vain_new(&vain, &c->report_mem);
	c->regions = am_atomic_new(c->atomic, c->source, &c->names, behind_regions, c);
	c->no_progress |= !isatty(STDERR_FILENO);
	clock_gettime(CLOCK_MONOTONIC, &c->start);
	refresh(c);
	return c->reporter && (c->full ? c->twin != NULL : c->checker != NULL) &&
	       (!c->verify || c->twin) && c->vain && c->waited && c->regions;
}

static void print_stats(const struct check *c, const struct am_checker_stats *s)
{
	FILE *f = c->format == AM_REPORT_TEXT ? c->out : stderr;
	const double seconds = (double)elapsed_ns(c) / 1e9;

	fprintf(f, "checker        %s conflict graph\n", c->full ? "full" : "summarised");
	fprintf(f, "events         %" PRIu64 " (%.0f per second, reading included)\n", c->events,
		seconds > 0 ? (double)c->events / seconds : 0);
	fprintf(f, "accesses       %" PRIu64 " (%" PRIu64 " outside regions)\n", s->accesses, s->unary);
	fprintf(f, "regions        %" PRIu64 "\n", s->regions);
	fprintf(f, "nodes          %" PRIu64 " at most, %" PRIu64 " at the end\n", s->nodes_peak, s->nodes_live);
	fprintf(f, "edges          %" PRIu64 " at most, %" PRIu64 " at the end\n", s->edges_peak, s->edges_live);
	fprintf(f, "entities       %" PRIu64 " at most, %" PRIu64 " at the end\n", s->entities_peak, s->entities_live);
	fprintf(f, "memory         %" PRIu64 " bytes at most\n", s->bytes_peak);
	fprintf(f, "violations     %" PRIu64 "\n", s->cycles);
	fprintf(f, "forgotten      %" PRIu64 " entities, at the memory ceiling\n", s->forgotten);
	fprintf(f, "lost           %" PRIu64 " events\n", s->lost);
}

/* One line for a person: the verdict, and why it is not one. */
static void summary(const struct check *c, const struct am_checker_stats *s, const struct am_reporter_stats *r)
{
	const uint64_t seen = r->cycles - r->suppressed;

	if (r->distinct)
		fprintf(stderr, "atommon-check: %" PRIu64 " violation%s", r->distinct, r->distinct == 1 ? "" : "s");
	else
		fputs("atommon-check: no violation", stderr);
	if (seen > r->distinct)
		fprintf(stderr, " (seen %" PRIu64 " times)", seen);
	fprintf(stderr, " in %" PRIu64 " events, %" PRIu64 " regions", c->events, s->regions);
	if (r->suppressed)
		fprintf(stderr, "; %" PRIu64 " suppressed", r->suppressed);
	fputc('\n', stderr);
	if (am_source_info(c->source)->is_cut)
		fprintf(stderr, "atommon-check: '%s' ends inside a chunk: the rest of it is missing\n", c->path);
	if (s->lost)
		fprintf(stderr, "atommon-check: %" PRIu64 " events were lost: what followed a hole could not be "
				"checked in full\n", s->lost);
	if (s->forgotten)
		fprintf(stderr, "atommon-check: the memory ceiling was reached: %s\n",
			c->full ? "the rest was not checked" : "some accesses were forgotten");
	if (!s->regions && c->events)
		fputs("atommon-check: no region was seen; --atomic=sections makes one of each critical section, "
		      "--atomic=fn:GLOB of functions whose entries were recorded\n", stderr);
}

static int finish(struct check *c, const char *error)
{
	struct am_checker_stats s;
	struct am_reporter_stats r;
	const char *note;

	am_reporter_finish(c->reporter);
	am_reporter_stats(c->reporter, &r);
	if (c->full)
		am_fullgraph_stats(c->twin, &s);
	else
		am_checker_stats(c->checker, &s);
	if (c->stats)
		print_stats(c, &s);
	errno = 0;
	const bool is_written = fflush(c->out) == 0 && !ferror(c->out);
	if (!is_written && errno != EPIPE)
		fprintf(stderr, "atommon-check: cannot write '%s': %s\n", c->output ? c->output : "standard output",
			strerror(errno));
	while (c->symbols && (note = am_symbols_note(c->symbols)))
		fprintf(stderr, "atommon-check: %s\n", note);
	if (*am_source_info(c->source)->note)
		fprintf(stderr, "atommon-check: %s: %s\n", c->path, am_source_info(c->source)->note);
	if (error)
		fprintf(stderr, "atommon-check: %s\n", error);
	if (!c->quiet && (!error || r.distinct))
		summary(c, &s, &r);
	if (error || c->disagree || (!is_written && errno != EPIPE))
		return 2;
	return r.distinct ? 1 : s.lost || s.forgotten ? 3 : 0;
}

static void close_all(struct check *c)
{
	if (c->regions)
		am_atomic_free(c->regions);
	am_names_free(&c->names);
	am_symbols_free(c->symbols);
	am_source_close(c->source);
	if (c->output)
		fclose(c->out);
	am_mem_destroy(&c->mem);
	am_mem_destroy(&c->twin_mem);
	am_mem_destroy(&c->report_mem);
}

int main(int argc, char **argv)
{
	static struct check c;
	char why[AM_SOURCE_ERROR_MAX];

	am_mem_init(&c.report_mem, 0);
	int status = parse(&c, argc, argv);
	if (status >= 0)
		return status;
	signal(SIGPIPE, SIG_IGN);
	am_mem_init(&c.mem, c.memory);
	am_mem_init(&c.twin_mem, 0);
	c.source = am_source_open(c.path, NULL, why);
	if (!c.source) {
		fprintf(stderr, "atommon-check: %s\n", why);
		return 2;
	}
	c.out = c.output ? fopen(c.output, "wbe") : stdout;
	if (!c.out) {
		fprintf(stderr, "atommon-check: cannot create '%s': %s\n", c.output, strerror(errno));
		am_source_close(c.source);
		return 2;
	}
	if (open_all(&c)) {
		const char *error = read_all(&c);
		status = finish(&c, error);
	} else {
		fputs("atommon-check: out of memory\n", stderr);
		status = 2;
	}
	close_all(&c);
	return status;
}
