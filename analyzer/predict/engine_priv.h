/* SPDX-License-Identifier: MIT */
/* What the files of the engine share. */
#ifndef ATOMMON_PREDICT_ENGINE_PRIV_H
#define ATOMMON_PREDICT_ENGINE_PRIV_H

#include "analyzer/predict/lazy.h"

struct am_direct_part;

struct am_engine {
	struct am_ctp *ctp;
	struct am_engine_options options;
	struct am_engine_stats stats;
	struct am_must must;
	struct am_lazy *lazy;
	struct am_direct_part *direct; /* the formula of the last query, direct encoding */
};

/* engine.c: may two accesses race, leaving aside how a run orders them? */
bool am_engine_may_race(struct am_engine *engine, uint32_t a, uint32_t b);

/* direct_ask.c */
void am_direct_ask(struct am_engine *engine, const struct am_query *query,
		   struct am_answer *answer);
void am_direct_free(struct am_direct_part *part);

#endif
