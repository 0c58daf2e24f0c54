/*
 * The compilers' callbacks for atomic operations: performed here, with the order that the program
 * asked for, and logged with a number that was taken together with the operation. Runs in
 * application threads.
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/tsan.h"

#include "preload/exact.h"
#include "preload/export.h"
#include "preload/futex.h"
#include "preload/last.h"
#include "preload/owners.h"
#include "preload/retry.h"
#include "preload/shadow.h"
#include "preload/slot.h"
#include "preload/step.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* Nothing is done for it yet; what it has to do with the region's list, am_exact_begin says. */
static inline void start(struct am_step *s, const volatile void *p)
{
	s->slot = &am_slots[am_slot_of((uintptr_t)p)];
	s->is_logged = s->is_locked = s->waits = s->is_known = false;
}

/* Room, and the lock of the slot. False: nothing can be logged. */
static bool lock(struct am_step *s, struct am_here here)
{
	if (!am_log_prepare(1 + AM_R_EXT_MAX, here)) /* a dropped record must not take a number */
		return false;
	s->is_logged = true;
	s->is_locked = am_slot_lock(s->slot);
	return true;
}

/* There will be no record after all. */
static void give_up(struct am_step *s, struct am_here here)
{
	if (s->is_locked)
		am_slot_unlock(s->slot);
	if (am_tls.event == here.cfa) /* by am_log_prepare */
		am_tls.event = 0;
	s->is_logged = s->is_locked = false;
}

/*
 * Recording, the filter is asked behind the operation, when it is known what became of it, and still under the lock of the
 * slot: asked before, it left out an update as known that then found what another thread wrote in that very
 * moment, and the lock that it took was nobody's in the trace.
 */
static bool asks_late(void)
{
	return am_view_mode == AM_VIEW_RECORD;
}

/*
 * The cells say that this thread was here before it really is. Another that came in between has them now, and
 * would not log what it does after us: a look at a lock that saw it released. So it is asked
 * again, under the lock of the slot: whoever comes from here on is behind us.
 */
static __attribute__((noinline)) void begin_slowly(struct am_step *s, enum am_kind kind, const volatile void *p, unsigned size,
						    unsigned commutes, struct am_here here)
{
	const bool is_apart = commutes != 0;
	enum { TRIES = 4 };
	const uintptr_t address = (uintptr_t)p;

	if (asks_late()) {
		if (!am_view_sleeps() && am_view_is_ready()) {
			am_retry_check(here);
			lock(s, here);
		}
		return;
	}
	if (am_view_sleeps() ||
	    (am_view.is_waiting && (am_exact_begin(s, kind, address, size, commutes, here) || s->is_known)))
		return;
	for (unsigned i = 0;; i++) {
		if (am_view_sleeps() || !(is_apart ? am_view_wants_apart(address, size, here)
						   : am_view_wants(kind, address, size, here)))
			return;
		am_retry_check(here);
		if (!lock(s, here) ||
		    am_likely(am_view_has(address, size, is_apart ? AM_STRETCH_OTHER : am_view.stretch)))
			return;
		if (i == TRIES) {
			am_view_estrange(address, size);
			return;
		}
		give_up(s, here);
	}
}

static inline void begin(struct am_step *s, enum am_kind kind, const volatile void *p, unsigned size, unsigned commutes,
			 struct am_here here)
{
	start(s, p);
	if (am_unlikely(!am_exact_start(s, kind, (uintptr_t)p, size, commutes, here)))
		begin_slowly(s, kind, p, size, commutes, here);
}

struct am_step am_step_begin(enum am_kind kind, const volatile void *p, unsigned size,
			     struct am_here here)
{
	struct am_step s;

	begin(&s, kind, p, size, 0, here);
	return s;
}

/* Of an access that is known, but logged all the same. */
static void force(struct am_step *s, const volatile void *p, struct am_here here)
{
	start(s, p);
	if (!am_view_sleeps() && !am_tls.event)
		lock(s, here);
}

static inline uint8_t plain_order(int mo)
{
	return (uint8_t)(1 + (unsigned)AM_TSAN_ORDER(mo));
}

/* Its memory order, and what is known of the loads before it; asked once. */
static uint8_t order_of(enum am_kind kind, const volatile void *p, unsigned size, int mo, uint64_t value, bool is_vain,
			unsigned commutes, struct am_here here)
{
	uint8_t known = 0;

	if (is_vain)
		known = AM_ORDER_FAILED;
	else if (kind == AM_READ)
		known = am_retry_load((uintptr_t)p, here.pc, value);
	else if (kind == AM_UPDATE && size <= 8)
		known = am_retry_update((uintptr_t)p, value);
	return (uint8_t)(plain_order(mo) | commutes | known);
}

