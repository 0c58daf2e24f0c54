/*
 * Expressions across calls: arguments and results of instrumented functions keep theirs; what goes
 * into any other function is pinned. Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "atommon/symbolic.h"
#include "preload/export.h"
#include "preload/symbolic.h"

/* Instrumented functions that can be called from elsewhere. Open addressing, insert only; if it
 * overflows, calls to what is missing are treated as calls into plain code. */
enum { FUNCTIONS = 65536, PROBES = 64 };
static const void *functions[FUNCTIONS];

static const void **find(const void *f)
{
	uint64_t at = ((uint64_t)(uintptr_t)f * UINT64_C(0x9e3779b97f4a7c15)) >> 40;

	for (unsigned k = 0; k < PROBES; k++, at++) {
		const void **slot = &functions[at % FUNCTIONS];
		const void *seen = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
		if (!seen || seen == f)
			return slot;
	}
	return NULL;
}

AM_EXPORT void __atommon_sym_register(void *const *f, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		const void **slot;
		const void *none = NULL;
		do {
			slot = find(f[i]);
			none = NULL;
		} while (slot && *slot != f[i] &&
			 !__atomic_compare_exchange_n(slot, &none, f[i], false, __ATOMIC_ACQ_REL,
						      __ATOMIC_ACQUIRE));
	}
}

static bool is_instrumented(const void *f)
{
	const void **slot = find(f);

	return slot && *slot == f;
}

AM_EXPORT void __atommon_sym_call(void *callee, uint32_t flags)
{
	struct am_sym *s = am_sym_self();

	if (!s)
		return;
	s->callee = flags & AM_SYM_KNOWN || is_instrumented(callee) ? callee : NULL;
	if (s->callee)
		memset(s->arg, 0, sizeof s->arg);
	else if (!(flags & AM_SYM_QUIET))
		am_log_plain(AM_CALL, 0, (uintptr_t)callee, AM_HERE);
}

AM_EXPORT void __atommon_sym_arg(uint32_t index, uint32_t node, uint64_t value)
{
	struct am_sym *s = node ? am_sym_self() : NULL;

	if (!s)
		return;
	if (s->callee && index < AM_SYM_PARAMS)
		s->arg[index] = node;
	else
		am_sym_pin_node(s, node, value, AM_HERE);
}

AM_EXPORT void __atommon_sym_enter(void *self)
{
	struct am_sym *s = am_sym_self();

	if (s && s->callee != self)
		memset(s->arg, 0, sizeof s->arg);
	if (s)
		s->callee = NULL;
}

AM_EXPORT uint32_t __atommon_sym_param(uint32_t index)
{
	const struct am_sym *s = am_sym_self();

	return s && index < AM_SYM_PARAMS ? s->arg[index] : 0;
}

AM_EXPORT void __atommon_sym_return(void *self, uint32_t node)
{
	struct am_sym *s = am_sym_self();

	if (s) {
		s->from = self;
		s->result = node;
	}
}

AM_EXPORT uint32_t __atommon_sym_result(void *callee)
{
	struct am_sym *s = am_sym_self();

	if (!s || s->from != callee)
		return 0;
	s->from = NULL;
	return s->result;
}
