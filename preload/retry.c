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

/* What the call that returns to pc gave back is not used. */
static bool look_behind(uintptr_t pc, uintptr_t unused)
{
	uintptr_t start, end;

	(void)unused;
	return am_unwind_function(pc - 1, &start, &end) && am_insn_is_unused(pc, start, end);
}

/* It is only asked whether it was one. */
static bool look_at_use(uintptr_t pc, uintptr_t one)
{
	uintptr_t start, end;

	(void)one;
	return am_unwind_function(pc - 1, &start, &end) && am_insn_is_compared(pc, start, end);
}

/* A question about places, once asked. */
static bool ask(uintptr_t pc, uintptr_t other, bool (*look)(uintptr_t pc, uintptr_t other))
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
		const bool answer = look(pc, other);
		__atomic_compare_exchange_n(place, &seen, hash | answer, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
		return answer;
	}
	return look(pc, other);
}

static bool is_loop(uintptr_t pc, uintptr_t other)
{
	return ask(pc, other, look_at_code);
}

bool am_retry_is_unused(uintptr_t pc)
{
	return ask(pc, 0, look_behind);
}

bool am_retry_is_compared(uintptr_t pc)
{
	return ask(pc, 1, look_at_use);
}

/* Is the load at pc, made after that at `before`, the same in the source? The loop's after its copy; or the copy again, because
 * a loop around both went round. */
static bool is_copy(uintptr_t pc, uintptr_t before)
{
	return is_loop(pc, before) || (pc < before && is_loop(before, pc));
}

/* Changes with every record that is no access, and with every region that left none. */
static uint64_t epoch_now(void)
{
	const uint64_t records = am_view_others(&am_view) + am_view.n_forgotten;

	return am_view.is_waiting ? am_view.stretch : records & ((UINT64_C(1) << AM_BLOCK_SHIFT) - 1);
}

/* For a variable that is not remembered: what is free, or was before this look; else the place that those behind its first
 * share. */
static unsigned choose(const struct am_retry *r, uint64_t epoch)
{
	unsigned at = 0;

	while (at < AM_RETRY_LOADS - 1 && r->load[at].address && r->load[at].epoch == epoch)
		at++;
	return at;
}

/* The lower half of its number: one that is not this one may look like it, this one always does. */
static uint32_t name(uint64_t stretch)
{
	return (uint32_t)(stretch >> AM_STRETCH_SHIFT);
}

/* Loads that waited with this region have been told: from here on they are like others. */
static void end_waiting(struct am_retry *r, uint64_t epoch)
{
	for (unsigned i = 0; i < AM_RETRY_LOADS; i++)
		if (r->load[i].epoch == am_view.stretch)
			r->load[i].epoch = epoch;
	r->waited = 0;
}

uint8_t am_retry_load(uintptr_t address, uintptr_t pc, uint64_t value)
{
	const uint64_t epoch = epoch_now();
	struct am_retry *r = &am_retry;

	am_view.is_looking = 1;
	if (am_view.is_waiting)
		r->waited = name(am_view.stretch);
	else if (am_unlikely(r->waited == name(am_view.stretch)))
		end_waiting(r, epoch);
	if (!r->is_forced)
		r->alternations = 0; /* somebody was here */
	r->is_forced = 0;
#pragma GCC unroll 4
	for (unsigned i = 0; i < AM_RETRY_LOADS; i++)
		if (am_unlikely(am_retry_is_of(i, address))) {
			const uintptr_t before = r->load[i].pc;
			if (before != pc)
				r->load[i].older = before;
			r->load[i].pc = pc;
			r->load[i].value = value;
			r->load[i].epoch = epoch;
			return before != pc && is_copy(pc, before) ? AM_ORDER_AGAIN : 0;
		}
	const unsigned at = choose(r, epoch);
	r->load[at].address = address;
	r->load[at].pc = pc;
	r->load[at].older = 0;
	r->load[at].value = value;
	r->load[at].epoch = epoch;
	return 0;
}

bool am_retry_alternates(uintptr_t address, uintptr_t pc)
{
	enum { MANY = 64 };
	struct am_retry *r = &am_retry;

	for (unsigned i = 0; i < AM_RETRY_LOADS; i++)
		if (am_retry_is_of(i, address) && r->load[i].pc != pc && r->load[i].older) {
			r->is_forced = r->alternations < MANY &&
				       (r->load[i].older == pc || is_copy(pc, r->load[i].older));
			r->alternations += r->is_forced;
			return r->is_forced;
		}
	return false;
}

uint8_t am_retry_update(uintptr_t address, uint64_t value)
{
	for (unsigned i = 0; i < AM_RETRY_LOADS; i++)
		if (am_retry_is_of(i, address)) {
			am_retry.load[i].address = 0;
			return am_retry.load[i].value == value ? AM_ORDER_AGAIN : 0;
		}
	return 0;
}

bool am_retry_fail(uintptr_t address)
{
	for (unsigned i = 0; i < AM_RETRY_LOADS; i++)
		if (am_retry_is_of(i, address)) {
			am_retry.load[i].address = 0;
			return true;
		}
	return false;
}

bool am_retry_attempt(uintptr_t address)
{
	const bool may_be_told = am_view.depth && !am_view.is_waiting; /* a plain read of it, by the thread that came */

	return (may_be_told || am_retry_knows(address)) && am_retry.failed != am_tls.head;
}

/* Has nobody else been there since this thread last was? */
static bool is_fresh(uintptr_t address, unsigned size)
{
	const struct am_cell *c = am_shadow_find(address);

	if (!c)
		return false;
	if (am_view_mode == AM_VIEW_RECORD)
		return am_filter_same_stretch(__atomic_load_n(&c->w, __ATOMIC_RELAXED), am_view.stretch);
	return am_view_mode == AM_VIEW_REGIONS &&
	       am_filter_known(am_cell_load(c), am_view.stretch, am_filter_bytes(address & 7, size), false);
}

/* The record that was made of a load is taken back. */
static void take_back(uintptr_t address, unsigned size, struct am_here here)
{
	struct am_record r = {.kind = AM_READ,
			      .has_seq = true,
			      .detail = (uint8_t)__builtin_ctz(size),
			      .n_ext = 1,
			      .object = address,
			      .ordered = address};
	const uint64_t others = am_view_others(&am_view);

	am_view.is_looking = 1;
	r.ext[0] = am_retry_order(AM_ORDER_FAILED);
	am_log_record(&r, here);
	am_view_count_own(&am_view, others);
}

void am_retry_dropped(uintptr_t address, unsigned size, struct am_here here)
{
	for (unsigned i = 0; i < AM_RETRY_LOADS; i++) {
		const uintptr_t before = am_retry.load[i].pc;
		if (!am_retry_is_of(i, address) || am_tls.event || am_view_mode != AM_VIEW_REGIONS ||
		    is_fresh(address, size) || (before != here.pc && !is_copy(here.pc, before)))
			continue;
		am_retry.load[i].address = 0;
		take_back(address, size, here);
	}
}

void am_retry_expire(struct am_here here)
{
	const uintptr_t address = am_retry.watched;
	const unsigned size = am_retry.watched_size;

	am_retry.watched = 0;
	if (is_fresh(address, size) || am_tls.event || !am_retry_fail(address))
		return;
	take_back(address, size, here);
}
