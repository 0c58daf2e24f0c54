/* Draws the steps of drawn.c and lets each thread make its own when they come. Built without the wrapper. */
/* SPDX-License-Identifier: MIT */
#include "drawn.h"

#include <sched.h>
#include <stdlib.h>

static struct {
	struct step step;
	unsigned thread;
} *drawn;
static unsigned n, now = ~0u;
static __thread unsigned at;
static __thread int is_in_step;

static uint64_t state;

static unsigned random_below(unsigned limit)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(state >> 33) % limit;
}

static void add(unsigned thread, enum what what, unsigned size, unsigned where)
{
	drawn[n].thread = thread;
	drawn[n++].step = (struct step){(uint8_t)what, (uint8_t)size, (uint8_t)where, random_below(4) == 0};
}

void draw(unsigned seed, unsigned steps)
{
	unsigned depth[THREADS] = {0}, locks[LOCKS] = {0}; /* whose, + 1 */

	state = seed * UINT64_C(0x9e3779b97f4a7c15);
	drawn = calloc(steps + THREADS * 8, sizeof *drawn);
	for (unsigned thread = 0; n < steps;) {
		if (random_below(3) == 0)
			thread = random_below(THREADS);
		const unsigned chance = random_below(24), lock = random_below(LOCKS);
		if (chance == 0 && depth[thread] < 2) {
			depth[thread]++;
			add(thread, ENTER, 0, 0);
		} else if (chance < 3 && depth[thread] > 0) {
			depth[thread]--;
			add(thread, LEAVE, 0, 0);
		} else if (chance < 5 && !locks[lock]) {
			locks[lock] = thread + 1;
			add(thread, LOCK, 0, lock);
		} else if (chance < 9 && locks[lock] == thread + 1) {
			locks[lock] = 0;
			add(thread, UNLOCK, 0, lock);
		} else {
			/* Most in words that one thread has for itself; now and then not aligned. */
			const unsigned size = 1u << random_below(4);
			const unsigned word = random_below(4) ? thread * 2 + random_below(2) : random_below(WORDS);
			const unsigned offset = random_below(30) == 0 ? random_below(8) : random_below(8) & ~(size - 1);
			add(thread, (enum what)random_below(3), size, word * 8 + offset);
		}
	}
	for (unsigned t = 0; t < THREADS; t++) {
		for (unsigned l = 0; l < LOCKS; l++)
			if (locks[l] == t + 1)
				add(t, UNLOCK, 0, l);
		while (depth[t]-- > 0)
			add(t, LEAVE, 0, 0);
		add(t, STOP, 0, 0);
	}
}

void begin_steps(void)
{
	__atomic_store_n(&now, 0, __ATOMIC_SEQ_CST);
}

struct step next_step(unsigned thread)
{
	if (is_in_step)
		__atomic_fetch_add(&now, 1, __ATOMIC_SEQ_CST);
	is_in_step = 1;
	for (; at < n; at++)
		if (drawn[at].thread == thread)
			break;
	while (__atomic_load_n(&now, __ATOMIC_SEQ_CST) != at)
		sched_yield();
	const struct step s = drawn[at++].step;
	if (s.what == STOP)
		__atomic_fetch_add(&now, 1, __ATOMIC_SEQ_CST);
	return s;
}

void use(uint64_t value)
{
	__asm__ volatile("" : : "r"(value));
}