/* A failed attempt of a step that waits, which must be told: it is logged, still under the lock of its slot. */
static bool log_after_all(struct am_step *s, struct am_here here)
{
	const bool is_locked = s->is_locked;

	s->is_locked = false;
	am_exact_leave(s);
	s->is_locked = is_locked;
	s->is_logged = am_log_prepare(1 + AM_R_EXT_MAX, here);
	if (!s->is_logged)
		give_up(s, here);
	return s->is_logged;
}

/* Live, one that fails is worth a record only if there is something to take back: it may fail for long. */
static bool is_worth_telling(enum am_kind kind, const volatile void *p, unsigned size, bool is_vain, struct am_here here)
{
	return asks_late() ? am_view_wants(is_vain ? AM_READ : kind, (uintptr_t)p, size, here)
			   : !is_vain || am_retry_attempt((uintptr_t)p);
}

/* An attempt that failed, or recording: is there to be a record? If not, the step is over. */
static __attribute__((noinline)) bool stays(struct am_step *s, enum am_kind kind, const volatile void *p, unsigned size, bool is_vain,
					    struct am_here here)
{
	if (s->waits) {
		am_exact_undo(s);
		if (am_retry_attempt((uintptr_t)p))
			return log_after_all(s, here);
		am_exact_leave(s);
		return false;
	}
	if (is_worth_telling(kind, p, size, is_vain, here))
		return true;
	give_up(s, here);
	/* The cell was told of an access: nobody's next one is covered by it. */
	if (!asks_late())
		am_view_touched((uintptr_t)p, size);
	return false;
}

/* The record of a step that does not wait in its region's list. `commutes`: of event.h. */
static __attribute__((noinline)) void end_logged(struct am_step *s, enum am_kind kind, const volatile void *p, unsigned size, int mo,
						 uint64_t value, bool is_vain, unsigned commutes, struct am_here here)
{
	if (am_unlikely(is_vain || asks_late()) && !stays(s, kind, p, size, is_vain, here))
		return;
	const uint32_t number = __atomic_fetch_add(&s->slot->next, 1, __ATOMIC_SEQ_CST); /* as am_number */
	if (s->is_locked)
		am_slot_unlock(s->slot);
	const uint8_t order = order_of(kind, p, size, mo, value, is_vain, commutes, here);
	const uint64_t others = am_view_others(&am_view);
	am_log_step(kind, (unsigned)__builtin_ctz(size), (uintptr_t)p, number, am_retry_order(order), here);
	am_view_count_own(&am_view, others);
	if (is_vain) {
		am_view.is_looking = 1;
		am_retry.failed = am_tls.head;
	}
	if (is_vain && am_view_mode != AM_VIEW_RECORD)
		am_view_touched((uintptr_t)p, size);
}

static inline void end(struct am_step *s, enum am_kind kind, const volatile void *p, unsigned size, int mo, uint64_t value,
		       bool is_vain, unsigned commutes, struct am_here here)
{
	if (s->waits && !is_vain)
		am_exact_end(s, kind, (uintptr_t)p, size, 0, order_of(kind, p, size, mo, value, false, commutes, here), here);
	else if (s->waits || s->is_logged)
		end_logged(s, kind, p, size, mo, value, is_vain, commutes, here);
}

void am_step_end(struct am_step *s, enum am_kind kind, const volatile void *p, unsigned size, int mo,
		 uint64_t value, bool is_vain, struct am_here here)
{
	end(s, kind, p, size, mo, value, is_vain, 0, here);
}

/* What an operation commutes with, if its result is not used. */
enum {
	COMMUTES_fetch_add = AM_ORDER_ADDS,
	COMMUTES_fetch_sub = AM_ORDER_ADDS,
	COMMUTES_fetch_or = AM_ORDER_ORS,
	COMMUTES_fetch_and = AM_ORDER_ANDS,
	COMMUTES_fetch_xor = 0,
	COMMUTES_fetch_nand = 0,
};

/* Of the operation that returns to pc; outside of one word there is no such thing. */
static unsigned commutes(unsigned with, const volatile void *p, unsigned size, uintptr_t pc)
{
	const bool is_in_word = ((uintptr_t)p & 7) + size <= 8;

	return with && is_in_word && !am_view_sleeps() && am_retry_is_unused(pc) ? with : 0;
}

