/*
 * Two looks at a variable must agree; in the bad order another thread writes it in between, and the program ends by
 * the assertion that says so (ABORT: by abort; CAUGHT: it catches SIGABRT and goes on). Region: twice.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <assert.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static int shared;
#ifdef CAUGHT
static sigjmp_buf back;

static void caught(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}
#endif

NOINLINE static void twice(void)
{
	const int first = shared;

	order_point();
#ifdef ABORT
	if (first != shared)
		abort();
#else
	assert(first == shared);
#endif
}

static void reader(void)
{
#ifdef CAUGHT
	signal(SIGABRT, caught);
	if (sigsetjmp(back, 1)) {
		puts("went on");
		return;
	}
#endif
	twice();
}

static void writer(void)
{
	shared = 1;
}

int main(int argc, char **argv)
{
	order_run(argc, argv, reader, writer);
	puts("end");
	return 0;
}
