/* SPDX-License-Identifier: MIT */
/*
 * Atomic and volatile loads that a thread makes again before it does anything else: `while (load(&busy));`, a ticket lock's
 * wait, `do old = load(&x); while (!cas(&x, old, f(old)))`. A load that was made in vain has had no effect
 * (Flanagan, Freund and Qadeer call such loops pure), so no report may rest on another thread's write
 * having come after it.
 *
 * A thread remembers its newest atomic load. If the next thing it does, as far as others are concerned, is the
 * same load again, or an attempt on the same variable that fails, the place of that load is *learned*: from then
 * on, and for what is still on its way to the checker, a cycle that leaves a transaction through a load made
 * there is not told. Nothing in between: no lock, no other atomic operation, no access that was logged.
 * Live only; the trace keeps everything.
 *
 * Runs in application threads (learning) and in the consumer (asking); no lock.
 */
#ifndef ATOMMON_PRELOAD_RETRY_H
#define ATOMMON_PRELOAD_RETRY_H

#include "atommon/checker.h"
#include "preload/shadow.h"

struct am_retry {
	uintptr_t address, pc; /* of the newest atomic load; 0: none, or something else came since */
	uintptr_t before;      /* where the same variable was loaded right before that; 0: nowhere */
	uint64_t others;       /* records of hooks in the thread's ring then */
};
extern __thread struct am_retry am_retry
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

enum { AM_RETRY_NEAR = 256 }; /* bytes of code */

void am_retry_learn(uintptr_t pc);
bool am_retry_is_learned(uintptr_t pc);

/* Is the load of this address the last thing that this thread did? */
static inline bool am_retry_follows(uintptr_t address)
{
	return am_retry.address == address && am_retry.others == am_tls.head - am_view.own_units;
}

/* A load was made; `follows` as it was before. A compiler may put a copy of a loop's first load in front of the
 * loop: that one counts with the loop's own, but two loads that are no loop stay what they are. */
static inline void am_retry_load(uintptr_t address, uintptr_t pc, bool follows)
{
	uintptr_t before = 0;

	if (follows && am_retry.pc == pc) {
		am_retry_learn(pc);
		if (am_retry.before)
			am_retry_learn(am_retry.before);
	} else if (follows && pc - am_retry.pc < AM_RETRY_NEAR) {
		before = am_retry.pc;
		if (am_retry_is_learned(pc))
			am_retry_learn(before);
	}
	am_retry = (struct am_retry){address, pc, before, am_tls.head - am_view.own_units};
}

/* An attempt failed: it will be made again, and the load before it has had no effect either. */
static inline void am_retry_vain(bool follows)
{
	if (follows)
		am_retry_learn(am_retry.pc);
}

/* Something else was logged. */
static inline void am_retry_forget(void)
{
	am_retry.address = 0;
}

/* Does the cycle leave a transaction through a load that was made again? */
bool am_retry_is_void(const struct am_cycle *cycle);

#endif
