/*
 * A worker that does a job only if nobody else is at it: with a flag looked at by a load and set by a
 * store two workers may both begin. Right: one test-and-set, whose result decides; the worker that finds
 * the flag set goes away, and has done nothing. The first worker stops at its POINT in both forms, so
 * that the second one fails while the flag is held. Region: work.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <stdatomic.h>
#include <stdio.h>

static atomic_uchar busy;
static int jobs;

NOINLINE static void work(void)
{
#ifdef FIXED
	if (atomic_exchange(&busy, 1))
		return;
	order_point();
#else
	if (atomic_load(&busy))
		return;
	order_point();
	atomic_store(&busy, 1);
#endif
	jobs++;
	atomic_store(&busy, 0);
}

int main(int argc, char **argv)
{
	order_run(argc, argv, work, work);
	printf("%d jobs\n", jobs);
	return 0;
}
