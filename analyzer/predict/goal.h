/* SPDX-License-Identifier: MIT */
/* What the files of the properties share: a goal is a query as clauses under its literal q. */
#ifndef ATOMMON_PREDICT_GOAL_H
#define ATOMMON_PREDICT_GOAL_H

#include "analyzer/predict/lazy.h"

void am_goal_need(struct am_lazy *z, struct am_goal *goal, int32_t lit); /* q -> lit */
void am_goal_need_event(struct am_lazy *z, struct am_goal *goal, uint32_t e);
void am_goal_mark(struct am_goal *goal, uint32_t e);
/* Is the node's claim what the run says? If not, refines and returns false. */
bool am_goal_claim(struct am_lazy *z, uint32_t node);
bool am_goal_in_region(const struct am_ctp *ctp, uint32_t region, uint32_t e);

void am_goal_make_serial(struct am_lazy *z, struct am_goal *goal);
bool am_goal_holds_serial(struct am_lazy *z, struct am_goal *goal);
bool am_goal_holds_race(struct am_lazy *z, struct am_goal *goal);

#endif
