/*
 * The compilers' callbacks for plain accesses (include/atommon/tsan.h). Runs in application
 * threads, millions of times a second: the usual end is one look-up (shadow.h). Must tolerate being
 * called before anything of ours is set up.
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/tsan.h"

#include <string.h>

#include "preload/exact.h"
#include "preload/export.h"
#include "preload/lend.h"
#include "preload/retry.h"
#include "preload/shadow.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* 1 selects the watched versions of functions (instrument/pass/twin.h); set in init.c. */
AM_EXPORT volatile int __atommon_armed = 0;

static void one(enum am_kind kind, const void *p, unsigned size, bool is_volatile,
		struct am_here here)
{
	if (!am_view_sleeps())
		am_view_access(kind, (uintptr_t)p, size, is_volatile ? AM_VIEW_VOLATILE : 0, here);
}

/* While `fast` is set: is there nothing more to do for an access to one word, which is not ours alone? */
static inline bool settles_word(struct am_cell *c, uintptr_t at, uint64_t bytes, bool writes, struct am_here here)
{
	struct am_view *v = &am_view;

	if (!writes && v->depth != 0 && am_lend_again(v, c, at, bytes, here.pc))
		return true;
	enum { LENT_TO_MANY = AM_CELL_LENT | AM_CELL_MANY };
	if (!writes && (__atomic_load_n(&c->w, __ATOMIC_RELAXED) & LENT_TO_MANY) == LENT_TO_MANY) /* it matters */
		return am_lend_borrow(v, c, at, bytes, here);
	return am_late_take(v, c, at, bytes, writes, here.pc) || am_lend_beside(v, c, at, bytes, writes, here) ||
	       (!writes && am_lend_borrow(v, c, at, bytes, here));
}

/* While `fast` is set: is there nothing more to do for an access to several words? */
static bool settles(uintptr_t at, unsigned size, bool writes, uintptr_t pc)
{
	for (const uintptr_t end = at + size; at < end;) {
		const unsigned offset = at & 7, rest = (unsigned)(end - at), n = rest < 8 - offset ? rest : 8 - offset;
		const uint64_t bytes = am_filter_bytes(offset, n);
		struct am_cell *c = am_shadow_find(at);
		if (!c || (!am_view_fast(c, at, bytes, writes, pc) && !am_late_take(&am_view, c, at, bytes, writes, pc)))
			return false;
		at += n;
	}
	return true;
}

/* Outside regions: is there nothing to do for an access to any number of words? Vectors have two or three. */
static inline bool is_left(uintptr_t at, uintptr_t end, bool writes)
{
	for (uintptr_t word = at & ~(uintptr_t)7; word < end; word += 8) {
		struct am_cell *c = am_shadow_find(word);
		if (c && !am_view_is_ours(c) && !am_late_is_left(&am_view, c, writes))
			return false;
	}
	return true;
}

/* All that the fast paths do not take. */
__attribute__((noinline)) void am_tsan_ask(void *p, unsigned what, uintptr_t pc, uintptr_t cfa)
{
	const struct am_here here = {pc, cfa};

	if (am_unlikely(am_state() < AM_ON)) {
		am_view_doze();
		return;
	}
	const uintptr_t at = (uintptr_t)p;
	const unsigned size = what & 0xff;
	struct am_cell *c = am_shadow_find(at);
	if (am_view_is_idle()) { /* another's, which does not matter; or of two words, or more */
		if (am_view_is_alone() || is_left(at, at + size, what & AM_ASK_WRITES))
			return;
	} else if (c && am_view.fast != AM_STRETCH_NONE) {
		const bool writes = what & AM_ASK_WRITES;
		/* A volatile load may be made again: it is logged (view_access.c). */
		const bool may_repeat = (what & (AM_ASK_READS | AM_ASK_VOLATILE)) == (AM_ASK_READS | AM_ASK_VOLATILE);
		if ((at & 7) + size > 8) {
			if (!may_repeat && settles(at, size, writes, pc))
				return;
		} else if (!may_repeat && settles_word(c, at, am_filter_bytes(at & 7, size), writes, here)) {
			return;
		}
	}
	/* The write of x += 1 stands for its read, as long as nothing has to be logged. */
	if (what & AM_ASK_READS && !(what & AM_ASK_WRITES && am_view_settles((uintptr_t)p, what & 0xff, true, here)))
		one(AM_READ, p, what & 0xff, what & AM_ASK_VOLATILE, here);
	if (what & AM_ASK_WRITES)
		one(AM_WRITE, p, what & 0xff, what & AM_ASK_VOLATILE, here);
	am_view_rest();
}

/* 16 bytes are two words. */
static inline __attribute__((always_inline)) bool is_done(uintptr_t at, unsigned size, bool writes, uintptr_t pc)
{
	return size <= 8 ? am_view_is_done(at, size, writes, pc) : am_view_is_done(at, 8, writes, pc) && am_view_is_done(at + 8, 8, writes, pc);
}

/*
 * A volatile load in a region. In one that waits it waits, too, as an atomic one does; there is nothing to perform, for the callback comes before it. Or it is known,
 * and watched (retry.h).
 */
