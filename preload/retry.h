/* SPDX-License-Identifier: MIT */
/*
 * What the stage that drops steps in vain (atommon/vain.h) cannot tell from records alone: whether two loads in the code
 * are one in the source, because the compiler put a copy of a loop's first test in front of the loop; that an
 * attempt failed; and that a volatile load, of which only the callback before it is seen, may have been made
 * after another thread's write without a record.
 *
 * Each thread remembers a few atomic and volatile loads that it logged, the first of a look rather than the last: what a loop
 * comes back to, behind however many others, is its first load (a sequence lock). Runs in application threads; no lock,
 * no system call, no malloc.
 */
#ifndef ATOMMON_PRELOAD_RETRY_H
#define ATOMMON_PRELOAD_RETRY_H

#include "atommon/vain.h"
#include "preload/shadow.h"

enum { AM_RETRY_LOADS = 4 };
struct am_retry {
	struct {
		uintptr_t address, pc;
		uintptr_t older; /* where it was loaded before that, and logged; 0: nowhere else */
		uint64_t value;
		/* While nothing but accesses is logged, this stays. Of a load that waits with its region: the stretch. */
		uint64_t epoch;
	} load[AM_RETRY_LOADS];
	uint32_t alternations; /* records by am_retry_alternates since another load was logged */
	uint32_t is_forced;    /* the next to be logged is one of them */
	uint32_t watched_size;
	uint32_t waited; /* of the stretch of the newest load that waited with its region, its lower half (retry.c); 0: it was told */
	uint64_t failed; /* ring head behind the record of the newest attempt that failed */
	uintptr_t watched; /* a volatile load that left no record, the last thing that was done; 0: none */
};
extern __thread struct am_retry am_retry
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Is it that variable's? One that waited with its region is none any more when the region is over. */
static inline bool am_retry_is_of(unsigned i, uintptr_t address)
{
	const uint64_t epoch = am_retry.load[i].epoch;

	return am_retry.load[i].address == address && (epoch >> AM_BLOCK_SHIFT == 0 || epoch == am_view.stretch);
}

/* A load is logged: AM_ORDER_AGAIN if it is of a loop, and the one of this variable before it a copy in
 * front of that loop; else 0. */
uint8_t am_retry_load(uintptr_t address, uintptr_t pc, uint64_t value);

/*
 * A load is known, and need not be logged. But the record that stands for it was made elsewhere in the code, and
 * there is an older one of this place: a loop with two loads of one variable went round. Then this one is
 * logged nevertheless, so that the older is seen to be in vain; not for ever, if a thread waits like that.
 */
bool am_retry_alternates(uintptr_t address, uintptr_t pc);
/* If not, that would say no. */
static inline bool am_retry_may_alternate(uintptr_t address, uintptr_t pc)
{
#pragma GCC unroll 4
	for (unsigned i = 0; i < AM_RETRY_LOADS; i++)
		if (am_unlikely(am_retry.load[i].address == address) && am_retry.load[i].pc != pc)
			return true;
	return false;
}

/* An update found this value: AM_ORDER_AGAIN if the load before it did, too. */
uint8_t am_retry_update(uintptr_t address, uint64_t value);

/* A load of this variable does not count. Was it logged? */
bool am_retry_fail(uintptr_t address);

/* An attempt failed: the same, but it brought what the load would bring, and what is read from here on is for the next one. So
 * does a plain read of it in this region, which another thread may have told. Asked again before anything was logged, there is nothing to say. */
bool am_retry_attempt(uintptr_t address);

/* A compare-and-exchange found what it expected: whatever was read before was tested with it. */
static inline void am_retry_confirm(bool is_done, uintptr_t address, uint64_t value)
{
	for (unsigned i = 0; is_done && i < AM_RETRY_LOADS; i++)
		if (am_retry_is_of(i, address))
			am_retry.load[i].value = value;
}

/* A load left no record, though others were there since: it concerns nobody. But the one before it that did was made
 * again, then. Outside any record. */
void am_retry_dropped(uintptr_t address, unsigned size, struct am_here here);

/* Is a load of it remembered? */
static inline bool am_retry_knows(uintptr_t address)
{
#pragma GCC unroll 4
	for (unsigned i = 0; i < AM_RETRY_LOADS; i++)
		if (am_unlikely(am_retry.load[i].address == address) && am_retry_is_of(i, address))
			return true;
	return false;
}

/* A volatile load was found to be known, and left no record. */
static inline void am_retry_watch(uintptr_t address, unsigned size)
{
	am_retry.watched = address;
	am_retry.watched_size = size;
}

/* Before anything else of the thread is logged: has somebody been there since? Then nobody knows what it
 * read, and the record that stands for it is taken back. Outside any record. */
void am_retry_expire(struct am_here here);

static inline void am_retry_check(struct am_here here)
{
	if (am_unlikely(am_retry.watched != 0))
		am_retry_expire(here);
}

/* Does nobody use what the operation that returns to pc gave back? */
bool am_retry_is_unused(uintptr_t pc);
/* Is it all the same to who uses it, from two on (insn.h)? */
bool am_retry_is_compared(uintptr_t pc);

/* The extension of a record that has one of these bits, or a memory order. */
static inline struct am_unit am_retry_order(uint64_t order)
{
	return (struct am_unit){AM_EXT | (uint64_t)AM_X_ORDER << AM_R_DETAIL_SHIFT, order};
}

#endif
