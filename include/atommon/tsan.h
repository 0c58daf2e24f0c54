/* SPDX-License-Identifier: MIT */
/*
 * The functions that `-fsanitize=thread` makes a compiler call (gcc 12; clang 14, 16, 19), as
 * tables, so that the stub library and the preload library cannot disagree about the list. Also the
 * atomic operations themselves: the callee performs them, in both libraries, with the order that
 * the program asked for.
 */
#ifndef ATOMMON_TSAN_H
#define ATOMMON_TSAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Plain accesses: X(name, bytes, does it read, does it write, is it volatile). The callback comes
 * before the access and carries its address only.
 */
#define AM_TSAN_SIZES(X, name, r, w, v)                                                            \
	X(name##1, 1, r, w, v)                                                                     \
	X(name##2, 2, r, w, v)                                                                     \
	X(name##4, 4, r, w, v)                                                                     \
	X(name##8, 8, r, w, v)                                                                     \
	X(name##16, 16, r, w, v)

#define AM_TSAN_ACCESSES(X)                                                                        \
	AM_TSAN_SIZES(X, __tsan_read, 1, 0, 0)                                                     \
	AM_TSAN_SIZES(X, __tsan_write, 0, 1, 0)                                                    \
	AM_TSAN_SIZES(X, __tsan_read_write, 1, 1, 0)                                               \
	AM_TSAN_SIZES(X, __tsan_unaligned_read, 1, 0, 0)                                           \
	AM_TSAN_SIZES(X, __tsan_unaligned_write, 0, 1, 0)                                          \
	AM_TSAN_SIZES(X, __tsan_unaligned_read_write, 1, 1, 0)                                     \
	AM_TSAN_SIZES(X, __tsan_volatile_read, 1, 0, 1)                                            \
	AM_TSAN_SIZES(X, __tsan_volatile_write, 0, 1, 1)                                           \
	AM_TSAN_SIZES(X, __tsan_unaligned_volatile_read, 1, 0, 1)                                  \
	AM_TSAN_SIZES(X, __tsan_unaligned_volatile_write, 0, 1, 1)

/* Atomics: X(bits, type), and the read-modify-writes Y(bits, type, name, operator). */
typedef unsigned __int128 am_u128;

#define AM_TSAN_WIDTHS(X)                                                                          \
	X(8, uint8_t)                                                                              \
	X(16, uint16_t)                                                                            \
	X(32, uint32_t)                                                                            \
	X(64, uint64_t)                                                                            \
	X(128, am_u128)

#define AM_TSAN_RMW(Y, bits, type)                                                                 \
	Y(bits, type, fetch_add, old + v)                                                          \
	Y(bits, type, fetch_sub, old - v)                                                          \
	Y(bits, type, fetch_and, old &v)                                                           \
	Y(bits, type, fetch_or, old | v)                                                           \
	Y(bits, type, fetch_xor, old ^ v)                                                          \
	Y(bits, type, fetch_nand, ~(old & v))

/* gcc may set hint bits above the order (transactional elision). */
#define AM_TSAN_ORDER(mo) ((mo)&0x7fff)

/*
 * Loads and stores keep their order; a read-modify-write is always sequentially consistent: on x86
 * that is the same instruction, elsewhere a stronger order is allowed.
 */
#define AM_ATOMIC_SMALL(bits, type)                                                                \
	static inline type am_atomic##bits##_load(const volatile type *p, int mo)                  \
	{                                                                                          \
		switch (AM_TSAN_ORDER(mo)) {                                                       \
		case __ATOMIC_RELAXED:                                                             \
			return __atomic_load_n(p, __ATOMIC_RELAXED);                               \
		case __ATOMIC_CONSUME:                                                             \
		case __ATOMIC_ACQUIRE:                                                             \
			return __atomic_load_n(p, __ATOMIC_ACQUIRE);                               \
		default:                                                                           \
			return __atomic_load_n(p, __ATOMIC_SEQ_CST);                               \
		}                                                                                  \
	}                                                                                          \
	static inline void am_atomic##bits##_store(volatile type *p, type v, int mo)               \
	{                                                                                          \
		switch (AM_TSAN_ORDER(mo)) {                                                       \
		case __ATOMIC_RELAXED:                                                             \
			__atomic_store_n(p, v, __ATOMIC_RELAXED);                                  \
			break;                                                                     \
		case __ATOMIC_RELEASE:                                                             \
			__atomic_store_n(p, v, __ATOMIC_RELEASE);                                  \
			break;                                                                     \
		default:                                                                           \
			__atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                  \
			break;                                                                     \
		}                                                                                  \
	}                                                                                          \
	static inline bool am_atomic##bits##_cas(volatile type *p, type *expected, type v, int mo) \
	{                                                                                          \
		(void)mo;                                                                          \
		return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST,        \
						   __ATOMIC_SEQ_CST);                              \
	}                                                                                          \
	static inline type am_atomic##bits##_exchange(volatile type *p, type v, int mo)            \
	{                                                                                          \
		(void)mo;                                                                          \
		return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                \
	}                                                                                          \
	AM_TSAN_RMW(AM_ATOMIC_RMW, bits, type)

#define AM_ATOMIC_RMW(bits, type, name, result)                                                    \
	static inline type am_atomic##bits##_##name(volatile type *p, type v, int mo)              \
	{                                                                                          \
		(void)mo;                                                                          \
		return __atomic_##name(p, v, __ATOMIC_SEQ_CST);                                    \
	}

AM_ATOMIC_SMALL(8, uint8_t)
AM_ATOMIC_SMALL(16, uint16_t)
AM_ATOMIC_SMALL(32, uint32_t)
AM_ATOMIC_SMALL(64, uint64_t)

/* 16 bytes: by compare-and-swap, the file that includes this is built with -mcx16, so that no
 * library of locks is involved. */
static inline bool am_atomic128_cas(volatile am_u128 *p, am_u128 *expected, am_u128 v, int mo)
{
	const am_u128 old = __sync_val_compare_and_swap(p, *expected, v);
	const bool done = old == *expected;

	(void)mo;
	*expected = old;
	return done;
}

static inline am_u128 am_atomic128_load(const volatile am_u128 *p, int mo)
{
	(void)mo;
	return __sync_val_compare_and_swap((volatile am_u128 *)(uintptr_t)p, 0, 0);
}

static inline am_u128 am_atomic128_exchange(volatile am_u128 *p, am_u128 v, int mo)
{
	am_u128 old = *p;

	while (!am_atomic128_cas(p, &old, v, mo))
		;
	return old;
}

static inline void am_atomic128_store(volatile am_u128 *p, am_u128 v, int mo)
{
	am_atomic128_exchange(p, v, mo);
}

#define AM_ATOMIC_RMW128(bits, type, name, result)                                                 \
	static inline type am_atomic##bits##_##name(volatile type *p, type v, int mo)              \
	{                                                                                          \
		type old = *p;                                                                     \
		while (!am_atomic##bits##_cas(p, &old, (type)(result), mo))                        \
			;                                                                          \
		return old;                                                                        \
	}
AM_TSAN_RMW(AM_ATOMIC_RMW128, 128, am_u128)

static inline void am_atomic_fence(int mo)
{
	switch (AM_TSAN_ORDER(mo)) {
	case __ATOMIC_RELAXED:
		break;
	case __ATOMIC_CONSUME:
	case __ATOMIC_ACQUIRE:
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		break;
	case __ATOMIC_RELEASE:
		__atomic_thread_fence(__ATOMIC_RELEASE);
		break;
	case __ATOMIC_ACQ_REL:
		__atomic_thread_fence(__ATOMIC_ACQ_REL);
		break;
	default:
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		break;
	}
}

#endif
