#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Semaphores, signals, barriers and once: regions that make them leave no record if they concern nobody; and where they come behind a
# load, that load counts, as it does offline.
. "$(dirname "$0")/../lib.sh"

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	export ATOMMON_CC=$cc
	check "$cc: builds" atommon-cc -O1 -g "$TOP/tests/prog/plain/notes.c" -o notes -lpthread
	for kind in none post take signal broadcast barrier once; do
		rm -f log x.atm
		same "$cc, $kind: runs" 1 "$(preload ATOMMON_ATOMIC=fn:twice ATOMMON_LOG=log ./notes $kind 2>/dev/null)"
		same "$cc, $kind: violations" "$([ $kind = none ]; echo $?)" "$(cat log 2>/dev/null | grep -c "atomicity violation")"
		preload ATOMMON_MODE=record ATOMMON_ATOMIC=fn:twice ATOMMON_TRACE=x.atm ./notes $kind >/dev/null 2>&1
		same "$cc, $kind: offline" "$([ $kind = none ]; echo $?)" "$(atommon-check --atomic fn:twice x.atm 2>/dev/null | grep -c 'atomicity violation')"
	done
	rm -f log
	same "$cc: works" 2000 "$(preload ATOMMON_ATOMIC=fn:step ATOMMON_VERBOSE=1 ATOMMON_LOG=log ./notes lock 1000 2>out)"
	echo "# $cc: $(grep ' events, ' log out)"
	check "$cc: regions that concern nobody left no record" grep -qE ' [0-9]{1,2} events, [0-9] regions' log out
done
finish
