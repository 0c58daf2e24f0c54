/* SPDX-License-Identifier: MIT */
/* Inside the translation to a trace program: its state, and what its two files share. */
#ifndef ATOMMON_LITMUS_TO_CTP_PRIV_H
#define ATOMMON_LITMUS_TO_CTP_PRIV_H

#include "to_ctp.h"

#include <setjmp.h>

struct am_frame { /* the innermost loop */
	struct am_frame *outer;
	uint32_t broke; /* path conditions that left it, joined */
	uint32_t skipped; /* by continue, in this round */
};

struct am_build {
	const struct am_lit *lit;
	const struct am_lit_ctp_options *options;
	struct am_lit_ctp *out;
	struct am_ctp *ctp;
	bool merged, need_merge;
	jmp_buf fail;
	uint32_t *object; /* by cell */
	uint32_t thread;
	uint32_t live; /* path condition; 0 true */
	uint32_t *locals; /* nodes */
	struct am_frame *loop;
	uint32_t returned;
	uint32_t depth;
	uint32_t events_room;
	uint32_t **finals; /* by thread: locals at its end */
};

struct am_where { /* size 0: the address is none of a variable */
	uint32_t object, offset, size, cell;
};

uint32_t am_build_const(struct am_build *b, unsigned width, uint64_t value);
/* To a width; values of narrow types lie zero-extended in memory. */
uint32_t am_build_resize(struct am_build *b, uint32_t node, unsigned width);
struct am_lit_event *am_build_note(struct am_build *b, uint32_t event, enum am_lit_origin origin,
				   struct am_lit_pos pos);
/* The object and offset of an access; an assertion first, if the address may be a wrong one. */
struct am_where am_build_locate(struct am_build *b, uint32_t address, struct am_lit_type type,
				struct am_lit_pos pos);
void am_build_objects(struct am_build *b);
/* lock, unlock, trylock, is_locked on a variable; the value of the expression. */
uint32_t am_build_lock_as_data(struct am_build *b, const struct am_lit_expr *e, uint32_t object);
void am_build_observe(struct am_build *b);

#endif
