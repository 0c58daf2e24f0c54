#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the only thread with regions does outside them leaves no record, and what it does there as soon as another has a region is seen: in all the
# ways in which memory is accessed.
. "$(dirname "$0")/../lib.sh"

run() { # run HOW bad|good: how many violations
	rm -f log
	preload ATOMMON_ATOMIC=fn:post,fn:look ATOMMON_VERBOSE=1 ATOMMON_LOG=log ./alone "$@" >out 2>&1
	grep -c 'atomicity violation' log
}

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	export ATOMMON_CC=$cc
	check "$cc: builds" atommon-cc -O1 -g "$TOP/tests/prog/plain/alone.c" -o alone -lpthread
	for how in word part across range set atomic; do
		same "$cc, $how: nobody comes in between" 0 "$(run $how good)"
		check "$cc, $how: and there are no records of it" grep -qE ' [0-9]{1,2} events, [0-9] regions' log
		same "$cc, $how: the write in between is found" 1 "$(run $how bad)"
	done
done
finish
