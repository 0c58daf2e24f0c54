/* Loads that a thread makes again: see retry.h. */
/* SPDX-License-Identifier: MIT */
#include "preload/retry.h"

#include "preload/insn.h"
#include "preload/unwind.h"

__thread struct am_retry am_retry;

/* Pairs of places that were looked at: a hash of both with the answer in bit 0; a table that only grows. */
enum { PAIRS = 1024, TRIES = 16 };
static uint64_t pairs[PAIRS];

/* The call that returns to pc is in a loop before which the other stands, in the same function. */
static bool look_at_code(uintptr_t pc, uintptr_t other)
{
	uintptr_t start, end;

	return am_unwind_function(pc - 1, &start, &end) && other > start && other <= end &&
	       am_insn_in_inner_loop(pc, other, start, end);
}

static bool is_loop(uintptr_t pc, uintptr_t other)
{
	const uint64_t key = (pc * UINT64_C(0x9e3779b97f4a7c15) ^ other * UINT64_C(0xc2b2ae3d27d4eb4f)) | 2;
	const uint64_t hash = key & ~UINT64_C(1);
	uint32_t at = (uint32_t)(key >> 40);

	for (uint32_t i = 0; i < TRIES; i++, at++) {
		uint64_t *place = &pairs[at % PAIRS], seen = __atomic_load_n(place, __ATOMIC_RELAXED);
		if ((seen & ~UINT64_C(1)) == hash)
			return seen & 1;
		if (seen)
			continue;
		const bool answer = look_at_code(pc, other);
		__atomic_compare_exchange_n(place, &seen, hash | answer, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
		return answer;
	}
	return look_at_code(pc, other);
}

uint8_t am_retry_load(uintptr_t address, uintptr_t pc)
{
	struct am_retry *r = &am_retry;

	for (unsigned i = 0; i < AM_RETRY_LOADS; i++)
		if (r->load[i].address == address) {
			const uintptr_t before = r->load[i].pc;
			r->load[i].pc = pc;
			return before != pc && is_loop(pc, before) ? AM_ORDER_AGAIN : 0;
		}
	const unsigned at = r->next++ % AM_RETRY_LOADS;
	r->load[at].address = address;
	r->load[at].pc = pc;
	return 0;
}

bool am_retry_fail(uintptr_t address)
{
	for (unsigned i = 0; i < AM_RETRY_LOADS; i++)
		if (am_retry.load[i].address == address) {
			am_retry.load[i].address = 0;
			return true;
		}
	return false;
}

/* Has nobody else been there since this thread last was? */
static bool is_fresh(uintptr_t address, unsigned size)
{
	const struct am_cell *c = am_shadow_find(address);

	if (am_view_mode == AM_VIEW_RECORD)
		return c && am_filter_same_stretch(__atomic_load_n(&c->w, __ATOMIC_RELAXED), am_view.stretch);
	return am_view_is_known(address, am_filter_bytes(address & 7, size), false);
}

void am_retry_expire(struct am_here here)
{
	const uintptr_t address = am_retry.watched;
	const unsigned size = am_retry.watched_size;

	am_retry.watched = 0;
	if (is_fresh(address, size) || am_tls.event || !am_retry_fail(address))
		return;
	struct am_record r = {.kind = AM_READ,
			      .has_seq = true,
			      .detail = (uint8_t)(__builtin_ctz(size) | 8),
			      .n_ext = 1,
			      .object = address,
			      .ordered = address};
	r.ext[0] = am_retry_order(AM_ORDER_FAILED);
	const uint64_t head = am_tls.head;
	am_log_record(&r, here);
	am_view.own_units += am_tls.head - head;
}
