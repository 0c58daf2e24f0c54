/* SPDX-License-Identifier: MIT */
/* What watched code calls where it has the fast path of an access in itself: the pass, the stub library and the preload library
 * agree by this table. Also included by C++. */
#ifndef ATOMMON_INLINED_H
#define ATOMMON_INLINED_H

/* The accesses that have a fast path in watched code, which calls __atommon_NAME for what it does not do itself:
 * X(name, bytes, does it write). The functions change no register but %r11 and those for floating-point numbers and vectors. */
#define AM_FAST_SIZES(X, name, w)                                                                          \
	X(name, 1, w)                                                                                      \
	X(name, 2, w)                                                                                      \
	X(name, 4, w)                                                                                      \
	X(name, 8, w)
#define AM_FAST_ACCESSES(X)                                                                                \
	AM_FAST_SIZES(X, read, 0)                                                                          \
	AM_FAST_SIZES(X, write, 1)                                                                         \
	AM_FAST_SIZES(X, read_write, 1)

/* Likewise __atommon_entry and __atommon_exit, at the start and the ends of a function: called with the address of a byte of the
 * function's own, which is 0 until the preload library knows that the function is no region, and then 1: not called any more. */

/* Behind the call for an atomic or volatile access, before any other call or jump: what the library would else ask the code around
 * (preload/insn.h). An instruction that does nothing; its first bytes, then a number in 4 bytes. */
#define AM_ANSWER_CODE 0x0f, 0x1f, 0x84, 0x0b /* nopl NUMBER(%rbx,%rcx) */
/* The loops of a function are counted from 1 on, each before those in it. Bits from 0 on: the innermost loop that the access is in,
 * or 0; the last loop in that one; is the result not used? May it be used in any way, or is it all the same from two on (preload/insn.h)?
 * Above them always the same. */
enum {
	AM_ANSWER_BITS = 11,
	AM_ANSWER_LOOPS = (1 << AM_ANSWER_BITS) - 1,
	AM_ANSWER_UNUSED = 1 << 2 * AM_ANSWER_BITS,
	AM_ANSWER_ANY = 1 << (2 * AM_ANSWER_BITS + 1),
	AM_ANSWER_SHIFT = 2 * AM_ANSWER_BITS + 2,
	AM_ANSWER_SAME = 0xaa,
};

#endif
