#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A thread that came to what another's open critical section has goes on as before: its later sections leave no record if they
# concern nobody, and each is a region of its own.
. "$(dirname "$0")/../lib.sh"

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	export ATOMMON_CC=$cc
	check "$cc: builds" atommon-cc -O1 -g "$TOP/tests/prog/plain/met.c" -o met -lpthread
	for mode in good bad; do
		rm -f log
		preload ATOMMON_ATOMIC=sections ATOMMON_VERBOSE=1 ATOMMON_LOG=log ./met $mode >out 2>&1
		echo "# $cc, $mode: $(grep ' events, ' log out)"
		check "$cc, $mode: sections that went well left no record" grep -qE ' [0-9]{1,2} events, [0-9] regions' log out
		same "$cc, $mode: violations" "$([ $mode = good ]; echo $?)" "$(grep -c 'atomicity violation' log)"
	done
done
finish
