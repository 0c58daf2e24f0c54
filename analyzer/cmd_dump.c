/*
 * atommon-dump: shows a trace as text, STD, JSON or statistics, or writes it back as a trace file.
 * Status 0, or 2 on bad usage or malformed input.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/json.h"
#include "analyzer/trace/names.h"
#include "analyzer/trace/source.h"
#include "analyzer/trace/stats.h"
#include "analyzer/trace/std.h"
#include "analyzer/trace/symbols.h"
#include "analyzer/trace/text.h"
#include "analyzer/trace/writer.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum form { FORM_TEXT, FORM_STD, FORM_JSON, FORM_STATS, FORM_ATM };
enum { OPT_STD = 256, OPT_JSON, OPT_STATS, OPT_ATM, OPT_NO_SYMBOLS, OPT_HELP, OPT_VERSION };
enum { SITE_TEXT = 256, NAME_TEXT = 120, NAME_CACHE = 4096 };

struct range {
	uint32_t first, last;
};

struct cached_name {
	uint64_t address;
	uint64_t generation;  /* of the names; 0: free */
	char text[NAME_TEXT]; /* "": none */
};

struct dump {
	enum form form;
	const char *path, *output;
	uint64_t head; /* events at most; UINT64_MAX: all */
	struct range *threads;
	size_t n_threads;
	const char *object; /* --object as given */
	bool is_address;
	uint64_t address;
	bool no_symbols;

	FILE *out;
	struct am_source *source;
	struct am_symbols *symbols;
	struct am_names names;
	uint64_t generation;
	struct cached_name *cache; /* names of addresses, NAME_CACHE of them */
	char (*site)[SITE_TEXT];   /* words of each site, first byte 0: not looked up, 1: none */
	size_t n_sites;

	struct am_text text;
	struct am_std std;
	struct am_json json;
	struct am_stats *stats;
	struct am_writer *writer;
};

static const char usage[] =
	"usage: atommon-dump [options] TRACE\n"
	"  TRACE is a trace file (.atm), the ring file of a killed process (.ring), the text form\n"
	"  or the STD form of RAPID; '-' is standard input.\n"
	"\n"
	"  --text            one event a line (default); can be read back\n"
	"  --std             STD form: thread|operation(operand)|location\n"
	"  --json            one JSON object a line\n"
	"  --stats           counts per kind, thread, lock and region\n"
	"  --atm             a trace file again (for text and STD input)\n"
	"  --head N          the first N events only\n"
	"  --thread LIST     events of these threads only: 0,2,5-7\n"
	"  --object X        events on this address, variable, lock or region only\n"
	"  --no-symbols      no functions, files, lines and variables\n"
	"  -o, --output FILE write there instead of standard output\n"
	"      --help, --version\n";

static int bad_usage(const char *what, const char *about)
{
	fprintf(stderr, "atommon-dump: %s '%s'\n", what, about);
	fprintf(stderr, "Try 'atommon-dump --help'.\n");
	return 2;
}

/* ---- options ------------------------------------------------------------------------------- */

static bool parse_number(const char *text, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(text, &end, 0);
	return *text >= '0' && *text <= '9' && end != text && *end == 0 && errno == 0;
}

static bool parse_threads(struct dump *d, const char *text)
{
	for (const char *p = text;; p++) {
		char *end;
		p += *p == 'T';
		if (*p < '0' || *p > '9')
			return false;
		struct range r = {.first = (uint32_t)strtoul(p, &end, 10)};
		r.last = r.first;
		if (*end == '-') {
			end += end[1] == 'T';
			if (end[1] < '0' || end[1] > '9')
				return false;
			r.last = (uint32_t)strtoul(end + 1, &end, 10);
		}
		struct range *bigger = realloc(d->threads, (d->n_threads + 1) * sizeof r);
		if (!bigger)
			return false;
		d->threads = bigger;
		d->threads[d->n_threads++] = r;
		p = end;
		if (*p == 0)
			return r.first <= r.last;
		if (*p != ',' || r.first > r.last)
			return false;
	}
}

