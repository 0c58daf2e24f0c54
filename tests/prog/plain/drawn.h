/* SPDX-License-Identifier: MIT */
/* The steps of tests/prog/plain/drawn.c: drawn at random from a seed, and made in the order in which they were drawn,
 * whichever thread they belong to. drawn_order.c is not watched, so that nothing but the steps is seen. */
#include <stdint.h>

enum { THREADS = 3, WORDS = 6, LOCKS = 2 };

enum what {
	READ,	/* of `size` bytes at `at` */
	WRITE,
	UPDATE,
	ENTER,	/* a function that is a region */
	LEAVE,
	LOCK,	/* number `at` */
	UNLOCK,
	STOP,
};

struct step {
	uint8_t what, size, at;
	uint8_t is_chosen; /* in a branch, not always */
};

void draw(unsigned seed, unsigned steps);
/* All threads are there: how far each has come must not depend on the time. */
void begin_steps(void);
/* Waits until a step of this thread comes. It lasts until the thread asks for the next one. */
struct step next_step(unsigned thread);
/* A value that is needed. */
void use(uint64_t value);
