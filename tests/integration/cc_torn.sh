#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Signal handlers in the midst of the begin and end of functions that are regions: that leave by a jump, so that what they interrupted never
# ends, and that log something of their own: nothing is reported, and the program ends as it should. In the midst of a region's first access to a word: it
# is not lost, so that each of these regions is reported twice.
. "$(dirname "$0")/../lib.sh"

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	export ATOMMON_CC=$cc
	check "$cc: builds" atommon-cc -O1 -g "$TOP/tests/prog/plain/torn.c" -o torn -lpthread
	for globs in fn:leap,fn:half fn:leap,fn:inner,fn:half; do
		rm -f log
		same "$cc, $globs, jumps: all of them" 399 "$(preload ATOMMON_ATOMIC=$globs ATOMMON_LOG=log ./torn leap 1 1 400)"
		same "$cc, $globs, jumps: nothing is reported" 0 "$(cat log 2>/dev/null | grep -c 'atomicity violation')"
	done
	for first in 1 30 60 90 120; do
		rm -f log
		preload ATOMMON_ATOMIC=fn:climb ATOMMON_LOG=log ./torn climb $first 1 1000 >out 2>&1
		same "$cc, records from $first on: ends" 0 $?
		same "$cc, records from $first on: nothing is reported" 0 "$(cat log 2>/dev/null | grep -c 'atomicity violation')"
	done
	check "$cc: builds" atommon-cc -O1 -g "$TOP/tests/prog/plain/asked.c" -o asked -lpthread
	rm -f log
	rounds=$(preload ATOMMON_ATOMIC=fn:region ATOMMON_VERBOSE=1 ATOMMON_LOG=log ./asked 1 300)
	check "$cc: $rounds accesses, none is lost" grep -q " 2 violations ($((2 * rounds - 2)) repeats" log
done
finish
