/*
 * The general path of logging: attaches a thread, makes room, nests in signal handlers, tells losses
 * in the stream. Runs in application threads and signal handlers. No malloc, errno kept.
 *
 * A signal handler may interrupt any instruction of a record. The interrupted thread has then either
 * reserved its units or not yet; the handler's own records get units of their own (am_reserve) and
 * carry AM_R_NESTED, because their numbers may be larger than the outer record's while their units
 * come first. A margin of the ring is kept for them: a handler never waits for space, since the
 * consumer may be waiting for the record that it interrupted.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/log.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "preload/area.h"
#include "preload/defer.h"
#include "preload/lane.h"
#include "preload/runtime.h"
#include "preload/shadow.h"
#include "preload/unwind.h"

struct am_slot am_slots[AM_SLOTS] __attribute__((aligned(4096)));
struct am_own am_owns[AM_SLOTS] __attribute__((aligned(4096)));

enum { DEAD_AFTER = 4096 };

/* With which a section may begin or end. */
#define BIT(kind) (UINT64_C(1) << (kind))
#define LOCK_KINDS (BIT(AM_ACQUIRE) | BIT(AM_RELEASE) | BIT(AM_WAIT) | BIT(AM_WAKE) | BIT(AM_FORK) | BIT(AM_JOIN))

static void lose(struct am_lane *lane, enum am_lost cause)
{
	__atomic_fetch_add(&am_area.file->lost[cause], 1, __ATOMIC_RELAXED);
	if (!lane)
		return;
	lane->pending[cause]++;
	lane->n_pending++;
	lane->room = am_tls.limit = 0; /* come here again, to tell it */
}

static void put(struct am_tls *t, uint64_t i, uint64_t w0, uint64_t w1)
{
	struct am_unit *u = &t->lane->units[i & t->mask];

	__atomic_store_n(&u->w1, w1, __ATOMIC_RELAXED);
	__atomic_store_n(&u->w0, w0 | am_phase(t, i), __ATOMIC_RELEASE); /* partner: am_ring_has */
}

static struct am_unit ext(enum am_ext tag, uint64_t payload48, uint64_t w1)
{
	return (struct am_unit){AM_EXT | (uint64_t)tag << AM_R_DETAIL_SHIFT |
					payload48 << AM_R_OBJECT_SHIFT,
				w1};
}

/* The losses so far, as records in their place. There is room. */
static void tell_losses(struct am_tls *t, struct am_lane *lane)
{
	for (unsigned cause = 0; cause < 8; cause++) {
		if (!lane->pending[cause])
			continue;
		const uint64_t i = am_reserve(t, 2);
		const struct am_unit aux = ext(AM_X_AUX, 0, lane->pending[cause]);
		put(t, i + 1, aux.w0, aux.w1);
		put(t, i, AM_LOST | 1 << AM_R_EXT_SHIFT | (uint64_t)cause << AM_R_DETAIL_SHIFT, 0);
		lane->pending[cause] = 0;
	}
	lane->n_pending = 0;
}

/* Is the record that t->event speaks of gone for good? A handler that interrupted it runs deeper in
 * the same stack, where no frame can start at the same place, or on the alternate one. */
static bool outer_is_dead(const struct am_tls *t, struct am_here here)
{
	stack_t ss;

	if (t->lane->pending[AM_LOST_BUSY] > DEAD_AFTER)
		return true;
	if (here.cfa < t->event)
		return false;
	return sigaltstack(NULL, &ss) == 0 && !(ss.ss_flags & SS_ONSTACK);
}

/* Whatever it was part of, like the begin or end of a region, is half done as well: that is told as a hole, behind which nothing of this
 * thread is open. */
static void bury_outer(struct am_tls *t)
{
	t->event = 0;
	const uint64_t tail = __atomic_load_n(&t->lane->free_tail, __ATOMIC_ACQUIRE);
	am_ring_repair(t->lane, tail, t->head);
	am_view_torn();
	lose(t->lane, AM_LOST_TORN);
}

