/* SPDX-License-Identifier: MIT */
/*
 * Questions about a concurrent trace program, and their answers. One engine per program: what one
 * query taught helps the next. Tool side; not thread-safe; never prints.
 *
 * A feasible answer carries a linearisation that the engine has executed itself. Callers still pass
 * it to the witness validator, which shares no code with the engine.
 */
#ifndef ATOMMON_PREDICT_ENGINE_H
#define ATOMMON_PREDICT_ENGINE_H

#include "analyzer/predict/ctp.h"

enum am_model { AM_MODEL_SC, AM_MODEL_TSO, AM_MODEL_PSO, AM_MODEL_COHERENCE };

enum am_encoding {
	AM_ENCODE_LAZY,	  /* execution-guided refinement; the default */
	AM_ENCODE_DIRECT, /* Wang et al. section 4: integer order, pi-functions; the twin */
};

enum am_property {
	AM_PROP_REACH,	/* event a happens (is executed; a branch: holds) */
	AM_PROP_ASSERT, /* assertion a fails; a = AM_CTP_NONE: any */
	/* a, b, c: a and c in one thread, program order, b in another, a before b before c, a and b
	 * dependent, b and c dependent (guarded independence, section 3, unless `plain`) */
	AM_PROP_THREE,
	/* region `region` is entered and left by a cycle of conflicts: it leaves the region by an
	 * access, passes every other thread at most once (in: some transaction; out: the same or a
	 * program-later one), comes back to a later access of it. Under sc, a run is not
	 * conflict-serializable iff one of its regions has such a cycle. */
	AM_PROP_SERIAL,
	AM_PROP_STRONG, /* an access or synchronisation of another thread between two events of it */
	AM_PROP_WINDOW, /* the same, only accesses that touch bytes which the region accesses */
	/* accesses a, b of different threads conflict, are not both atomic, and no happens-before
	 * (program order, synchronisation on one object, fork/join) orders them; AM_CTP_NONE: any */
	AM_PROP_RACE,
};

enum am_verdict { AM_INFEASIBLE, AM_FEASIBLE, AM_UNDECIDED };

struct am_query {
	enum am_property property;
	uint32_t a, b, c; /* events */
	uint32_t region;
	bool alone;    /* serial: the other regions are no transactions (Sinha et al. II.D) */
	bool plain;    /* three: any data conflict counts, values do not matter */
	bool complete; /* only runs in which every thread reaches its end */
};

struct am_budget {
	uint64_t rounds; /* refinement rounds per query */
	uint64_t units;	 /* solver resource units per query, 0 no limit */
	uint64_t ms;	 /* wall clock per query, 0 no limit: results may then not repeat */
};

struct am_engine_options {
	enum am_model model;
	enum am_encoding encoding;
	bool no_derived_locks;
	/* lazy: a read of a location with up to so many writes is told at once that nothing comes
	 * between a source and itself, else only when execution finds something there */
	uint32_t eager_writes;
	struct am_budget budget;
};

struct am_engine_stats {
	uint64_t queries, feasible, infeasible, undecided;
	uint64_t rounds, checks;		      /* solver calls */
	uint64_t literals, clauses;		      /* given to the solver */
	uint64_t conflicts, decisions, propagations; /* of the solver */
	uint64_t cycles, lock_lemmas, sync_lemmas, data_lemmas, activated_reads, bitvector_cones,
		derived_locks, derived_pairs;
	uint64_t events, sliced_events; /* of the program; of the last slice (direct encoding) */
};

struct am_answer {
	enum am_verdict verdict;
	const char *reason; /* undecided: why (static storage) */
	uint32_t *run;	    /* feasible: events executed (skipped ones left out), in memory order */
	uint32_t length;
	uint32_t *marks; /* feasible: events that show the property, in order: three: a, b, c; race:
			    the pair; assert: the event; serial: the accesses of the cycle, pairs
			    (from, to); strong, window: first, intruder, last */
	uint32_t mark_count;
	uint64_t rounds;
};

struct am_engine;

struct am_engine_options am_engine_defaults(void);
/* The program must be finished; it stays the caller's, but the engine may add nodes to it. */
struct am_engine *am_engine_new(struct am_ctp *ctp, const struct am_engine_options *options);
void am_engine_free(struct am_engine *engine);
/* Fills *answer; free it with am_answer_clear. */
void am_engine_ask(struct am_engine *engine, const struct am_query *query,
		   struct am_answer *answer);
void am_answer_clear(struct am_answer *answer);
const struct am_engine_stats *am_engine_stats(const struct am_engine *engine);
/* Writes the query as SMT-LIB 2 (direct encoding): sat iff feasible. False on a write error. */
bool am_engine_dump_smt2(struct am_engine *engine, const struct am_query *query, FILE *out);

/* All candidate triplets of a region that form one of the five unserializable patterns, must-happen-
 * before ones pruned; calls `each` for every one. Counts before pruning go to *all. */
void am_engine_triplets(struct am_engine *engine, uint32_t region,
			void (*each)(void *arg, const struct am_query *query), void *arg,
			uint64_t *all);
/* Must a happen before b in every run in which b happens? */
bool am_engine_must_before(const struct am_engine *engine, uint32_t a, uint32_t b);

const char *am_model_name(enum am_model model);
bool am_model_from_name(const char *text, enum am_model *model);
const char *am_property_name(enum am_property property);

#endif
