/*
 * Random litmus programs: the solver and the explicit engines agree on every property under every
 * model, and the two explicit engines agree with each other. Prints the seed; a failure prints the
 * program. usage: litmus_agree [SEED [COUNT [N]]], or ATOMMON_LITMUS_COUNT in the environment; every
 * Nth program (8) also goes through the direct encoding.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/litmus/ask.h"
#include "analyzer/litmus/ask_explicit.h"
#include "analyzer/litmus/generate.h"
#include "tests/property/cases.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t compared, skipped, can, cannot, direct_every = 8;

static const struct am_lit_verdict *find(const struct am_lit_report *r, enum am_lit_property p,
					 uint32_t block)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->verdicts[i].property == p && r->verdicts[i].block == block)
			return &r->verdicts[i];
	return NULL;
}

static bool agree(const struct am_lit_report *a, const struct am_lit_report *b, char *why, size_t size)
{
	for (uint32_t i = 0; i < a->n; i++) {
		const struct am_lit_verdict *v = &a->verdicts[i];
		const struct am_lit_verdict *w = find(b, v->property, v->block);
		if (!w) {
			snprintf(why, size, "%s: one engine gives no answer",
				 am_lit_property_name(v->property));
			return false;
		}
		if (v->answer == AM_LIT_UNDECIDED || w->answer == AM_LIT_UNDECIDED) {
			skipped++;
			continue;
		}
		compared++;
		if (v->answer == AM_LIT_CAN)
			can++;
		else
			cannot++;
		if (v->answer != w->answer) {
			snprintf(why, size, "%s block %d: %d and %d", am_lit_property_name(v->property),
				 (int)v->block, v->answer, w->answer);
			return false;
		}
	}
	return true;
}

static bool any_block_breaks(const struct am_lit_report *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->verdicts[i].property == AM_LIT_PROP_SERIAL &&
		    r->verdicts[i].answer == AM_LIT_CAN)
			return true;
	return false;
}

/* The product with the automaton breaks some block iff an interleaving does; all states agree on the
 * outcome. */
static bool model_check_agrees(const struct am_lit *lit, const struct am_lit_report *twin, char *why,
			       size_t size)
{
	const struct am_lit_options options = { .properties = 1u << AM_LIT_PROP_SERIAL |
							      1u << AM_LIT_PROP_OUTCOME,
						.engine = AM_LIT_MODEL_CHECK, .unroll = 4 };
	struct am_lit_report checked;

	am_lit_ask(lit, &options, &checked);
	const struct am_lit_verdict *a = find(&checked, AM_LIT_PROP_OUTCOME, UINT32_MAX);
	const struct am_lit_verdict *b = find(twin, AM_LIT_PROP_OUTCOME, UINT32_MAX);
	const bool fine = any_block_breaks(&checked) == any_block_breaks(twin) &&
			  (!a || !b || a->answer == b->answer || b->answer == AM_LIT_UNDECIDED);
	if (!fine)
		snprintf(why, size, "model checking differs");
	am_lit_report_clear(&checked);
	return fine;
}

static bool one(uint64_t seed, unsigned steps)
{
	static char text[20000];
	const bool has_pointers = seed % 3 == 0;
	const struct am_lit_generate how = { .seed = seed, .steps = steps,
					     .no_pointers = !has_pointers };
	const size_t len = am_lit_generate(&how, text, sizeof(text));
	struct am_lit_error error;
	struct am_lit *lit = am_lit_parse("random", text, len, &error);
	bool fine = true;

	if (!lit) {
		char shown[1000];
		am_lit_error_text("random", text, len, &error, shown, sizeof(shown));
		printf("# seed %llu does not parse:\n%s", (unsigned long long)seed, shown);
		return false;
	}
	for (enum am_model model = AM_MODEL_SC; model <= AM_MODEL_COHERENCE && fine; model++) {
		struct am_lit_options options = { .properties = (1u << AM_LIT_PROP_COUNT) - 1,
						  .model = model, .unroll = 4 };
		struct am_lit_report solver, twin, second;
		char why[200];
		options.engine = AM_LIT_SMT;
		am_lit_ask(lit, &options, &solver);
		options.engine = AM_LIT_ENUMERATE;
		options.budget = 300000;
		am_lit_ask(lit, &options, &twin);
		am_lit_ask_orders(lit, &options, (second = (struct am_lit_report){ 0 }, &second));
		fine = !solver.internal_error;
		if (!fine)
			snprintf(why, sizeof(why), "witness: %s", solver.internal_error);
		fine = fine && agree(&twin, &solver, why, sizeof(why));
		if (fine && model != AM_MODEL_COHERENCE && !agree(&twin, &second, why, sizeof(why))) {
			fine = false;
			strcat(why, " (explicit engines)");
		}
		if (fine && model == AM_MODEL_SC)
			fine = model_check_agrees(lit, &twin, why, sizeof(why));
		if (fine && model == AM_MODEL_SC && seed % direct_every == 0) { /* the direct encoding, too */
			struct am_lit_report direct;
			options.engine = AM_LIT_SMT;
			options.encoding = AM_ENCODE_DIRECT;
			options.budget = 0;
			am_lit_ask(lit, &options, &direct);
			fine = !direct.internal_error && agree(&direct, &twin, why, sizeof(why));
			if (!fine)
				snprintf(why, sizeof(why), "direct encoding: %s",
					 direct.internal_error ? direct.internal_error : "differs");
			am_lit_report_clear(&direct);
		}
		if (!fine)
			printf("# seed %llu, model %s: %s\n%s\n", (unsigned long long)seed,
			       am_model_name(model), why, text);
		am_lit_report_clear(&solver);
		am_lit_report_clear(&twin);
		am_lit_report_clear(&second);
	}
	am_lit_free(lit);
	return fine;
}

int main(int argc, char **argv)
{
	const char *env = getenv("ATOMMON_LITMUS_COUNT");
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20261116;
	const uint64_t count = env && argc <= 2 ? strtoull(env, NULL, 0) : cases_wanted(argc, argv, 250);
	unsigned bad = 0;

	if (argc > 3 && strtoull(argv[3], NULL, 0))
		direct_every = strtoull(argv[3], NULL, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("# seed %llu count %llu\n", (unsigned long long)seed, (unsigned long long)count);
	for (uint64_t i = 0; i < count && bad < 5; i++) {
		if (!one(seed + i, 4 + (unsigned)((seed + i) % 5)))
			bad++;
		if (i % 500 == 499)
			printf("# %llu programs, %llu answers\n", (unsigned long long)i + 1,
			       (unsigned long long)compared);
	}
	printf("# %llu answers compared (%llu can, %llu cannot), %llu undecided in one engine\n",
	       (unsigned long long)compared, (unsigned long long)can, (unsigned long long)cannot,
	       (unsigned long long)skipped);
	printf("%s 1 - engines agree on random programs\n1..1\n", bad ? "not ok" : "ok");
	return bad != 0;
}
