/* SPDX-License-Identifier: MIT */
/*
 * The lazy engine: execution-guided refinement. What its files share.
 *
 * The solver sees a propositional skeleton. Its vocabulary:
 *   X_e     event e happens: its thread got past it (executed, or skipped by its guard)
 *   node    truth of a width-1 node; AND, OR, NOT are clauses, all else is an atom: a free variable
 *           whose value is a claim, checked by execution
 *   a < b   order of two events in the run, only for pairs that something asks about. Pairs inside
 *           two sections that exclude each other share the one literal of the sections
 *   f       access e sees, in one of its pieces, the value of write w (or the initial one)
 *
 * Invariant (completeness): every run of the program extends to an assignment that satisfies all
 * clauses. Every clause added keeps it; doc/notes/symbolic.md has the arguments. Soundness needs no
 * argument: a feasible answer was executed.
 */
#ifndef ATOMMON_PREDICT_LAZY_H
#define ATOMMON_PREDICT_LAZY_H

#include "analyzer/predict/engine.h"
#include "analyzer/predict/exec.h"
#include "analyzer/predict/grow.h"
#include "analyzer/predict/must.h"
#include "analyzer/predict/smt.h"

/* From `open` to `close` the thread excludes the other sections of `lock`. Locks from object_count on
 * are derived ones. */
struct am_section {
	uint32_t open, close; /* close: AM_CTP_NONE if the program has none */
	uint32_t lock, thread;
	bool shared;
};

/* An order that something asked for. lit true: a before b. What only the query of another goal asked
 * for does not matter to this one. */
struct am_pair {
	uint32_t a, b;	 /* events; or sections, if is_section */
	int32_t lit;
	uint32_t goal;	 /* the last goal that asked for it in its query */
	bool is_section;
	bool is_lasting; /* clauses of every query use it */
};

/* One possible source of a piece of an access. */
struct am_source {
	uint32_t writer; /* event, AM_CTP_NONE: the initial value */
	uint32_t piece;
	int32_t lit;
};

struct am_activation {
	struct am_source *sources;
	uint32_t count, room;
	uint32_t pieces; /* 1: the whole access; else one per byte */
};

struct am_lits {
	int32_t *list;
	uint32_t count, room;
};

struct am_list {
	uint32_t *list;
	uint32_t count, room;
};

struct am_lazy {
	struct am_ctp *ctp;
	struct am_engine_options options;
	struct am_engine_stats *stats;
	struct am_smt *smt;
	struct am_must must;
	struct am_exec exec;

	int32_t *x;	     /* X_e by event */
	int32_t *node_lit;   /* by node, 0: none yet */
	uint32_t node_room;
	uint32_t *atom_lemmas; /* by node: data lemmas so far */
	uint32_t atom_room;
	int32_t *bv;	     /* by node: bit-vector term, 0: none yet */
	uint32_t bv_room;
	bool *tied;	     /* by node: atom tied to its bit-vector term */
	uint32_t tied_room;

	struct am_section *sections;
	uint32_t section_count, section_room, lock_count;
	struct am_list *inside; /* by event: sections around it */
	struct am_list *by_lock; /* by lock: its sections */
	bool *irregular;	/* by lock: sections could not be matched; generic lemmas */

	struct am_pair *pairs;
	uint32_t pair_count, pair_room;
	uint32_t *pair_hash, pair_hash_size;
	struct am_list *between; /* by thread and thread: pairs of their events, or of their sections */
	uint32_t goal;		 /* number of the goal */
	bool is_making;		 /* its query is being made */
	uint32_t news;		 /* orders that came to matter so far */

	struct am_activation *active; /* by event */
	bool *is_active;
	struct am_list *checks; /* by event: nodes whose claims are checked there */
	struct am_list *stores;	/* by location class */
	bool *sem_on, *cond_on; /* by object: matching clauses given */
	uint32_t *bound;	/* by event: node: a symbolic offset lies within its object; 0 */

