/* SPDX-License-Identifier: MIT */
/*
 * What the general registers hold along a straight line of gcc's x86-64 assembler: numbers, of which
 * equal ones stand for equal 64-bit values, whatever these are. Used by as_pair.c to tell that two
 * addresses are the same.
 *
 * An instruction is followed only if it is known to write nothing but what we take it to write
 * (as_insn.c has the list); the first other one ends the line. What cannot be followed is a new number.
 * A value from memory is one number as long as nothing may have stored there, and only in the
 * function's own frame: elsewhere other threads may store.
 */
#ifndef ATOMMON_INSTRUMENT_AS_VALUE_H
#define ATOMMON_INSTRUMENT_AS_VALUE_H

#include <stdbool.h>
#include <stddef.h>

enum { AM_AS_RAX, AM_AS_RCX, AM_AS_RDX, AM_AS_RBX, AM_AS_RSP, AM_AS_RBP, AM_AS_RSI, AM_AS_RDI, AM_AS_REGISTERS = 16 };
enum { AM_AS_NODES = 96, AM_AS_SLOTS = 16 };

struct am_as_text {
	const char *at;
	size_t n;
};

struct am_as_values {
	unsigned next; /* the first number that nothing has */
	unsigned of[AM_AS_REGISTERS];
	bool has_frame; /* %rbp is the frame pointer in all of this function */
	/* Computed values. Equal parts, equal result. */
	struct am_as_node {
		struct am_as_text how, constant;
		char scale;
		unsigned a, b, is;
	} node[AM_AS_NODES];
	unsigned nodes;
	/* Loads from the frame that would give the same again. */
	struct am_as_slot {
		unsigned base, is;
		long offset, bytes;
	} slot[AM_AS_SLOTS];
	unsigned slots;
};

/* Nothing is known: the line begins. */
void am_as_values_begin(struct am_as_values *v);
/* A callback was called: it leaves the program's memory alone, but not the registers a call may change. */
void am_as_values_call(struct am_as_values *v);
/* Follows one instruction (a line without its tab, end and comment). False: not known, nothing holds any more. */
bool am_as_values_step(struct am_as_values *v, struct am_as_text insn);

#endif
