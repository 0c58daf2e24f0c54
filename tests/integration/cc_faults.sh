#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A page of cells costs one page fault, not two: a region that reads 8 MiB needs 16 MiB of cells.
. "$(dirname "$0")/../lib.sh"

cat >faults.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
enum { BYTES = 8 << 20 };
static long sum;
__attribute__((noinline)) void step(const long *p)
{
	for (size_t i = 0; i < BYTES / sizeof *p; i++)
		sum += p[i];
}
static void *run(void *p)
{
	return p;
}
int main(void)
{
	struct rusage before, after;
	pthread_t t;
	long *p = malloc(BYTES);
	memset(p, 1, BYTES);
	pthread_create(&t, 0, run, 0);
	pthread_join(t, 0);
	getrusage(RUSAGE_SELF, &before);
	step(p);
	getrusage(RUSAGE_SELF, &after);
	printf("%ld\n", after.ru_minflt - before.ru_minflt);
	return 0;
}
END

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	check "$cc: builds" env ATOMMON_CC=$cc atommon-cc -O1 -g faults.c -o faults -lpthread
	n=$(preload ATOMMON_ATOMIC=fn:step ./faults)
	echo "# $cc: $n faults for 4096 pages of cells"
	same "$cc: one fault for each page of cells" 1 $((n < 4096 + 1024))
done
finish
