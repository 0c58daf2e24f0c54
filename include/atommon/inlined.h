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

#endif