/* -1: go on; else the exit status. */
static int parse(struct dump *d, int argc, char **argv)
{
	static const struct option options[] = {
		{"text", no_argument, NULL, 't'},
		{"std", no_argument, NULL, OPT_STD},
		{"json", no_argument, NULL, OPT_JSON},
		{"stats", no_argument, NULL, OPT_STATS},
		{"atm", no_argument, NULL, OPT_ATM},
		{"head", required_argument, NULL, 'n'},
		{"thread", required_argument, NULL, 'T'},
		{"object", required_argument, NULL, 'O'},
		{"no-symbols", no_argument, NULL, OPT_NO_SYMBOLS},
		{"output", required_argument, NULL, 'o'},
		{"help", no_argument, NULL, OPT_HELP},
		{"version", no_argument, NULL, OPT_VERSION},
		{NULL, 0, NULL, 0},
	};
	int c;

	d->head = UINT64_MAX;
	while ((c = getopt_long(argc, argv, "o:", options, NULL)) != -1) {
		switch (c) {
		case 't':
			d->form = FORM_TEXT;
			break;
		case OPT_STD:
			d->form = FORM_STD;
			break;
		case OPT_JSON:
			d->form = FORM_JSON;
			break;
		case OPT_STATS:
			d->form = FORM_STATS;
			break;
		case OPT_ATM:
			d->form = FORM_ATM;
			break;
		case 'n':
			if (!parse_number(optarg, &d->head))
				return bad_usage("--head: expected a number, got", optarg);
			break;
		case 'T':
			if (!parse_threads(d, optarg))
				return bad_usage("--thread: expected a list such as 0,2,5-7, got",
						 optarg);
			break;
		case 'O':
			d->object = optarg;
			d->is_address = parse_number(optarg, &d->address);
			break;
		case OPT_NO_SYMBOLS:
			d->no_symbols = true;
			break;
		case 'o':
			d->output = optarg;
			break;
		case OPT_HELP:
			fputs(usage, stdout);
			return 0;
		case OPT_VERSION:
			puts("atommon-dump " ATOMMON_VERSION);
			return 0;
		default:
			fprintf(stderr, "Try 'atommon-dump --help'.\n");
			return 2;
		}
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "atommon-dump: expected one trace, got %d\n", argc - optind);
		fprintf(stderr, "Try 'atommon-dump --help'.\n");
		return 2;
	}
	d->path = argv[optind];
	return -1;
}

/* ---- filters ------------------------------------------------------------------------------- */

static bool wants_thread(const struct dump *d, uint32_t thread)
{
	for (size_t i = 0; i < d->n_threads; i++)
		if (thread >= d->threads[i].first && thread <= d->threads[i].last)
			return true;
	return d->n_threads == 0;
}

static bool wants_object(struct dump *d, const struct am_event *e)
{
	const struct am_tables *t = am_source_tables(d->source);
	const char class = am_text_object_class((enum am_kind)e->kind);
	const bool has_mutex = e->kind == AM_WAIT || e->kind == AM_WAKE;

	if (!d->object)
		return true;
	if (class == 's')
		return !d->is_address && e->object && e->object < t->n_strings &&
		       strcmp(t->string[e->object], d->object) == 0;
	if (class != 'a')
		return false;
	if (d->is_address) {
		const bool is_block = e->kind == AM_ALLOC || e->kind == AM_FREE;
		const uint64_t size = is_block ? e->aux : e->size;
		return d->address - e->object < (size ? size : 1) ||
		       (has_mutex && e->aux == d->address);
	}
	return am_names_is(&d->names, e->object, d->object) ||
	       (has_mutex && am_names_is(&d->names, e->aux, d->object));
}

/* ---- output -------------------------------------------------------------------------------- */

/* Function, file and line of a site, looked up once. */
static const char *site_words(void *ctx, const struct am_tables *tables, uint32_t site)
{
	struct dump *d = ctx;

	if (!d->symbols || site >= tables->n_sites)
		return NULL;
	if (site >= d->n_sites) {
		const size_t n = 2 * (size_t)site + 64;
		char(*bigger)[SITE_TEXT] = realloc(d->site, n * sizeof *bigger);
		if (!bigger)
			return NULL;
		for (size_t i = d->n_sites; i < n; i++)
			bigger[i][0] = 0;
		d->site = bigger;
		d->n_sites = n;
	}
	char *words = d->site[site];
	if (words[0] == 0 && !am_symbols_site(d->symbols, tables, site, words, SITE_TEXT))
		words[0] = 1;
	return words[0] == 1 ? NULL : words;
}

/* Control characters would break the line. */
static void copy_name(char to[NAME_TEXT], const char *from)
{
	size_t i = 0;

	for (; from && from[i] && i + 1 < NAME_TEXT; i++)
		to[i] = (unsigned char)from[i] < ' ' ? '?' : from[i];
	to[i] = 0;
}

static const char *object_name(void *ctx, uint64_t address)
{
	struct dump *d = ctx;
	struct cached_name *c = &d->cache[(address >> 2 ^ address >> 14) % NAME_CACHE];

	if (c->address != address || c->generation != d->generation) {
		c->address = address;
		c->generation = d->generation;
		copy_name(c->text, am_names_of(&d->names, address));
	}
	return c->text[0] ? c->text : NULL;
}

/* A name came or went: what was looked up before is old. */
static void forget_names(struct dump *d, const struct am_event *e)
{
	if (e->kind == AM_NAME || (e->kind == AM_FREE && d->names.n > 0))
		d->generation++;
}

