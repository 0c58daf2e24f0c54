/* SPDX-License-Identifier: MIT */
/* Forces the order of two threads through a pipe, which no trace shows: the events of the threads
 * stay concurrent. */
#ifndef TURN_H
#define TURN_H

#include <stdlib.h>
#include <unistd.h>

#define UNSEEN __attribute__((disable_sanitizer_instrumentation, noinline))

static int turn[2];

UNSEEN static void turn_init(void)
{
	if (pipe(turn) != 0)
		exit(2);
}

UNSEEN static void turn_give(void)
{
	if (write(turn[1], "", 1) != 1)
		exit(2);
}

UNSEEN static void turn_take(void)
{
	char c;

	if (read(turn[0], &c, 1) != 1)
		exit(2);
}

#endif
