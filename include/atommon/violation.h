/* SPDX-License-Identifier: MIT */
/*
 * A violation: a region that was not (or, predicted, need not be) serializable, told as numbered
 * steps. A plain struct: a checker or predictor has it filled (analyzer/report/blame.h), and text,
 * JSON and SARIF are pure functions over it.
 *
 * All pointers are borrowed and live as long as their filler says; none is NULL unless said. Texts
 * are UTF-8 as far as the program's own names are; "" is unknown or none.
 */
#ifndef ATOMMON_VIOLATION_H
#define ATOMMON_VIOLATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

/* See the words of doc/report-format.md. */
enum am_status {
	AM_OBSERVED,  /* happened in this run */
	AM_PREDICTED, /* another schedule of this run's events, feasible under a sound model */
	AM_CONFIRMED, /* a predicted one that a forced re-run showed */
	AM_POTENTIAL, /* data was ignored, or not seen: whether it matters is open */
};

/* One source position. function, file "" and line 0 when unknown; module and offset always known
 * when the address lies in a module. */
struct am_vframe {
	const char *function;
	const char *file;
	uint32_t line;
	const char *module; /* path */
	uint64_t offset;    /* address in the module's file */
};

/* A call stack, innermost first. `shown` is the frame a person wants to see: the innermost one
 * outside annotation macros and the language's own wrappers. */
struct am_place {
	uint32_t n_frames;
	uint32_t shown;
	const struct am_vframe *frame;
};

enum am_storage {
	AM_AT_UNKNOWN, /* only the address is known */
	AM_AT_GLOBAL,  /* in a module's data; name is the symbol if there is one */
	AM_AT_HEAP,    /* in a block of the heap; place is where it was allocated */
	AM_AT_STACK,   /* in a thread's stack */
};

struct am_vobject {
	uint8_t storage;  /* enum am_storage */
	uint8_t sync;	  /* enum am_object of a synchronisation object, 0: data */
	bool is_sync;	  /* a lock or the like, also when its kind is unknown (no init was seen) */
	bool is_named;	  /* `name` was given by the program (atommon_name) */
	const char *name; /* for people and suppressions: "balance", "mutex bank_lock"... never "" */
	uint64_t address; /* start of the object */
	uint64_t size;	  /* 0 unknown */
	const char *module; /* of a global */
	uint64_t offset;    /* of a global: address in the module's file */
	const struct am_place *place; /* heap: allocated here; sync: initialised here; may be NULL */
	uint32_t thread;	      /* who did; index into thread[], UINT32_MAX unknown */
};

struct am_vthread {
	uint32_t id;	 /* own id, 0 is the main thread */
	uint32_t os_tid; /* 0 unknown */
	uint32_t parent; /* own id, UINT32_MAX unknown or none */
	const char *name;
	const struct am_place *place; /* created here; NULL unknown or main */
};

/* Part of a step in the story. */
enum am_role {
	AM_ROLE_CONTEXT, /* explains: region begin and end, lock operations beside the cycle */
	AM_ROLE_CYCLE,	 /* an end of an edge */
};

#define AM_NO_OBJECT UINT32_MAX

struct am_vstep {
	uint32_t number; /* from 1, in the order of the (real or witness) schedule */
	uint32_t thread; /* index into am_violation.thread */
	uint8_t kind;	 /* enum am_kind */
	uint8_t mode;	 /* enum am_mode of acquire, release */
	uint8_t flags;	 /* AM_HAS_VALUE... */
	uint8_t role;	 /* enum am_role */
	bool in_region;	 /* of the blamed region */
	uint32_t object; /* index into am_violation.object or AM_NO_OBJECT */
	uint64_t offset; /* of the access within the object */
	const char *part; /* the same in words: ".len", "[3]"; NULL: not known */
	uint64_t size;	 /* bytes accessed, 0 none */
	uint64_t value;	    /* if AM_HAS_VALUE; predictions have none */
	uint64_t index;	    /* in the merged order of the recorded run */
	const char *region; /* its outermost region, "" outside any */
	const struct am_place *place;
};

struct am_vedge {
	uint32_t from, to; /* step numbers */
	bool is_program;   /* program order of one thread, not a conflict */
	const char *why;   /* in words */
};

/* What went wrong between the region's two steps, as far as their kinds tell. */
enum am_pattern {
	AM_PATTERN_OTHER,
	AM_PATTERN_LOST_UPDATE,	  /* read, other's write, write */
	AM_PATTERN_UNREPEATABLE,  /* read, other's write, read */
	AM_PATTERN_OVERWRITTEN,	  /* write, other's write, read */
	AM_PATTERN_DIRTY_READ,	  /* write, other's read, write */
	AM_PATTERN_MIXED_WRITES,  /* write, other's write, write */
	AM_PATTERN_CHECK_THEN_ACT, /* read of one object, later access to another */
	AM_PATTERN_FREED,	  /* the block was freed in between */
	AM_PATTERN_FREED_IN_USE,  /* the region freed a block that another thread used in between */
	AM_PATTERN_TWO_SECTIONS,  /* lock level: two sections of the region, another's in between */
	AM_PATTERN_INCONSISTENT,  /* reads of two objects, other's writes of both in between */
	AM_PATTERN_CHAIN,	  /* several objects, several transactions */
};

#define AM_ID_SIZE 12 /* "AV-" and eight hex digits */

struct am_violation {
	enum am_status status;
	enum am_pattern pattern;
	const char *model;   /* "" for observed; sync, avp, value, ctp */
	char id[AM_ID_SIZE]; /* equal across runs, address randomisation and rebuilds */
	uint32_t coarse;     /* the id without functions */
	uint32_t core;	     /* the id without the other transactions */
	uint32_t coarse_core; /* without both */
	/* With the line of the last access instead of what it does there; 0: no line is known. The read
	 * and the write of n++ close the same cycle: one mistake. */
	uint32_t statement, statement_core;
	bool is_vague;	     /* some step's stack ends in a library wrapper: its function is not known */
	const char *region;  /* the blamed one */
	const struct am_place *region_place;
	uint32_t region_thread; /* index into thread[] */
	bool is_lock_level;	/* entities are locks, not variables */
	bool is_guess; /* the region is a critical section taken for one, and locks are all that is known or the steps
			  lie in inner sections of their own: then it is potential */
	bool is_program_order;	/* some edge is program order: several transactions of one thread */
	uint32_t n_inner;
	const char *const *inner; /* nested regions open in the blamed one, outermost first */
	uint32_t n_steps;
	const struct am_vstep *step;
	uint32_t n_edges;
	const struct am_vedge *edge;
	uint32_t omitted; /* edges of the cycle that are not told (at least so many) */
	uint32_t n_objects;
	const struct am_vobject *object;
	uint32_t n_threads;
	const struct am_vthread *thread;
	uint64_t count;		 /* times seen so far, this one included */
	const char *summary;	 /* one sentence: what went wrong */
	const char *moved;	 /* predictions: what the schedule changes; "" otherwise */
	const char *fix;	 /* what to change */
	const char *suppression; /* a line for a suppressions file */
	const char *next;	 /* a command to go on with; "" none */
	const char *command;	 /* of the program */
	uint32_t pid;
};

const char *am_status_name(enum am_status status);
const char *am_pattern_name(enum am_pattern pattern);
/* Which part of its object a step accesses: ".len", "+16", "" */
const char *am_step_part(const struct am_vstep *step, char *buf, size_t size);
const char *am_sync_name(enum am_object sync); /* "mutex", "rwlock"... "lock" for 0 */

#endif
