/* SPDX-License-Identifier: MIT */
/*
 * What code compiled with `atommon cc --symbolic` calls. The pass (instrument/pass/symbolic.cc),
 * the stub library and the preload library agree on this list.
 *
 * A *node* is the number of an expression of this thread (expr.h); 0 means: does not depend on any
 * read. The callee performs each access itself, so that value and order are taken together; values
 * travel as 64 bits, zero extended.
 *
 * meta of an access: bits 0..1 log2 of its bytes, bit 2 volatile, bit 3 makes no symbol (its value
 * goes where expressions cannot follow, such as floating point), bits 8..15 1 + C11 memory order.
 */
#ifndef ATOMMON_SYMBOLIC_H
#define ATOMMON_SYMBOLIC_H

#include <stddef.h>
#include <stdint.h>

enum {
	AM_SYM_VOLATILE = 1 << 2,
	AM_SYM_PLAIN = 1 << 3,
	AM_SYM_ORDER_SHIFT = 8,
};

/* Read-modify-writes, as LLVM numbers them. */
enum am_sym_rmw {
	AM_SYM_XCHG,
	AM_SYM_ADD,
	AM_SYM_SUB,
	AM_SYM_AND,
	AM_SYM_NAND,
	AM_SYM_OR,
	AM_SYM_XOR,
	AM_SYM_MAX,
	AM_SYM_MIN,
	AM_SYM_UMAX,
	AM_SYM_UMIN,
};

/* flags of __atommon_sym_call. */
enum {
	AM_SYM_KNOWN = 1, /* the callee is instrumented for certain */
	AM_SYM_QUIET = 2, /* not worth a call event: the callee has events of its own */
};

/* outcome of __atommon_sym_branch. */
enum {
	AM_SYM_TAKEN = 1,
	AM_SYM_ASSERT = 2,
};

/* What a side may do beyond the writes that are listed (struct am_sym_side). */
enum {
	AM_SYM_SIDE_UNKNOWN = 1, /* write other memory */
	AM_SYM_SIDE_ASSERT = 2,	 /* fail an assertion */
};

struct am_sym_value {
	uint64_t value;
	uint32_t node;
};

/* What one side of a branch may write, made by the pass as constant data. */
struct am_sym_side {
	uint32_t n;
	uint32_t others;     /* AM_SYM_SIDE_... */
	uint32_t merge_line; /* of the point where the sides meet again (post-dominator), 0 none */
	uint32_t reserved;
	struct {
		const void *address;
		uint64_t size;
	} write[];
};

/* X(return type, name, parameters) */
#define AM_SYMBOLIC(X)                                                                             \
	X(struct am_sym_value, __atommon_sym_load, (void *p, uint32_t meta, uint32_t at))          \
	X(void, __atommon_sym_store,                                                               \
	  (void *p, uint64_t value, uint32_t meta, uint32_t node, uint32_t at))                    \
	X(struct am_sym_value, __atommon_sym_update,                                               \
	  (void *p, uint64_t value, uint32_t meta, uint32_t op, uint32_t node, uint32_t at))       \
	X(struct am_sym_value, __atommon_sym_cas,                                                  \
	  (void *p, uint64_t expected, uint64_t desired, uint32_t meta, uint32_t expected_node,    \
	   uint32_t desired_node, uint32_t at))                                                    \
	X(void, __atommon_sym_range, (void *p, uint64_t size, uint32_t writes, uint32_t at))       \
	X(void, __atommon_sym_copy, (void *to, const void *from, uint64_t size))                   \
	X(void, __atommon_sym_set, (void *to, uint32_t byte, uint64_t size, uint32_t node))        \
	X(void, __atommon_sym_fence, (uint32_t order))                                             \
	X(uint32_t, __atommon_sym_op,                                                              \
	  (uint32_t what, uint32_t a, uint32_t b, uint64_t va, uint64_t vb))                       \
	X(uint32_t, __atommon_sym_ite,                                                             \
	  (uint32_t what, uint32_t c, uint32_t a, uint32_t b, uint64_t va, uint64_t vb))           \
	X(void, __atommon_sym_branch,                                                              \
	  (uint32_t node, uint32_t outcome, const struct am_sym_side *not_taken))                  \
	X(void, __atommon_sym_switch,                                                              \
	  (uint32_t node, uint64_t value, uint32_t width, uint32_t n, const uint64_t *cases,       \
	   const struct am_sym_side *sides))                                                       \
	X(void, __atommon_sym_pin, (uint32_t node, uint64_t value))                                \
	X(void, __atommon_sym_call, (void *callee, uint32_t flags))                                \
	X(void, __atommon_sym_arg, (uint32_t index, uint32_t node, uint64_t value))                \
	X(uint32_t, __atommon_sym_result, (void *callee))                                          \
	X(void, __atommon_sym_enter, (void *self))                                                 \
	X(uint32_t, __atommon_sym_param, (uint32_t index))                                         \
	X(void, __atommon_sym_return, (void *self, uint32_t node))                                 \
	X(void, __atommon_sym_register, (void *const *functions, uint64_t n))

/* Of op: operation in bits 0..7, width of the result in 8..15, of the operands in 16..23. Of ite:
 * bit 0 of bits 24.. is the condition's value. */

#define X(type, name, params) type name params;
AM_SYMBOLIC(X)
#undef X

#endif
