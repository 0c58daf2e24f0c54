/*
 * atommon-litmus: can this small concurrent program do that? Reads litmus files, asks, prints. Exit
 * status: 0 nothing of what was asked can happen, 1 something can, 2 bad usage or input, 3 undecided.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/litmus/ask_rules.h"
#include "analyzer/litmus/print.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"usage: atommon-litmus [options] FILE...\n"
	"Asks whether a litmus program can reach its final condition, race, break an atomic block or\n"
	"fail an assertion. '-' reads standard input.\n"
	"\n"
	"  --property LIST   outcome, race, atomicity (serializability and three-access), assert, strong,\n"
	"                    window, all; default: the final condition if the file has one, else all\n"
	"  --model MODEL     sc (default), tso, pso, coherence\n"
	"  --engine ENGINE   smt (default), enumerate\n"
	"  --model-check     all states, loops without bound: outcome, assert, atomicity of blocks\n"
	"  --encoding NAME   lazy (default), direct\n"
	"  --unroll N        rounds of a loop at most (default 4)\n"
	"  --budget N        work per question: solver rounds, or explored steps and states\n"
	"  --without RULE    leave a rule of the memory model out (repeatable; outcome only)\n"
	"  --explain         why an outcome is impossible: rules and events\n"
	"  --matrix          order of the events of a possible outcome: 0, 1, X not determined\n"
	"  --smt2 FILE       write every query as SMT-LIB 2\n"
	"  --json            one JSON object per file\n"
	"  --quiet           exit status only\n"
	"  --help, --version\n"
	"\n"
	"Exit status: 0 nothing of it can happen, 1 something can, 2 bad input, 3 undecided.\n";

struct settings {
	struct am_lit_options ask;
	struct am_lit_rules_options rules;
	uint32_t group; /* properties of the groups that were named */
	bool has_property, is_json, is_quiet;
};

static int complain(const char *what, const char *about)
{
	fprintf(stderr, "atommon-litmus: %s '%s'\nTry 'atommon-litmus --help'.\n", what, about);
	return 2;
}

/* `mask` gets what is named, `group` what belongs to a named group. */
static bool add_property(const char *name, size_t len, uint32_t *mask, uint32_t *group)
{
	static const struct {
		const char *name;
		uint32_t mask;
	} groups[] = { { "atomicity", 1u << AM_LIT_PROP_SERIAL | 1u << AM_LIT_PROP_THREE },
		       { "all", 1u << AM_LIT_PROP_OUTCOME | 1u << AM_LIT_PROP_RACE |
					1u << AM_LIT_PROP_SERIAL | 1u << AM_LIT_PROP_THREE |
					1u << AM_LIT_PROP_ASSERT } };

	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
		if (strlen(groups[i].name) == len && !memcmp(groups[i].name, name, len)) {
			*group |= groups[i].mask;
			return true;
		}
	for (unsigned p = 0; p < AM_LIT_PROP_COUNT; p++) {
		const char *text = am_lit_property_name((enum am_lit_property)p);
		if (strlen(text) == len && !memcmp(text, name, len)) {
			*mask |= 1u << p;
			return true;
		}
	}
	return false;
}

static bool properties(const char *list, uint32_t *mask, uint32_t *group)
{
	for (;;) {
		const size_t len = strcspn(list, ",");
		if (!add_property(list, len, mask, group))
			return false;
		if (!list[len])
			return true;
		list += len + 1;
	}
}

static bool number(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	return !errno && end != text && !*end && text[0] != '-' && *value >= low && *value <= high;
}

static char *slurp(const char *path, size_t *len)
{
	const bool is_stdin = !strcmp(path, "-");
	FILE *file = is_stdin ? stdin : fopen(path, "rb");

	if (!file)
		return NULL;
	char *text = malloc(AM_LIT_SOURCE_MAX + 2);
	if (!text)
		abort();
	*len = fread(text, 1, AM_LIT_SOURCE_MAX + 1, file);
	const bool is_bad = ferror(file);
	if (!is_stdin)
		fclose(file);
	if (is_bad) {
		free(text);
		return NULL;
	}
	return text;
}

static uint32_t default_properties(const struct am_lit *lit)
{
	uint32_t mask = 0;

	if (lit->condition)
		return 1u << AM_LIT_PROP_OUTCOME;
	add_property("all", 3, &mask, &mask);
	return mask & ~(1u << AM_LIT_PROP_OUTCOME);
}

/* Of a group, or of what is asked by default, the model checker takes what it can decide. */
static uint32_t all_properties(const struct am_lit *lit, const struct settings *s)
{
	const uint32_t group = s->has_property ? s->group : default_properties(lit);

	return s->ask.properties |
	       (s->ask.engine == AM_LIT_MODEL_CHECK ? group & AM_LIT_MODEL_CHECKED : group);
}

