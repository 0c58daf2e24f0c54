/*
 * The fast path as watched code has it: what a callback for a plain access does (preload/tsan_access.c), with nothing called
 * unless it must be. Compiled by clang to bitcode that is part of the pass (inline.h), which puts these functions in the
 * places of calls of __tsan_NAME. Never linked into anything as it is.
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/inlined.h"
#include "preload/fast.h"

extern __thread const struct am_fast AM_FAST_VIEW __attribute__((tls_model("initial-exec")));

/* The address behind this instruction, which has the line of the access. The pass makes each one different. */
static inline __attribute__((always_inline)) uintptr_t here(void)
{
	uintptr_t pc;

	__asm__ volatile("leaq 0(%%rip), %0" : "=r"(pc));
	return pc;
}

static inline __attribute__((always_inline)) bool is_done(uintptr_t at, unsigned size, bool writes)
{
	const struct am_fast *v = &AM_FAST_VIEW;
	uint64_t next, block = 0;

	if (__builtin_expect(!am_fast_is_in_word(at, size), 0))
		return false;
	const uintptr_t chunk = am_fast_chunk(v->giants, v->n_giants, at);
	if (chunk) {
		struct am_cell *c = am_shadow_cell(chunk, size == 8 ? at : at & ~(uintptr_t)7);
		switch (am_filter_short(c, v->fast, am_fast_bytes(at, size), writes, false, &next)) {
		case AM_SHORT_KNOWN:
			return true;
		case AM_SHORT_LAZY:
			am_fast_keep(c, next, writes, v->places, at, here());
			return true;
		case AM_SHORT_ASK:
			block = am_fast_block(c);
		}
	}
	return __builtin_expect(am_fast_is_idle(v, block), 1);
}

/* __atommon_NAME is the library's function for all the rest (preload/ask_hot.S). It changes hardly any register, so that
 * the loops around keep theirs. Where the fast path is not, it is called right away: not by way of a jump in the program, which would take a byte
 * less in each place, and a twelfth of redis' time. */
#define ACCESS(name, size, writes)                                                                         \
	__attribute__((preserve_most, nothrow)) void __atommon_##name##size(void *p);                      \
	void __atommon_inline_##name##size(void *p);                                                       \
	void __atommon_inline_##name##size(void *p)                                                        \
	{                                                                                                  \
		if (__builtin_expect(!is_done((uintptr_t)p, size, writes), 0))                             \
			__attribute__((nomerge)) __atommon_##name##size(p);                                \
	}                                                                                                  \
	void __atommon_call_##name##size(void *p);                                                         \
	void __atommon_call_##name##size(void *p)                                                          \
	{                                                                                                  \
		__attribute__((nomerge)) __atommon_##name##size(p);                                        \
	}
AM_FAST_ACCESSES(ACCESS)
