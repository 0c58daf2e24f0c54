/*
 * libatommon-stub.so: what code built with `atommon cc --symbolic` calls when nobody watches. The
 * accesses are performed, nothing is followed. Functions that were compiled in two versions never
 * come here; a few (with variable arguments, for instance) have only one. Must never keep state.
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/symbolic.h"

#include <string.h>

#include "atommon/perform.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define EXPORT __attribute__((visibility("default")))

EXPORT struct am_sym_value __atommon_sym_load(void *p, uint32_t meta, uint32_t at)
{
	return (struct am_sym_value){am_perform_load(p, meta), 0};
}

EXPORT void __atommon_sym_store(void *p, uint64_t value, uint32_t meta, uint32_t node, uint32_t at)
{
	am_perform_store(p, value, meta);
}

EXPORT struct am_sym_value __atommon_sym_update(void *p, uint64_t value, uint32_t meta, uint32_t op,
						uint32_t node, uint32_t at)
{
	return (struct am_sym_value){am_perform_update(p, value, meta, op), 0};
}

EXPORT struct am_sym_value __atommon_sym_cas(void *p, uint64_t expected, uint64_t desired,
					     uint32_t meta, uint32_t expected_node,
					     uint32_t desired_node, uint32_t at)
{
	return (struct am_sym_value){am_perform_cas(p, expected, desired, meta), 0};
}

EXPORT void __atommon_sym_copy(void *to, const void *from, uint64_t size)
{
	memmove(to, from, size);
}

EXPORT void __atommon_sym_set(void *to, uint32_t byte, uint64_t size, uint32_t node)
{
	memset(to, (int)byte, size);
}

#define NOTHING(name, params)                                                                      \
	EXPORT void name params                                                                    \
	{                                                                                          \
	}
#define ZERO(name, params)                                                                         \
	EXPORT uint32_t name params                                                                \
	{                                                                                          \
		return 0;                                                                          \
	}
NOTHING(__atommon_sym_range, (void *p, uint64_t size, uint32_t writes, uint32_t at))
NOTHING(__atommon_sym_fence, (uint32_t order))
ZERO(__atommon_sym_op, (uint32_t what, uint32_t a, uint32_t b, uint64_t va, uint64_t vb))
ZERO(__atommon_sym_ite,
     (uint32_t what, uint32_t c, uint32_t a, uint32_t b, uint64_t va, uint64_t vb))
NOTHING(__atommon_sym_branch,
	(uint32_t node, uint32_t outcome, const struct am_sym_side *not_taken))
NOTHING(__atommon_sym_switch, (uint32_t node, uint64_t value, uint32_t width, uint32_t n,
			       const uint64_t *cases, const struct am_sym_side *sides))
NOTHING(__atommon_sym_pin, (uint32_t node, uint64_t value))
NOTHING(__atommon_sym_call, (void *callee, uint32_t flags))
NOTHING(__atommon_sym_arg, (uint32_t index, uint32_t node, uint64_t value))
ZERO(__atommon_sym_result, (void *callee))
NOTHING(__atommon_sym_enter, (void *self))
ZERO(__atommon_sym_param, (uint32_t index))
NOTHING(__atommon_sym_return, (void *self, uint32_t node))
NOTHING(__atommon_sym_register, (void *const *functions, uint64_t n))
