/*
 * futex(2), as programs call it: libc's syscall (syscall.S comes here first). Tells the words that threads wait on; what
 * they are for: futex.h. Runs in application threads, also in signal handlers; a child of vfork is muted as everywhere.
 */
/* SPDX-License-Identifier: MIT */
#include <linux/futex.h>

#include "preload/futex.h"
#include "preload/shadow.h"

__thread struct am_announced am_announced;

/* Words that were read right before a wake, and those that were added to and taken from again: if both, waiters are
 * counted there. Two that meet at one place push each other out: then it is not known. */
enum { PLACES = 256, ASKED = 1, RESTORED = 2 };
static uint64_t seen[PLACES]; /* address << 2 | what */

static bool has_both(uintptr_t word, unsigned what)
{
	uint64_t *place = &seen[(word >> 2) * UINT64_C(0x9e3779b97f4a7c15) >> 56];
	const uint64_t old = __atomic_load_n(place, __ATOMIC_RELAXED);
	const uint64_t now = (old >> 2 == word ? old : (uint64_t)word << 2) | what;

	if (now != old)
		__atomic_store_n(place, now, __ATOMIC_RELAXED);
	return (now & 3) == (ASKED | RESTORED);
}

/* Are accesses shown? Locks made of futexes are nothing at lock level. */
static bool is_wanted(void)
{
	return am_view_mode > AM_VIEW_NONE && am_on() && !am_tls.inside;
}

static void tell_count(uintptr_t word, unsigned size, struct am_here here)
{
	if (is_wanted())
		am_log_object(AM_INIT, AM_OBJ_WAITERS, word, size, here);
}

void am_futex_withdraw(uintptr_t word, unsigned size, struct am_here here)
{
	struct am_announced *a = &am_announced;
	const bool has_waited = a->tried & AM_HAS_WAITED;

	*a = (struct am_announced){0};
	if (has_both(word, RESTORED) || has_waited)
		tell_count(word, size, here);
}

/* The thread goes to sleep on this word: an announcement before it was for that, unless it did something else since. */
static void wait_on(struct am_announced *a, uintptr_t word)
{
	if (a->count && (!a->tried || (a->tried & ~1u) == am_futex_name(word))) {
		a->tried = am_futex_name(word) | AM_HAS_WAITED;
	} else {
		a->count = 0;
	}
}

/* From syscall.S, before the call. */
void am_futex_by_syscall(uintptr_t word, int operation, uintptr_t word2, uintptr_t pc, uintptr_t cfa);

void am_futex_by_syscall(uintptr_t word, int operation, uintptr_t word2, uintptr_t pc, uintptr_t cfa)
{
	const struct am_here here = {pc, cfa};
	struct am_announced *a = &am_announced;
	bool waits = false, has_two = false;

	if (!is_wanted())
		return;
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		waits = true;
		break;
	case FUTEX_WAIT_REQUEUE_PI:
		waits = has_two = true;
		break;
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_CMP_REQUEUE_PI:
	case FUTEX_WAKE_OP:
		has_two = true;
		break;
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_UNLOCK_PI:
	case FUTEX_TRYLOCK_PI:
		break;
	default:
		return;
	}
	if (waits)
		wait_on(a, word);
	else if (a->asked && a->asked != word && has_both(a->asked, ASKED))
		tell_count(a->asked, 4, here);
	a->asked = 0;
	am_log_object(AM_INIT, AM_OBJ_FUTEX, word, waits, here);
	if (has_two)
		am_log_object(AM_INIT, AM_OBJ_FUTEX, word2, 0, here);
}
