/*
 * The programs of tests/litmus with the verdicts that their comments state:
 *   expect PROPERTY[/model-check] MODEL VERDICT, MODEL VERDICT, ...
 * Each is asked of the solver and of the explicit engine (or of the model checker alone).
 * usage: litmus_corpus [DIRECTORY]
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/litmus/ask.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum encoding { LAZY, DIRECT };

static unsigned done, failures;

static void result(bool fine, const char *file, const char *what, const char *detail)
{
	done++;
	failures += !fine;
	printf("%s %u - %s: %s%s%s\n", fine ? "ok" : "not ok", done, file, what, fine ? "" : " # ",
	       fine ? "" : detail);
}

static const char *const answers[] = { "cannot", "can", "undecided" };

/* Over all blocks: can if one can, undecided if one is, else cannot. */
static enum am_lit_answer overall(const struct am_lit_report *r)
{
	const int status = am_lit_report_status(r);

	return status == 1 ? AM_LIT_CAN : status == 3 ? AM_LIT_UNDECIDED : AM_LIT_CANNOT;
}

static void ask(const struct am_lit *lit, const char *property, enum am_model model,
		enum am_lit_engine engine, enum encoding encoding,
		const char *wanted)
{
	static const char *const engines[] = { "smt", "enumerate", "model-check" };
	struct am_lit_options options = { .engine = engine, .model = model, .unroll = 4,
					  .encoding = encoding == LAZY ? AM_ENCODE_LAZY :
									 AM_ENCODE_DIRECT };
	struct am_lit_report report;
	char what[160], detail[300];

	for (unsigned p = 0; p < AM_LIT_PROP_COUNT; p++)
		if (!strcmp(am_lit_property_name((enum am_lit_property)p), property))
			options.properties = 1u << p;
	am_lit_ask(lit, &options, &report);
	const enum am_lit_answer got = overall(&report);
	/* All states need no bound: what unrolling leaves open, they may decide. */
	const bool fine = !report.internal_error && options.properties &&
			  (!strcmp(answers[got], wanted) ||
			   (engine == AM_LIT_ENUMERATE && !strcmp(wanted, "undecided")));
	snprintf(what, sizeof(what), "%s, %s, %s%s: %s", property, am_model_name(model),
		 engines[engine], encoding == DIRECT ? ", direct" : "", wanted);
	snprintf(detail, sizeof(detail), "got %s (%s)", answers[got],
		 report.n ? report.verdicts[0].reason : "");
	result(fine, lit->name, what, detail);
	am_lit_report_clear(&report);
}

static void expectation(const struct am_lit *lit, char *line)
{
	char *save, *property = strtok_r(line, " ", &save), *model_name, *wanted;
	char *slash = strchr(property, '/');

	if (slash)
		*slash = 0;
	while ((model_name = strtok_r(NULL, " ,", &save)) && (wanted = strtok_r(NULL, " ,", &save))) {
		enum am_model model;
		if (!am_model_from_name(model_name, &model)) {
			result(false, lit->name, "expectation", model_name);
			continue;
		}
		if (slash) {
			ask(lit, property, model, AM_LIT_MODEL_CHECK, LAZY, wanted);
			continue;
		}
		ask(lit, property, model, AM_LIT_SMT, LAZY, wanted);
		if (model == AM_MODEL_SC) /* the direct encoding is Wang et al.'s: no weak models */
			ask(lit, property, model, AM_LIT_SMT, DIRECT, wanted);
		ask(lit, property, model, AM_LIT_ENUMERATE, LAZY, wanted);
	}
}

static void one_file(const char *path, const char *name)
{
	static char source[1 << 16];
	struct am_lit_error error;
	FILE *file = fopen(path, "r");

	if (!file) {
		result(false, name, "opens", path);
		return;
	}
	const size_t len = fread(source, 1, sizeof(source) - 1, file);
	fclose(file);
	source[len] = 0;
	struct am_lit *lit = am_lit_parse(name, source, len, &error);
	if (!lit) {
		result(false, name, "parses", error.message);
		return;
	}
	unsigned found = 0;
	for (char *at = strstr(source, "* expect "); at; at = strstr(at + 1, "* expect ")) {
		char line[300];
		const size_t n = strcspn(at + 9, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)n, at + 9);
		expectation(lit, line);
		found++;
	}
	if (!found)
		result(false, name, "has an expectation", "none");
	am_lit_free(lit);
}

static int is_litmus(const struct dirent *entry)
{
	const size_t n = strlen(entry->d_name);

	return n > 7 && !strcmp(entry->d_name + n - 7, ".litmus");
}

int main(int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : "tests/litmus";
	struct dirent **entries;
	const int n = scandir(dir, &entries, is_litmus, alphasort);

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < n; i++) {
		char path[600];
		snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name);
		one_file(path, entries[i]->d_name);
		free(entries[i]);
	}
	if (n > 0)
		free(entries);
	result(n >= 50, dir, "has at least 50 programs", "fewer");
	printf("1..%u\n", done);
	return failures != 0;
}