/* May an operation that adds `delta` commute, if it does not take the last off a count? */
static unsigned may_drop(uint64_t delta, const volatile void *p, unsigned size, uintptr_t pc)
{
	const bool is_in_word = ((uintptr_t)p & 7) + size <= 8;

	return delta == UINT64_MAX && is_in_word && !am_view_sleeps() && am_retry_is_compared(pc) ? AM_ORDER_ADDS | AM_ORDER_LAST : 0;
}

/* Does an operation that adds `delta` and leaves `left` take the last off a count? libc++ counts owners from 0. */
#define LAST(delta, left, type) ((delta) == UINT64_MAX && (type)((left) + 1) <= 1 ? AM_ORDER_LAST : 0u)

/* Is it a size of words in which those who wait are counted? */
#define IS_COUNT(bits) ((bits) == 32 || (bits) == 64)

/* Of a size of such words. */
#define SIGNED(value, bits) (IS_COUNT(bits) ? (int64_t)((uint64_t)(value) << (64 - bits % 65)) >> (64 - bits % 65) : 0)

#define ADDED_fetch_add(v, bits) am_futex_delta((uint64_t)(v), bits, false)
#define ADDED_fetch_sub(v, bits) am_futex_delta((uint64_t)(v), bits, true)
#define ADDED_fetch_or(v, bits) 0
#define ADDED_fetch_and(v, bits) 0
#define ADDED_fetch_xor(v, bits) 0
#define ADDED_fetch_nand(v, bits) 0

static inline __attribute__((always_inline)) void note_update(const volatile void *p, unsigned bits, uint64_t delta, struct am_here here)
{
	if (IS_COUNT(bits) && delta)
		am_futex_add((uintptr_t)p, bits / 8, delta, here);
	else
		am_futex_change((uintptr_t)p);
}

/* Outside regions, where it concerns nobody, it is performed and no more. */
static inline bool passes(const volatile void *p, unsigned size)
{
	return size <= 8 && am_view_passes((uintptr_t)p, size);
}

/* Who writes marks the cell behind its operation, before it lets go of the slot: partner am_slot_unlock. */
static __attribute__((noinline)) bool is_recorded(uintptr_t address, uint64_t bytes, uintptr_t pc)
{
	return __atomic_load_n(&am_slots[am_slot_of(address)].lock, __ATOMIC_ACQUIRE) == 0 &&
	       am_view_is_recorded(address, bytes, pc);
}

/* A spinning reader must not fill its ring: nothing new here, before the load and after it. `c`: the cell, NULL if there was none. */
static inline __attribute__((always_inline)) bool is_known_load(const struct am_cell *c, const volatile void *p, unsigned size,
								uintptr_t pc)
{
	const uintptr_t address = (uintptr_t)p;

	if (am_view_sleeps())
		return true;
	if (!c || (address & 7) + size > 8)
		return false;
	const uint64_t bytes = am_filter_bytes(address & 7, size);
	if (am_likely(am_view_mode == AM_VIEW_REGIONS))
		return am_filter_known(am_cell_load(c), am_view.stretch, bytes, false);
	return am_view_mode == AM_VIEW_RECORD && is_recorded(address, bytes, pc);
}

/* A store that is not known, in a region. */
static inline __attribute__((always_inline)) bool enters_store(struct am_exact *x, const volatile void *p, unsigned size, struct am_here here)
{
	const uintptr_t address = (uintptr_t)p;
	struct am_cell *c = am_shadow_find(address);

	return c && !am_view_sleeps() &&
	       !am_filter_has(__atomic_load_n(&c->w, __ATOMIC_RELAXED), am_view.stretch, am_fast_bytes(address, size)) &&
	       am_exact_enter(x, c, address, size, true, true, here);
}

