/* SPDX-License-Identifier: MIT */
/*
 * One line of gcc's assembler taken apart: the instructions whose effect on general registers and memory is
 * known, and their operands. Pure.
 */
#ifndef ATOMMON_INSTRUMENT_AS_INSN_H
#define ATOMMON_INSTRUMENT_AS_INSN_H

#include "instrument/as_value.h"

enum am_as_effect {
	AM_AS_UNKNOWN,
	AM_AS_NOTHING,	/* flags at most */
	AM_AS_COPY,	/* the last operand is the first */
	AM_AS_ADDRESS,	/* the last operand is the address of the first */
	AM_AS_CONVERT,	/* the last operand comes from the first alone */
	AM_AS_COMPUTE,	/* the last operand comes from all operands alone */
	AM_AS_SET,	/* the last operand is written with something else */
	AM_AS_WIDEN,	/* %rax comes from itself */
	AM_AS_SPREAD,	/* %rdx is written */
	AM_AS_DIVIDE,	/* %rax and %rdx are written */
};

struct am_as_operand {
	enum { AM_AS_CONSTANT, AM_AS_REGISTER, AM_AS_VECTOR, AM_AS_MEMORY } kind;
	struct am_as_text text; /* a constant; what stands before the parenthesis of an address */
	int reg, index;		/* a register; those of an address, or -1 */
	int width;		/* bytes of a register */
	bool is_rip, has_segment;
	char scale;
};

struct am_as_insn {
	enum am_as_effect effect;
	struct am_as_text name;
	int loads, stores; /* bytes of an operand in memory that is read, that is written */
	int n;
	struct am_as_operand operand[3];
};

/* False: not known. */
bool am_as_insn_read(struct am_as_text line, struct am_as_insn *insn);

#endif
