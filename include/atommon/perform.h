/* SPDX-License-Identifier: MIT */
/*
 * The accesses of symbolic.h themselves: load, store, read-modify-write of 1, 2, 4 or 8 bytes, with
 * the order and volatility of `meta`. Used by the stub library and by the preload library.
 */
#ifndef ATOMMON_PERFORM_H
#define ATOMMON_PERFORM_H

#include "symbolic.h"
#include "tsan.h"

static inline int am_meta_order(uint32_t meta)
{
	return (int)(meta >> AM_SYM_ORDER_SHIFT & 0xff) - 1;
}

#define AM_PERFORM(bits, type)                                                                     \
	typedef type am_loose##bits __attribute__((aligned(1), may_alias));                        \
	static inline uint64_t am_load##bits(void *p, uint32_t meta)                               \
	{                                                                                          \
		return am_meta_order(meta) >= 0                                                    \
			       ? am_atomic##bits##_load((volatile type *)p, am_meta_order(meta))   \
			       : *(volatile am_loose##bits *)p;                                    \
	}                                                                                          \
	static inline void am_store##bits(void *p, uint64_t v, uint32_t meta)                      \
	{                                                                                          \
		if (am_meta_order(meta) >= 0)                                                      \
			am_atomic##bits##_store((volatile type *)p, (type)v, am_meta_order(meta)); \
		else                                                                               \
			*(volatile am_loose##bits *)p = (type)v;                                   \
	}                                                                                          \
	static inline uint64_t am_changed##bits(uint64_t old64, uint64_t v64, uint32_t op)         \
	{                                                                                          \
		const type old = (type)old64, v = (type)v64;                                       \
		const int##bits##_t so = (int##bits##_t)old, sv = (int##bits##_t)v;                \
		switch (op) {                                                                      \
		case AM_SYM_ADD:                                                                   \
			return (type)(old + v);                                                    \
		case AM_SYM_SUB:                                                                   \
			return (type)(old - v);                                                    \
		case AM_SYM_AND:                                                                   \
			return (type)(old & v);                                                    \
		case AM_SYM_NAND:                                                                  \
			return (type) ~(old & v);                                                  \
		case AM_SYM_OR:                                                                    \
			return (type)(old | v);                                                    \
		case AM_SYM_XOR:                                                                   \
			return (type)(old ^ v);                                                    \
		case AM_SYM_MAX:                                                                   \
			return so > sv ? old : v;                                                  \
		case AM_SYM_MIN:                                                                   \
			return so < sv ? old : v;                                                  \
		case AM_SYM_UMAX:                                                                  \
			return old > v ? old : v;                                                  \
		case AM_SYM_UMIN:                                                                  \
			return old < v ? old : v;                                                  \
		default:                                                                           \
			return v;                                                                  \
		}                                                                                  \
	}                                                                                          \
	static inline uint64_t am_update##bits(void *p, uint64_t v, uint32_t op)                   \
	{                                                                                          \
		volatile type *at = p;                                                             \
		type old = am_atomic##bits##_load(at, __ATOMIC_RELAXED);                           \
		while (!am_atomic##bits##_cas(at, &old, (type)am_changed##bits(old, v, op),        \
					      __ATOMIC_SEQ_CST))                                   \
			;                                                                          \
		return old;                                                                        \
	}                                                                                          \
	static inline uint64_t am_cas##bits(void *p, uint64_t e, uint64_t d)                       \
	{                                                                                          \
		type old = (type)e;                                                                \
		am_atomic##bits##_cas((volatile type *)p, &old, (type)d, __ATOMIC_SEQ_CST);        \
		return old;                                                                        \
	}
AM_PERFORM(8, uint8_t)
AM_PERFORM(16, uint16_t)
AM_PERFORM(32, uint32_t)
AM_PERFORM(64, uint64_t)

#define AM_PERFORM_BY_SIZE(function, ...)                                                          \
	switch (meta & 3) {                                                                        \
	case 0:                                                                                    \
		return am_##function##8(__VA_ARGS__);                                              \
	case 1:                                                                                    \
		return am_##function##16(__VA_ARGS__);                                             \
	case 2:                                                                                    \
		return am_##function##32(__VA_ARGS__);                                             \
	default:                                                                                   \
		return am_##function##64(__VA_ARGS__);                                             \
	}

static inline uint64_t am_perform_load(void *p, uint32_t meta)
{
	AM_PERFORM_BY_SIZE(load, p, meta)
}

static inline void am_perform_store(void *p, uint64_t v, uint32_t meta)
{
	switch (meta & 3) {
	case 0:
		am_store8(p, v, meta);
		break;
	case 1:
		am_store16(p, v, meta);
		break;
	case 2:
		am_store32(p, v, meta);
		break;
	default:
		am_store64(p, v, meta);
		break;
	}
}

/* Returns what was there before. */
static inline uint64_t am_perform_update(void *p, uint64_t v, uint32_t meta, uint32_t op)
{
	AM_PERFORM_BY_SIZE(update, p, v, op)
}

/* What an update by op makes of old. */
static inline uint64_t am_perform_changed(uint64_t old, uint64_t v, uint32_t meta, uint32_t op)
{
	AM_PERFORM_BY_SIZE(changed, old, v, op)
}

/* Returns what was there before: it was exchanged if that is `expected`. */
static inline uint64_t am_perform_cas(void *p, uint64_t expected, uint64_t desired, uint32_t meta)
{
	AM_PERFORM_BY_SIZE(cas, p, expected, desired)
}

#endif
