/* SPDX-License-Identifier: MIT */
/* What the two files of the rules share. */
#ifndef ATOMMON_PREDICT_RULES_PRIV_H
#define ATOMMON_PREDICT_RULES_PRIV_H

#include "analyzer/predict/grow.h"
#include "analyzer/predict/must.h"
#include "analyzer/predict/rules.h"
#include "analyzer/predict/smt.h"

struct am_rules {
	struct am_ctp *ctp;
	const struct am_rules_query *query;
	struct am_smt *smt;
	uint32_t n;	  /* items: initial writes, then events */
	uint32_t initials;
	uint32_t *items;  /* event, or event_count + object */
	int32_t *order;	  /* n * n: item i before item j */
	int32_t *x, *run; /* by event */
	int32_t *guard;	  /* by event: truth of its guard */
	int32_t *data;	  /* by event: value written */
	int32_t *read;	  /* by event: value read */
	int32_t *node;
	uint32_t node_room;
	/* every instance of a rule, with the literal that switches it on (explain only) */
	struct am_rule_use *uses;
	int32_t *selectors;
	uint32_t use_count, use_room, selector_room;
};

void am_rules_build(struct am_rules *r, struct am_ctp *ctp, const struct am_rules_query *query);
void am_rules_destroy(struct am_rules *r);
static inline uint32_t am_rules_item(const struct am_rules *r, uint32_t event)
{
	return r->initials + event;
}

#endif