void am_log_bury(struct am_here here)
{
	struct am_tls *t = &am_tls;

	if (am_unlikely(t->event != 0) && t->lane && outer_is_dead(t, here))
		bury_outer(t);
}

void am_log_jump(uintptr_t sp)
{
	struct am_tls *t = &am_tls;

	if (am_unlikely(t->event != 0) && t->lane && sp >= t->event)
		bury_outer(t);
}

enum am_torn am_log_mend(struct am_lane *lane)
{
	const uint64_t tail = __atomic_load_n(&lane->free_tail, __ATOMIC_ACQUIRE);
	const uint64_t head = am_tls.head;
	uint64_t i = tail;

	while (i < head && am_ring_has(lane, i))
		i++;
	if (i == head)
		return AM_TORN_NOT;
	/* No signal frame up to the start of the thread: the handler left by a jump. If that cannot
	 * be told, it is believed after a while. */
	if (lane->pending[AM_LOST_BUSY] <= DEAD_AFTER && !am_unwind_is_whole(lane->stack_top)) {
		lane->torn_at = tail + 1;
		return AM_TORN_BELOW;
	}
	if (am_ring_repair(lane, tail, head))
		__atomic_fetch_add(&am_area.file->lost[AM_LOST_TORN], 1, __ATOMIC_RELAXED);
	return AM_TORN_MENDED;
}

/* Phase and base of the lap that head is in. */
static void set_lap(struct am_tls *t)
{
	const uint64_t head = t->head;

	t->phase = am_phase(t, head);
	t->base = (struct am_unit *)((uintptr_t)t->lane->units -
				     (head & ~t->mask) * sizeof(struct am_unit));
}

void am_log_leave(struct am_tls *t, uintptr_t outer)
{
	uint64_t head;

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->event = outer;
	do { /* a handler may come in between, and be behind us at the end */
		head = t->head;
		set_lap(t);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	} while (am_unlikely(head != *(volatile uint64_t *)&t->head));
}

/* How far the hot path may go: not beyond `room`, and not so near to the end of the lap that it, or
 * handlers that interrupt it, could come into the next one, which has another phase. */
static void set_limit(struct am_tls *t)
{
	const uint64_t lap_end = (t->head | t->mask) + 1 - AM_MARGIN;
	const uint64_t room = t->lane->room;

	t->limit = room < lap_end ? room : lap_end;
	set_lap(t);
}

/* Room for n units and for the losses before them; moves the limit. */
static bool make_room(struct am_tls *t, uint64_t n, bool is_nested)
{
	struct am_lane *lane = t->lane;
	const uint64_t capacity = t->mask + 1;

	if (!is_nested && !lane->n_pending && t->head + n <= lane->room) {
		set_limit(t);
		return true;
	}
	for (;;) {
		/* partner: the release store of the consumer after it copied the units */
		const uint64_t tail = __atomic_load_n(&lane->free_tail, __ATOMIC_ACQUIRE);
		const uint64_t used = t->head - tail;
		assert(used <= capacity);
		if (is_nested) {
			if (used + n + 1 + AM_R_EXT_MAX <= capacity)
				return true;
			lose(lane, AM_LOST_BUSY);
			return false;
		}
		const uint64_t losses = lane->n_pending ? 2 * 8 : 0;
		if (used + n + losses + AM_MARGIN <= capacity) {
			if (losses)
				tell_losses(t, lane);
			const uint64_t half = tail + capacity / 2;
			const bool is_past_half = t->head + n > half;
			lane->room = is_past_half ? tail + capacity - AM_MARGIN : half;
			set_limit(t);
			if (is_past_half)
				am_drain_wake();
			return true;
		}
		/* Below us is a record in progress that the consumer waits for: so must not we. */
		if (lane->torn_at == tail + 1 && am_log_mend(lane) == AM_TORN_BELOW) {
			lose(lane, AM_LOST_BUSY);
			return false;
		}
		if (am_opt.overflow == AM_OVERFLOW_DROP) {
			am_drain_wake();
			lose(lane, AM_LOST_FULL);
			if (lane->pending[AM_LOST_FULL] % 1024 == 0)
				am_log_mend(lane);
			return false;
		}
		if (!am_drain_wait_space(lane, n + losses + AM_MARGIN)) {
			lose(lane, lane->torn_at == tail + 1 ? AM_LOST_BUSY : AM_LOST_FULL);
			return false;
		}
	}
}

