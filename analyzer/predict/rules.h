/* SPDX-License-Identifier: MIT */
/*
 * Memory models as sets of named rules (Yang et al., Appendix A): for small programs, every rule is
 * instantiated over all pairs of events, each rule can be left out ("what if"), an impossible outcome
 * is explained by a minimal set of rules and events, and a possible one by its order matrix.
 */
#ifndef ATOMMON_PREDICT_RULES_H
#define ATOMMON_PREDICT_RULES_H

#include "analyzer/predict/engine.h"

/* constant, name on the command line, what it demands */
#define AM_RULES(X)                                                                                \
	X(PROGRAM_ORDER, "program-order", "the order keeps what the model keeps of program order")  \
	X(READ_VALUE, "read-value", "a read returns the latest write of its location")             \
	X(COMPUTATION, "computation", "values, guards and conditions are those of the program")    \
	X(MUTUAL_EXCLUSION, "mutual-exclusion", "locks, conditions, semaphores, barriers")         \
	X(TOTAL, "total", "any two events are ordered")                                            \
	X(TRANSITIVE, "transitive", "the order is transitive")                                     \
	X(ASYMMETRIC, "asymmetric", "no two events precede each other")

enum am_rule {
#define X(name, text, meaning) AM_RULE_##name,
	AM_RULES(X)
#undef X
		AM_RULE_COUNT
};

/* One reason of an explanation: this rule, applied to these events. */
struct am_rule_use {
	enum am_rule rule;
	uint32_t events[4]; /* AM_CTP_NONE: unused. Ids from event_count on: initial writes, by object */
	uint32_t count;
};

struct am_rules_query {
	enum am_model model;
	uint32_t without; /* mask of 1 << enum am_rule */
	uint32_t reach;	  /* event that must happen (the observer's branch); AM_CTP_NONE: any run */
	bool complete;	  /* every thread reaches its end */
	bool matrix;	  /* fill the order matrix (feasible) */
	bool explain;	  /* fill the uses (infeasible) */
	struct am_budget budget;
};

struct am_rules_answer {
	enum am_verdict verdict;
	const char *reason; /* undecided: why */
	/* rows and columns: first the initial write of each data object, then the events */
	uint32_t *items; /* event ids; event_count + object: the initial write of that object */
	uint32_t item_count;
	char *matrix;	/* item_count * item_count of '0', '1', 'X': row before column */
	uint32_t *run;	/* one legal order of the executed items, initial writes first */
	uint32_t length;
	struct am_rule_use *uses; /* minimal: without any one of them the outcome is possible */
	uint32_t use_count;
};

void am_rules_ask(struct am_ctp *ctp, const struct am_rules_query *query,
		  struct am_rules_answer *answer);
void am_rules_clear(struct am_rules_answer *answer);
/* The rules as a formula, SMT-LIB 2: sat iff possible. */
bool am_rules_dump_smt2(struct am_ctp *ctp, const struct am_rules_query *query, FILE *out);

const char *am_rule_name(enum am_rule rule);
const char *am_rule_meaning(enum am_rule rule);
bool am_rule_from_name(const char *text, enum am_rule *rule);

#endif
