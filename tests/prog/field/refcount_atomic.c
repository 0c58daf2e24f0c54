/*
 * A reference count in C11 atomics: looked at with a load, lowered with a second operation, so that two
 * owners may both believe that another one is left. Right: one fetch_sub, whose result decides. Region: release.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <stdatomic.h>
#include <stdio.h>

static atomic_int refs = 3; /* the last one is kept */
static atomic_int destroyed;

NOINLINE static void release(void)
{
#ifdef FIXED
	const int before = atomic_fetch_sub(&refs, 1);
#else
	const int before = atomic_load(&refs);
	POINT();
	if (before > 1)
		atomic_fetch_sub(&refs, 1);
#endif
	if (before == 1)
		atomic_store(&destroyed, 1);
}

int main(int argc, char **argv)
{
	order_run(argc, argv, release, release);
	printf("refs %d, destroyed %d\n", refs, destroyed);
	return 0;
}