static int one_file(const char *path, const struct settings *settings)
{
	struct am_lit_error error;
	size_t len = 0;
	char *source = slurp(path, &len);

	if (!source) {
		fprintf(stderr, "atommon-litmus: cannot read '%s': %s\n", path, strerror(errno));
		return 2;
	}
	struct am_lit *lit = am_lit_parse(path, source, len, &error);
	if (!lit) {
		char text[1200];
		am_lit_error_text(path, source, len, &error, text, sizeof(text));
		fputs(text, stderr);
		if (settings->is_json)
			am_lit_print_json_error(path, &error, stdout);
		free(source);
		return 2;
	}
	struct am_lit_options ask = settings->ask;
	struct am_lit_report report;
	ask.properties = all_properties(lit, settings);
	int status;
	if (settings->rules.without) {
		am_lit_ask_rules(lit, &ask, &settings->rules, &report);
	} else {
		am_lit_ask(lit, &ask, &report);
	}
	status = am_lit_report_status(&report);
	if (settings->is_json)
		am_lit_print_json(lit, &ask, &report, stdout);
	else if (!settings->is_quiet)
		am_lit_print_text(lit, &ask, &report, stdout);
	if (!settings->is_json && !settings->is_quiet &&
	    (settings->rules.explain || settings->rules.matrix))
		am_lit_print_rules(lit, &ask, &settings->rules, stdout);
	if (report.internal_error) {
		fprintf(stderr, "atommon-litmus: internal error: '%s': a witness is none: %s\n", path,
			report.internal_error);
		status = 3;
	}
	am_lit_report_clear(&report);
	am_lit_free(lit);
	free(source);
	return status;
}

/* Bad input before everything; then what can happen; then what is not known. */
static int worse(int a, int b)
{
	static const int rank[] = { [0] = 0, [1] = 2, [2] = 3, [3] = 1 };

	return rank[a] >= rank[b] ? a : b;
}

static int set_option(int option, struct settings *s)
{
	enum am_rule rule;
	uint64_t value;

	switch (option) {
	case 'p':
		s->has_property = true;
		return properties(optarg, &s->ask.properties, &s->group) ? 0 : complain("unknown property in", optarg);
	case 'm':
		return am_model_from_name(optarg, &s->ask.model) ? 0 : complain("unknown model", optarg);
	case 'e':
		if (strcmp(optarg, "smt") && strcmp(optarg, "enumerate"))
			return complain("unknown engine", optarg);
		s->ask.engine = optarg[0] == 's' ? AM_LIT_SMT : AM_LIT_ENUMERATE;
		return 0;
	case 'k': s->ask.engine = AM_LIT_MODEL_CHECK; return 0;
	case 'c':
		if (strcmp(optarg, "lazy") && strcmp(optarg, "direct"))
			return complain("unknown encoding", optarg);
		s->ask.encoding = optarg[0] == 'l' ? AM_ENCODE_LAZY : AM_ENCODE_DIRECT;
		return 0;
	case 'u':
		if (!number(optarg, 1, 1000, &value))
			return complain("--unroll takes 1 to 1000, not", optarg);
		s->ask.unroll = (uint32_t)value;
		return 0;
	case 'b':
		if (!number(optarg, 1, UINT64_MAX, &s->ask.budget))
			return complain("--budget takes a positive number, not", optarg);
		return 0;
	case 'w':
		if (!am_rule_from_name(optarg, &rule))
			return complain("unknown rule", optarg);
		s->rules.without |= 1u << rule;
		return 0;
	case 'x': s->rules.explain = true; return 0;
	case 'M': s->rules.matrix = true; return 0;
	case 's':
		s->ask.smt2 = fopen(optarg, "w");
		return s->ask.smt2 ? 0 : complain("cannot write", optarg);
	case 'j': s->is_json = true; return 0;
	case 'q': s->is_quiet = true; return 0;
	default: fputs("Try 'atommon-litmus --help'.\n", stderr); return 2;
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "property", required_argument, NULL, 'p' }, { "model", required_argument, NULL, 'm' },
		{ "engine", required_argument, NULL, 'e' },   { "model-check", no_argument, NULL, 'k' },
		{ "encoding", required_argument, NULL, 'c' }, { "unroll", required_argument, NULL, 'u' },
		{ "budget", required_argument, NULL, 'b' },   { "without", required_argument, NULL, 'w' },
		{ "explain", no_argument, NULL, 'x' },	      { "matrix", no_argument, NULL, 'M' },
		{ "smt2", required_argument, NULL, 's' },     { "json", no_argument, NULL, 'j' },
		{ "quiet", no_argument, NULL, 'q' },	      { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },	      { NULL, 0, NULL, 0 },
	};
	struct settings settings = { .ask = { .unroll = 4 } };
	int option, status = 0;

	while ((option = getopt_long(argc, argv, "hV", options, NULL)) != -1) {
		if (option == 'h' || option == 'V') {
			fputs(option == 'h' ? usage : "atommon-litmus " ATOMMON_VERSION "\n", stdout);
			return 0;
		}
		const int bad = set_option(option, &settings);
		if (bad)
			return bad;
	}
	if (optind == argc) {
		fputs(usage, stderr);
		return 2;
	}
	for (int i = optind; i < argc; i++)
		status = worse(status, one_file(argv[i], &settings));
	if (settings.ask.smt2 && fclose(settings.ask.smt2)) {
		fprintf(stderr, "atommon-litmus: cannot write the SMT-LIB file: %s\n", strerror(errno));
		status = 2;
	}
	if (fflush(stdout)) {
		fprintf(stderr, "atommon-litmus: cannot write: %s\n", strerror(errno));
		status = 2;
	}
	return status;
}