/* Before a record of this thread: what waited is told. Not inside a record. */
static inline void tell_waiting(const struct am_tls *t, struct am_here here)
{
	const struct am_deferred *d = am_view.defer;

	if (!d || am_view.is_telling || t->event != 0)
		return;
	if (d->n)
		am_defer_tell(here);
	else if (am_defer_has_functions())
		am_defer_tell_functions(here);
}

bool am_log_prepare(unsigned n, struct am_here here)
{
	struct am_tls *t = &am_tls;

	if (am_likely(t->event == 0 && t->head + n <= t->limit)) {
		t->event = here.cfa;
		return true;
	}
	if (t->muted || t->inside || t->owned || am_state() < AM_IDLE || !t->lane)
		return false;
	const int saved = errno;
	if (t->event != 0 && outer_is_dead(t, here))
		bury_outer(t);
	tell_waiting(t, here);
	const bool has_room = make_room(t, n, t->event != 0);
	if (has_room && t->event == 0)
		t->event = here.cfa;
	errno = saved;
	return has_room;
}

bool am_log_record(struct am_record *r, struct am_here here)
{
	struct am_tls *t = &am_tls;
	const unsigned n = 1u + r->n_ext;

	if (am_unlikely(t->muted || t->inside || t->owned || am_state() < AM_IDLE))
		return false;
	const int saved = errno;
	if (am_unlikely(!t->lane) && !am_lane_attach(AM_NO_THREAD)) {
		lose(NULL, AM_LOST_MEMORY);
		errno = saved;
		return false;
	}
	const bool is_open = r->has_number && t->event == here.cfa; /* by am_log_prepare */
	if (am_unlikely(t->event != 0) && !is_open && outer_is_dead(t, here))
		bury_outer(t);
	tell_waiting(t, here);
	if (LOCK_KINDS >> r->kind & 1)
		am_view_doubt();
	const uintptr_t outer = is_open ? 0 : t->event;
	/* A number that was taken must be told: its room was made by am_log_prepare. */
	if (am_unlikely(outer != 0 || t->head + n > t->limit) && !r->has_number &&
	    !make_room(t, n, outer != 0)) {
		errno = saved;
		return false;
	}
	const uint32_t site = here.pc ? am_site_in(t, r->kind, here, outer != 0) : r->site;
	t->event = outer ? outer : here.cfa ? here.cfa : (uintptr_t)__builtin_frame_address(0);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	/* A wait or wake takes two numbers, the condition's first (event.h). */
	if (r->cond)
		r->ext[0] = ext(AM_X_COND, r->cond, am_number(r->cond));
	struct am_own *own = r->is_mutex ? am_own_claim(r->ordered) : NULL;
	const uint32_t number = r->has_number ? r->number :
				own	      ? am_own_number(own) :
				r->has_seq    ? am_number(r->ordered) :
						0;
	const uint64_t i = am_reserve(t, n);
	for (unsigned k = 1; k < n; k++)
		put(t, i + k, r->ext[k - 1].w0, r->ext[k - 1].w1);
	put(t, i,
	    (uint64_t)r->kind | (r->has_seq ? AM_R_SEQ : 0) | (outer ? AM_R_NESTED : 0) |
		    (own ? AM_R_OWN : 0) | (uint64_t)r->n_ext << AM_R_EXT_SHIFT | (uint64_t)r->detail << AM_R_DETAIL_SHIFT |
		    r->object << AM_R_OBJECT_SHIFT,
	    number | (uint64_t)site << 32);
	am_log_leave(t, outer);
	if (am_drain_is_asleep())
		am_drain_wake();
	errno = saved;
	return true;
}