#define ATOMICS(bits, type)                                                                        \
	static __attribute__((noinline)) type load##bits(const volatile type *p, int mo, bool is_forced, struct am_here here) \
	{                                                                                          \
		struct am_step s;                                                                  \
		if (am_unlikely(is_forced))                                                        \
			force(&s, p, here);                                                        \
		else                                                                               \
			begin(&s, AM_READ, p, bits / 8, 0, here);                                  \
		const type value = am_atomic##bits##_load(p, mo);                                  \
		if (!s.is_logged && !s.waits)                                                      \
			am_retry_dropped((uintptr_t)p, bits / 8, here);                            \
		am_step_end(&s, AM_READ, p, bits / 8, mo, (uint64_t)value, false, here);           \
		return value;                                                                      \
	}                                                                                          \
	static __attribute__((noinline)) type ask_load##bits(const volatile type *p, int mo, struct am_here here) \
	{                                                                                          \
		if (passes(p, bits / 8) && !am_retry_knows((uintptr_t)p))                          \
			return am_atomic##bits##_load(p, mo);                                      \
		if (bits > 64)                                                                     \
			return load##bits(p, mo, false, here);                                     \
		struct am_cell *c = am_shadow_find((uintptr_t)p);                                  \
		struct am_exact x;                                                                 \
		if (!is_known_load(c, p, bits / 8, here.pc)) {                                     \
			if (!am_exact_enter(&x, c, (uintptr_t)p, bits / 8, false, true, here))     \
				return load##bits(p, mo, false, here);                             \
			const type value = am_atomic##bits##_load(p, mo);                          \
			am_exact_finish(&x, AM_READ, (uintptr_t)p, bits / 8, 0, plain_order(mo), (uint64_t)value, here); \
			return value;                                                              \
		}                                                                                  \
		const type seen = am_atomic##bits##_load(p, mo);                                   \
		if (am_unlikely(!is_known_load(c, p, bits / 8, here.pc)))                          \
			return load##bits(p, mo, false, here);                                     \
		if (am_likely(am_view_mode == AM_VIEW_RECORD ||                                    \
			      !am_retry_may_alternate((uintptr_t)p, here.pc) ||                    \
			      !am_retry_alternates((uintptr_t)p, here.pc)))                        \
			return seen;                                                               \
		return load##bits(p, mo, true, here);                                              \
	}                                                                                          \
	AM_EXPORT type __tsan_atomic##bits##_load(const volatile type *p, int mo)                  \
	{                                                                                          \
		am_futex_read((uintptr_t)p);                                                       \
		if (bits <= 64 && am_view_is_idle() && am_view_is_alone() && !am_retry_knows((uintptr_t)p)) \
			return am_atomic##bits##_load(p, mo);                                      \
		return ask_load##bits(p, mo, AM_HERE);                                             \
	}                                                                                          \
	static __attribute__((noinline)) void store##bits(volatile type *p, type v, int mo, struct am_here here) \
	{                                                                                          \
		struct am_step s;                                                                  \
		begin(&s, AM_WRITE, p, bits / 8, 0, here);                                         \
		am_atomic##bits##_store(p, v, mo);                                                 \
		am_step_end(&s, AM_WRITE, p, bits / 8, mo, 0, false, here);                        \
	}                                                                                          \
	AM_EXPORT void __tsan_atomic##bits##_store(volatile type *p, type v, int mo)               \
	{                                                                                          \
		struct am_exact x;                                                                 \
		am_futex_change((uintptr_t)p);                                                     \
		if (passes(p, bits / 8)) {                                                         \
			am_atomic##bits##_store(p, v, mo);                                         \
		} else if (bits > 64 || !enters_store(&x, p, bits % 65 / 8, AM_HERE)) {            \
			store##bits(p, v, mo, AM_HERE);                                            \
		} else {                                                                           \
			am_atomic##bits##_store(p, v, mo);                                         \
			am_exact_finish(&x, AM_WRITE, (uintptr_t)p, bits / 8, 0, plain_order(mo), 0, AM_HERE); \
		}                                                                                  \
	}                                                                                          \
	AM_EXPORT type __tsan_atomic##bits##_exchange(volatile type *p, type v, int mo)            \
	{                                                                                          \
		am_futex_change((uintptr_t)p);                                                     \
		if (passes(p, bits / 8))                                                           \
			return am_atomic##bits##_exchange(p, v, mo);                               \
		struct am_step s;                                                                  \
		begin(&s, AM_UPDATE, p, bits / 8, 0, AM_HERE);                             \
		const type old = am_atomic##bits##_exchange(p, v, mo);                             \
		am_step_end(&s, AM_UPDATE, p, bits / 8, mo, (uint64_t)old, old == v, AM_HERE);                    \
		return old;                                                                        \
	}                                                                                          \
	AM_EXPORT bool __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *e,    \
								     type v, int mo, int fail)     \
	{                                                                                          \
		struct am_step s;                                                                  \
		begin(&s, AM_UPDATE, p, bits / 8, 0, AM_HERE);                             \
		const bool done = am_atomic##bits##_cas(p, e, v, mo);                              \
		am_retry_confirm(done, (uintptr_t)p, (uint64_t)*e);                                \
		am_step_end(&s, done ? AM_UPDATE : AM_READ, p, bits / 8, done ? mo : fail,         \
			    (uint64_t)*e, !done, AM_HERE);                                                              \
		if (done)                                                                          \
			am_futex_change((uintptr_t)p);                                             \
		return done;                                                                       \
	}                                                                                          \
	AM_EXPORT bool __tsan_atomic##bits##_compare_exchange_weak(volatile type *p, type *e,      \
								   type v, int mo, int fail)       \
	{                                                                                          \
		struct am_step s;                                                                  \
		begin(&s, AM_UPDATE, p, bits / 8, 0, AM_HERE);                             \
		const bool done = am_atomic##bits##_cas(p, e, v, mo);                              \
		am_retry_confirm(done, (uintptr_t)p, (uint64_t)*e);                                \
		am_step_end(&s, done ? AM_UPDATE : AM_READ, p, bits / 8, done ? mo : fail,         \
			    (uint64_t)*e, !done, AM_HERE);                                                              \
		if (done)                                                                          \
			am_futex_change((uintptr_t)p);                                             \
		return done;                                                                       \
	}                                                                                          \
	AM_EXPORT type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type e,        \
								  type v, int mo, int fail)        \
	{                                                                                          \
		struct am_step s;                                                                  \
		begin(&s, AM_UPDATE, p, bits / 8, 0, AM_HERE);                             \
		const bool done = am_atomic##bits##_cas(p, &e, v, mo);                             \
		am_retry_confirm(done, (uintptr_t)p, (uint64_t)e);                                 \
		am_step_end(&s, done ? AM_UPDATE : AM_READ, p, bits / 8, done ? mo : fail,         \
			    (uint64_t)e, !done, AM_HERE);                                                              \
		if (done)                                                                          \
			am_futex_change((uintptr_t)p);                                             \
		return e;                                                                          \
	}                                                                                          \
	AM_TSAN_RMW(UPDATE, bits, type)
