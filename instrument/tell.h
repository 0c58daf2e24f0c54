/* SPDX-License-Identifier: MIT */
/* How the functions of libatommon-stub.so tell what they read and write in their callers' stead. */
#ifndef ATOMMON_TELL_H
#define ATOMMON_TELL_H

#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

extern const volatile int __atommon_armed;

/* The preload library's takes precedence; pc and cfa are those of the caller's call. */
void __atommon_range(void *p, size_t n, int writes, void *pc, void *cfa);

/* Macros, and helpers that are always inlined: they speak for the caller of an exported function.
 */
#define TELL(p, n, writes)                                                                         \
	((void)(__atommon_armed && (n) != 0                                                        \
			? __atommon_range((void *)(p), n, writes, __builtin_return_address(0),     \
					  __builtin_dwarf_cfa())                                   \
			: (void)0))
#define reads(p, n) TELL(p, n, 0)
#define writes(p, n) TELL(p, n, 1)
#define HELPER static inline __attribute__((always_inline))

#endif