void am_log_step(enum am_kind kind, unsigned detail, uint64_t object, uint32_t number, struct am_unit more, struct am_here here)
{
	struct am_tls *t = &am_tls;
	const uint64_t key = am_site_key(here);
	const struct am_site_cached *e = am_site_entry(t, key);

	/* In a signal handler, near the end of a lap, or where the place is not known yet. */
	if (am_unlikely(t->event != here.cfa || t->head + 2 > t->limit || !am_site_is_hit(e, key))) {
		struct am_record r = {.kind = (uint8_t)kind, .detail = (uint8_t)detail, .n_ext = 1, .has_seq = true,
				      .has_number = true, .number = number, .object = object, .ordered = object};
		r.ext[0] = more;
		am_log_record(&r, here);
		return;
	}
	const uint64_t i = am_reserve(t, 2);
	put(t, i + 1, more.w0, more.w1);
	put(t, i, am_log_w0(kind, detail, object) | 1u << AM_R_EXT_SHIFT, number | e->site);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->event = 0;
	__builtin_prefetch(&am_caches(t)->units[i & t->mask] + AM_AHEAD, 1);
	if (am_drain_is_asleep())
		am_drain_wake();
}

void am_log_late(unsigned detail, uint64_t object, struct am_unit more, struct am_here here)
{
	struct am_tls *t = &am_tls;
	const struct am_pc_cached *p = t->lane ? am_site_pc_entry(t, here.pc) : NULL;
	const bool is_usual = am_likely(p && (!here.pc || p->pc == here.pc) && here.cfa && t->event == 0);

	/* Handlers keep out from here on, so that there still is room when it is taken. */
	if (is_usual)
		t->event = here.cfa;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (am_unlikely(!is_usual || t->head + 2 > t->limit)) {
		if (is_usual)
			t->event = 0;
		struct am_record r = {.kind = AM_LATE, .detail = (uint8_t)detail, .n_ext = 1, .has_seq = true,
				      .object = object, .ordered = object};
		r.ext[0] = more;
		am_log_record(&r, here);
		return;
	}
	const uint64_t w1 = am_number(object) | (here.pc ? p->site : 0);
	const uint64_t i = am_reserve(t, 2);
	put(t, i + 1, more.w0, more.w1);
	put(t, i, am_log_w0(AM_LATE, detail, object) | 1u << AM_R_EXT_SHIFT, w1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->event = 0;
	__builtin_prefetch(&am_caches(t)->units[i & t->mask] + AM_AHEAD, 1);
	if (am_drain_is_asleep())
		am_drain_wake();
}

void am_log_cold(uint64_t w0, uint64_t object, uintptr_t pc, uintptr_t cfa)
{
	struct am_record r = {.kind = (uint8_t)(w0 & AM_R_KIND_MASK),
			      .detail = (uint8_t)(w0 >> AM_R_DETAIL_SHIFT & AM_R_DETAIL_MASK), .has_seq = true,
			      .object = object, .ordered = object};
	am_log_record(&r, (struct am_here){pc, cfa});
}

void am_log_mutex(enum am_kind kind, unsigned detail, uint64_t mutex, uint64_t aux, uintptr_t pc,
		  uintptr_t cfa)
{
	struct am_record r = {.kind = (uint8_t)kind, .detail = (uint8_t)detail, .has_seq = true,
			      .is_mutex = true, .object = mutex, .ordered = mutex};
	if (aux) {
		r.n_ext = 1;
		r.ext[0] = ext(AM_X_AUX, 0, aux);
	}
	am_log_record(&r, (struct am_here){pc, cfa});
}

void am_log_rest(uint64_t w0, uint64_t index, uint32_t number, uintptr_t pc, uintptr_t cfa)
{
	struct am_tls *t = &am_tls;
	const struct am_here here = {pc, cfa};
	const int saved = errno;
	const bool is_pc_only = am_site_is_pc_only((enum am_kind)(w0 & AM_R_KIND_MASK));
	const uint32_t site = is_pc_only ? am_site_miss_pc(here, false) : am_site_miss(here, false);

	put(t, index, w0, number | (uint64_t)site << 32);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->event = 0;
	if (am_drain_is_asleep())
		am_drain_wake();
	errno = saved;
}

void am_log_wait(enum am_kind kind, unsigned detail, uint64_t cond, uint64_t mutex,
		 struct am_here here)
{
	struct am_record r = {.kind = (uint8_t)kind, .detail = (uint8_t)detail, .n_ext = 1,
			      .has_seq = true, .is_mutex = mutex != 0, .object = mutex,
			      .ordered = mutex, .cond = cond};
	am_log_record(&r, here);
	if (kind == AM_WAIT && am_after.has_sections)
		am_view_follow(&am_view); /* a section ends here, and it may be long until we look */
	if (kind == AM_WAIT)
		am_view_wait();
	else
		am_view_wake();
}

void am_log_object(enum am_kind kind, enum am_object what, uint64_t object, uint64_t aux,
		   struct am_here here)
{
	struct am_record r = {.kind = (uint8_t)kind, .detail = (uint8_t)what, .has_seq = true,
			      .object = object, .ordered = object};
	if (aux) {
		r.n_ext = 1;
		r.ext[0] = ext(AM_X_AUX, 0, aux);
	}
	am_log_record(&r, here);
}

void am_log_thread(enum am_kind kind, uint32_t thread, struct am_here here)
{
	struct am_record r = {.kind = (uint8_t)kind, .has_seq = true, .object = thread,
			      .ordered = AM_THREAD_OBJECT(thread)};
	am_log_record(&r, here);
}

void am_log_end(uint32_t thread)
{
	struct am_tls *t = &am_tls;
	const uint64_t object = AM_THREAD_OBJECT(thread);

	if (am_opt.overflow == AM_OVERFLOW_DROP && t->lane && t->event == 0) {
		const uint64_t tail = __atomic_load_n(&t->lane->free_tail, __ATOMIC_ACQUIRE);
		/* Into the margin, if need be: this thread needs it no more. */
		if (t->head - tail + 2 * 8 + 1 <= t->mask + 1) {
			tell_losses(t, t->lane);
			struct am_record r = {.kind = AM_THREAD_END, .has_seq = true,
					      .has_number = true, .number = am_number(object),
					      .object = thread, .ordered = object};
			am_log_record(&r, (struct am_here){0, 0});
			am_view_quit();
			return;
		}
	}
	am_log_thread(AM_THREAD_END, thread, (struct am_here){0, 0});
	am_view_quit();
}

void am_log_plain(enum am_kind kind, unsigned detail, uint64_t object, struct am_here here)
{
	struct am_record r = {.kind = (uint8_t)kind, .detail = (uint8_t)detail, .object = object};
	am_log_record(&r, here);
}

void am_log_block(enum am_kind kind, uint64_t address, uint64_t bytes, struct am_here here)
{
	struct am_record r = {.kind = (uint8_t)kind, .n_ext = 1, .has_seq = true,
			      .object = address, .ordered = address};
	r.ext[0] = ext(AM_X_SIZE, 0, bytes);
	am_log_record(&r, here);
}

void am_log_access(enum am_kind kind, uint64_t address, uint64_t size, struct am_here here)
{
	while (size > 0) {
		const uint64_t rest = 64 - (address & 63), bytes = size < rest ? size : rest;
		struct am_record r = {.kind = (uint8_t)kind, .has_seq = true, .object = address,
				      .ordered = address};
		if ((bytes & (bytes - 1)) == 0) {
			r.detail = (uint8_t)__builtin_ctzll(bytes);
		} else {
			r.detail = 7;
			r.n_ext = 1;
			r.ext[0] = ext(AM_X_SIZE, 0, bytes);
		}
		am_log_record(&r, here);
		address += bytes;
		size -= bytes;
	}
}