#define UPDATE(bits, type, name, result)                                                           \
	static __attribute__((noinline)) type name##bits(volatile type *p, type v, int mo, struct am_here here) \
	{                                                                                          \
		const uint64_t delta = IS_COUNT(bits) ? ADDED_##name(v, bits % 65) : 0;            \
		if (passes(p, bits / 8)) {                                                         \
			const type seen = am_atomic##bits##_##name(p, v, mo);                      \
			note_update(p, bits, delta, here);                                         \
			return seen;                                                               \
		}                                                                                  \
		const unsigned with = commutes(COMMUTES_##name, p, bits / 8, here.pc);             \
		struct am_step s;                                                                  \
		const unsigned drops = with ? 0 : may_drop(delta, p, bits / 8, here.pc);           \
		begin(&s, AM_UPDATE, p, bits / 8, with | drops, here);                             \
		const type old = am_atomic##bits##_##name(p, v, mo);                               \
		const unsigned last = with ? 0 : LAST(delta, (type)(result), type);                \
		const unsigned adds = drops && am_owners_remain((uintptr_t)p, SIGNED(old, bits)) ? AM_ORDER_ADDS : 0; \
		end(&s, AM_UPDATE, p, bits / 8, mo, (uint64_t)old, (type)(result) == old, with | last | adds, here); \
		if (delta)                                                                         \
			am_owners_left((uintptr_t)p, (int64_t)delta, SIGNED(old, bits) + (int64_t)delta); \
		if (am_unlikely(last))                                                             \
			am_last_note((uintptr_t)p);                                                \
		note_update(p, bits, delta, here);                                                 \
		return old;                                                                        \
	}                                                                                          \
	AM_EXPORT type __tsan_atomic##bits##_##name(volatile type *p, type v, int mo)              \
	{                                                                                          \
		if (bits > 64 || !am_view_is_idle() || !am_view_is_alone())                        \
			return name##bits(p, v, mo, AM_HERE);                                      \
		const type seen = am_atomic##bits##_##name(p, v, mo);                              \
		note_update(p, bits, IS_COUNT(bits) ? ADDED_##name(v, bits % 65) : 0, AM_HERE);    \
		return seen;                                                                       \
	}

AM_TSAN_WIDTHS(ATOMICS)

AM_EXPORT void __tsan_atomic_thread_fence(int mo)
{
	am_atomic_fence(mo);
	if (am_view_mode == AM_VIEW_RECORD && am_state() >= AM_ON) {
		struct am_record r = {.kind = AM_FENCE, .n_ext = 1};
		r.ext[0] = (struct am_unit){AM_EXT | (uint64_t)AM_X_ORDER << AM_R_DETAIL_SHIFT,
					    1 + (uint64_t)AM_TSAN_ORDER(mo)};
		am_log_record(&r, AM_HERE);
	}
}

AM_EXPORT void __tsan_atomic_signal_fence(int mo)
{
	(void)mo;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}
