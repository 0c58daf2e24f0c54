/* SPDX-License-Identifier: MIT */
/*
 * Words that threads wait on (include/atommon/waited.h): what is handed to futex(2) through libc's syscall, and the words in which a program
 * counts who waits. Nobody hands these over; they are known by what is done with them. A thread adds to one before it
 * waits and takes the same away behind it, and in between does nothing to memory by atomic operations but to read,
 * and to try for the futex. If it did wait, that is enough. If it only looked for a while (the pool of libstdc++), somebody
 * must also have read the word, and then, as the next thing, have woken others. An account that is booked out and in is
 * neither. Runs in application threads.
 */
#ifndef ATOMMON_PRELOAD_FUTEX_H
#define ATOMMON_PRELOAD_FUTEX_H

#include "preload/log.h"

/* What this thread did last by atomic operations. Small: thread-local storage is dear. */
struct am_announced {
	uintptr_t count; /* the word it added to; 0: none */
	uintptr_t asked; /* the word that it read, and nothing since; 0: none */
	int32_t delta;
	uint32_t tried; /* of the one other word that it changed since: am_futex_name; 0: none; AM_HAS_WAITED */
};
enum { AM_HAS_WAITED = 1 };

/* Enough of an address to tell two words apart. */
static inline uint32_t am_futex_name(uintptr_t word)
{
	return (uint32_t)word & ~3u;
}

extern __thread struct am_announced am_announced __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* An addition that takes back the last one. */
void am_futex_withdraw(uintptr_t word, unsigned size, struct am_here here) __attribute__((cold));

static inline void am_futex_read(uintptr_t word)
{
	am_announced.asked = word;
}

/* It was changed in another way. */
static inline void am_futex_change(uintptr_t word)
{
	struct am_announced *a = &am_announced;

	a->asked = 0;
	if (a->count == 0 || (a->tried & ~1u) == am_futex_name(word))
		return;
	if (a->tried == 0 && a->count != word)
		a->tried = am_futex_name(word);
	else
		a->count = 0;
}

/* What an addition or subtraction of `bits` bits adds, as a number of 64 bits with a sign. */
static inline uint64_t am_futex_delta(uint64_t v, unsigned bits, bool is_less)
{
	const uint64_t wide = (uint64_t)((int64_t)(v << (64 - bits)) >> (64 - bits));

	return is_less ? -wide : wide;
}

/* It was added to. */
static inline void am_futex_add(uintptr_t word, unsigned size, uint64_t delta, struct am_here here)
{
	struct am_announced *a = &am_announced;

	if ((int64_t)delta != (int32_t)delta || delta == 0) {
		am_futex_change(word);
		return;
	}
	a->asked = 0;
	if (am_unlikely(a->count == word && a->delta + (int64_t)delta == 0)) {
		am_futex_withdraw(word, size, here);
	} else if ((a->tried & ~1u) != am_futex_name(word) || a->count == 0) {
		a->count = word;
		a->delta = (int32_t)delta;
		a->tried = 0;
	}
}

#endif
