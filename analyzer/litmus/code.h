/* SPDX-License-Identifier: MIT */
/*
 * Instructions of the explicit engines: each thread of a litmus program as a list with jumps, loops
 * included. Registers 0 .. n_locals-1 are the thread's local variables; behind them come temporaries
 * (zero between statements, so that they do not tell states apart) and one counter per loop.
 * Shares nothing with the translation to concurrent trace programs: that is its twin.
 */
#ifndef ATOMMON_LITMUS_CODE_H
#define ATOMMON_LITMUS_CODE_H

#include "ast.h"

enum am_code_op {
	/* local: no other thread can see them */
	AM_CODE_CONST, /* dst = imm */
	AM_CODE_MOVE,  /* dst = a */
	AM_CODE_EVAL,  /* dst = op(a, b, c) */
	AM_CODE_JUMP,  /* to imm */
	AM_CODE_ZERO,  /* to imm if a is 0 */
	AM_CODE_CLEAR, /* temporaries = 0 */
	AM_CODE_ENTER, /* loop: counter dst = 0 */
	AM_CODE_AGAIN, /* loop: one more round; beyond the bound the thread is cut off */
	AM_CODE_BEGIN, /* atomic block imm */
	AM_CODE_END,
	AM_CODE_ASSERT, /* a */
	AM_CODE_ASSUME,
	AM_CODE_HALT,
	/* steps */
	AM_CODE_LOAD,  /* dst = *a */
	AM_CODE_STORE, /* *a = b */
	AM_CODE_RMW,   /* dst = *a; *a = f(dst, b, c) */
	AM_CODE_FENCE,
	AM_CODE_LOCK,
	AM_CODE_UNLOCK,
	AM_CODE_TRYLOCK,
	AM_CODE_ISLOCKED,
	AM_CODE_POST,
	AM_CODE_TAKE,
	AM_CODE_WAIT, /* condition a, mutex b (imm 1: has one) */
	AM_CODE_WAKE,
	AM_CODE_SIGNAL,
	AM_CODE_BROADCAST,
	AM_CODE_ARRIVE,
	AM_CODE_LEAVE,
	AM_CODE_FORK, /* thread imm */
	AM_CODE_JOIN,
};

struct am_insn {
	uint8_t code; /* enum am_code_op */
	uint8_t op;   /* enum am_op of eval; enum am_lit_rmw */
	uint8_t width, bits; /* result and operand width */
	uint8_t order; /* enum am_lit_order; fence: enum am_lit_fence */
	uint32_t dst, a, b, c;
	uint64_t imm;
	struct am_lit_type type; /* of an access */
	struct am_lit_pos pos;
};

struct am_code_thread {
	struct am_insn *insns;
	uint32_t n, room;
	uint32_t n_regs, first_temp, first_counter;
};

struct am_code {
	const struct am_lit *lit;
	struct am_code_thread *threads;
};

/* NULL: out of memory. */
struct am_code *am_code_new(const struct am_lit *lit);
void am_code_free(struct am_code *code);

static inline bool am_code_is_step(const struct am_insn *insn)
{
	return insn->code >= AM_CODE_LOAD;
}

#endif
