#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The line of a lock operation is the one that made it, also where two branches begin or end with the same
# call: compilers like to make one of them, which then has the line of either or none. So has a
# function's entry its line.
. "$(dirname "$0")/../lib.sh"

cat >ends.c <<'END'
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int a, b;
__attribute__((noinline)) int choose(int x) {
	pthread_mutex_lock(&lock);
	if (x > 2) {
		pthread_mutex_unlock(&lock); /* 7 */
		return a;
	}
	if (x > 1) {
		a++;
		pthread_mutex_unlock(&lock); /* 12 */
	} else {
		b++;
		pthread_mutex_unlock(&lock); /* 15 */
	}
	return 0;
}
static void *run(void *p)
{
	choose(1);
	choose(2);
	choose(3);
	return p;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, 0, run, 0);
	return pthread_join(t, 0);
}
END

lines() { # lines LABEL COMPILER OPTIONS...
	local label=$1 cc=$2
	shift 2
	check "$label: builds" env ATOMMON_CC="$cc" atommon-cc -g "$@" ends.c -o ends -lpthread
	rm -f ends.atm
	preload ATOMMON_MODE=record ATOMMON_TRACE=ends.atm ATOMMON_ATOMIC=fn:choose ./ends
	atommon-dump --text ends.atm >dump
	same "$label: each release has its own line" "15 12 7" \
		"$(sed -nE 's/^[0-9]+ T1 release .* choose ends.c:([0-9]+).*/\1/p' dump | xargs)"
	same "$label: and the entry" "4 4 4" \
		"$(sed -nE 's/^[0-9]+ T1 enter .* choose ends.c:([0-9]+).*/\1/p' dump | xargs)"
}

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	for level in -O0 -O1 -O3; do
		lines "$cc $level" $cc $level
	done
done
command -v clang-14 >/dev/null && lines symbolic clang-14 --symbolic -O2
finish
