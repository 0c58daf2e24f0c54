/* SPDX-License-Identifier: MIT */
/* What the monitor does not see of between.c: between_pace.c is built without it. */
#ifndef BETWEEN_H
#define BETWEEN_H

/* Between two looks of the thread that waits: until another is allowed. */
void pace(void);
/* The lock is held by the thread that releases it step by step: the other may come. */
void held(void);
/* That thread, in front of its release, when the other waits; and behind it. */
void steps_begin(void);
void steps_end(void);
/* The thread of `before`: until the round is over. */
void stay(void);
/* Of the two that work, is this the one that is not stepped through? */
int is_waiter(void);
/* Rounds of `work` by two threads, each with a look at another instruction; in each a third runs `before`, unless NULL, up to where it stays.
 * Returns how many; -1: it cannot be done. */
long between_run(void (*work)(void), void (*before)(void), int stride);

#endif