static bool begin(struct dump *d)
{
	switch (d->form) {
	case FORM_TEXT:
		am_text_begin(&d->text, d->out, d->source, site_words, d);
		if (d->no_symbols)
			return true;
		d->generation = 1;
		d->cache = calloc(NAME_CACHE, sizeof *d->cache);
		d->text.name = d->cache ? object_name : NULL;
		return d->cache != NULL;
	case FORM_STD:
		am_std_begin(&d->std, d->out, d->source);
		return true;
	case FORM_JSON:
		am_json_begin(&d->json, d->out, d->source, d->symbols);
		return true;
	case FORM_STATS:
		d->stats = am_stats_new();
		return d->stats != NULL;
	default:
		d->writer = am_writer_new(d->out, d->source);
		return d->writer != NULL;
	}
}

/* NULL, or what is wrong. */
static const char *put(struct dump *d, const struct am_event *e)
{
	static const char no_memory[] = "out of memory";

	switch (d->form) {
	case FORM_TEXT:
		am_text_event(&d->text, e);
		return NULL;
	case FORM_STD:
		return am_std_event(&d->std, e) ? NULL : no_memory;
	case FORM_JSON:
		am_json_event(&d->json, e);
		return NULL;
	case FORM_STATS:
		return am_stats_event(d->stats, e) ? NULL : no_memory;
	default:
		return am_writer_event(d->writer, e);
	}
}

static const char *end(struct dump *d)
{
	switch (d->form) {
	case FORM_TEXT:
		am_text_end(&d->text);
		return NULL;
	case FORM_STD:
		if (d->std.skipped)
			fprintf(stderr,
				"atommon-dump: %" PRIu64
				" events have no STD form and are left out\n",
				d->std.skipped);
		am_std_end(&d->std);
		return NULL;
	case FORM_JSON:
		am_json_end(&d->json);
		return NULL;
	case FORM_STATS:
		am_stats_print(d->stats, d->out, d->source, am_names_of, &d->names);
		am_stats_free(d->stats);
		return NULL;
	default:
		return am_writer_end(d->writer, true);
	}
}

/* The reader of our output went away: no reason to complain. */
static bool is_closed(struct dump *d)
{
	return ferror(d->out) != 0;
}

static int finish(struct dump *d, int status)
{
	const char *note = am_source_info(d->source)->note;
	errno = 0;
	const bool is_written = fflush(d->out) == 0 && !ferror(d->out);
	const int error = errno;

	while (d->symbols && (note = am_symbols_note(d->symbols)))
		fprintf(stderr, "atommon-dump: %s\n", note);
	note = am_source_info(d->source)->note;
	if (*note)
		fprintf(stderr, "atommon-dump: %s: %s\n", d->path, note);
	if (!is_written && error != EPIPE && error != 0) {
		fprintf(stderr, "atommon-dump: cannot write '%s': %s\n",
			d->output ? d->output : "standard output", strerror(error));
		status = 2;
	}
	if (d->output && fclose(d->out) != 0 && is_written) {
		fprintf(stderr, "atommon-dump: cannot write '%s': %s\n", d->output,
			strerror(errno));
		status = 2;
	}
	return status;
}

static int run(struct dump *d)
{
	struct am_event e;
	uint64_t shown = 0;
	const char *why = NULL;
	int r = 1;

	if (!begin(d))
		return 2;
	while (!why && shown < d->head && !is_closed(d) &&
	       (r = am_source_next(d->source, &e)) > 0) {
		forget_names(d, &e);
		if (!am_names_event(&d->names, &e))
			why = "out of memory";
		if (!wants_thread(d, e.thread) || !wants_object(d, &e))
			continue;
		why = put(d, &e);
		shown++;
	}
	const char *end_why = end(d);
	if (r < 0)
		fprintf(stderr, "atommon-dump: %s\n", am_source_error(d->source));
	if (!why)
		why = end_why;
	if (why && !is_closed(d))
		fprintf(stderr, "atommon-dump: %s\n", why);
	return finish(d, r < 0 || (why && !is_closed(d)) ? 2 : 0);
}

int main(int argc, char **argv)
{
	struct dump d = {0};
	char why[AM_SOURCE_ERROR_MAX];
	int status = parse(&d, argc, argv);

	if (status >= 0)
		return status;
	signal(SIGPIPE, SIG_IGN);
	d.source = am_source_open(d.path, NULL, why);
	if (!d.source) {
		fprintf(stderr, "atommon-dump: %s\n", why);
		free(d.threads);
		return 2;
	}
	d.out = d.output ? fopen(d.output, "wbe") : stdout;
	if (d.out) {
		if (!d.no_symbols && d.form != FORM_STD && d.form != FORM_ATM)
			d.symbols = am_symbols_new();
		am_names_init(&d.names, d.source, d.symbols);
		status = run(&d);
		am_names_free(&d.names);
	} else {
		fprintf(stderr, "atommon-dump: cannot create '%s': %s\n", d.output,
			strerror(errno));
		status = 2;
	}
	am_symbols_free(d.symbols);
	am_source_close(d.source);
	free(d.threads);
	free(d.site);
	free(d.cache);
	return status;
}
