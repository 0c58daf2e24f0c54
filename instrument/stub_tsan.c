/*
 * libatommon-stub.so: what programs built by `atommon cc` are linked with. Owns do-nothing versions
 * of every compiler callback, and the atomic operations, which the callee performs. Runs in
 * application threads, at any time from the first constructor on; the preload library's functions
 * of the same names take precedence when it is there. Must never allocate, lock, or keep state.
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/tsan.h"

#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define EXPORT __attribute__((visibility("default")))

/* Read by code that was compiled in two versions: 0 selects the one without callbacks. The preload
 * library has a variable of this name that is 1. */
EXPORT const volatile int __atommon_armed = 0;

#define ACCESS(name, bytes, r, w, v)                                                               \
	EXPORT void name(void *p)                                                                  \
	{                                                                                          \
		(void)p;                                                                           \
	}                                                                                          \
	EXPORT void name##_pc(void *p, void *pc)                                                   \
	{                                                                                          \
		(void)p, (void)pc;                                                                 \
	}
AM_TSAN_ACCESSES(ACCESS)

#define ATOMICS(bits, type)                                                                        \
	EXPORT type __tsan_atomic##bits##_load(const volatile type *p, int mo)                     \
	{                                                                                          \
		return am_atomic##bits##_load(p, mo);                                              \
	}                                                                                          \
	EXPORT void __tsan_atomic##bits##_store(volatile type *p, type v, int mo)                  \
	{                                                                                          \
		am_atomic##bits##_store(p, v, mo);                                                 \
	}                                                                                          \
	EXPORT type __tsan_atomic##bits##_exchange(volatile type *p, type v, int mo)               \
	{                                                                                          \
		return am_atomic##bits##_exchange(p, v, mo);                                       \
	}                                                                                          \
	EXPORT bool __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *e,       \
								  type v, int mo, int fail)        \
	{                                                                                          \
		(void)fail;                                                                        \
		return am_atomic##bits##_cas(p, e, v, mo);                                         \
	}                                                                                          \
	EXPORT bool __tsan_atomic##bits##_compare_exchange_weak(volatile type *p, type *e, type v, \
								int mo, int fail)                  \
	{                                                                                          \
		(void)fail;                                                                        \
		return am_atomic##bits##_cas(p, e, v, mo);                                         \
	}                                                                                          \
	EXPORT type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type e, type v,   \
							       int mo, int fail)                   \
	{                                                                                          \
		(void)fail;                                                                        \
		am_atomic##bits##_cas(p, &e, v, mo);                                               \
		return e;                                                                          \
	}                                                                                          \
	AM_TSAN_RMW(UPDATE, bits, type)
#define UPDATE(bits, type, name, result)                                                           \
	EXPORT type __tsan_atomic##bits##_##name(volatile type *p, type v, int mo)                 \
	{                                                                                          \
		return am_atomic##bits##_##name(p, v, mo);                                         \
	}
AM_TSAN_WIDTHS(ATOMICS)

EXPORT void __tsan_atomic_thread_fence(int mo)
{
	am_atomic_fence(mo);
}

EXPORT void __tsan_atomic_signal_fence(int mo)
{
	(void)mo;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* __tsan_*: by clang; __wrap_*: by gcc, for which atommon-cc links with --wrap. */
#define COPY(name, real)                                                                           \
	EXPORT void *name(void *to, const void *from, size_t n)                                    \
	{                                                                                          \
		return real(to, from, n);                                                          \
	}
#define SET(name)                                                                                  \
	EXPORT void *name(void *to, int c, size_t n)                                               \
	{                                                                                          \
		return memset(to, c, n);                                                           \
	}
COPY(__tsan_memcpy, memcpy)
COPY(__tsan_memmove, memmove)
SET(__tsan_memset)
COPY(__wrap_memcpy, memcpy)
COPY(__wrap_memmove, memmove)
SET(__wrap_memset)

/* Functions that return nothing and do nothing, whatever they are called with. */
#define NOTHING(name)                                                                              \
	EXPORT void name(void)                                                                     \
	{                                                                                          \
	}
NOTHING(__tsan_init)
NOTHING(__tsan_func_entry)
NOTHING(__tsan_func_exit)
NOTHING(__tsan_read_range)
NOTHING(__tsan_write_range)
NOTHING(__tsan_read_range_pc)
NOTHING(__tsan_write_range_pc)
NOTHING(__tsan_vptr_read)
NOTHING(__tsan_vptr_update)