static __attribute__((noinline)) void ask_volatile(void *p, unsigned what, uintptr_t pc, uintptr_t cfa)
{
	const struct am_here here = {pc, cfa};
	const uintptr_t at = (uintptr_t)p;
	const unsigned size = what & 0xff;
	struct am_cell *c = am_shadow_find(at);
	const struct am_view *v = &am_view;
	struct am_exact x;

	if (v->is_waiting)
		am_retry_check(here);
	/* If that was something to tell, it waits no more. */
	if (am_state() < AM_ON || !c || v->fast == AM_STRETCH_NONE || !v->is_waiting || !am_fast_is_in_word(at, size)) {
		am_tsan_ask(p, what, pc, cfa);
	} else if (am_filter_known(am_cell_load(c), v->fast & AM_STRETCH_MASK, am_fast_bytes(at, size), false)) {
		am_retry_watch(at, size);
	} else if (am_likely(am_exact_enter(&x, c, at, size, false, false, here))) {
		am_exact_finish(&x, AM_READ, at, size, AM_VOLATILE, 0, 0, here);
	} else {
		am_tsan_ask(p, what, pc, cfa);
	}
}

/* Nothing is called but at the end, so that no register has to be saved. */
#define ACCESS(name, bytes, reads, writes, is_volatile)                                            \
	AM_EXPORT void name(void *p)                                                               \
	{                                                                                          \
		const uintptr_t at = (uintptr_t)p, pc = (uintptr_t)__builtin_return_address(0);    \
		if (is_volatile && reads && !am_view_is_idle())                                    \
			ask_volatile(p, bytes | AM_ASK_READS | AM_ASK_VOLATILE, pc, (uintptr_t)__builtin_dwarf_cfa()); \
		else if (!is_done(at, bytes, writes, pc))                                          \
			am_tsan_ask(p, bytes | (reads ? AM_ASK_READS : 0) | (writes ? AM_ASK_WRITES : 0) |            \
					  (is_volatile ? AM_ASK_VOLATILE : 0),                         \
			       pc, (uintptr_t)__builtin_dwarf_cfa());                              \
	}                                                                                          \
	AM_EXPORT void name##_pc(void *p, void *pc)                                                \
	{                                                                                          \
		(void)pc;                                                                          \
		am_tsan_ask(p, bytes | (reads ? AM_ASK_READS : 0) | (writes ? AM_ASK_WRITES : 0) |                    \
				  (is_volatile ? AM_ASK_VOLATILE : 0),                                 \
		       (uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa());  \
	}
AM_TSAN_ACCESSES(ACCESS)

AM_EXPORT void __tsan_read_range(void *p, size_t n)
{
	am_view_range(AM_READ, (uintptr_t)p, n, AM_HERE);
}

AM_EXPORT void __tsan_write_range(void *p, size_t n)
{
	am_view_range(AM_WRITE, (uintptr_t)p, n, AM_HERE);
}

AM_EXPORT void __tsan_read_range_pc(void *p, size_t n, void *pc)
{
	(void)pc;
	am_view_range(AM_READ, (uintptr_t)p, n, AM_HERE);
}

AM_EXPORT void __tsan_write_range_pc(void *p, size_t n, void *pc)
{
	(void)pc;
	am_view_range(AM_WRITE, (uintptr_t)p, n, AM_HERE);
}

AM_EXPORT void __tsan_vptr_read(void **p)
{
	const uintptr_t pc = (uintptr_t)__builtin_return_address(0);

	if (!am_view_is_done((uintptr_t)p, sizeof *p, false, pc))
		am_tsan_ask(p, sizeof *p | AM_ASK_READS, pc, (uintptr_t)__builtin_dwarf_cfa());
}

/* A constructor or destructor that sets the pointer to what it already is has changed nothing. */
AM_EXPORT void __tsan_vptr_update(void **p, void *value)
{
	const uintptr_t pc = (uintptr_t)__builtin_return_address(0);

	if (*p != value && !am_view_is_done((uintptr_t)p, sizeof *p, true, pc))
		am_tsan_ask(p, sizeof *p | AM_ASK_WRITES, pc, (uintptr_t)__builtin_dwarf_cfa());
}

AM_EXPORT void __tsan_init(void)
{
}

/* ---- memcpy and its kin -----------------------------------------------------------------------
 */

/* A size that a variable has is often one: by memcpy programs read words that may not be aligned. */
static inline bool is_word(size_t n)
{
	return n <= 8 && (n & (n - 1)) == 0 && n != 0;
}

static inline __attribute__((always_inline)) void range(const void *p, size_t n, bool writes, struct am_here here)
{
	if (is_word(n)) {
		if (!am_view_is_done((uintptr_t)p, (unsigned)n, writes, here.pc))
			am_tsan_ask((void *)p, (unsigned)n | (writes ? AM_ASK_WRITES : AM_ASK_READS), here.pc, here.cfa);
	} else {
		am_view_range(writes ? AM_WRITE : AM_READ, (uintptr_t)p, n, here);
	}
}

/* __tsan_*: by clang; __wrap_*: by gcc, whose wrapper links with --wrap. */
#define COPY(name)                                                                                 \
	AM_EXPORT void *name(void *to, const void *from, size_t n)                                 \
	{                                                                                          \
		if (is_word(n)) {                                                                  \
			range(from, n, false, AM_HERE);                                            \
			range(to, n, true, AM_HERE);                                               \
		} else {                                                                           \
			am_view_move((uintptr_t)to, (uintptr_t)from, n, AM_HERE);                  \
		}                                                                                  \
		return memmove(to, from, n);                                                       \
	}
#define SET(name)                                                                                  \
	AM_EXPORT void *name(void *to, int c, size_t n)                                            \
	{                                                                                          \
		range(to, n, true, AM_HERE);                                                       \
		return memset(to, c, n);                                                           \
	}
COPY(__tsan_memcpy)
COPY(__tsan_memmove)
SET(__tsan_memset)
COPY(__wrap_memcpy)
COPY(__wrap_memmove)
SET(__wrap_memset)
