#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Critical sections of reader-writer locks and spin locks leave no record if they concern nobody, and if they do it is told how the lock was held.
. "$(dirname "$0")/../lib.sh"

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	export ATOMMON_CC=$cc
	check "$cc: builds" atommon-cc -O1 -g "$TOP/tests/prog/plain/shared.c" -o shared -lpthread
	for mode in good bad; do
		rm -f log
		preload ATOMMON_ATOMIC=sections ATOMMON_VERBOSE=1 ATOMMON_LOG=log ./shared $mode >out 2>&1
		echo "# $cc, $mode: $(grep ' events, ' log out)"
		same "$cc, $mode: output" "200 $([ $mode = good ]; echo $?) 999000" "$(head -1 out)"
		check "$cc, $mode: sections that went well left no record" grep -qE ' [0-9]{1,3} events, [0-9]{1,2} regions' log out
		same "$cc, $mode: violations" "$([ $mode = good ]; echo $?)" "$(grep -c 'atomicity violation' log)"
	done
	same "$cc: acquires" 2 "$(grep -c 'acquire table (shared)' log)"
	check "$cc: the remedy" grep -q 'table is only held shared' log
done
finish
