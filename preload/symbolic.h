/* SPDX-License-Identifier: MIT */
/* Expressions of one thread while they are recorded: see symbolic_node.c. */
#ifndef ATOMMON_PRELOAD_SYMBOLIC_H
#define ATOMMON_PRELOAD_SYMBOLIC_H

#include "atommon/expr.h"
#include "preload/log.h"

enum { AM_SYM_PARAMS = 16, AM_SYM_CONSTS = 64, AM_SYM_PINNED = 64, AM_SYM_WRITTEN = 256 };

struct am_sym {
	uint32_t thread;    /* am_tls.id that this belongs to */
	uint32_t last;	    /* newest node */
	const void *callee; /* the call under way is to this, and it is instrumented */
	const void *from;   /* `result` was returned by this */
	uint32_t result;
	uint32_t arg[AM_SYM_PARAMS];
	uint32_t pinned[AM_SYM_PINNED]; /* by node number: pinned already */
	struct {
		uint64_t value;
		uint32_t width, node;
	} constant[AM_SYM_CONSTS];
	uintptr_t written[AM_SYM_WRITTEN]; /* by address: what was there first has been told */
};

/* This thread's, if expressions are being recorded now; else NULL: everything is concrete. */
struct am_sym *am_sym_self(void);

/* A new node; 0 if it could not be written. */
uint32_t am_sym_node(struct am_sym *s, enum am_op op, unsigned width, uint32_t a, uint32_t b,
		     uint32_t c);
uint32_t am_sym_const(struct am_sym *s, unsigned width, uint64_t value);
void am_sym_pin_node(struct am_sym *s, uint32_t node, uint64_t value, struct am_here here);
/* branch or assert */
void am_sym_condition(enum am_kind kind, uint32_t node, bool outcome, struct am_here here);

/* Code that makes no expressions reads n bytes for code that does: recorded, and fixed to what they are. False: this thread
 * records none, or they are too many. */
bool am_sym_reads(const void *p, uint64_t n, struct am_here here);

static inline struct am_unit am_sym_ext(enum am_ext tag, uint64_t payload)
{
	return (struct am_unit){AM_EXT | (uint64_t)tag << AM_R_DETAIL_SHIFT, payload};
}

#endif