	/* the current round */
	int8_t *truth; /* by solver variable */
	uint32_t truth_room;
	int32_t *vars; /* the variables that a round looks at, beside those that the goal uses */
	uint32_t var_count, var_room;
	uint32_t *order, order_count; /* the linearisation */
	struct am_lits clause;
	uint32_t *mark, mark_stamp; /* by event: visited by an explanation */
	uint32_t *node_mark, node_mark_room; /* by node: the same */
	const char *give_up;	    /* reason for undecided */
};

/* A query, as clauses under literal q. Owned by props.c. */
struct am_goal {
	struct am_query query;
	int32_t q; /* assumed */
	/* after a run that the program allows: does it have the property? If not, adds a lemma or
	 * activates reads, and returns false. */
	bool (*holds)(struct am_lazy *z, struct am_goal *goal);
	struct am_lits uses;	/* serial: literals of conflict edges; strong: of intruders */
	struct am_list events;	/* beside each literal, two or three events */
	bool narrow;		/* serial: only cycles through one other thread */
	bool partial;		/* serial: there may be others */
	uint32_t marks[2 * 64];
	uint32_t mark_count;
};

/* lazy.c */
struct am_lazy *am_lazy_new(struct am_ctp *ctp, const struct am_engine_options *options,
			    struct am_engine_stats *stats);
void am_lazy_free(struct am_lazy *z);
void am_lazy_ask(struct am_lazy *z, const struct am_query *query, struct am_answer *answer);

/* lazy_lit.c: literals and clauses */
int32_t am_lazy_fresh(struct am_lazy *z, const char *name);
int32_t am_lazy_hidden(struct am_lazy *z, const char *name); /* no round looks at it */
void am_lazy_clause(struct am_lazy *z, const int32_t *lits, uint32_t count);
int32_t am_lazy_node(struct am_lazy *z, uint32_t node);	       /* 0: true */
int32_t am_lazy_before(struct am_lazy *z, uint32_t a, uint32_t b);
bool am_lazy_pair_matters(const struct am_lazy *z, const struct am_pair *pair);
int32_t am_lazy_happens(struct am_lazy *z, uint32_t e);	       /* executed: X_e and its guard */
void am_lazy_not_executed(struct am_lazy *z, struct am_lits *out, uint32_t e); /* adds -X, -guard */
bool am_lazy_truth(const struct am_lazy *z, int32_t lit);
void am_lazy_skeleton(struct am_lazy *z);
void am_lits_add(struct am_lits *lits, int32_t lit);

/* lazy_lock.c: sections and their exclusion */
void am_lazy_find_sections(struct am_lazy *z);
void am_lazy_add_section(struct am_lazy *z, struct am_section section);
bool am_lazy_exclude(struct am_lazy *z, uint32_t s, uint32_t t); /* false: known already */
int32_t am_lazy_sections_before(struct am_lazy *z, uint32_t s, uint32_t t);
bool am_lazy_common(struct am_lazy *z, uint32_t a, uint32_t b, uint32_t *s, uint32_t *t);
bool am_lazy_check_locks(struct am_lazy *z); /* true: the linearisation respects all locks */
void am_lazy_sync_lemma(struct am_lazy *z, uint32_t e);

/* lazy_order.c: a linearisation of the model, or lemmas against its cycles */
bool am_lazy_linearise(struct am_lazy *z);

/* lazy_data.c: values */
void am_lazy_activate(struct am_lazy *z, uint32_t e);
/* Collects literals that imply the executed value of the node; false: reads were activated instead. */
bool am_lazy_explain(struct am_lazy *z, uint32_t node, struct am_lits *out);
bool am_lazy_explain_old(struct am_lazy *z, uint32_t e, struct am_lits *out);
void am_lazy_explain_begin(struct am_lazy *z);
/* The node's literal claims other than execution says: refine. */
void am_lazy_refute_claim(struct am_lazy *z, uint32_t node);
uint32_t am_lazy_cover(struct am_lazy *z, uint32_t w, uint32_t e, uint32_t piece);

/* lazy_bits.c: bit-vector cones */
bool am_lazy_tie(struct am_lazy *z, uint32_t node); /* false: not possible */

/* derive.c */
void am_lazy_derive_locks(struct am_lazy *z);

/* props.c */
void am_goal_make(struct am_lazy *z, const struct am_query *query, struct am_goal *goal);
void am_goal_clear(struct am_goal *goal);

#endif
