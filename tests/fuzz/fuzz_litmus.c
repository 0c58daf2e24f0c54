/*
 * Litmus files from anywhere: the parser, the translations and a short exploration must neither crash
 * nor run away.
 * fuzz-corpus: tests/litmus
 * fuzz-sources: analyzer/litmus/lex.c analyzer/litmus/parse*.c analyzer/litmus/code.c analyzer/litmus/vm*.c analyzer/litmus/history.c analyzer/litmus/stateset.c analyzer/litmus/explore.c analyzer/litmus/relaxed.c analyzer/litmus/to_ctp*.c analyzer/predict/ctp*.c
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/litmus/explore.h"
#include "analyzer/litmus/relaxed.h"
#include "analyzer/litmus/to_ctp.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void explore(const struct am_lit *lit)
{
	const struct am_explore_options options = { .model = AM_VM_PSO, .unroll = 2, .budget = 300,
						    .max_states = 200,
						    .want = { true, true, true, true, true } };
	struct am_explored found;
	struct am_code *code = am_code_new(lit);

	if (!code)
		abort();
	am_explored_init(&found, lit);
	am_explore_states(code, &options, &found);
	am_explore_runs(code, &options, &found);
	am_explored_clear(&found);
	am_code_free(code);
}

static void translate(const struct am_lit *lit)
{
	const struct am_lit_ctp_options options = { .unroll = 2, .observe = lit->condition != NULL,
						    .control = true };
	const struct am_explore_options few = { .budget = 200, .want = { true, true, true } };
	struct am_lit_ctp *lc = am_lit_to_ctp(lit, &options);
	struct am_relaxed relaxed;

	if (!lc->unsupported && !lc->lock_data && lc->ctp->node_count < 2000) {
		am_relaxed_explore(lit, lc, AM_MODEL_COHERENCE, &few, true, &relaxed);
		am_relaxed_clear(&relaxed);
	}
	am_lit_ctp_free(lc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct am_lit_error error;
	struct am_lit *lit = am_lit_parse("fuzz", (const char *)data, size, &error);

	if (!lit) {
		char text[1000];
		am_lit_error_text("fuzz", (const char *)data, size, &error, text, sizeof(text));
		return 0;
	}
	if (!lit->unmodelled && lit->n_threads <= 6) {
		explore(lit);
		translate(lit);
	}
	am_lit_free(lit);
	return 0;
}
