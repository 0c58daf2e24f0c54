#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A region that reads first and asks afterwards whether what it read is still so, and goes round again if not, is not predicted to
# break by a schedule that ends before it asks. One that asks for nothing, or for the wrong thing, is.
. "$(dirname "$0")/../lib.sh"
src=$TOP/tests/prog/plain/validate.c

record() { # record KIND: until the reader is done before the writer begins
	for _ in $(seq 100); do
		rm -f t.atm
		preload ATOMMON_ATOMIC='fn:snapshot*,fn:sell*' ATOMMON_MODE=record ATOMMON_TRACE=t.atm ./prog "$1" >/dev/null 2>&1
		atommon-dump t.atm | awk '$2 == "T1" && $3 == "leave-fn" { done = 1 }
			$2 == "T2" && $3 == "write" { exit !done }' && return
	done
	echo "# no serial run of $1"
}

for level in -O1 -O2; do
	check "$level: builds with values" atommon-cc --symbolic -g $level "$src" -o prog -lpthread
	for kind in seqlock optimistic; do
		record $kind
		atommon-predict t.atm >out 2>&1
		same "$level, $kind: what it validates is not predicted to break" 0 $?
		check "$level, $kind: it is proved" grep -q ' 0 predicted to break, 1 proved' out
	done
	for kind in unasked late blind other; do
		record $kind
		atommon-predict t.atm >out 2>&1
		same "$level, $kind: is predicted" 1 $?
	done
done
finish
