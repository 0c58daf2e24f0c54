/* SPDX-License-Identifier: MIT */
/*
 * Just enough of x86-64 machine code to tell loops: how long an instruction is, and where a relative jump
 * leads. Compilers copy the first test of a loop in front of it, so that a load in the source is two in the
 * code; only the code tells that they are one. Pure; reads code that is mapped, nothing else.
 */
#ifndef ATOMMON_PRELOAD_INSN_H
#define ATOMMON_PRELOAD_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct am_insn {
	unsigned length;
	bool is_jump; /* jmp or jcc, relative */
	int32_t to;   /* from the end of the instruction */
	/* What insn_unused.c asks. */
	uint8_t op, map; /* map 0: opcodes of one byte */
	uint8_t rex, modrm, sib;
	bool is_vex, is_word, has_modrm;
};

/* Of at most `room` bytes; false: none that is known. */
bool am_insn_decode(const uint8_t *code, size_t room, struct am_insn *insn);

/* What the compiler said behind the call that returns to `pc` (atommon/inlined.h), in a function that ends at `end`; 0: nothing. */
uint32_t am_insn_answer(uintptr_t pc, uintptr_t end);

/* Is the call that returns to `pc` in a loop of its function that the call returning to `other` is not in? Looks
 * at the code behind pc for a jump back to before it, unless the compiler said it. */
bool am_insn_in_inner_loop(uintptr_t pc, uintptr_t other, uintptr_t start, uintptr_t end);

/* Is what the call that returns to `pc` gave back never looked at, in this function? False: it may be. */
bool am_insn_is_unused(uintptr_t pc, uintptr_t start, uintptr_t end);

/* Is it looked at only to see whether it was one, or whether one less is nothing? So that from two on all numbers are the same to the function. Also true
 * if it is never looked at. False: it may be more. */
bool am_insn_is_compared(uintptr_t pc, uintptr_t start, uintptr_t end);

#endif
